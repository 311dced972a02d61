/* sweep.c - `tinyort bench --sweep NAME=1,2,4`: the model is measured anew for each size of a dimension, or for each
 * number of threads or contexts, on each --ep; the figures are a table or JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/bench.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/table.h"

enum { MAX_VALUES = 64 };

typedef enum sweep_kind { SWEEP_SIZES, SWEEP_THREADS, SWEEP_CONTEXTS } sweep_kind;

typedef struct sweep_point {
    int32_t value;                 /* of what is swept */
    double low, median, high, p99; /* milliseconds: the 10th, 50th, 90th and 99th percentile */
    double rate;                   /* runs a second: of one context that of the median */
    double done; /* in a second: runs or, where the size of a dimension is swept, that many times the runs */
} sweep_point;

typedef struct sweep_series {
    const char *name; /* borrowed */
    sweep_point *points;
    int32_t count;
} sweep_series;

typedef struct sweep {
    cli_options *options;
    sweep_kind kind;
    char *name; /* of the dimension, or "threads", "contexts" */
    int32_t values[MAX_VALUES], count;
    int32_t chain_count;
    const char *const *chains; /* as typed; an entry may be NULL */
    sweep_series *series;      /* by chain */
    cli_bench_job *last;       /* by chain: the job of the newest point, whose session the end reports */
    cJSON *points;             /* NULL without --json */
} sweep;

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static tort_status read_sweep(sweep *s, tort_error *error) {
    const char *text = s->options->sweep, *equals = strrchr(text, '=');
    bool good = equals && equals != text;
    for (const char *p = good ? equals + 1 : ""; good;) {
        char *end;
        errno = 0;
        const long value = strtol(p, &end, 10);
        good = end != p && !errno && value >= 1 && value <= INT32_MAX && s->count < MAX_VALUES;
        if (good) s->values[s->count++] = (int32_t)value;
        if (!good || !*end) break;
        good = *end == ',';
        p = end + 1;
    }
    if (!good)
        return tort_fail(error, TORT_E_USAGE,
                         "--sweep wants a name and at most %d numbers, as in batch=1,2,4,8 or threads=1,2, not '%s'",
                         MAX_VALUES, text);
    s->name = cli_copy_text(text, (size_t)(equals - text));
    s->kind = !strcmp(s->name, "threads") ? SWEEP_THREADS : !strcmp(s->name, "contexts") ? SWEEP_CONTEXTS : SWEEP_SIZES;
    for (int32_t i = 0; s->kind == SWEEP_CONTEXTS && i < s->count; i++)
        if (s->values[i] > CLI_MAX_CONTEXTS)
            return tort_fail(error, TORT_E_USAGE, "--sweep contexts=%d: at most %d", s->values[i], CLI_MAX_CONTEXTS);
    if (s->kind == SWEEP_THREADS && s->options->plan)
        return tort_fail(error, TORT_E_USAGE,
                         "--sweep threads beside --plan: the saved plan has settled its providers");
    if (s->kind == SWEEP_CONTEXTS && s->options->contexts)
        return tort_fail(error, TORT_E_USAGE, "--sweep contexts beside --contexts: take one of them");
    for (int32_t i = 0; s->kind == SWEEP_SIZES && i < s->options->fixed.shape_count; i++)
        if (!strcmp(s->options->fixed.shapes[i].name, s->name))
            return tort_fail(error, TORT_E_USAGE, "--sweep %s beside --shape %s: take one of them", s->name, s->name);
    return TORT_OK;
}

/* "cuda,cpu:isa=v3" with "threads=N" in the part of the cpu. The caller frees; NULL: there is no such part, or its
 * threads are set already. */
