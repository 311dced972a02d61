/* provider_devices.c - several devices and contexts, lazy streams, limits of memory, targets, libraries, pinned memory.
 * Read first: provider_tester.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/provider_tester.h"

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
    tester_configure(t, &settings);
    for (int i = 0; !status && i < 2; i++) status = tester_open(t, &t->model, chains[i], &sessions[i], &error);
    for (int i = 0; !status && i < 3; i++) status = tort_context_create(sessions[i == 2], &contexts[i], &error);
    for (int i = 0; !status && i < 6; i++) {
        status = provider_model_run(&t->model, contexts[i % 3], outputs[i], &error);
        if (!status)
            tester_check(t, tester_is_right(t, outputs[i]) && !memcmp(outputs[i], outputs[0], sizeof outputs[0]),
                         lazy ? "lazy streams" : "two devices, three contexts", "other bits than the first run");
    }
    tester_check(t, !status, "two devices and three contexts", status ? error.msg : "");
    tester_check(t, !*t->control->failure(), "two devices and three contexts", t->control->failure());
    for (int i = 0; i < 3; i++) tort_context_free(contexts[i]);
    for (int i = 0; i < 2; i++) tort_session_free(sessions[i]);
    tester_check_leftovers(t, "after two devices");
}

/* A process that was forked after CUDA had started has none: a new session there says why, and so does a run of the
 * parent's. Exit statuses of the child: 0 both do, 1 the session does not, 2 the run does not. */
static void check_fork(tester *t) {
    static const char cure[] = "CUDA does not survive fork";
    tort_session *session = NULL, *second = NULL;
    tort_context *context = NULL;
    tort_error error;
    float output[PROVIDER_MODEL_COUNT];
    int status = -1;
    tester_configure(t, NULL);
    if (tester_start(t, "cudasim", &session, &context, &error))
        tester_check(t, false, "a session before a fork", error.msg);
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        tort_status opened = tester_open(t, &t->model, "cudasim", &second, &error);
        if (!opened || !strstr(error.msg, cure)) _exit(1);
        if (!provider_model_run(&t->model, context, output, &error) || !strstr(error.msg, cure)) _exit(2);
        _exit(0);
    }
    if (child > 0) waitpid(child, &status, 0);
    tester_check(t, status == 0, "a forked process",
                 WIFEXITED(status) && WEXITSTATUS(status) == 2 ? "a run there does not say why it fails"
                                                               : "a session there does not say why it does not open");
    tester_check(t, context && !provider_model_run(&t->model, context, output, &error) && tester_is_right(t, output),
                 "the parent of a forked process", "does not run any more");
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "after a fork");
}

/* Limits from nothing to enough: each is kept, or refused with what was needed and what is allowed. */
static void check_limits(tester *t) {
    int refused = 0, ran = 0;
    for (int bytes = 64; bytes <= 1 << 20; bytes *= 2) {
        char chain[64];
        tort_session *session = NULL;
        tort_context *context = NULL;
        tort_error error;
        float output[PROVIDER_MODEL_COUNT];
        const int shift = bytes >> 20 ? 20 : bytes >> 10 ? 10 : 0;
        snprintf(chain, sizeof chain, "cudasim:mem_limit=%d%s,cpu", bytes >> shift,
                 shift == 20 ? "M"
                 : shift     ? "k"
                             : "");
        tester_configure(t, NULL);
        tort_status status = tester_open(t, &t->model, chain, &session, &error);
        if (!status) status = tort_context_create(session, &context, &error);
        if (!status) status = provider_model_run(&t->model, context, output, &error);
        if (!status) {
            ran++;
            tester_check(t, tester_is_right(t, output), chain, "wrong values");
        } else {
            refused++;
            tester_check(t,
                         status == TORT_E_MEMORY && strpbrk(error.msg, "0123456789") &&
                             (strstr(error.msg, "free") || strstr(error.msg, "may use")),
                         chain, error.msg);
        }
        tort_context_free(context);
        tort_session_free(session);
        tester_check_leftovers(t, chain);
    }
    tester_check(t, refused > 1 && ran > 1, "mem_limit", "some limits are too small and some are enough");
}

/* A plan for a device that is not there needs none; a name that is not a target is refused. */
static void check_targets(tester *t) {
    static const char *const wrong[] = {"cudasim:87", "cudasim:sm_", "cudasim:sm_8x", "cudasim:sm_999"};
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {.struct_size = sizeof options, .chain = "cudasim,cpu", .providers = providers};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error;
    tester_configure(t, NULL);
    options.target = "cudasim:sm_87";
    tort_status status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
    tester_check(t, !status && !t->control->calls(NULL), options.target, status ? error.msg : "the device was called");
    if (!status) status = tort_context_create(session, &context, &error);
    tester_check(t, status == TORT_E_USAGE, options.target, "a session that is only planned must not run");
    tort_session_free(session);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.target = wrong[i];
        status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
        tester_check(t, status == TORT_E_USAGE && strstr(error.msg, "sm_87"), wrong[i],
                     status ? error.msg : "was taken");
        tort_session_free(session);
    }
    options.target = "cudasim:sm_87";
    options.chain = "cudasim:tf32=maybe,cpu";
    status = tort_session_create(&t->memory->env, t->model.model, &options, &session, &error);
    tester_check(t, status == TORT_E_USAGE && strstr(error.msg, "tf32=maybe is neither on nor off"), options.chain,
                 status ? error.msg : "was taken");
    tort_session_free(session);
    tester_check_leftovers(t, "after targets");
}

