/* bench.c - `tinyort bench`: latency of single runs of a context, after a warm-up, with inputs from files or random
 * inputs (seed 0 by default). With --contexts several contexts of the session run side by side, each on a thread of
 * its own, and how many runs they make in a second is told, too. Only tort_context_run is timed; it copies inputs to a
 * device and outputs back unless --bind keeps them there. A model with sequences, optionals or maps is timed through
 * tort_context_run_values. With
 * --profile each run is followed by an observed one (profile.h), until enough steps are recorded. Devices and threads
 * are those of the session's report, not those of the command line. Ctrl-C ends the measuring, not the program: the
 * runs so far are reported, and the exit status is 130. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/cli/bench.h"
#include "runtime/cli/files/whole_file.h"
#include "runtime/cli/random.h"
#include "runtime/cli/opening.h"
#include "runtime/cli/option_table.h"
#include "runtime/cli/page.h"
#include "runtime/cli/report_json.h"
#include "runtime/cli/values.h"
#include "runtime/core/base/locale.h"

#define MAX_RUNS 1000000

int cli_by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Nearest rank: the smallest time that at least this fraction of the runs did not exceed. */
double cli_percentile(const cli_measurement *m, double fraction) {
    const int64_t rank = (int64_t)ceil(fraction * (double)m->runs);
    return m->milliseconds[rank > 0 ? rank - 1 : 0];
}

static double mean(const cli_measurement *m) {
    double sum = 0;
    for (int64_t i = 0; i < m->runs; i++) sum += m->milliseconds[i];
    return sum / (double)m->runs;
}

/* ---- inputs that stay in a provider's memory --------------------------------------------------------------------- */

/* Copies bound inputs into their provider's memory, where all contexts read them: tensors[i].data then points there. */
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

static atomic_bool interrupted; /* by a signal handler, and asked by all threads */

bool cli_bench_interrupted(void) {
    return atomic_load(&interrupted);
}

static void interrupt(int number) {
    atomic_store(&interrupted, true);
    signal(number, SIG_DFL); /* a second Ctrl-C ends the program, even during a run */
}

/* A context and what is measured of it, by a thread of its own if there are several. All runs have the same inputs. */
typedef struct lane {
    const cli_options *options;
    tort_context *context;
    const tort_tensor *inputs;
    tort_tensor *outputs;
    tort_value **values, **made; /* values: NULL if the model has only tensors */
    int32_t input_count, output_count;
    bool tells;           /* of slow runs, on a terminal: one lane alone does */
    double *milliseconds; /* of its runs: a part of the array of all */
    int32_t runs;
    cli_measurement *all; /* with the profile, of which there is none if there are several lanes */
    atomic_bool *failed;  /* some lane has failed: the others end after their run */
    bool first_failed;
    tort_error error;
} lane;

static tort_status run_once(lane *l, double *milliseconds) {
    memset(l->outputs, 0, (size_t)l->output_count * sizeof *l->outputs);
    const double start = cli_seconds();
    const tort_status status =
        l->values ? tort_context_run_values(l->context, (const tort_value *const *)l->values, l->input_count, l->made,
                                            l->output_count, &l->error)
                  : tort_context_run(l->context, l->inputs, l->input_count, l->outputs, l->output_count, &l->error);
    *milliseconds = 1e3 * (cli_seconds() - start);
    for (int32_t i = 0; l->values && i < l->output_count; i++) tort_value_release(l->made[i]);
    return status;
}

static bool must_end(const lane *l) {
    return atomic_load(&interrupted) || atomic_load(l->failed);
}

static void tell_run(const lane *l, int32_t number, double milliseconds) {
    if (l->tells && milliseconds > 200) cli_progress("run %d: %.0f ms", number, milliseconds);
}

static tort_status warm_up(lane *l) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && !must_end(l) && i < l->options->warmup; i++) {
        double taken;
        status = run_once(l, &taken);
        tell_run(l, i + 1 - l->options->warmup, taken);
    }
    return status;
}

