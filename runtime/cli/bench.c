/* bench.c - `tinyort bench`: latency of single runs of one context, after a warm-up, with inputs from files or at
 * random (seed 0). What is measured is tort_context_run alone, which copies inputs to a device and outputs back unless
 * --bind leaves them there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/inputs.h"

#define MOST_RUNS 1000000

typedef struct measurement {
    double *milliseconds; /* sorted */
    int32_t runs;
    double load_ms; /* model and session, weights prepared */
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

/* Threads that the cpu provider of the chain uses: its option, or one for each processor. */
static int threads_of(const char *chain) {
    const char *option = chain ? strstr(chain, "threads=") : NULL;
    if (option) return atoi(option + strlen("threads="));
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* ---- inputs that stay in a provider's memory ---- */

/* Moves the bound ones there: tensors[i].data is then that memory. */
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

/* ---- measuring ---- */

static tort_status measure(const cli_options *options, tort_context *context, const tort_tensor *inputs,
                           int32_t input_count, int32_t output_count, measurement *m, tort_error *error) {
    tort_tensor *outputs = cli_alloc((size_t)output_count, sizeof *outputs);
    double seconds = options->seconds > 0 ? options->seconds : 3, begin = 0;
    int32_t most = options->repeat ? options->repeat : MOST_RUNS;
    m->milliseconds = cli_alloc((size_t)most, sizeof *m->milliseconds);
    tort_status status = TORT_OK;
    for (int32_t i = -options->warmup; !status && m->runs < most; i++) {
        double start = cli_seconds();
        if (i == 0) begin = start;
        if (i > 0 && !options->repeat && start - begin >= seconds) break;
        memset(outputs, 0, (size_t)output_count * sizeof *outputs);
        status = tort_context_run(context, inputs, input_count, outputs, output_count, error);
        double taken = 1e3 * (cli_seconds() - start);
        if (i >= 0 && !status) m->milliseconds[m->runs++] = taken;
        if (taken > 200) cli_progress("run %d: %.0f ms", i + 1, taken);
    }
    cli_progress_end();
    free(outputs);
    if (!status) qsort(m->milliseconds, (size_t)m->runs, sizeof *m->milliseconds, by_size);
    return status;
}

static tort_status measure_bound(const cli_options *options, tort_session *session, tort_context *context,
                                 const cli_inputs *inputs, int32_t output_count, measurement *m, tort_error *error) {
    tort_tensor *tensors = cli_alloc((size_t)inputs->count, sizeof *tensors);
    tort_status status = move_inputs(session, context, inputs, tensors, error);
    if (!status) status = measure(options, context, tensors, inputs->count, output_count, m, error);
    free_moved(session, inputs, tensors);
    return status;
}

static tort_status work(const cli_options *options, measurement *m, tort_model **model, tort_session **session,
                        tort_context **context, cli_inputs *inputs, tort_error *error) {
    double start = cli_seconds();
    tort_status status = cli_open_model(options, options->operands[0], model, error);
    if (status) return status;
    double loaded = cli_seconds();
    cli_options filled = *options;
    filled.random = true;
    status = cli_check_shapes(options, *model, error);
    if (!status) status = cli_inputs_read(&filled, *model, inputs, error);
    if (status) return status;
    double read = cli_seconds();
    tort_session_options session_options = cli_session_options(options, options->chains[0]);
    status = cli_open_session(options, *model, &session_options, session, error);
    if (!status) status = tort_context_create(*session, context, error);
    m->load_ms = 1e3 * (loaded - start + cli_seconds() - read);
    if (!status) status = measure_bound(options, *session, *context, inputs, tort_model_output_count(*model), m, error);
    return status == TORT_E_MEMORY && *context ? (error->code = TORT_E_RUN) : status;
}

/* The most memory that this process ever held; the kernel counts in units of 1024 bytes. */
static double peak_resident_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0;
}

static void print_json(const cli_options *options, const measurement *m) {
    const char *chain = options->chain_count ? options->chains[0] : "cpu";
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "model", options->operands[0]);
    cJSON_AddStringToObject(root, "chain", chain);
    cJSON_AddNumberToObject(root, "threads", threads_of(chain));
    cJSON_AddNumberToObject(root, "runs", m->runs);
    cJSON *latency = cJSON_AddObjectToObject(root, "latency_ms");
    cJSON_AddNumberToObject(latency, "min", m->milliseconds[0]);
    cJSON_AddNumberToObject(latency, "median", percentile(m, 0.5));
    cJSON_AddNumberToObject(latency, "mean", mean(m));
    cJSON_AddNumberToObject(latency, "p90", percentile(m, 0.9));
    cJSON_AddNumberToObject(latency, "p99", percentile(m, 0.99));
    cJSON_AddNumberToObject(root, "load_ms", m->load_ms);
    cJSON_AddNumberToObject(root, "peak_rss_bytes", peak_resident_bytes());
    cli_print_json(root);
}

static void print_text(const cli_options *options, const measurement *m) {
    const char *chain = options->chain_count ? options->chains[0] : "cpu";
    char peak[32];
    printf("%s on %s, %d threads, %d runs\n", options->operands[0], chain, threads_of(chain), m->runs);
    printf("  min %.3f   median %.3f   mean %.3f   p90 %.3f   p99 %.3f ms\n", m->milliseconds[0], percentile(m, 0.5),
           mean(m), percentile(m, 0.9), percentile(m, 0.99));
    printf("  load %.1f ms, peak memory %s\n", m->load_ms, cli_bytes_text(peak_resident_bytes(), peak, sizeof peak));
}

int cli_bench(const cli_options *options) {
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    cli_inputs inputs = {0};
    measurement m = {0};
    tort_error error = {0};
    tort_status status = work(options, &m, &model, &session, &context, &inputs, &error);
    int result = status ? cli_fail_session(options->command, &error, session) : CLI_OK;
    if (!status && options->json)
        print_json(options, &m);
    else if (!status)
        print_text(options, &m);
    fflush(stdout);
    if (session) cli_print_placement(session, stderr);
    free(m.milliseconds);
    tort_context_free(context);
    cli_inputs_free(&inputs);
    tort_session_free(session);
    tort_model_free(model);
    return result;
}
