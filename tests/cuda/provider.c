/* provider.c - the host code of the CUDA provider on the simulated device: why it does not open, what happens when any
 * call of CUDA or of a library fails, a lost device, several devices and contexts, limits of memory.
 *
 *   provider PROBING.expected
 *
 * A program of its own, as its settings are those of the whole machine (kernels/cudasim/control.h). The provider is
 * reached as an application reaches it: a chain, a session, its report. Read next: provider_model.c. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/cudart.h"
#include "runtime/plugin.h"
#include "tests/counting_env.h"
#include "tests/cuda/provider_bindings.h"
#include "tests/cuda/provider_threads.h"
#include "tests/cuda/provider_model.h"

typedef struct tester {
    const tort_provider *provider;
    const cudasim_control *control;
    tort_counting_env *memory;            /* host memory of every session */
    provider_model model;                 /* of some twenty nodes */
    float expected[PROVIDER_MODEL_COUNT]; /* its output on cpu */
    int passed, failed;
} tester;

static void check(tester *t, bool good, const char *what, const char *detail) {
    if (good) {
        t->passed++;
        return;
    }
    printf("FAILED: %s: %s\n", what, detail);
    t->failed++;
}

static void configure(tester *t, const cudasim_settings *settings) {
    cudasim_settings defaults = t->control->defaults();
    t->control->configure(settings ? settings : &defaults);
}

static tort_status open_session(const tester *t, const provider_model *model, const char *chain, tort_session **session,
                                tort_error *error) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = chain, .providers = providers, .unfolded = true};
    return tort_session_create(&t->memory->env, model->model, &options, session, error);
}

/* Every output is what cpu makes, within rounding. */
static bool is_right(const tester *t, const float *found) {
    for (int i = 0; i < PROVIDER_MODEL_COUNT; i++)
        if (!(fabsf(found[i] - t->expected[i]) <= 1e-5f + 1e-4f * fabsf(t->expected[i]))) return false;
    return true;
}

/* When no session is left. */
static void check_leftovers(tester *t, const char *what) {
    char text[300];
    if (t->control->leftovers(text, sizeof text)) check(t, false, what, text);
    if (!t->memory->live_blocks && !t->memory->wrong_sizes) return;
    check(t, false, what, "host memory is not freed, or with another size");
    t->memory->live_blocks = t->memory->wrong_sizes = 0; /* told once */
}

/* ---- why it did not open ---- */

typedef struct situation {
    const char *name, *chain;
    void (*arrange)(cudasim_settings *settings);
    const char *failing; /* the first call of this function fails ... */
    int code;            /* ... with this cudaError_t */
} situation;

static void no_driver(cudasim_settings *s) {
    s->driver_version = 0;
}
static void old_driver(cudasim_settings *s) {
    s->driver_version = 12040;
}
static void no_device(cudasim_settings *s) {
    s->device_count = 0;
}
static void hidden_device(cudasim_settings *s) {
    s->device_count = 0;
    s->machine_has_gpu = true;
}
static void broken_driver(cudasim_settings *s) {
    s->initialization_error = cudaErrorSystemDriverMismatch;
}
static void no_fabric(cudasim_settings *s) {
    s->initialization_error = cudaErrorSystemNotReady;
}
static void compatibility_driver(cudasim_settings *s) {
    s->initialization_error = cudaErrorCompatNotSupportedOnDevice;
}
static void stub_driver(cudasim_settings *s) {
    s->initialization_error = cudaErrorStubLibrary;
}
static void no_image(cudasim_settings *s) {
    s->no_kernel_image = true;
}
static void minor_version(cudasim_settings *s) {
    s->capability = 103;
}
static void newer_device(cudasim_settings *s) {
    s->capability = 130;
}
static void no_libraries(cudasim_settings *s) {
    s->cublas_version = s->cudnn_version = 0;
}
static void older_libraries(cudasim_settings *s) {
    s->cublas_version = 12;
}
static void old_libraries(cudasim_settings *s) {
    s->cublas_version = 11;
    s->cudnn_version = 8;
}
static void silent_libraries(cudasim_settings *s) {
    s->cudnn_version = 8;
    s->missing_symbol = "cudnnGetVersion";
}
static void no_gemm(cudasim_settings *s) {
    s->missing_symbol = "cublasGemmStridedBatchedEx";
}
static void no_convolution(cudasim_settings *s) {
    s->missing_symbol = "cudnnConvolutionForward";
}