/* Creates the profile and makes one run that collects bytes and FLOPs. */
static tort_status begin_profile(tort_session *session, lane *l, tort_error *error) {
    double taken;
    cli_profile *profile = l->all->profile = cli_profile_new(session);
    cli_profile_begin(profile, l->context, true);
    tort_status status = run_once(l, &taken);
    if (!status) cli_profile_end(profile, l->context, 0);
    if (status) *error = l->error;
    return status;
}

static tort_status run_profiled(lane *l) {
    cli_profile *profile = l->all->profile;
    double *taken = &l->all->profiled[profile->run_count];
    cli_profile_begin(profile, l->context, false);
    tort_status status = run_once(l, taken);
    if (!status) cli_profile_end(profile, l->context, 1e-3 * *taken);
    return status;
}

static int32_t max_runs(const cli_options *options) {
    return options->repeat ? options->repeat : MAX_RUNS;
}

/* Alternates plain and profiled runs, so that other load on the machine slows both alike, and their ratio is the
 * profiler's overhead. */
static tort_status measure_runs(lane *l) {
    const cli_options *options = l->options;
    const double seconds = options->seconds > 0 ? options->seconds : 3, begin = cli_seconds();
    const int32_t max = max_runs(options);
    const cli_profile *profile = l->all->profile;
    tort_status status = TORT_OK;
    while (!status && !must_end(l) && l->runs < max) {
        double taken;
        if (l->runs && !options->repeat && cli_seconds() - begin >= seconds) break;
        status = run_once(l, &taken);
        if (!status && l->tells) status = tort_context_calls(l->context, NULL, &l->all->calls, &l->error);
        if (!status && profile && !cli_profile_is_full(profile)) status = run_profiled(l);
        if (!status) l->milliseconds[l->runs++] = taken;
        tell_run(l, l->runs, taken);
    }
    return status;
}

/* ---- contexts side by side --------------------------------------------------------------------------------------- */

static void *end_lane(lane *l, tort_status status) {
    l->first_failed = status && !atomic_exchange(l->failed, true);
    return NULL;
}

static void *warm_up_lane(void *arg) {
    return end_lane(arg, warm_up(arg));
}

static void *measure_lane(void *arg) {
    return end_lane(arg, measure_runs(arg));
}

/* Calls work(lane): of one lane right here, of several on a thread each. The error is that of the lane that was the
 * first to fail. */
static tort_status side_by_side(lane *lanes, int32_t count, void *(*work)(void *), tort_error *error) {
    pthread_t *threads = cli_alloc((size_t)count, sizeof *threads);
    tort_status status = TORT_OK;
    int32_t started = 0;
    if (count == 1) work(lanes);
    while (!status && count > 1 && started < count) {
        const int cause = pthread_create(&threads[started], NULL, work, &lanes[started]);
        if (!cause)
            started++;
        else
            status = tort_fail(error, TORT_E_MEMORY, "--contexts %d: only %d threads could be started: %s", count,
                               started, tort_strerror(cause));
    }
    if (status) atomic_store(lanes->failed, true);
    for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    free(threads);
    for (int32_t i = 0; i < count; i++) {
        if (!lanes[i].first_failed) continue;
        *error = lanes[i].error;
        status = error->code;
    }
    return status;
}

/* Moves the times of all lanes together, and sums up. */
static void join_lanes(const lane *lanes, int32_t count, double seconds, cli_measurement *m) {
    m->runs = 0;
    for (int32_t i = 0; i < count; i++) {
        memmove(m->milliseconds + m->runs, lanes[i].milliseconds, (size_t)lanes[i].runs * sizeof *m->milliseconds);
        m->runs += lanes[i].runs;
    }
    m->seconds = count > 1 ? seconds : 1e-3 * mean(m) * (double)m->runs;
}

