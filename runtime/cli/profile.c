/* profile.c - adds up the profiler's events of runs into the costs of units (profile.h). */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/profile.h"

enum { KINDS = 4, ENOUGH_EVENTS = 1 << 18 };

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* Index into unit_of of a kind and node; node -1, the end of the run, comes first. */
static size_t place_of(const cli_profile *profile, tort_profiled what, int32_t node) {
    return (size_t)what * (size_t)profile->places + (size_t)(node + 1);
}

static cli_profile_unit *add_unit(cli_profile *profile, tort_profiled what, int32_t node) {
    profile->units = cli_room(profile->units, (size_t)profile->unit_count, sizeof *profile->units);
    cli_profile_unit *unit = &profile->units[profile->unit_count];
    *unit = (cli_profile_unit){.what = what, .node = node};
    profile->unit_of[place_of(profile, what, node)] = profile->unit_count++;
    return unit;
}

static void add_nodes(cli_profile *profile) {
    const tort_report *report = profile->report;
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = report->nodes[i];
        if (!node->provider || !strcmp(node->provider, "folded")) continue;
        cli_profile_unit *unit = add_unit(profile, TORT_PROFILED_NODE, node->index);
        unit->path = node->path;
        unit->op = node->op;
        unit->provider = node->provider;
        unit->kernel = node->kernel;
    }
}

static const char *path_of_node(const cli_profile *profile, int32_t node) {
    const int32_t unit = profile->unit_of[place_of(profile, TORT_PROFILED_NODE, node)];
    return unit < 0 ? "" : profile->units[unit].path;
}

static bool is_part(const cli_profile *profile, int32_t unit, int32_t node) {
    return unit < profile->unit_count && profile->units[unit].what == TORT_PROFILED_PART &&
           profile->units[unit].node == node;
}

/* The unit of a part of a segment. All parts of one are told in a row, so that their units follow each other; an engine
 * that tells more of them in a later run has these counted with the first. */
static int32_t part_of(cli_profile *profile, const tort_profile_step *step) {
    const size_t place = place_of(profile, TORT_PROFILED_PART, step->node);
    const int32_t first = profile->unit_of[place], its = first + step->part;
    if (first >= 0 && is_part(profile, its, step->node)) return its;
    if (first >= 0 && its != profile->unit_count) return first;
    cli_profile_unit *unit = add_unit(profile, TORT_PROFILED_PART, step->node);
    unit->path = cli_copy_text(step->part_name, strlen(step->part_name));
    unit->op = cli_copy_text(step->part_op, strlen(step->part_op));
    unit->provider = step->provider;
    unit->kernel = "part";
    unit->cost = (cli_cost){.bytes = -1, .flops = -1};
    if (first >= 0) profile->unit_of[place] = first;
    return profile->unit_count - 1;
}

/* The unit of a step; copies and conversions get theirs at their first event. */
static int32_t unit_of(cli_profile *profile, const tort_profile_step *step) {
    const int32_t known = profile->unit_of[place_of(profile, step->what, step->node)];
    if (step->what == TORT_PROFILED_PART) return part_of(profile, step);
    if (known >= 0) return known;
    const char *before = step->node < 0 ? "(outputs)" : path_of_node(profile, step->node);
    cli_profile_unit *unit = add_unit(profile, step->what, step->node);
    unit->path = before;
    unit->op = step->what == TORT_PROFILED_COPY ? "(copy)" : "(conversion)";
    unit->provider = step->provider;
    unit->kernel = "";
    return profile->unit_count - 1;
}

cli_profile *cli_profile_new(tort_session *session) {
    cli_profile *profile = cli_alloc(1, sizeof *profile);
    profile->report = cli_report(session);
    const int32_t count = profile->report->node_count;
    profile->places = count ? profile->report->nodes[count - 1]->index + 2 : 1;
    const size_t places = KINDS * (size_t)profile->places;
    profile->unit_of = cli_alloc(places, sizeof *profile->unit_of);
    for (size_t i = 0; i < places; i++) profile->unit_of[i] = -1;
    add_nodes(profile);
    return profile;
}

