/* library_trials.c - tune=on on the simulated device, whose settings say how long a kernel and a library's call take:
 * the faster serves, nodes alike are timed once, a saved plan keeps what was chosen, and what fails is not chosen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/library_models.h"
#include "tests/cuda/library_tester.h"
#include "tests/report_of.h"
#include "tests/saved_plan.h"

enum { COUNT = 2 * 3 * 7 * 7, TRIALS = 3 + 2 /* two algorithms of cuDNN, cuBLAS, the own kernels */, ROUNDS = 3 };
static const int64_t shape[] = {2, 3, 7, 7};

#define OWN_CONV "conv_implicit_gemm: own 10.0 us, cuDNN 1000.0 us"
#define OWN_PRODUCT "matmul_tiled: own 10.0 us, cuBLAS 1000.0 us"
#define CUDNN "conv_cudnn: own 1000.0 us, cuDNN 10.0 us"
#define CUBLAS "matmul_cublas: own 1000.0 us, cuBLAS 10.0 us"

/* Numbers whose sums are rounded, so that the order of a sum shows in its bits. */
static void fill(float *values, int count) {
    for (int i = 0; i < count; i++) values[i] = sinf((float)(7 * i + 3));
}

/* Three convolutions, of which the first two are alike, and a product. */
static tort_model *make_model(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error;
    float values[7 * 7];
    fill(values, 7 * 7);
    onnx_begin_model(b, 18);
    onnx_tensor(b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 4, (const int64_t[]){3, 3, 1, 1}, values, 9 * sizeof *values);
    onnx_tensor(b, GRAPH_INITIALIZER, "m", TORT_FLOAT, 2, (const int64_t[]){7, 7}, values, sizeof values);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 4, (const int64_t[]){-1, 3, 7, 7});
    onnx_node(b, "Conv", "first", "x w", "c");
    onnx_node(b, "Conv", "second", "c w", "d");
    onnx_node(b, "MatMul", "product", "d m", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_UNDEFINED, 0, NULL);
    onnx_end(b);
    if (tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error)) {
        printf("the model of this test: %s\n", error.msg);
        exit(2);
    }
    return model;
}

static void play(library_tester *t, int kernel, int library) {
    cudasim_settings settings = t->control->defaults();
    settings.kernel_microseconds = kernel;
    settings.library_microseconds = library;
    t->control->configure(&settings);
    library_mark(t);
}

static tort_status run(library_opened *o, float *y) {
    float x[COUNT];
    fill(x, COUNT);
    tort_tensor input = {TORT_FLOAT, 4, {2, 3, 7, 7}, x}, output = {.data = NULL};
    tort_status status = tort_context_run(o->context, &input, 1, &output, 1, &o->error);
    if (!status) memcpy(y, output.data, COUNT * sizeof *y);
    return status;
}

/* Opens, runs and closes. */
static void take(library_tester *t, const tort_model *model, const char *chain, float *y) {
    library_opened o;
    tort_status status = library_open(t, model, chain, shape, &o);
    if (!status) status = run(&o, y);
    library_check(t, !status, chain, o.error.msg);
    library_close(&o);
}

/* What the report calls the kernels, and the bits of a run. */
static void check_choice(library_tester *t, library_opened *o, const char *conv, const char *product, const float *y,
                         const char *what) {
    float found[COUNT];
    library_check(t, !strcmp(library_kernel_of(o, "first"), conv), what, library_kernel_of(o, "first"));
    library_check(t, !strcmp(library_kernel_of(o, "second"), conv), what, library_kernel_of(o, "second"));
    library_check(t, !strcmp(library_kernel_of(o, "product"), product), what, library_kernel_of(o, "product"));
    const tort_status status = run(o, found);
    library_check(t, !status && !memcmp(found, y, sizeof found), what, status ? o->error.msg : "other bits");
}

static void check_faster(library_tester *t, const tort_model *model, const float *own, const float *library) {
    library_opened o;
    play(t, 10, 1000);
    tort_status status = library_open(t, model, "cudasim:tune=on", shape, &o);
    library_check(t, !status, "a slow library", o.error.msg);
    library_check_calls(t, "cudaEventElapsedTime", TRIALS * ROUNDS, "nodes alike are tried once");
    library_mark(t);
    if (!status) check_choice(t, &o, OWN_CONV, OWN_PRODUCT, own, "a slow library");
    library_check_calls(t, "cudnnConvolutionForward", 0, "a slow library is not called");
    library_close(&o);
    play(t, 1000, 10);
    status = library_open(t, model, "cudasim:tune=on", shape, &o);
    library_check(t, !status, "a fast library", o.error.msg);
    if (!status) check_choice(t, &o, CUDNN, CUBLAS, library, "a fast library");
    library_close(&o);
    library_check_leftovers(t, "tune=on");
}

/* Loads a plan where the library is the faster, whatever it was when the plan was made. */
static void check_loaded(library_tester *t, const saved_bytes *saved, const char *chain, const char *conv,
                         const char *product, const float *y, int trials, const char *what) {
    const tort_provider *const providers[] = {t->provider, NULL};
    const tort_plan_options options = {.struct_size = sizeof options, .providers = providers, .chain = chain};
    library_opened o = {.error = {.node = -1}};
    play(t, 1000, 10);
    tort_status status =
        tort_session_load_buffer(&t->memory->env, saved->data, saved->size, &options, &o.session, &o.error);
    if (!status) status = tort_context_create(o.session, &o.context, &o.error);
    library_check(t, !status, what, o.error.msg);
    library_check_calls(t, "cudaEventElapsedTime", trials * ROUNDS, what);
    if (!status) check_choice(t, &o, conv, product, y, what);
    library_close(&o);
    library_check_leftovers(t, what);
}

