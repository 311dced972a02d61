/* provider_current.c - the calling thread's current device: right while tinyort works, the caller's own again after
 * every public call, failed ones too; and a device that nobody named is not touched. Read first: provider_tester.h. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/provider_tester.h"
#include "tests/report_of.h"

/* ---- every public call, on device 1, for a caller whose device is 0 ---- */

typedef struct caller {
    tester *t;
    const char *what;
    tort_session *session;
    tort_context *context;
    void *memory;
    tort_error error;
} caller;

static tort_status back_home(const caller *c, const char *call, tort_status status) {
    char text[200];
    snprintf(text, sizeof text, "after %s (%s) device %d is current", call, tort_status_name(status),
             c->t->control->current_device());
    tester_check(c->t, c->t->control->current_device() == 0, c->what, text);
    return status;
}

/* Stops at the first call that fails; all that was made is freed. */
static tort_status use_all(caller *c, const char *chain) {
    static const tort_input_shape shapes[] = {{"image", 4, {2, 3, 6, 5}}, {"ids", 1, {2}}};
    tester *t = c->t;
    float output[PROVIDER_MODEL_COUNT] = {0};
    tort_status status = back_home(c, "create", tester_open(t, &t->model, chain, &c->session, &c->error));
    if (!status) status = back_home(c, "plan", tort_session_plan(c->session, shapes, 2, &c->error));
    if (!status) status = back_home(c, "context", tort_context_create(c->session, &c->context, &c->error));
    if (!status) status = back_home(c, "alloc", tort_memory_alloc(c->session, "cudasim", 64, &c->memory, &c->error));
    if (!status)
        status = back_home(c, "copy",
                           tort_memory_copy(c->context, "cudasim", c->memory, output, 48, TORT_TO_DEVICE, &c->error));
    for (int i = 0; !status && i < 2; i++)
        status = back_home(c, "run", provider_model_run(&t->model, c->context, output, &c->error));
    if (!status) tester_check(t, tester_is_right(t, output), c->what, "wrong values");
    if (c->session && !c->error.code) tort_report_free(report_of(c->session));
    if (c->memory) tort_memory_free(c->session, "cudasim", c->memory, 64);
    back_home(c, "memory_free", TORT_OK);
    tort_context_free(c->context);
    back_home(c, "context_free", TORT_OK);
    tort_session_free(c->session);
    back_home(c, "session_free", TORT_OK);
    return status;
}

static void check_calls(tester *t) {
    static const char *const chains[] = {"cudasim:device=1,cpu", "cudasim:device=1:libraries=off,cpu"};
    for (int i = 0; i < 2; i++) {
        caller c = {.t = t, .what = chains[i]};
        tester_configure(t, NULL);
        t->control->set_device(0);
        tort_status status = use_all(&c, chains[i]);
        tester_check(t, !status, chains[i], status ? c.error.msg : "");
        tester_check(t, !t->control->is_used(0), chains[i], "CUDA was started on device 0");
        tester_check(t, t->control->is_used(1), chains[i], "CUDA was not started on device 1");
        tester_check_leftovers(t, chains[i]);
    }
}

/* Every call of these fails once. */
static void check_failures(tester *t) {
    static const char *const functions[] = {"cuDeviceGet",
                                            "cuDevicePrimaryCtxRetain",
                                            "cuCtxPushCurrent",
                                            "cudaGetDevice",
                                            "cudaMemGetInfo",
                                            "cudaFuncGetAttributes",
                                            "cudaMalloc",
                                            "cudaMallocHost",
                                            "cudaMemcpyAsync",
                                            "cudaStreamSynchronize",
                                            "cudaStreamCreateWithFlags",
                                            "cudaLaunchKernel",
                                            "cudnnCreate",
                                            "cublasCreate_v2",
                                            "cudnnConvolutionBiasActivationForward"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char what[120];
        int calls = 1, failures = 0;
        for (int n = 0; n <= calls; n++) { /* 0: none fails, to count them */
            caller c = {.t = t, .what = what};
            snprintf(what, sizeof what, "%s fails in call %d of %d", functions[i], n, calls);
            tester_configure(t, NULL);
            t->control->set_device(0);
            if (n) t->control->fail_nth(functions[i], n, cudaErrorUnknown);
            failures += use_all(&c, "cudasim:device=1:libraries=on,cpu") != TORT_OK;
            if (!n) calls = t->control->calls(functions[i]);
            if (strcmp(functions[i], "cuCtxPushCurrent")) /* then calls go to where the thread is, or are refused */
                tester_check(t, !t->control->is_used(0), what, "CUDA was started on device 0");
            tester_check_leftovers(t, what);
        }
        tester_check(t, calls > 0, functions[i], "is never called");
    }
    tester_configure(t, NULL);
}

