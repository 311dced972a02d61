/* bench.c - `tinyort bench`: latency of single runs of one context, after a warm-up, with inputs from files or random
 * inputs (seed 0 by default). Only tort_context_run is timed; it copies inputs to a device and outputs back unless
 * --bind keeps them there. A model with sequences, optionals or maps is timed through tort_context_run_values. With
 * --profile each run is followed by an observed one (profile.h), until enough steps are recorded. Devices and threads
 * are those of the session's report, not those of the command line. Ctrl-C ends the measuring, not the program: the
 * runs so far are reported, and the exit status is 130. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/inputs.h"
#include "runtime/cli/made_up.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/page.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/values.h"

#define MAX_RUNS 1000000

typedef struct measurement {
    double *milliseconds; /* sorted */
    int32_t runs;
    double peak_bytes;       /* peak resident memory of the process */
    double load_ms;          /* loading the model, planning, preparing weights */
    cli_profile *profile;    /* NULL without --profile */
    double *profiled;        /* milliseconds of the profile->run_count profiled runs, sorted */
    tort_device_calls calls; /* device calls of the last run without profiler */
} measurement;

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Nearest rank: the smallest time that at least this fraction of the runs did not exceed. */
static double percentile(const measurement *m, double fraction) {
    int32_t rank = (int32_t)ceil(fraction * m->runs);
    return m->milliseconds[rank > 0 ? rank - 1 : 0];
}

static double mean(const measurement *m) {
    double sum = 0;
    for (int32_t i = 0; i < m->runs; i++) sum += m->milliseconds[i];
    return sum / m->runs;
}

/* ---- inputs that stay in a provider's memory --------------------------------------------------------------------- */

/* Copies bound inputs into their provider's memory: tensors[i].data then points there. */
static tort_status move_inputs(tort_session *session, tort_context *context, const cli_inputs *inputs,
                               tort_tensor *tensors, tort_error *error) {
    tort_status status = TORT_OK;
    memcpy(tensors, inputs->tensors, (size_t)inputs->count * sizeof *tensors);
    for (int32_t i = 0; !status && i < inputs->count; i++) {
        const char *provider = tort_session_input_memory(session, i);
        size_t bytes;
        if (!provider || !tort_tensor_bytes(&tensors[i], &bytes)) continue;
        status = tort_memory_alloc(session, provider, bytes, &tensors[i].data, error);
        if (!status)
            status = tort_memory_copy(context, provider, tensors[i].data, inputs->tensors[i].data, bytes,
                                      TORT_TO_DEVICE, error);
    }
    return status;
}

static void free_moved(tort_session *session, const cli_inputs *inputs, tort_tensor *tensors) {
    for (int32_t i = 0; i < inputs->count; i++) {
        const char *provider = tort_session_input_memory(session, i);
        size_t bytes;
        if (provider && tensors[i].data != inputs->tensors[i].data && tort_tensor_bytes(&tensors[i], &bytes))
            tort_memory_free(session, provider, tensors[i].data, bytes);
    }
    free(tensors);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    interrupted = 1;
    signal(number, SIG_DFL); /* a second Ctrl-C ends the program, even during a run */
}

/* Arguments of every run: all runs have the same inputs. */
typedef struct runs {
    tort_context *context;
    const tort_tensor *inputs;
    tort_tensor *outputs;
    tort_value **values, **made; /* values: NULL if the model has only tensors */
    int32_t input_count, output_count;
} runs;

static tort_status run_once(const runs *r, double *milliseconds, tort_error *error) {
    memset(r->outputs, 0, (size_t)r->output_count * sizeof *r->outputs);
    const double start = cli_seconds();
    const tort_status status =
        r->values ? tort_context_run_values(r->context, (const tort_value *const *)r->values, r->input_count, r->made,
                                            r->output_count, error)
                  : tort_context_run(r->context, r->inputs, r->input_count, r->outputs, r->output_count, error);
    *milliseconds = 1e3 * (cli_seconds() - start);
    for (int32_t i = 0; r->values && i < r->output_count; i++) tort_value_release(r->made[i]);
    return status;
}

