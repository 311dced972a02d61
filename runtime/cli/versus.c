/* versus.c - `tinyort bench --ep A --ep B`: chains side by side, on the same inputs. They are measured in turns, in an
 * order that is reversed every time, so that other work on the machine slows all of them alike; a factor is told with
 * what it was in single turns. What copies between memories cost is observed in runs of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/bench.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/table.h"

enum { TURNS = 10 };

typedef struct contender {
    const char *chain; /* as typed */
    cli_bench_job job;
    double medians[TURNS];    /* of each turn, in milliseconds */
    double factor, low, high; /* median of the turns' factors against the fastest, the second lowest and highest */
    double copy_ms;           /* of a run; negative: unknown, or there are none */
    tort_report *report;
} contender;

typedef struct versus {
    cli_options *options;
    contender *list;
    int32_t count, turns, fastest;
} versus;

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static tort_status measure(versus *v, tort_error *error) {
    cli_options *options = v->options;
    const double seconds = options->seconds > 0 ? options->seconds : 3;
    const int32_t runs = options->repeat;
    v->turns = runs && runs < TURNS ? runs : TURNS;
    options->seconds = seconds / v->turns;
    tort_status status = TORT_OK;
    for (int32_t t = 0; !status && t < v->turns; t++) {
        for (int32_t i = 0; !status && !cli_bench_interrupted() && i < v->count; i++) {
            contender *c = &v->list[t % 2 ? v->count - 1 - i : i];
            options->repeat = runs ? runs / v->turns + (t < runs % v->turns) : 0;
            cli_progress("turn %d of %d: --ep %s", t + 1, v->turns, c->chain);
            status = cli_bench_turn(&c->job, options, &c->medians[t], error);
            if (status) tort_error_prefix(error, "--ep %s", c->chain);
        }
        if (cli_bench_interrupted()) v->turns = t; /* those that all chains had */
    }
    cli_progress_end();
    options->repeat = runs;
    if (!status && !v->turns) status = tort_fail(error, TORT_E_RUN, "interrupted before each chain had a turn");
    return status;
}

/* Observes some runs of a chain that copies. */
static tort_status observe_copies(const versus *v, contender *c, tort_error *error) {
    enum { OBSERVED = 20 };
    cli_bench_job *job = &c->job;
    const cli_measurement measured = job->measured;
    if (!measured.calls.copies || job->context_count > 1) return TORT_OK;
    cli_options few = *v->options;
    few.repeat = OBSERVED;
    job->profiled = true;
    job->measured = (cli_measurement){0};
    const tort_status status = cli_bench_turn(job, &few, NULL, error);
    const cli_profile *profile = job->measured.profile;
    double seconds = 0;
    for (int32_t i = 0; !status && i < profile->unit_count; i++)
        if (profile->units[i].what == TORT_PROFILED_COPY) seconds += profile->units[i].cost.seconds;
    if (!status) c->copy_ms = 1e3 * seconds / profile->counted;
    cli_measurement_free(&job->measured);
    job->measured = measured;
    return status;
}

static void find_factors(versus *v) {
    for (int32_t i = 1; i < v->count; i++)
        if (cli_percentile(&v->list[i].job.measured, 0.5) < cli_percentile(&v->list[v->fastest].job.measured, 0.5))
            v->fastest = i;
    for (int32_t i = 0; i < v->count; i++) {
        contender *c = &v->list[i];
        double factors[TURNS];
        for (int32_t t = 0; t < v->turns; t++) factors[t] = c->medians[t] / v->list[v->fastest].medians[t];
        qsort(factors, (size_t)v->turns, sizeof *factors, cli_by_size);
        c->factor = factors[v->turns / 2];
        c->low = factors[v->turns > 2 ? 1 : 0];
        c->high = factors[v->turns - (v->turns > 2 ? 2 : 1)];
    }
}

static tort_status work(versus *v, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < v->count; i++) {
        contender *c = &v->list[i];
        v->options->chains.items[0] = c->chain;
        c->job.quiet = i > 0;
        c->copy_ms = -1;
        status = cli_bench_open(&c->job, v->options, error);
        if (status && status != TORT_E_USAGE) tort_error_prefix(error, "--ep %s", c->chain);
    }
    if (!status) status = measure(v, error);
    for (int32_t i = 0; !status && !cli_bench_interrupted() && i < v->count; i++)
        status = observe_copies(v, &v->list[i], error);
    if (status) return status;
    for (int32_t i = 0; i < v->count; i++) v->list[i].report = cli_report(v->list[i].job.session);
    find_factors(v);
    return TORT_OK;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* The provider other than cpu on which most nodes ran; NULL: none. */
static const tort_report_provider *device_of(const contender *c) {
    const tort_report_provider *found = NULL;
    for (int32_t i = 0; i < c->report->provider_count; i++) {
        const tort_report_provider *provider = c->report->providers[i];
        if (strcmp(provider->name, "cpu") != 0 && provider->nodes > (found ? found->nodes : 0)) found = provider;
    }
    return found;
}