void cli_profile_free(cli_profile *profile) {
    if (!profile) return;
    tort_report_free(profile->report);
    for (int32_t i = 0; i < profile->unit_count; i++) {
        if (profile->units[i].what != TORT_PROFILED_PART) continue;
        free((char *)(uintptr_t)profile->units[i].path);
        free((char *)(uintptr_t)profile->units[i].op);
    }
    free(profile->units);
    free(profile->unit_of);
    free(profile->peaks);
    free(profile->runs);
    free(profile->events);
    free(profile->latest);
    free(profile);
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/* Sum of two amounts; unknown (negative) if one of them is. */
static double sum_of(double a, double b) {
    return a < 0 || b < 0 ? -1 : a + b;
}

static void add_cost(cli_cost *sum, const cli_cost *cost) {
    sum->seconds += cost->seconds;
    sum->calls += cost->calls;
    sum->bytes = sum_of(sum->bytes, cost->bytes);
    sum->flops = sum_of(sum->flops, cost->flops);
    sum->multiply_seconds += cost->multiply_seconds;
    sum->memory_seconds += cost->memory_seconds;
}

cli_cost cli_profile_total(const cli_profile *profile) {
    cli_cost total = {0};
    for (int32_t i = 0; i < profile->unit_count; i++) {
        cli_cost cost = profile->units[i].cost;
        if (cost.bytes < 0) cost.bytes = 0;
        if (cost.flops < 0) cost.flops = 0;
        add_cost(&total, &cost);
    }
    return total;
}

double cli_profile_share(const cli_profile *profile, double seconds) {
    return profile->seconds > 0 ? 100 * seconds / profile->seconds : 0;
}

/* Rate per second of `work`, which is an amount per run; 0 if unknown. */
static double rate(const cli_profile *profile, const cli_cost *cost, double work) {
    return work > 0 && cost->seconds > 0 ? work * profile->counted / cost->seconds : 0;
}

cli_speed cli_profile_speed(const cli_profile *profile, const cli_cost *cost) {
    const bool counted = cost->flops > 0, sized = cost->bytes > 0;
    return (cli_speed){.flops = rate(profile, cost, cost->flops),
                       .bytes = rate(profile, cost, cost->bytes),
                       .flops_percent = counted ? 100 * rate(profile, cost, cost->multiply_seconds) : 0,
                       .bytes_percent = sized ? 100 * rate(profile, cost, cost->memory_seconds) : 0};
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void add_work(cli_profile *profile, const tort_profile_step *step) {
    const cli_cost work = {.bytes = step->bytes, .flops = step->flops};
    const int32_t unit = unit_of(profile, step); /* which may move the units */
    add_cost(&profile->units[unit].cost, &work);
}

static void keep_event(cli_profile *profile, const tort_profile_step *step) {
    if (profile->latest_count == profile->latest_capacity) { /* kept from run to run */
        profile->latest_capacity = profile->latest_capacity ? 2 * profile->latest_capacity : 1024;
        profile->latest = cli_realloc(profile->latest, profile->latest_capacity, sizeof *profile->latest);
    }
    profile->latest[profile->latest_count++] =
        (cli_profile_event){step->begin, step->end, step->inside, unit_of(profile, step)};
}

static void told(void *ud, const tort_profile_step *step) {
    cli_profile *profile = ud;
    if (profile->finding_work)
        add_work(profile, step);
    else
        keep_event(profile, step);
}

/* Adds the events of a run that has ended to those of all runs. */
static void keep_run(cli_profile *profile) {
    while (profile->event_capacity < profile->event_count + profile->latest_count) {
        profile->event_capacity = profile->event_capacity ? 2 * profile->event_capacity : 1024;
        profile->events = cli_realloc(profile->events, profile->event_capacity, sizeof *profile->events);
    }
    if (profile->latest_count)
        memcpy(profile->events + profile->event_count, profile->latest,
               profile->latest_count * sizeof *profile->events);
    profile->event_count += profile->latest_count;
}

void cli_profile_begin(cli_profile *profile, tort_context *context, bool work) {
    profile->latest_count = 0;
    profile->finding_work = work;
    tort_context_profile(context, work, told, profile);
}

void cli_profile_end(cli_profile *profile, tort_context *context, double seconds) {
    tort_context_profile(context, false, NULL, NULL);
    if (profile->finding_work) return;
    profile->runs = cli_room(profile->runs, (size_t)profile->run_count, sizeof *profile->runs);
    profile->runs[profile->run_count++] = (cli_profile_run){seconds, profile->event_count, profile->latest_count};
    keep_run(profile);
}

bool cli_profile_is_full(const cli_profile *profile) {
    return profile->event_count >= ENOUGH_EVENTS;
}

/* ---- summing up -------------------------------------------------------------------------------------------------- */

static int faster_first(const void *a, const void *b) {
    const cli_profile_run *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static void add_run(cli_profile *profile, const cli_profile_run *run) {
    profile->seconds += run->seconds;
    for (size_t i = run->first; i < run->first + run->count; i++) {
        const cli_profile_event *event = &profile->events[i];
        cli_cost *cost = &profile->units[event->unit].cost;
        cost->seconds += 1e-9 * (double)(event->end - event->begin - event->inside);
        cost->calls++;
    }
}

static void sum_up(cli_profile *profile) {
    qsort(profile->runs, (size_t)profile->run_count, sizeof *profile->runs, faster_first);
    profile->counted = (profile->run_count + 1) / 2;
    for (int32_t i = 0; i < profile->counted; i++) add_run(profile, &profile->runs[i]);
}

static const tort_peak *peak_of(const cli_profile *profile, const char *provider) {
    static const tort_peak unknown;
    for (int32_t i = 0; i < profile->report->provider_count; i++)
        if (!strcmp(profile->report->providers[i]->name, provider)) return &profile->peaks[i];
    return &unknown;
}

static void measure_peaks(cli_profile *profile, tort_session *session) {
    const tort_report *report = profile->report;
    profile->peaks = cli_alloc((size_t)report->provider_count, sizeof *profile->peaks);
    for (int32_t i = 0; i < report->provider_count; i++)
        if (report->providers[i]->nodes)
            tort_session_peak(session, report->providers[i]->name, &profile->peaks[i], NULL);
    for (int32_t i = 0; i < profile->unit_count; i++) {
        cli_cost *cost = &profile->units[i].cost;
        const tort_peak *peak = peak_of(profile, profile->units[i].provider);
        if (cost->flops > 0 && peak->flops > 0) cost->multiply_seconds = cost->flops / peak->flops;
        if (cost->bytes > 0 && peak->bytes > 0) cost->memory_seconds = cost->bytes / peak->bytes;
    }
}

void cli_profile_finish(cli_profile *profile, tort_session *session) {
    cli_progress("measuring what this machine can do");
    sum_up(profile);
    measure_peaks(profile, session);
    cli_progress_end();
}

/* ---- by cost, by operator ---------------------------------------------------------------------------------------- */

static int dearest_first(const void *a, const void *b) {
    const cli_profile_unit *x = *(const cli_profile_unit *const *)a, *y = *(const cli_profile_unit *const *)b;
    if (x->cost.seconds != y->cost.seconds) return x->cost.seconds < y->cost.seconds ? 1 : -1;
    return (x > y) - (x < y);
}

const cli_profile_unit **cli_profile_order(const cli_profile *profile) {
    const cli_profile_unit **order = cli_alloc((size_t)profile->unit_count, sizeof *order);
    for (int32_t i = 0; i < profile->unit_count; i++) order[i] = &profile->units[i];
    qsort(order, (size_t)profile->unit_count, sizeof *order, dearest_first);
    return order;
}

static int dearer_operator(const void *a, const void *b) {
    const cli_profile_operator *x = a, *y = b;
    if (x->cost.seconds != y->cost.seconds) return x->cost.seconds < y->cost.seconds ? 1 : -1;
    return strcmp(x->op, y->op);
}

cli_profile_operator *cli_profile_operators(const cli_profile *profile, int32_t *count) {
    cli_profile_operator *operators = cli_alloc((size_t)profile->unit_count, sizeof *operators);
    *count = 0;
    for (int32_t i = 0; i < profile->unit_count; i++) {
        const cli_profile_unit *unit = &profile->units[i];
        int32_t k = 0;
        while (k < *count && strcmp(operators[k].op, unit->op) != 0) k++;
        if (k == *count) operators[(*count)++].op = unit->op;
        operators[k].units++;
        add_cost(&operators[k].cost, &unit->cost);
    }
    qsort(operators, (size_t)*count, sizeof *operators, dearer_operator);
    return operators;
}