static tort_status warm_up(const cli_options *options, const runs *r, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && !interrupted && i < options->warmup; i++) {
        double taken;
        status = run_once(r, &taken, error);
        if (taken > 200) cli_progress("run %d: %.0f ms", i + 1 - options->warmup, taken);
    }
    return status;
}

/* Creates the profile and makes one run that collects bytes and FLOPs. */
static tort_status begin_profile(tort_session *session, const runs *r, measurement *m, tort_error *error) {
    double taken;
    m->profile = cli_profile_new(session);
    cli_profile_begin(m->profile, r->context, true);
    tort_status status = run_once(r, &taken, error);
    if (!status) cli_profile_end(m->profile, r->context, 0);
    return status;
}

static tort_status run_profiled(const runs *r, measurement *m, tort_error *error) {
    double *taken = &m->profiled[m->profile->run_count];
    cli_profile_begin(m->profile, r->context, false);
    tort_status status = run_once(r, taken, error);
    if (!status) cli_profile_end(m->profile, r->context, 1e-3 * *taken);
    return status;
}

/* Alternates plain and profiled runs, so that other load on the machine slows both alike, and their ratio is the
 * profiler's overhead. */
static tort_status measure_runs(const cli_options *options, const runs *r, measurement *m, tort_error *error) {
    const double seconds = options->seconds > 0 ? options->seconds : 3, begin = cli_seconds();
    const int32_t max = options->repeat ? options->repeat : MAX_RUNS;
    tort_status status = TORT_OK;
    while (!status && !interrupted && m->runs < max) {
        double taken;
        if (m->runs && !options->repeat && cli_seconds() - begin >= seconds) break;
        status = run_once(r, &taken, error);
        if (!status) status = tort_context_calls(r->context, NULL, &m->calls, error);
        if (!status && m->profile && !cli_profile_is_full(m->profile)) status = run_profiled(r, m, error);
        if (!status) m->milliseconds[m->runs++] = taken;
        if (taken > 200) cli_progress("run %d: %.0f ms", m->runs, taken);
    }
    return status;
}

static void sort_runs(measurement *m) {
    qsort(m->milliseconds, (size_t)m->runs, sizeof *m->milliseconds, by_size);
    if (!m->profile || !m->runs) return;
    const measurement profiled = {.milliseconds = m->profiled, .runs = m->profile->run_count};
    qsort(m->profiled, (size_t)profiled.runs, sizeof *m->profiled, by_size);
    m->profile->overhead = percentile(&profiled, 0.5) / percentile(m, 0.5);
}

/* Peak resident memory of this process. ru_maxrss survives exec, so it may be the peak of the shell that started us;
 * VmHWM belongs to the new memory map and is preferred where it exists. Both are in units of 1024 bytes. */
static double peak_resident_bytes(void) {
    char line[200];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lf kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    struct rusage usage;
    if (kilobytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0) kilobytes = (double)usage.ru_maxrss;
    return 1024 * kilobytes;
}

static tort_status measure(const cli_options *options, tort_session *session, const runs *r, measurement *m,
                           tort_error *error) {
    const size_t max = options->repeat ? (size_t)options->repeat : MAX_RUNS;
    m->milliseconds = cli_alloc(max, sizeof *m->milliseconds);
    if (cli_is_given(options, OPTION_PROFILE)) m->profiled = cli_alloc(max, sizeof *m->profiled);
    tort_status status = warm_up(options, r, error);
    if (!status && cli_is_given(options, OPTION_PROFILE) && !interrupted) status = begin_profile(session, r, m, error);
    if (!status) status = measure_runs(options, r, m, error);
    cli_progress_end();
    sort_runs(m);
    m->peak_bytes = peak_resident_bytes(); /* read before cli_profile_finish allocates blocks larger than any cache */
    if (!status && m->profile) cli_profile_finish(m->profile, session);
    if (!status && !m->runs) status = tort_fail(error, TORT_E_RUN, "interrupted before a run was measured");
    return status;
}