/* ---- two devices by turns in one thread ---- */

static void check_turns(tester *t) {
    static const char *const chains[] = {"cudasim:device=0,cpu", "cudasim:device=1,cpu"};
    tort_session *sessions[2] = {NULL, NULL};
    tort_context *contexts[2] = {NULL, NULL};
    float output[PROVIDER_MODEL_COUNT];
    tort_error error;
    tort_status status = TORT_OK;
    tester_configure(t, NULL);
    for (int i = 0; !status && i < 2; i++) status = tester_start(t, chains[i], &sessions[i], &contexts[i], &error);
    for (int i = 0; !status && i < 8; i++) {
        t->control->set_device(i / 4); /* whatever the caller's is */
        status = provider_model_run(&t->model, contexts[i % 2], output, &error);
        tester_check(t, !status && tester_is_right(t, output), "two devices by turns",
                     status ? error.msg : "wrong values");
        tester_check(t, t->control->current_device() == i / 4, "two devices by turns",
                     "the caller's device is another");
    }
    for (int i = 0; i < 2; i++) tort_context_free(contexts[i]);
    for (int i = 0; i < 2; i++) tort_session_free(sessions[i]);
    tester_check(t, t->control->current_device() == 1, "two devices by turns", "the caller's device is another");
    t->control->set_device(0);
    tester_check_leftovers(t, "after two devices by turns");
}

/* ---- a model that reads no input, in a thread that made nothing ---- */

typedef struct worker {
    tester *t;
    tort_context *context;
    tort_tensor output;
    tort_status status;
    tort_error error;
    float values[2];
    int device; /* that is current at the end */
} worker;

static void *run_elsewhere(void *argument) {
    worker *w = argument;
    w->status = tort_context_run(w->context, NULL, 0, &w->output, 1, &w->error);
    if (!w->status) memcpy(w->values, w->output.data, sizeof w->values);
    w->device = w->t->control->current_device();
    return NULL;
}

static void check_no_inputs(tester *t) {
    const float values[] = {1.5f, -2.0f};
    onnx_bytes b = {0};
    provider_model model = {.model = NULL};
    tort_session *session = NULL;
    worker w = {.t = t, .output = {.data = NULL}};
    pthread_t thread;
    onnx_begin_model(&b, 18);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, (const int64_t[]){2}, values, sizeof values);
    onnx_node(&b, "Abs", "abs", "w", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, (const int64_t[]){2});
    onnx_end(&b);
    tester_configure(t, NULL);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, NULL, &model.model, &w.error);
    if (!status) status = tester_open(t, &model, "cudasim:device=1", &session, &w.error);
    if (!status) status = tort_context_create(session, &w.context, &w.error);
    if (!status && pthread_create(&thread, NULL, run_elsewhere, &w)) status = TORT_E_INTERNAL;
    if (!status) pthread_join(thread, NULL);
    tester_check(t, !status && !w.status, "a model without inputs on device 1", w.error.msg);
    tester_check(t, w.values[0] == 1.5f && w.values[1] == 2.0f, "a model without inputs", "wrong values");
    tester_check(t, w.device == 0, "a model without inputs", "the thread's device is another");
    tort_context_free(w.context);
    tort_session_free(session);
    tort_model_free(model.model);
    onnx_free(&b);
    tester_check_leftovers(t, "after a model without inputs");
}

void provider_test_current(tester *t) {
    check_calls(t);
    check_turns(t);
    check_no_inputs(t);
    check_failures(t);
}