static void print_table(const versus *v) {
    cli_table *table = cli_table_new("--ep|runs>|p10>|median>|p90>|p99 ms>|runs/s>|copies ms>|", 2);
    for (int32_t i = 0; i < v->count; i++) {
        const contender *c = &v->list[i];
        const cli_measurement *m = &c->job.measured;
        const double times[] = {cli_percentile(m, 0.1), cli_percentile(m, 0.5), cli_percentile(m, 0.9),
                                cli_percentile(m, 0.99)};
        cli_cell(table, i == v->fastest ? CLI_BOLD : CLI_PLAIN, "%s", c->chain);
        cli_cell(table, CLI_PLAIN, "%lld", (long long)m->runs);
        for (int k = 0; k < 4; k++) cli_cell(table, CLI_PLAIN, "%.3f", times[k]);
        cli_cell(table, CLI_PLAIN, "%.1f", (double)m->runs / m->seconds);
        if (c->copy_ms >= 0) cli_cell(table, CLI_PLAIN, "%.3f", c->copy_ms);
        cli_row_end(table);
    }
    cli_table_print(table, stdout, cli_width(stdout, v->options->width));
}

/* How a chain does beside the fastest. */
static void print_factor(const versus *v, const contender *c) {
    const char *fastest = v->list[v->fastest].chain;
    if (c->low <= 1)
        cli_print_line(stdout,
                       "%s and %s do not differ by more than these runs show (%.2f to %.2f in most of %d turns)\n",
                       fastest, c->chain, 1 / c->high, 1 / c->low, v->turns);
    else
        cli_print(stdout, "%s is %.2f times as fast as %s (%.2f to %.2f in most of %d turns)\n", fastest, c->factor,
                  c->chain, c->low, c->high, v->turns);
}

/* Answers whether the device is worth it, for two chains of which one has a device. */
static void print_verdict(const versus *v) {
    if (v->count != 2) return;
    const tort_report_provider *devices[] = {device_of(&v->list[0]), device_of(&v->list[1])};
    const int32_t with = devices[0] ? 0 : 1;
    const tort_report_provider *device = devices[with];
    if (!device && (v->list[0].report->provider_count > 1 || v->list[1].report->provider_count > 1))
        cli_print(stdout, "no node ran on a device: both chains ran on the processor\n");
    if (!device || devices[1 - with]) return;
    const contender *c = &v->list[with], *other = &v->list[1 - with];
    const bool differ = (with == v->fastest ? other : c)->low > 1, worth = differ && with == v->fastest;
    const double spared = cli_percentile(&c->job.measured, 0.5) - fmax(c->copy_ms, 0);
    cli_print_colour(stdout, worth ? CLI_GREEN : CLI_YELLOW,
                     "%s is %sworth it for this model, these inputs and this machine", device->name,
                     worth ? "" : "not ");
    if (c->copy_ms >= 0)
        cli_print(stdout, "; %.0f %% of a run are copies%s", 100 * c->copy_ms / cli_percentile(&c->job.measured, 0.5),
                  !worth && spared < cli_percentile(&other->job.measured, 0.5)
                      ? ", without which it would be: --bind keeps values there, a larger batch copies no oftener"
                      : "");
    cli_print(stdout, "%s\n", strstr(device->description, "simulated") ? "; but it is simulated, and no GPU" : "");
}

static void fill_json(const versus *v, cJSON *json) {
    cJSON *told = cJSON_AddObjectToObject(json, "versus"), *list = cJSON_AddArrayToObject(told, "chains");
    cli_json_number(told, "turns", v->turns);
    cli_json_text(told, "fastest", v->list[v->fastest].chain);
    for (int32_t i = 0; i < v->count; i++) {
        const contender *c = &v->list[i];
        cJSON *item = cJSON_CreateObject();
        cli_json_text(item, "ep", c->chain);
        cli_bench_json(&c->job, c->report, item);
        cJSON_AddNumberToObject(item, "factor", c->factor);
        cJSON_AddNumberToObject(item, "factor_low", c->low);
        cJSON_AddNumberToObject(item, "factor_high", c->high);
        if (c->copy_ms >= 0)
            cJSON_AddNumberToObject(item, "copy_ms", c->copy_ms);
        else
            cJSON_AddNullToObject(item, "copy_ms");
        cJSON_AddItemToArray(list, item);
    }
}

static void tell(const versus *v, cJSON *json) {
    if (json) {
        fill_json(v, json);
        return;
    }
    cli_print(stdout, "%s, %d chains in turns\n", cli_model_path(v->options), v->count);
    print_table(v);
    for (int32_t i = 0; i < v->count; i++)
        if (i != v->fastest) print_factor(v, &v->list[i]);
    print_verdict(v);
}

int cli_versus(cli_options *options) {
    tort_error error = {0};
    const char *first = options->chains.items[0];
    const int32_t count = options->chains.count;
    versus v = {.options = options, .count = count, .list = cli_alloc((size_t)count, sizeof *v.list)};
    tort_session **sessions = cli_alloc((size_t)count, sizeof *sessions);
    for (int32_t i = 0; i < count; i++) v.list[i].chain = options->chains.items[i];
    cJSON *json = cli_json_of(options);
    const tort_status status = work(&v, &error);
    options->chains.items[0] = first;
    if (!status) tell(&v, json);
    if (json) cJSON_AddBoolToObject(json, "interrupted", cli_bench_interrupted());
    for (int32_t i = 0; i < count; i++) sessions[i] = v.list[i].job.session;
    const int result = cli_end(options, &(cli_ending){.error = &error,
                                                      .exit_status = cli_bench_interrupted() ? CLI_INTERRUPTED : 0,
                                                      .sessions = sessions,
                                                      .session_count = count,
                                                      .json = json});
    for (int32_t i = 0; i < count; i++) {
        tort_report_free(v.list[i].report);
        cli_bench_free(&v.list[i].job);
    }
    free(v.list);
    free(sessions);
    return result;
}