static const situation situations[] = {
    {"ready", "cudasim,cpu", NULL, NULL, 0},
    {"second device", "cudasim:device=1,cpu", NULL, NULL, 0},
    {"no driver", "cudasim,cpu", no_driver, NULL, 0},
    {"driver older than the toolkit", "cudasim,cpu", old_driver, NULL, 0},
    {"no device", "cudasim,cpu", no_device, NULL, 0},
    {"hidden device", "cudasim,cpu", hidden_device, NULL, 0},
    {"broken driver", "cudasim,cpu", broken_driver, NULL, 0},
    {"NVSwitches not started", "cudasim,cpu", no_fabric, NULL, 0},
    {"driver for forward compatibility", "cudasim,cpu", compatibility_driver, NULL, 0},
    {"stub driver", "cudasim,cpu", stub_driver, NULL, 0},
    {"device out of range", "cudasim:device=2,cpu", NULL, NULL, 0},
    {"busy device", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorDevicesUnavailable},
    {"full device", "cudasim,cpu", NULL, "cudaMemGetInfo", cudaErrorMemoryAllocation},
    {"limit above what is free", "cudasim:mem_limit=2G,cpu", NULL, NULL, 0},
    {"no kernel image", "cudasim,cpu", no_image, NULL, 0},
    {"PTX that the driver refuses", "cudasim,cpu", newer_device, "cudaFuncGetAttributes",
     cudaErrorUnsupportedPtxVersion},
    {"code does not load", "cudasim,cpu", NULL, "cudaFuncGetAttributes", cudaErrorUnknown},
    {"machine code of the same major version", "cudasim,cpu", minor_version, NULL, 0},
    {"only PTX", "cudasim,cpu", newer_device, NULL, 0},
    {"device is no number", "cudasim:device=first,cpu", NULL, NULL, 0},
    {"device below zero", "cudasim:device=-1,cpu", NULL, NULL, 0},
    {"limit is no size", "cudasim:mem_limit=2X,cpu", NULL, NULL, 0},
    {"tf32 is no switch", "cudasim:tf32=maybe,cpu", NULL, NULL, 0},
    {"libraries is no switch", "cudasim:libraries=yes,cpu", NULL, NULL, 0},
    {"unknown option", "cudasim:speed=fast,cpu", NULL, NULL, 0},
    {"no libraries", "cudasim,cpu", no_libraries, NULL, 0},
    {"cuBLAS 12", "cudasim,cpu", older_libraries, NULL, 0},
    {"cuBLAS 11, cuDNN 8", "cudasim,cpu", old_libraries, NULL, 0},
    {"cuBLAS without a symbol", "cudasim,cpu", no_gemm, NULL, 0},
    {"cuDNN 8 that tells no version", "cudasim,cpu", silent_libraries, NULL, 0},
    {"cuDNN without a symbol", "cudasim,cpu", no_convolution, NULL, 0},
    {"cuDNN that does not start", "cudasim,cpu", NULL, "cudnnCreate", cudaErrorUnknown},
    {"libraries=off", "cudasim:libraries=off,cpu", NULL, NULL, 0},
};

/* The provider's line of the report, where the MatMul and a Conv run and why not better; what depends on the window of
 * the Conv alone is left out. */