static tort_status measure_bound(const cli_options *options, const tort_model *model, tort_session *session,
                                 tort_context *context, const cli_inputs *inputs, measurement *m, tort_error *error) {
    tort_tensor *tensors = cli_alloc((size_t)inputs->count, sizeof *tensors);
    runs r = {.context = context,
              .inputs = tensors,
              .input_count = inputs->count,
              .output_count = tort_model_output_count(model)};
    r.outputs = cli_alloc((size_t)r.output_count, sizeof *r.outputs);
    r.made = cli_alloc((size_t)r.output_count, sizeof *r.made);
    if (!cli_only_tensors(model)) r.values = cli_input_values(inputs);
    tort_status status = move_inputs(session, context, inputs, tensors, error);
    if (!status) status = measure(options, session, &r, m, error);
    free_moved(session, inputs, tensors);
    cli_values_free(r.values, r.input_count);
    free(r.made);
    free(r.outputs);
    return status;
}

static tort_status work(cli_options *options, measurement *m, tort_model **loaded_model, tort_session **session,
                        tort_context **context, cli_inputs *inputs, tort_error *error) {
    const tort_model *model = NULL;
    tort_status status = cli_check_environment(error);
    double start = cli_seconds();
    if (!status) status = cli_open_either(options, loaded_model, session, &model, error);
    double loaded = cli_seconds();
    options->random = true;
    if (!status) status = cli_check_names(options, model, error);
    if (!status && options->trace) status = cli_check_new_file(options->trace, model, error);
    if (!status && options->html) status = cli_check_new_file(options->html, model, error);
    if (!status) status = cli_inputs_read(options, model, inputs, error);
    if (status) return status;
    double read = cli_seconds();
    tort_session_options session_options = cli_session_options(options, options->chains.items[0]);
    if (!*session) status = cli_open_session(model, &session_options, session, error);
    if (!status) status = tort_context_create(*session, context, error);
    m->load_ms = 1e3 * (loaded - start + cli_seconds() - read);
    if (!status) status = cli_settle_sizes(options, model, *context, inputs, error);
    if (status) return status;
    cli_inputs_tell(inputs);
    if (signal(SIGINT, interrupt) == SIG_IGN) signal(SIGINT, SIG_IGN);
    status = measure_bound(options, model, *session, *context, inputs, m, error);
    if (!status && options->trace) status = cli_profile_trace(m->profile, options->trace, error);
    if (!status && options->html)
        status = cli_page_write(options->html, options, *session, m->profile->report, m->profile, error);
    if (status && !interrupted) cli_inputs_explain(inputs, model, error);
    return status;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Largest thread count of the providers that run nodes; 0 if none runs on threads of this process. */
static int32_t threads_of(const tort_report *report) {
    int32_t threads = 0;
    for (int32_t i = 0; i < report->provider_count; i++)
        if (report->providers[i]->nodes && report->providers[i]->threads > threads)
            threads = report->providers[i]->threads;
    return threads;
}

/* The chain as typed, or the providers of a saved plan. The caller frees it. */
static char *chain_text(const cli_options *options, const tort_report *report) {
    const char *typed = options->chains.count ? options->chains.items[0] : "cpu";
    char *text = cli_copy_text(options->plan ? "" : typed, options->plan ? 0 : strlen(typed));
    for (int32_t i = 0; options->plan && i < report->provider_count; i++)
        cli_append(&text, "%s%s", i ? "," : "", report->providers[i]->name);
    return text;
}

static void fill_calls(const tort_device_calls *calls, cJSON *root) {
    cJSON *told = cJSON_AddObjectToObject(root, "calls");
    cJSON_AddNumberToObject(told, "launches", (double)calls->launches);
    cJSON_AddNumberToObject(told, "copies", (double)calls->copies);
    cJSON_AddNumberToObject(told, "waits", (double)calls->waits);
    cJSON_AddNumberToObject(told, "allocations", (double)calls->allocations);
}

/* Prints nothing if the run made no device calls. */
static void print_calls(const tort_device_calls *calls) {
    if (!calls->launches && !calls->copies && !calls->waits && !calls->allocations) return;
    cli_print(stdout, "  a run asks of devices: launches %llu, copies %llu, waits %llu, allocations %llu\n",
              (unsigned long long)calls->launches, (unsigned long long)calls->copies, (unsigned long long)calls->waits,
              (unsigned long long)calls->allocations);
}

static void fill_json(const cli_options *options, const measurement *m, const tort_report *report, cJSON *root) {
    char *chain = chain_text(options, report);
    cli_json_text(root, "ep", chain);
    free(chain);
    cli_json_number(root, "threads", threads_of(report) ? threads_of(report) : -1);
    cli_json_number(root, "runs", m->runs);
    cJSON_AddBoolToObject(root, "interrupted", interrupted != 0);
    cJSON *latency = cJSON_AddObjectToObject(root, "latency_ms");
    cJSON_AddNumberToObject(latency, "min", m->milliseconds[0]);
    cJSON_AddNumberToObject(latency, "median", percentile(m, 0.5));
    cJSON_AddNumberToObject(latency, "mean", mean(m));
    cJSON_AddNumberToObject(latency, "p90", percentile(m, 0.9));
    cJSON_AddNumberToObject(latency, "p99", percentile(m, 0.99));
    cJSON_AddNumberToObject(root, "load_ms", m->load_ms);
    cJSON_AddNumberToObject(root, "peak_rss_bytes", m->peak_bytes);
    fill_calls(&m->calls, root);
    if (m->profile) cli_profile_json(m->profile, root);
}

static void print_text(const cli_options *options, const measurement *m, const tort_report *report) {
    char peak[32], *counts = cli_counts_text(report), *chain = chain_text(options, report);
    const int32_t threads = threads_of(report);
    cli_print(stdout, "%s on --ep %s: %s\n", cli_model_path(options), chain, counts);
    free(chain);
    for (int32_t i = 0; i < report->provider_count; i++)
        if (!report->providers[i]->ready)
            cli_print_colour(stdout, CLI_YELLOW, "  nothing ran on %s, which did not open\n",
                             report->providers[i]->name);
    cli_print(stdout, "  min %.3f   median %.3f   mean %.3f   p90 %.3f   p99 %.3f ms\n", m->milliseconds[0],
              percentile(m, 0.5), mean(m), percentile(m, 0.9), percentile(m, 0.99));
    cli_print(stdout, "  %d run%s%s", m->runs, m->runs == 1 ? "" : "s", interrupted ? " until interrupted" : "");
    if (threads) cli_print(stdout, ", %d thread%s", threads, threads == 1 ? "" : "s");
    cli_print(stdout, ", load %.1f ms, peak memory %s\n", m->load_ms, cli_bytes_text(m->peak_bytes, peak, sizeof peak));
    print_calls(&m->calls);
    if (m->profile) cli_profile_print(m->profile, options->profile_all == 1, cli_width(stdout, 0));
    free(counts);
}

int cli_bench(cli_options *options) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    cli_inputs inputs = {0};
    measurement m = {0};
    tort_error error = {0};
    tort_status status = work(options, &m, &model, &session, &context, &inputs, &error);
    cJSON *json = cli_json_of(options);
    tort_report *report = status ? NULL : cli_report(session);
    if (report && json)
        fill_json(options, &m, report, json);
    else if (report)
        print_text(options, &m, report);
    tort_report_free(report);
    int result = cli_end(options, &(cli_ending){.error = &error,
                                                .exit_status = interrupted ? CLI_INTERRUPTED : 0,
                                                .sessions = &session,
                                                .session_count = 1,
                                                .json = json});
    cli_profile_free(m.profile);
    free(m.profiled);
    free(m.milliseconds);
    tort_context_free(context);
    cli_inputs_free(&inputs);
    tort_session_free(session);
    tort_model_free(model);
    return result;
}