static void sort_runs(cli_measurement *m) {
    qsort(m->milliseconds, (size_t)m->runs, sizeof *m->milliseconds, cli_by_size);
    if (!m->profile || !m->runs) return;
    const cli_measurement profiled = {.milliseconds = m->profiled, .runs = m->profile->run_count};
    qsort(m->profiled, (size_t)profiled.runs, sizeof *m->profiled, cli_by_size);
    m->profile->overhead = cli_percentile(&profiled, 0.5) / cli_percentile(m, 0.5);
}

/* Peak resident memory of this process. ru_maxrss survives exec, so it may be the peak of the shell that started us;
 * VmHWM belongs to the new memory map and is preferred where it exists. Both are in units of 1024 bytes. */
static double peak_resident_bytes(void) {
    char line[200];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    struct rusage usage;
    if (kilobytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0) kilobytes = usage.ru_maxrss;
    return 1024 * (double)kilobytes;
}

static tort_status measure(cli_bench_job *j, lane *lanes, tort_error *error) {
    const cli_options *options = lanes->options;
    const bool profiles = j->profiled;
    cli_measurement *m = &j->measured;
    const size_t max = (size_t)max_runs(options);
    m->milliseconds = cli_alloc(max * (size_t)j->context_count, sizeof *m->milliseconds);
    for (int32_t i = 0; i < j->context_count; i++) lanes[i].milliseconds = m->milliseconds + (size_t)i * max;
    if (profiles) m->profiled = cli_alloc(max, sizeof *m->profiled);
    tort_status status = side_by_side(lanes, j->context_count, warm_up_lane, error);
    if (!status && profiles && !interrupted) status = begin_profile(j->session, lanes, error);
    const double begin = cli_seconds();
    if (!status) status = side_by_side(lanes, j->context_count, measure_lane, error);
    join_lanes(lanes, j->context_count, cli_seconds() - begin, m);
    cli_progress_end();
    sort_runs(m);
    m->peak_bytes = peak_resident_bytes(); /* read before cli_profile_finish allocates blocks larger than any cache */
    if (!status && m->profile) cli_profile_finish(m->profile, j->session);
    if (!status && !m->runs) status = tort_fail(error, TORT_E_RUN, "interrupted before a run was measured");
    return status;
}

static tort_status measure_bound(cli_bench_job *j, const cli_options *options, tort_error *error) {
    const int32_t input_count = j->inputs.count, output_count = tort_model_output_count(j->model);
    tort_tensor *tensors = cli_alloc((size_t)input_count, sizeof *tensors);
    tort_value **values = cli_only_tensors(j->model) ? NULL : cli_input_values(&j->inputs);
    lane *lanes = cli_alloc((size_t)j->context_count, sizeof *lanes);
    atomic_bool failed = false;
    for (int32_t i = 0; i < j->context_count; i++)
        lanes[i] = (lane){.options = options,
                          .context = j->contexts[i],
                          .inputs = tensors,
                          .outputs = cli_alloc((size_t)output_count, sizeof *lanes->outputs),
                          .values = values,
                          .made = cli_alloc((size_t)output_count, sizeof *lanes->made),
                          .input_count = input_count,
                          .output_count = output_count,
                          .tells = i == 0,
                          .all = &j->measured,
                          .failed = &failed};
    tort_status status = move_inputs(j->session, j->contexts[0], &j->inputs, tensors, error);
    if (!status) status = measure(j, lanes, error);
    free_moved(j->session, &j->inputs, tensors);
    cli_values_free(values, input_count);
    for (int32_t i = 0; i < j->context_count; i++) {
        free(lanes[i].made);
        free(lanes[i].outputs);
    }
    free(lanes);
    return status;
}

static tort_status open_contexts(cli_bench_job *j, const cli_options *options, tort_error *error) {
    tort_status status = TORT_OK;
    const int32_t count = options->contexts ? options->contexts : 1;
    j->contexts = cli_alloc((size_t)count, sizeof *j->contexts);
    while (!status && j->context_count < count) {
        status = tort_context_create(j->session, &j->contexts[j->context_count], error);
        if (!status) j->context_count++;
    }
    return status;
}