static void tell_report(const tort_report *report, FILE *out) {
    const tort_report_provider *p = &report->providers[0];
    fprintf(out, "  %s%s%s\n", p->code, *p->description ? ": " : "", p->description);
    if (*p->message) fprintf(out, "  message: %s\n", p->message);
    if (*p->cure) fprintf(out, "  cure: %s\n", p->cure);
    for (int32_t i = 0; i < report->node_count; i++) {
        const tort_report_node *node = &report->nodes[i];
        if (strcmp(node->name, "matmul") && strcmp(node->name, "conv")) continue;
        fprintf(out, "  %s: %s %s\n", node->op, node->provider, node->kernel);
        for (int32_t v = 0; v < node->verdict_count; v++) {
            if (node->verdicts[v].code == TORT_NO_SHAPE) continue;
            fprintf(out, "  not %s: %s: %s; %s\n",
                    *node->verdicts[v].kernel ? node->verdicts[v].kernel : node->verdicts[v].provider,
                    tort_verdict_name(node->verdicts[v].code), node->verdicts[v].message, node->verdicts[v].cure);
        }
    }
}

static void tell(tester *t, const situation *s, FILE *out) {
    cudasim_settings settings = t->control->defaults();
    tort_session *session = NULL;
    tort_error error;
    if (s->arrange) s->arrange(&settings);
    configure(t, &settings);
    if (s->failing) t->control->fail_nth(s->failing, 1, s->code);
    fprintf(out, "%s (%s)\n", s->name, s->chain);
    if (open_session(t, &t->model, s->chain, &session, &error))
        fprintf(out, "  %s: %s\n", tort_status_name(error.code), error.msg);
    else
        tell_report(tort_session_report(session), out);
    tort_session_free(session);
}

/* Holds each situation against its lines in the file: its name, then lines that begin with two spaces. */
static void check_probing(tester *t, const char *path) {
    FILE *file = fopen(path, "r");
    char line[600] = "";
    bool more = file && fgets(line, sizeof line, file);
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        char *found = NULL, *wanted = NULL;
        size_t found_size, wanted_size;
        FILE *out = open_memstream(&found, &found_size), *want = open_memstream(&wanted, &wanted_size);
        if (!out || !want) exit(2);
        tell(t, &situations[i], out);
        do {
            if (more) fputs(line, want);
            more = more && fgets(line, sizeof line, file);
        } while (more && line[0] == ' ');
        fclose(out);
        fclose(want);
        bool same = !strcmp(found, wanted);
        check(t, same, "another answer than in the file of expected ones; found", found);
        check_leftovers(t, situations[i].name);
        free(found);
        free(wanted);
    }
    check(t, file && !more, "the expected answers", file ? "there are more of them than situations" : path);
    if (file) fclose(file);
}

/* ---- one use of everything, of which any call may fail ---- */

/* After a failed run of a device that lives, the next one is right; a lost one says so for good. */
static void check_after(tester *t, tort_context *context, tort_status status, const char *what) {
    float output[PROVIDER_MODEL_COUNT];
    tort_error error;
    tort_status next = provider_model_run(&t->model, context, output, &error);
    if (status == TORT_E_DEVICE_LOST)
        check(t, next == TORT_E_DEVICE_LOST, what, "a lost device does not stay lost");
    else if (next)
        check(t, false, what, error.msg);
    else
        check(t, is_right(t, output), what, "the run after the failed one gives wrong values");
}