static char *with_threads(const char *chain, int32_t threads) {
    char *text = cli_copy_text("", 0);
    bool found = false;
    for (const char *p = chain ? chain : "cpu"; *p;) {
        const size_t length = strcspn(p, ",");
        const bool is_cpu = length >= 3 && !memcmp(p, "cpu", 3) && (length == 3 || p[3] == ':');
        const char *set = strstr(p, ":threads=");
        cli_append(&text, "%s%.*s", *text ? "," : "", (int)length, p);
        const bool open = is_cpu && !(set && set < p + length);
        if (open) cli_append(&text, ":threads=%d", threads);
        found = found || open;
        p += length + (p[length] == ',');
    }
    if (found) return text;
    free(text);
    return NULL;
}

/* Gives the dimension, or input, this size: among the options of --shape. */
static tort_status set_size(sweep *s, int32_t size, tort_error *error) {
    cli_shapes *fixed = &s->options->fixed;
    int64_t *known = NULL;
    for (int32_t i = 0; i < fixed->symbol_count; i++)
        if (!strcmp(fixed->symbols[i].name, s->name)) known = &fixed->symbols[i].size;
    for (int32_t i = 0; i < fixed->shape_count; i++)
        if (!strcmp(fixed->shapes[i].name, s->name)) known = &fixed->shapes[i].dims[0];
    if (known) {
        *known = size;
        return TORT_OK;
    }
    char *text = cli_format("%s=%d", s->name, size);
    const tort_status status = cli_read_shapes(&cli_option_table[OPTION_SWEEP], text, fixed, error);
    free(text);
    return status;
}

/* Sets the options for one point; *chain: a chain made for it, which the caller frees. */
static tort_status set_point(sweep *s, int32_t c, int32_t value, char **chain, tort_error *error) {
    *chain = NULL;
    s->options->chains.items[0] = s->chains[c];
    if (s->kind == SWEEP_SIZES) return set_size(s, value, error);
    if (s->kind == SWEEP_CONTEXTS) {
        s->options->contexts = value;
        return TORT_OK;
    }
    *chain = with_threads(s->chains[c], value);
    s->options->chains.items[0] = *chain;
    if (*chain) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "--sweep threads: --ep %s has no cpu whose threads are open",
                     s->series[c].name);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static void keep_point(sweep *s, int32_t c, const cli_bench_job *job, int32_t value) {
    const cli_measurement *m = &job->measured;
    const double rate = job->context_count > 1 ? (double)m->runs / m->seconds : 1e3 / cli_percentile(m, 0.5);
    sweep_series *series = &s->series[c];
    series->points[series->count++] = (sweep_point){.value = value,
                                                    .low = cli_percentile(m, 0.1),
                                                    .median = cli_percentile(m, 0.5),
                                                    .high = cli_percentile(m, 0.9),
                                                    .p99 = cli_percentile(m, 0.99),
                                                    .rate = rate,
                                                    .done = s->kind == SWEEP_SIZES ? value * rate : rate};
    if (!s->points) return;
    tort_report *report = cli_report(job->session);
    cJSON *point = cJSON_CreateObject();
    cli_json_text(point, "ep", series->name);
    cli_json_number(point, "value", value);
    cli_bench_json(job, report, point);
    cJSON_AddItemToArray(s->points, point);
    tort_report_free(report);
}

static tort_status measure_point(sweep *s, int32_t c, int32_t value, tort_error *error) {
    char *chain;
    cli_bench_free(&s->last[c]);
    s->last[c] = (cli_bench_job){.quiet = s->series[c].count > 0};
    tort_status status = set_point(s, c, value, &chain, error);
    if (!status) {
        cli_progress("--ep %s, %s=%d", s->series[c].name, s->name, value);
        status = cli_bench_open(&s->last[c], s->options, error);
        if (!status) status = cli_bench_turn(&s->last[c], s->options, NULL, error);
        cli_progress_end();
    }
    s->options->chains.items[0] = s->chains[0];
    free(chain);
    if (!status)
        keep_point(s, c, &s->last[c], value);
    else if (status != TORT_E_USAGE)
        tort_error_prefix(error, "%s=%d on --ep %s", s->name, value, s->series[c].name);
    return status;
}