/* Replaces the choices that a saved plan has; each lies before a key of 8 bytes and the length of its words. */
static void rechoose(saved_bytes *saved, const char *words, uint32_t choice) {
    const size_t length = strlen(words), before = sizeof choice + sizeof(uint64_t) + sizeof(uint32_t);
    for (size_t i = before; i + length <= saved->size; i++) {
        if (memcmp(saved->data + i, words, length) != 0) continue;
        memcpy(saved->data + i - before, &choice, sizeof choice);
        break; /* what comes later are the kernels of nodes */
    }
    saved_reseal(saved->data, saved->size);
}

static void check_saved(library_tester *t, const tort_model *model, const float *own, const float *library) {
    saved_bytes saved = {NULL, 0, 0};
    const tort_writer writer = saved_writer(&saved);
    library_opened o;
    play(t, 10, 1000);
    tort_status status = library_open(t, model, "cudasim:tune=on", shape, &o);
    if (!status) status = tort_session_save_writer(o.session, &writer, &o.error);
    library_check(t, !status, "saving what was tried", o.error.msg);
    library_close(&o);
    check_loaded(t, &saved, NULL, OWN_CONV, OWN_PRODUCT, own, 0, "a saved plan keeps the choice");
    check_loaded(t, &saved, "cudasim", "conv_cudnn", "matmul_cublas", library, 0, "a saved plan without tune=on");
    rechoose(&saved, OWN_CONV, 12345);
    rechoose(&saved, OWN_PRODUCT, 12345);
    check_loaded(t, &saved, NULL, "conv_cudnn", "matmul_cublas", library, 0, "choices that mean nothing");
    free(saved.data);
}

/* A device that is described has nothing to time. */
static void check_elsewhere(library_tester *t, const tort_model *model, const float *own) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_session_options options = {
        .struct_size = sizeof options, .chain = "cudasim:tune=on", .target = "cudasim:sm_80", .providers = providers};
    library_opened o = {.error = {.node = -1}};
    play(t, 10, 1000);
    tort_status status = tort_session_create(&t->memory->env, model, &options, &o.session, &o.error);
    tort_report *report = status ? NULL : report_of(o.session);
    library_check(t, report && strstr(report->providers[0]->description, "tune=on without effect"), "a target",
                  report ? report->providers[0]->description : o.error.msg);
    if (report) library_check(t, !strcmp(library_kernel_of(&o, "first"), "conv_cudnn"), "a target", "was tuned");
    tort_report_free(report);
    library_close(&o);
    float y[COUNT];
    take(t, model, "cudasim:tune=on:graph=off", y);
    library_check(t, !memcmp(y, own, sizeof y), "graph=off", "another choice");
    library_check_leftovers(t, "elsewhere");
}

static bool is_near(const float *y, const float *expected) {
    bool near = true;
    for (int i = 0; i < COUNT; i++) near = near && fabsf(y[i] - expected[i]) <= 1e-5f;
    return near;
}

/* Trials take no memory that a session needs: where it opens without them, it does with them. */
static void check_memory(library_tester *t, const tort_model *model, const float *expected) {
    int opened = 0, tuned = 0;
    for (int limit = 256; limit <= 64 << 10; limit += 256) {
        static const char *const options[] = {"", ":tune=on"};
        bool opens[2];
        for (int i = 0; i < 2; i++) {
            char chain[80];
            float y[COUNT];
            library_opened o;
            snprintf(chain, sizeof chain, "cudasim:mem_limit=%d%s", limit, options[i]);
            play(t, 10, 1000);
            opens[i] = !library_open(t, model, chain, shape, &o);
            if (opens[i]) library_check(t, !run(&o, y) && is_near(y, expected), chain, o.error.msg);
            tuned += opens[i] && !strcmp(library_kernel_of(&o, "first"), OWN_CONV);
            library_close(&o);
            library_check_leftovers(t, chain);
        }
        library_check(t, opens[1] || !opens[0], "tune=on", "takes memory that a session needs");
        opened += opens[1];
    }
    library_check(t, tuned && tuned < opened, "little memory", "trials never want for it, or always");
}

/* A candidate that cannot run, or cannot be recorded, is not chosen. */
static void check_failing(library_tester *t, const tort_model *model, const float *own) {
    static const char *const calls[] = {"cudnnConvolutionForward", "cudaStreamBeginCapture", "cudaGraphInstantiate",
                                        "cudaEventRecord", "cudaEventElapsedTime"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        library_opened o;
        float y[COUNT];
        play(t, 10, 1000);
        t->control->fail_nth(calls[i], 3, 2 /* out of memory */);
        tort_status status = library_open(t, model, "cudasim:tune=on", shape, &o);
        if (!status) status = run(&o, y);
        library_check(t, !status, calls[i], o.error.msg);
        library_check(t, is_near(y, own), calls[i], "wrong values");
        library_close(&o);
        library_check_leftovers(t, calls[i]);
    }
}

void library_trials(library_tester *t) {
    onnx_bytes bytes = {0};
    tort_model *model = make_model(&bytes);
    float own[COUNT], library[COUNT];
    library_play(t, 9);
    take(t, model, "cudasim:libraries=off", own);
    take(t, model, "cudasim", library);
    library_check(t, memcmp(own, library, sizeof own) != 0, "own kernels and libraries", "have the same bits");
    check_faster(t, model, own, library);
    check_saved(t, model, own, library);
    check_elsewhere(t, model, own);
    check_memory(t, model, own);
    check_failing(t, model, own);
    tort_model_free(model);
    onnx_free(&bytes);
}