static tort_status use(tester *t, const char *chain, const char *what, tort_error *error) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    float output[PROVIDER_MODEL_COUNT];
    tort_status status = open_session(t, &t->model, chain, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    for (int i = 0; !status && i < 2; i++) {
        status = provider_model_run(&t->model, context, output, error);
        if (!status && !is_right(t, output)) check(t, false, what, "a run that reports no failure gives wrong values");
        if (status) check_after(t, context, status, what);
    }
    if (session) {
        const tort_report_provider *p = &tort_session_report(session)->providers[0];
        if (!p->ready && (!*p->message || !*p->cure)) check(t, false, what, "did not open, and does not say why");
    }
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

static const char *code_name(int code) {
    return code == cudaErrorMemoryAllocation ? "out of memory" : code == cudaErrorUnknown ? "unknown" : "lost device";
}

static void fail_every_call(tester *t, const char *chain, int code) {
    char what[120];
    tort_error error;
    configure(t, NULL);
    if (use(t, chain, chain, &error)) {
        check(t, false, chain, error.msg);
        return;
    }
    int calls = t->control->calls(NULL), failures = 0;
    bool lost = code == cudaErrorLaunchFailure;
    for (int n = 1; n <= calls; n++) {
        snprintf(what, sizeof what, "%s: %s in call %d of %d", chain, code_name(code), n, calls);
        configure(t, NULL);
        t->control->fail_nth(NULL, n, code);
        tort_status status = use(t, chain, what, &error);
        failures += status != TORT_OK;
        bool named = lost ? status == TORT_E_DEVICE_LOST : status == TORT_E_RUN || status == TORT_E_MEMORY;
        check(t, !status || (named && error.code == status && *error.msg), what, status ? error.msg : "");
        check_leftovers(t, what);
    }
    check(t, failures > calls / 2, chain, "most of the failed calls went unnoticed");
    configure(t, NULL);
}

static void fail_every_allocation(tester *t, const char *chain) {
    char what[120];
    tort_error error;
    tort_counting_env *memory = t->memory;
    configure(t, NULL);
    memory->allocations = 0;
    tort_status status = use(t, chain, chain, &error);
    check(t, !status, chain, status ? error.msg : "");
    const int64_t allocations = memory->allocations;
    for (int64_t n = 1; n <= allocations; n++) {
        snprintf(what, sizeof what, "%s: host allocation %lld of %lld", chain, (long long)n, (long long)allocations);
        memory->allocations = 0;
        memory->fail_at = n;
        memory->fail_once = true;
        status = use(t, chain, what, &error);
        memory->fail_at = 0;
        check(t, !status || status == TORT_E_MEMORY, what, status ? error.msg : "");
        check_leftovers(t, what);
    }
}

/* ---- a lost device, a bad value ---- */

static void check_lost(tester *t) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float output[PROVIDER_MODEL_COUNT];
    configure(t, NULL);
    tort_status status = open_session(t, &t->model, "cudasim,cpu", &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    check(t, !status, "a session", status ? error.msg : "");
    if (status) return;
    t->control->fail_nth("cudaLaunchKernel", 2, cudaErrorIllegalAddress); /* behind Convs of cuDNN and norm */
    status = provider_model_run(&t->model, context, output, &error);
    check(t, status == TORT_E_DEVICE_LOST, "a kernel that loses the device", error.msg);
    check(t,
          strstr(error.msg, "illegal memory access") && error.provider && !strcmp(error.provider, "cudasim") &&
              error.node == 3 && strstr(error.msg, "relu"),
          "the message of a lost device names cause, provider and node", error.msg);
    status = provider_model_run(&t->model, context, output, &error);
    check(t, status == TORT_E_DEVICE_LOST && strstr(error.msg, "new session"), "the run after it", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    check_leftovers(t, "after a lost device");
}

static void check_bad_index(tester *t, const char *chain) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    float output[PROVIDER_MODEL_COUNT];
    configure(t, NULL);
    tort_status status = open_session(t, &t->model, chain, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    check(t, !status, chain, status ? error.msg : "");
    if (status) return;
    t->model.ids[1] = 7;
    status = provider_model_run(&t->model, context, output, &error);
    t->model.ids[1] = PROVIDER_MODEL_ID;
    check(t,
          status == TORT_E_RUN && strstr(error.msg, "index 7") && strstr(error.msg, "not in [-3, 3)") &&
              strstr(error.msg, "\"gather\"") && error.node >= 0,
          "a bad index names node, index and range", error.msg);
    status = provider_model_run(&t->model, context, output, &error);
    check(t, !status && is_right(t, output), "the run after a bad index", status ? error.msg : "wrong values");
    tort_context_free(context);
    tort_session_free(session);
    check_leftovers(t, "after a bad index");
}

/* ---- devices, contexts, streams, limits ---- */

/* Two contexts on the first device and one on the second, by turns, twice: the same bits. */
static void check_devices(tester *t, bool lazy) {
    static const char *const chains[] = {"cudasim:device=0,cpu", "cudasim:device=1,cpu"};
    tort_session *sessions[2] = {NULL, NULL};
    tort_context *contexts[3] = {NULL, NULL, NULL};
    float outputs[6][PROVIDER_MODEL_COUNT];
    tort_error error;
    tort_status status = TORT_OK;
    cudasim_settings settings = t->control->defaults();
    settings.lazy_streams = lazy;
    configure(t, &settings);
    for (int i = 0; !status && i < 2; i++) status = open_session(t, &t->model, chains[i], &sessions[i], &error);
    for (int i = 0; !status && i < 3; i++) status = tort_context_create(sessions[i == 2], &contexts[i], &error);
    for (int i = 0; !status && i < 6; i++) {
        status = provider_model_run(&t->model, contexts[i % 3], outputs[i], &error);
        if (!status)
            check(t, is_right(t, outputs[i]) && !memcmp(outputs[i], outputs[0], sizeof outputs[0]),
                  lazy ? "lazy streams" : "two devices, three contexts", "other bits than the first run");
    }
    check(t, !status, "two devices and three contexts", status ? error.msg : "");
    check(t, !*t->control->failure(), "two devices and three contexts", t->control->failure());
    for (int i = 0; i < 3; i++) tort_context_free(contexts[i]);
    for (int i = 0; i < 2; i++) tort_session_free(sessions[i]);
    check_leftovers(t, "after two devices");
}

/* Limits from nothing to enough: each is kept, or refused with what was needed and what is allowed. */
static void check_limits(tester *t) {
    int refused = 0, ran = 0;
    for (int bytes = 64; bytes <= 64 << 10; bytes *= 2) {
        char chain[64];
        tort_session *session = NULL;
        tort_context *context = NULL;
        tort_error error;
        float output[PROVIDER_MODEL_COUNT];
        snprintf(chain, sizeof chain, "cudasim:mem_limit=%d,cpu", bytes);
        configure(t, NULL);
        tort_status status = open_session(t, &t->model, chain, &session, &error);
        if (!status) status = tort_context_create(session, &context, &error);
        if (!status) status = provider_model_run(&t->model, context, output, &error);
        if (!status) {
            ran++;
            check(t, is_right(t, output), chain, "wrong values");
        } else {
            refused++;
            check(t,
                  status == TORT_E_MEMORY && strpbrk(error.msg, "0123456789") &&
                      (strstr(error.msg, "free") || strstr(error.msg, "may use")),
                  chain, error.msg);
        }
        tort_context_free(context);
        tort_session_free(session);
        check_leftovers(t, chain);
    }
    check(t, refused > 1 && ran > 1, "mem_limit", "some limits are too small and some are enough");
}

/* A plan for a device that is not there needs none; a name that is no target is refused. */
static void check_targets(tester *t) {
    static const char *const wrong[] = {"cudasim:87", "cudasim:sm_", "cudasim:sm_8x", "cudasim:sm_999"};
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {.struct_size = sizeof options, .chain = "cudasim,cpu", .providers = providers};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    configure(t, NULL);
    options.target = "cudasim:sm_87";
    tort_status status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
    check(t, !status && !t->control->calls(NULL), options.target, status ? error.msg : "the device was called");
    if (!status) status = tort_context_create(session, &context, &error);
    check(t, status == TORT_E_USAGE, options.target, "a session that is only planned must not run");
    tort_session_free(session);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.target = wrong[i];
        status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
        check(t, status == TORT_E_USAGE && strstr(error.msg, "sm_87"), wrong[i], status ? error.msg : "was taken");
        tort_session_free(session);
    }
    check_leftovers(t, "after targets");
}

/* What the functions of a stream answer when CUDA or cuDNN fails; the provider is asked itself. */
static void check_stream(tester *t) {
    static const char *const functions[] = {"cudnnCreate", "cudnnSetStream", NULL};
    const tort_provider *p = t->provider;
    const tort_env env = tort_env_complete(&t->memory->env);
    const tort_provider_config config = {.provider = "cudasim", .env = &env};
    tort_target target;
    tort_condition condition;
    tort_error error;
    char message[160], cure[160], text[300];
    void *device, *stream;
    configure(t, NULL);
    p->open(&config, &device, &target, &condition);
    bool found = device != NULL;
    for (int i = 0; found && i < 2; i++) /* the second answer is like the first */
        found = p->library(device, TORT_LIBRARY_CUBLAS, message, sizeof message, cure, sizeof cure) &&
                !strcmp(message, "13.1") &&
                p->library(device, TORT_LIBRARY_CUDNN, message, sizeof message, cure, sizeof cure) &&
                !strcmp(message, "9.19") && p->library(device, TORT_LIBRARY_NONE, message, 0, cure, 0);
    check(t, found, "the libraries", "were not found");
    if (!found) return;
    const size_t before = t->control->leftovers(text, sizeof text);
    for (int i = 0; functions[i]; i++) {
        t->control->fail_nth(functions[i], 1, cudaErrorUnknown);
        check(t, p->stream_open(device, &stream, &error) == TORT_E_RUN && strstr(error.msg, "starting cuDNN: "),
              functions[i], error.msg);
        check(t, t->control->leftovers(text, sizeof text) == before, functions[i], text);
    }
    bool opened = !p->stream_open(device, &stream, &error);
    check(t, opened, "a stream with cuDNN", opened ? "" : error.msg);
    if (opened) p->stream_close(device, stream);
    t->control->fail_nth("cudaMemGetInfo", 1, cudaErrorUnknown);
    check(t, p->memory_free(device) == 0, "memory_free", "a failed question is answered");
    p->close(device);
    check_leftovers(t, "after streams");
}

/* ---- the program ---- */

static bool find_provider(tester *t) {
    const tort_plugin *(*entry)(void) = NULL;
    void *library = dlopen("libtinyort-cudasim.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tort_provider_plugin") : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return false;
    t->provider = entry()->provider;
    t->control = entry()->extra;
    return t->control->version == CUDASIM_CONTROL_VERSION;
}

static bool run_on_cpu(tester *t) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    tort_status status = open_session(t, &t->model, "cpu", &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    if (!status) status = provider_model_run(&t->model, context, t->expected, &error);
    if (status) printf("FAILED: on cpu: %s\n", error.msg);
    tort_context_free(context);
    tort_session_free(session);
    return !status;
}

int main(int argc, char **argv) {
    static tester t;
    static tort_counting_env memory;
    static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure};
    tort_counting_env_init(&memory);
    t.memory = &memory;
    if (argc < 2 || !find_provider(&t) || !provider_model_make(&t.model) || !run_on_cpu(&t)) {
        printf("usage: provider PROBING.expected, with libtinyort-cudasim.so where the loader looks\n");
        return 2;
    }
    check_probing(&t, argv[1]);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        fail_every_call(&t, "cudasim,cpu:threads=1", codes[i]);
        fail_every_call(&t, "cudasim:libraries=off,cpu:threads=1", codes[i]);
    }
    fail_every_allocation(&t, "cudasim,cpu:threads=1");
    check_lost(&t);
    check_bad_index(&t, "cpu");
    check_bad_index(&t, "cudasim,cpu");
    check_devices(&t, false);
    check_devices(&t, true);
    check_limits(&t);
    check_targets(&t);
    check_stream(&t);
    provider_bindings_check(t.provider, t.control, &memory.env, &t.model, t.expected, &t.passed, &t.failed);
    provider_threads_check(t.provider, t.control, &t.model, t.expected, &t.passed, &t.failed);
    provider_model_free(&t.model);
    check_leftovers(&t, "at the end");
    printf("cuda-provider: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
