/* profile_json.c - a profile as JSON: an object in the document of bench, and a trace in a file of its own, which
 * chrome://tracing and ui.perfetto.dev show (profile.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/new_file.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/profile.h"

/* ---- the object "profile" ---------------------------------------------------------------------------------------- */

static void number_or_null(cJSON *object, const char *key, double number, bool known) {
    if (known)
        cJSON_AddNumberToObject(object, key, number);
    else
        cJSON_AddNullToObject(object, key);
}

static void cost_json(cJSON *item, const cli_profile *profile, const cli_cost *cost) {
    const cli_speed speed = cli_profile_speed(profile, cost);
    cJSON_AddNumberToObject(item, "calls", (double)cost->calls / profile->counted);
    cJSON_AddNumberToObject(item, "ms", 1e3 * cost->seconds / profile->counted);
    cJSON_AddNumberToObject(item, "percent", cli_profile_share(profile, cost->seconds));
    number_or_null(item, "flops", cost->flops, cost->flops >= 0);
    number_or_null(item, "bytes", cost->bytes, cost->bytes >= 0);
    number_or_null(item, "flops_per_s", speed.flops, speed.flops > 0);
    number_or_null(item, "flops_percent_of_peak", speed.flops_percent, speed.flops_percent > 0);
    number_or_null(item, "bytes_per_s", speed.bytes, speed.bytes > 0);
    number_or_null(item, "bytes_percent_of_peak", speed.bytes_percent, speed.bytes_percent > 0);
}

static const char *const kinds[] = {[TORT_PROFILED_NODE] = "node",
                                    [TORT_PROFILED_COPY] = "copy",
                                    [TORT_PROFILED_CONVERSION] = "conversion",
                                    [TORT_PROFILED_PART] = "part"};

static void units_json(cJSON *root, const cli_profile *profile) {
    cJSON *list = cJSON_AddArrayToObject(root, "units");
    const cli_profile_unit **order = cli_profile_order(profile);
    for (int32_t i = 0; i < profile->unit_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "kind", kinds[order[i]->what]);
        cli_json_number(item, "node", order[i]->node);
        cli_json_text(item, "path", order[i]->path);
        cli_json_text(item, "op", order[i]->op);
        cli_json_text(item, "provider", order[i]->provider);
        cli_json_text(item, "kernel", order[i]->kernel);
        cost_json(item, profile, &order[i]->cost);
        cJSON_AddItemToArray(list, item);
    }
    free(order);
}

static void operators_json(cJSON *root, const cli_profile *profile) {
    int32_t count;
    cli_profile_operator *operators = cli_profile_operators(profile, &count);
    cJSON *list = cJSON_AddArrayToObject(root, "operators");
    for (int32_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "op", operators[i].op);
        cli_json_number(item, "units", operators[i].units);
        cost_json(item, profile, &operators[i].cost);
        cJSON_AddItemToArray(list, item);
    }
    free(operators);
}

static void peaks_json(cJSON *root, const cli_profile *profile) {
    cJSON *peaks = cJSON_AddObjectToObject(root, "peaks");
    for (int32_t i = 0; i < profile->report->provider_count; i++) {
        const tort_peak *peak = &profile->peaks[i];
        cJSON *item = cJSON_AddObjectToObject(peaks, profile->report->providers[i]->name);
        number_or_null(item, "flops_per_s", peak->flops, peak->flops > 0);
        number_or_null(item, "bytes_per_s", peak->bytes, peak->bytes > 0);
    }
}

void cli_profile_json(const cli_profile *profile, cJSON *root) {
    const cli_cost total = cli_profile_total(profile);
    cJSON *object = cJSON_AddObjectToObject(root, "profile");
    cli_json_number(object, "runs", profile->run_count);
    cli_json_number(object, "counted_runs", profile->counted);
    cJSON_AddNumberToObject(object, "ms", 1e3 * profile->seconds / profile->counted);
    cJSON_AddNumberToObject(object, "overhead", profile->overhead);
    cJSON_AddNumberToObject(object, "between_percent", cli_profile_share(profile, profile->seconds - total.seconds));
    peaks_json(object, profile);
    units_json(object, profile);
    operators_json(object, profile);
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

enum { PROCESS = 1 };

/* Row of a provider in the trace: its place in the chain from 1 on; "host" follows the last. */
static int32_t row_of(const cli_profile *profile, const char *provider) {
    int32_t row = 0;
    while (row < profile->report->provider_count && strcmp(profile->report->providers[row]->name, provider) != 0) row++;
    return row + 1;
}

static cJSON *event_json(const char *kind, const char *name, int32_t row) {
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "ph", kind);
    cli_json_text(item, "name", name);
    cli_json_number(item, "pid", PROCESS);
    cli_json_number(item, "tid", row);
    return item;
}

static cJSON *row_json(const char *name, int32_t row) {
    cJSON *item = event_json("M", "thread_name", row);
    cli_json_text(cJSON_AddObjectToObject(item, "args"), "name", name);
    return item;
}

/* A step as an event of the trace; times are microseconds after the first event. */
static cJSON *step_json(const cli_profile *profile, const cli_profile_event *event, int64_t origin) {
    const cli_profile_unit *unit = &profile->units[event->unit];
    cJSON *item = event_json("X", unit->path, row_of(profile, unit->provider));
    cli_json_text(item, "cat", unit->op);
    cJSON_AddNumberToObject(item, "ts", 1e-3 * (double)(event->begin - origin));
    cJSON_AddNumberToObject(item, "dur", 1e-3 * (double)(event->end - event->begin));
    cJSON *more = cJSON_AddObjectToObject(item, "args");
    cli_json_text(more, "op", unit->op);
    cli_json_text(more, "kernel", unit->kernel);
    cli_json_number(more, "node", unit->node);
    return item;
}

static int64_t first_begin(const cli_profile *profile) {
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < profile->event_count; i++)
        if (profile->events[i].begin < first) first = profile->events[i].begin;
    return first;
}

/* Writes one event per line, so that the document is never in memory as a whole. */
static void write_trace(const cli_profile *profile, FILE *file) {
    const tort_report *report = profile->report;
    const int64_t origin = first_begin(profile);
    cli_print(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (int32_t i = 0; i < report->provider_count; i++) {
        cli_json_write(file, row_json(report->providers[i]->name, i + 1), false);
        cli_print(file, ",\n");
    }
    cli_json_write(file, row_json("host", report->provider_count + 1), false);
    for (size_t i = 0; i < profile->event_count; i++) {
        cli_print(file, ",\n");
        cli_json_write(file, step_json(profile, &profile->events[i], origin), false);
    }
    cli_print(file, "\n]}\n");
}

tort_status cli_profile_trace(const cli_profile *profile, const char *path, tort_error *error) {
    tort_new_file file;
    tort_status status = cli_new_file_open(path, &file, error);
    if (!status) {
        write_trace(profile, file.stream);
        if (ferror(file.stream)) file.cause = errno;
        status = cli_new_file_end(&file, TORT_OK, error);
    }
    return cli_failed_write(status, error);
}