static tort_status run_once(tester *t, const char *chain, float *output, tort_error *error) {
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_status status = tester_open(t, &t->model, chain, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = provider_model_run(&t->model, context, output, error);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

/* With tf32=on cuBLAS rounds its operands to 10 bits: not the same bits, but nearly. */
static void check_tf32(tester *t) {
    float exact[PROVIDER_MODEL_COUNT], rounded[PROVIDER_MODEL_COUNT];
    tort_error error;
    tester_configure(t, NULL);
    tort_status status = run_once(t, "cudasim:tf32=off,cpu", exact, &error);
    if (!status) status = run_once(t, "cudasim:tf32=on,cpu", rounded, &error);
    tester_check(t, !status, "tf32", status ? error.msg : "");
    if (status) return;
    tester_check(t, memcmp(exact, rounded, sizeof exact), "tf32=on", "gives the bits of tf32=off");
    for (int i = 0; i < PROVIDER_MODEL_COUNT; i++)
        tester_check(t, fabsf(exact[i] - rounded[i]) <= 1e-2f, "tf32=on", "is too far from tf32=off");
    tester_check_leftovers(t, "after tf32");
}

/* A library that is open already is told of again, with its version. */
static void check_library_twice(tester *t, void *device, const char *name) {
    char first[160] = "", second[160] = "", cure[160];
    const bool found = t->provider->library(device, name, first, sizeof first, cure, sizeof cure) &&
                       t->provider->library(device, name, second, sizeof second, cure, sizeof cure);
    tester_check(t, found && *first && !strcmp(first, second), name, "is not told of twice alike");
}

/* ---- missing synchronization ---- */

static const tort_provider *whole_provider;

/* Planted: what goes to the host does not wait for the context's stream. */
static tort_status copy_at_once(void *device, void *stream, void *dst, const void *src, size_t bytes,
                                tort_direction direction, tort_error *error) {
    return whole_provider->memory.copy(device, direction == TORT_TO_HOST ? NULL : stream, dst, src, bytes, direction,
                                       error);
}

/* Eager streams hide the mistake, lazy ones show it: that is what check_devices rests on. */
static void check_planted_mistake(tester *t, bool lazy) {
    float output[PROVIDER_MODEL_COUNT];
    tort_error error;
    cudasim_settings settings = t->control->defaults();
    tort_provider hasty = *t->provider;
    hasty.memory.copy = copy_at_once;
    hasty.memory.copy_late = NULL;
    whole_provider = t->provider;
    settings.lazy_streams = lazy;
    tester_configure(t, &settings);
    t->provider = &hasty;
    tort_status status = run_once(t, "cudasim,cpu", output, &error);
    t->provider = whole_provider;
    tester_check(t, !status, "a copy that does not wait", status ? error.msg : "");
    tester_check(t, tester_is_right(t, output) != lazy, "a copy that does not wait",
                 lazy ? "goes unnoticed with lazy streams" : "gives wrong values with eager streams");
    tester_configure(t, NULL);
    tester_check_leftovers(t, "after a copy that does not wait");
}

/* Free is what the device has free, and no more than what a limit leaves. */
static void check_memory_free(tester *t, bool limited) {
    const tort_provider *p = t->provider;
    const tort_env env = tort_env_complete(&t->memory->env);
    const tort_provider_option limit = {"mem_limit", "1M"};
    const tort_provider_config config = {
        .provider = "cudasim", .options = &limit, .option_count = limited, .env = &env};
    tort_target target;
    tort_condition condition;
    void *device;
    tester_configure(t, NULL);
    p->open(&config, &device, &target, &condition);
    tester_check(t, condition.ready, "memory_free", condition.message);
    if (!condition.ready) return;
    void *used = p->memory.alloc(device, 4096);
    const uint64_t all = limited ? 1 << 20 : t->control->defaults().memory_bytes;
    tester_check(t, used && p->memory.bytes_free(device) == all - 4096, "memory_free", "counts otherwise");
    if (used) p->memory.free(device, used, 4096);
    t->control->fail_nth("cudaMemGetInfo", 1, cudaErrorUnknown);
    tester_check(t, p->memory.bytes_free(device) == 0, "memory_free", "a failed question is answered");
    p->close(device);
    tester_check_leftovers(t, "after memory_free");
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
    tester_configure(t, NULL);
    p->open(&config, &device, &target, &condition);
    bool found = device && p->library(device, "cuDNN", message, sizeof message, cure, sizeof cure);
    tester_check(t, found, "cuDNN", "was not found");
    if (!found) return;
    check_library_twice(t, device, "cuBLAS");
    check_library_twice(t, device, "cuDNN");
    const size_t before = t->control->leftovers(text, sizeof text);
    for (int i = 0; functions[i]; i++) {
        t->control->fail_nth(functions[i], 1, cudaErrorUnknown);
        tester_check(t, p->stream.open(device, &stream, &error) == TORT_E_RUN && strstr(error.msg, "starting cuDNN: "),
                     functions[i], error.msg);
        tester_check(t, t->control->leftovers(text, sizeof text) == before, functions[i], text);
    }
    bool opened = !p->stream.open(device, &stream, &error);
    tester_check(t, opened, "a stream with cuDNN", opened ? "" : error.msg);
    if (opened) p->stream.close(device, stream);
    p->close(device);
    tester_check_leftovers(t, "after streams");
}

void provider_test_devices(tester *t) {
    check_devices(t, false);
    check_devices(t, true);
    check_fork(t);
    check_limits(t);
    check_targets(t);
    check_memory_free(t, false);
    check_memory_free(t, true);
    check_stream(t);
    check_tf32(t);
    check_planted_mistake(t, false);
    check_planted_mistake(t, true);
}