/* Adds the runs of an earlier measurement, and frees it. */
static void add_runs(cli_measurement *m, const cli_measurement *earlier) {
    const size_t count = (size_t)(m->runs + earlier->runs);
    m->milliseconds = cli_realloc(m->milliseconds, count + 1, sizeof *m->milliseconds);
    memcpy(m->milliseconds + m->runs, earlier->milliseconds, (size_t)earlier->runs * sizeof *m->milliseconds);
    m->runs += earlier->runs;
    m->seconds += earlier->seconds;
    qsort(m->milliseconds, (size_t)m->runs, sizeof *m->milliseconds, cli_by_size);
    free(earlier->milliseconds);
}

tort_status cli_bench_turn(cli_bench_job *j, const cli_options *options, double *median, tort_error *error) {
    const cli_measurement earlier = j->measured;
    if (signal(SIGINT, interrupt) == SIG_IGN) signal(SIGINT, SIG_IGN);
    j->measured = (cli_measurement){.load_ms = earlier.load_ms};
    const tort_status status = measure_bound(j, options, error);
    if (!status && median) *median = cli_percentile(&j->measured, 0.5);
    if (earlier.runs) add_runs(&j->measured, &earlier);
    if (status && !interrupted) cli_inputs_explain(&j->inputs, j->model, error);
    return status;
}

tort_status cli_bench_open(cli_bench_job *j, cli_options *options, tort_error *error) {
    tort_status status = cli_check_environment(error);
    double start = cli_seconds();
    if (!status) status = cli_open_either(options, &j->loaded, &j->session, &j->model, error);
    double loaded = cli_seconds();
    options->random = true;
    if (!status) status = cli_check_names(options, j->model, error);
    if (!status && options->trace) status = cli_check_new_file(options->trace, j->model, error);
    if (!status && options->html) status = cli_check_new_file(options->html, j->model, error);
    if (!status) status = cli_inputs_read(options, j->model, &j->inputs, error);
    if (status) return status;
    double read = cli_seconds();
    tort_session_options session_options = cli_session_options(options, options->chains.items[0]);
    if (!j->session) status = cli_open_session(j->model, &session_options, &j->session, error);
    if (!status) status = open_contexts(j, options, error);
    j->measured.load_ms = 1e3 * (loaded - start + cli_seconds() - read);
    if (!status) status = cli_settle_sizes(options, j->model, &session_options, j->contexts[0], &j->inputs, error);
    if (!status && !j->quiet) cli_inputs_tell(&j->inputs);
    return status;
}