static tort_status measure_all(sweep *s, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < s->count; i++) /* chains side by side, so that both see the same machine */
        for (int32_t c = 0; !status && !cli_bench_interrupted() && c < s->chain_count; c++)
            status = measure_point(s, c, s->values[i], error);
    return status;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Prints the points, also those before an error. */
static void print_series(const sweep *s, const sweep_series *series) {
    if (!series->count) return;
    char *titles = cli_format("%s>|p10>|median>|p90>|p99 ms>|runs/s>|%s>|", s->name, s->kind ? "speedup" : "a second");
    cli_table *table = cli_table_new(titles, 2);
    for (int32_t i = 0; i < series->count; i++) {
        const sweep_point *p = &series->points[i];
        const double times[] = {p->low, p->median, p->high, p->p99};
        cli_cell(table, CLI_BOLD, "%d", p->value);
        for (int k = 0; k < 4; k++) cli_cell(table, CLI_PLAIN, "%.3f", times[k]);
        cli_cell(table, CLI_PLAIN, "%.1f", p->rate);
        if (s->kind == SWEEP_SIZES)
            cli_cell(table, CLI_PLAIN, "%.1f", p->done);
        else
            cli_cell(table, CLI_PLAIN, "%.2f", p->done / series->points[0].done);
        cli_row_end(table);
    }
    cli_print(stdout, "%s on --ep %s\n", cli_model_path(s->options), series->name);
    cli_table_print(table, stdout, cli_width(stdout, s->options->width));
    free(titles);
}

static int end(const sweep *s, const tort_error *error, cJSON *json) {
    tort_session **sessions = cli_alloc((size_t)s->chain_count, sizeof *sessions);
    for (int32_t c = 0; c < s->chain_count; c++) sessions[c] = s->last[c].session;
    if (json && s->name) {
        cJSON *told = cJSON_AddObjectToObject(json, "sweep");
        cli_json_text(told, "name", s->name);
        cJSON_AddItemToObject(told, "points", s->points);
        cJSON_AddBoolToObject(json, "interrupted", cli_bench_interrupted());
    } else {
        cJSON_Delete(s->points);
    }
    const int result = cli_end(s->options, &(cli_ending){.error = error,
                                                         .exit_status = cli_bench_interrupted() ? CLI_INTERRUPTED : 0,
                                                         .sessions = sessions,
                                                         .session_count = s->chain_count,
                                                         .json = json});
    free(sessions);
    return result;
}

int cli_sweep(cli_options *options) {
    tort_error error = {0};
    const int32_t count = options->chains.count ? options->chains.count : 1;
    cJSON *json = cli_json_of(options);
    const char **chains = cli_alloc((size_t)count, sizeof *chains);
    memcpy(chains, options->chains.items, (size_t)count * sizeof *chains);
    sweep s = {.options = options,
               .chain_count = count,
               .chains = chains,
               .series = cli_alloc((size_t)count, sizeof *s.series),
               .last = cli_alloc((size_t)count, sizeof *s.last),
               .points = json ? cJSON_CreateArray() : NULL};
    for (int32_t c = 0; c < count; c++) {
        s.series[c].name = chains[c] ? chains[c] : options->plan ? options->plan : "cpu";
        s.series[c].points = cli_alloc(MAX_VALUES, sizeof *s.series[c].points);
    }
    if (!read_sweep(&s, &error)) measure_all(&s, &error);
    for (int32_t c = 0; !json && c < count; c++) print_series(&s, &s.series[c]);
    const int result = end(&s, &error, json);
    for (int32_t c = 0; c < count; c++) {
        cli_bench_free(&s.last[c]);
        free(s.series[c].points);
    }
    free(s.series);
    free(s.last);
    free(s.name);
    free(chains);
    return result;
}