static tort_status work(cli_bench_job *j, cli_options *options, tort_error *error) {
    tort_status status = cli_bench_open(j, options, error);
    j->profiled = cli_is_given(options, OPTION_PROFILE);
    if (!status) status = cli_bench_turn(j, options, NULL, error);
    const cli_profile *profile = j->measured.profile;
    if (!status && options->trace) status = cli_profile_trace(profile, options->trace, error);
    if (!status && options->html)
        status = cli_page_write(options->html, options, j->session, profile->report, profile, error);
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

void cli_bench_json(const cli_bench_job *j, const tort_report *report, cJSON *to) {
    const cli_measurement *m = &j->measured;
    cli_json_number(to, "threads", threads_of(report) ? threads_of(report) : -1);
    cli_json_number(to, "contexts", j->context_count);
    cli_json_number(to, "runs", m->runs);
    cJSON_AddNumberToObject(to, "runs_per_second", (double)m->runs / m->seconds);
    cJSON *latency = cJSON_AddObjectToObject(to, "latency_ms");
    cJSON_AddNumberToObject(latency, "min", m->milliseconds[0]);
    cJSON_AddNumberToObject(latency, "median", cli_percentile(m, 0.5));
    cJSON_AddNumberToObject(latency, "mean", mean(m));
    cJSON_AddNumberToObject(latency, "p90", cli_percentile(m, 0.9));
    cJSON_AddNumberToObject(latency, "p99", cli_percentile(m, 0.99));
    cJSON_AddNumberToObject(to, "load_ms", m->load_ms);
}

static void fill_json(const cli_options *options, const cli_bench_job *j, const tort_report *report, cJSON *root) {
    const cli_measurement *m = &j->measured;
    char *chain = chain_text(options, report);
    cli_json_text(root, "ep", chain);
    free(chain);
    cli_bench_json(j, report, root);
    cJSON_AddBoolToObject(root, "interrupted", cli_bench_interrupted());
    cJSON_AddNumberToObject(root, "peak_rss_bytes", m->peak_bytes);
    fill_calls(&m->calls, root);
    if (m->profile) cli_profile_json(m->profile, root);
}

/* Prints nothing if nobody asked for contexts. */
static void print_contexts(const cli_options *options, const cli_bench_job *j) {
    const int32_t count = j->context_count;
    const double rate = (double)j->measured.runs / j->measured.seconds;
    if (options->contexts)
        cli_print(stdout, "  %d context%s: %.1f runs/s, %.1f each\n", count, count == 1 ? "" : "s", rate, rate / count);
}

static void print_text(const cli_options *options, const cli_bench_job *j, const tort_report *report) {
    const cli_measurement *m = &j->measured;
    char peak[32], *counts = cli_counts_text(report), *chain = chain_text(options, report);
    const int32_t threads = threads_of(report);
    cli_print(stdout, "%s on --ep %s: %s\n", cli_model_path(options), chain, counts);
    free(chain);
    for (int32_t i = 0; i < report->provider_count; i++)
        if (!report->providers[i]->ready)
            cli_print_colour(stdout, CLI_YELLOW, "  nothing ran on %s, which did not open\n",
                             report->providers[i]->name);
    print_contexts(options, j);
    cli_print(stdout, "  min %.3f   median %.3f   mean %.3f   p90 %.3f   p99 %.3f ms\n", m->milliseconds[0],
              cli_percentile(m, 0.5), mean(m), cli_percentile(m, 0.9), cli_percentile(m, 0.99));
    cli_print(stdout, "  %lld run%s%s", (long long)m->runs, m->runs == 1 ? "" : "s",
              interrupted ? " until interrupted" : "");
    if (threads) cli_print(stdout, ", %d thread%s", threads, threads == 1 ? "" : "s");
    cli_print(stdout, ", load %.1f ms, peak memory %s\n", m->load_ms, cli_bytes_text(m->peak_bytes, peak, sizeof peak));
    print_calls(&m->calls);
    if (m->profile) cli_profile_print(m->profile, options->profile_all == 1, cli_width(stdout, options->width));
    free(counts);
}

void cli_measurement_free(cli_measurement *m) {
    cli_profile_free(m->profile);
    free(m->profiled);
    free(m->milliseconds);
}

void cli_bench_free(cli_bench_job *j) {
    cli_measurement_free(&j->measured);
    for (int32_t i = 0; i < j->context_count; i++) tort_context_free(j->contexts[i]);
    free(j->contexts);
    cli_inputs_free(&j->inputs);
    tort_session_free(j->session);
    tort_model_free(j->loaded);
}

int cli_bench(cli_options *options) {
    if (options->sweep) return cli_sweep(options);
    if (options->chains.count > 1) return cli_versus(options);
    cli_bench_job j = {0};
    tort_error error = {0};
    tort_status status = work(&j, options, &error);
    cJSON *json = cli_json_of(options);
    tort_report *report = status ? NULL : cli_report(j.session);
    if (report && json)
        fill_json(options, &j, report, json);
    else if (report)
        print_text(options, &j, report);
    tort_report_free(report);
    int result = cli_end(options, &(cli_ending){.error = &error,
                                                .exit_status = interrupted ? CLI_INTERRUPTED : 0,
                                                .sessions = &j.session,
                                                .session_count = 1,
                                                .json = json});
    cli_bench_free(&j);
    return result;
}
