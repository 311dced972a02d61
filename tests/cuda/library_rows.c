/* library_rows.c - kernels that libraries serve, on the simulated device; above all Conv by cuDNN: that it is really
 * called, at several shapes and from several threads, within its workspace, without TF32, and what is said where it
 * fails or is not there.
 *
 * A program of its own, as its settings are those of the whole machine (kernels/cudasim/control.h). The simulated
 * cuDNN has an algorithm that is the fastest for windows of 3x3 and needs much workspace (WINOGRAD_NONFUSED), one that
 * needs 4 KiB and alone can add a bias (IMPLICIT_PRECOMP_GEMM), and one that needs none; which of them ran shows in
 * the functions that were called. What it offers it may still refuse to run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "tests/cuda/library_models.h"
#include "tests/cuda/library_tester.h"
#include "tests/cuda/simulator.h"
#include "tests/report_of.h"

enum { IMPLICIT_GEMM = 0, PRECOMPUTED = 1, WINOGRAD = 7 }; /* algorithms, by the bit of cudasim_settings */

/* ---- one shape: descriptors while planning, nothing but the calls while running ---- */

static void check_one_shape(library_tester *t, const tort_model *model) {
    static const int64_t shape[] = {2, 3, 9, 9};
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    if (!e) exit(2);
    library_expect(t, model, false, 2, e);
    library_play(t, 9);
    tort_status status = library_open(t, model, "cudasim", shape, &o);
    library_check(t, !status, "one shape", o.error.msg);
    if (!status) {
        library_check(t,
                      !strcmp(library_kernel_of(&o, "first"), "conv_cudnn") &&
                          !strcmp(library_kernel_of(&o, "second"), "conv_cudnn"),
                      "the report names conv_cudnn", library_kernel_of(&o, "first"));
        library_mark(t);
        library_check_run(t, &o, false, 2, e, "one shape");
        const int descriptors = t->control->calls("cudnnCreateTensorDescriptor");
        const int64_t allocations = t->memory->allocations;
        library_check_run(t, &o, false, 2, e, "one shape again");
        library_check(t, t->memory->allocations == allocations, "one shape", "the second run allocates");
        library_check_calls(t, "cudnnCreateTensorDescriptor", descriptors, "a run makes no descriptors");
        library_check_calls(t, "cudnnGetConvolutionForwardAlgorithm_v7", 2, "a Conv chooses once");
        library_check_calls(t, "cudnnConvolutionForward", 2, "the window of 3x3");
        library_check_calls(t, "cudnnConvolutionBiasActivationForward", 2, "the window of 1x1 with its bias");
    }
    library_close(&o);
    library_check_leftovers(t, "one shape");
    free(e);
}

/* ---- several shapes in one session; several contexts side by side ---- */

static void check_shapes(library_tester *t, const tort_model *model, bool reshaped) {
    static const int64_t batches[] = {1, 3, 0, 1, 2, 3};
    const char *what = reshaped ? "shapes known while running" : "several shapes";
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    if (!e) exit(2);
    library_play(t, 9);
    tort_status status = library_open(t, model, "cudasim", NULL, &o);
    library_check(t, !status, what, o.error.msg);
    for (size_t i = 0; !status && i < sizeof batches / sizeof *batches; i++) {
        library_expect(t, model, reshaped, batches[i], e);
        library_check_run(t, &o, reshaped, batches[i], e, what);
    }
    /* Four batches, one of them empty; or each run anew. */
    library_check_calls(t, "cudnnGetConvolutionForwardAlgorithm_v7", reshaped ? 10 : 6, what);
    /* Both Convs of five batches, and the bias by a launch of our own; or the first of them, tried for each plan. */
    library_check_calls(t, "cudnnConvolutionForward", reshaped ? 10 : 5 + 3, what);
    library_check_calls(t, "cudnnConvolutionBiasActivationForward", reshaped ? 0 : 5 + 3, what);
    library_close(&o);
    library_check_leftovers(t, what);
    free(e);
}

typedef struct worker {
    tort_context *context;
    const library_expectation *expected;
    int64_t batch;
    int wrong;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    tort_error error;
    for (int i = 0; i < 20; i++) {
        bool right;
        if (library_run_right(w->context, false, w->batch, w->expected, &right, &error)) printf("%s\n", error.msg);
        w->wrong += !right;
    }
    return NULL;
}

static void check_threads(library_tester *t, const tort_model *model) {
    library_expectation *e = malloc(3 * sizeof *e);
    worker workers[3] = {{NULL, NULL, 0, 0}};
    pthread_t threads[3];
    library_opened o;
    if (!e) exit(2);
    library_play(t, 9);
    tort_status status = library_open(t, model, "cudasim", NULL, &o);
    for (int i = 0; !status && i < 3; i++) {
        workers[i] = (worker){.expected = &e[i], .batch = 1 + i / 2}; /* two contexts share a plan */
        library_expect(t, model, false, workers[i].batch, &e[i]);
        status = tort_context_create(o.session, &workers[i].context, &o.error);
    }
    library_check(t, !status, "threads", o.error.msg);
    for (int i = 0; !status && i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i])) exit(2);
    for (int i = 0; !status && i < 3; i++) {
        pthread_join(threads[i], NULL);
        library_check(t, workers[i].wrong == 0, "threads", "wrong values");
    }
    for (int i = 0; i < 3; i++) tort_context_free(workers[i].context);
    library_close(&o);
    library_check_leftovers(t, "threads");
    free(e);
}

/* ---- workspace ---- */

/* Which functions one run at a fixed shape calls. */
static void check_algorithm(library_tester *t, const tort_model *model, const char *chain, int64_t batch, int forward,
                            int with_bias) {
    const int64_t shape[] = {batch, 3, 9, 9};
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    if (!e) exit(2);
    library_expect(t, model, false, batch, e);
    library_play(t, 9);
    tort_status status = library_open(t, model, chain, shape, &o);
    library_check(t, !status, chain, o.error.msg);
    library_mark(t);
    if (!status) library_check_run(t, &o, false, batch, e, chain);
    library_check_calls(t, "cudnnConvolutionForward", forward, chain);
    library_check_calls(t, "cudnnConvolutionBiasActivationForward", with_bias, chain);
    library_close(&o);
    library_check_leftovers(t, chain);
    free(e);
}

#define OWN "conv_implicit_gemm, as cuDNN has no algorithm that works"

/* Where cuDNN has nothing but Winograd, which nodes have the own kernel? The 1x1 always; the 3x3 where the workspace
 * would be more than its share. */
static void check_share(library_tester *t, const tort_model *model, int64_t batch, const char *first) {
    const int64_t shape[] = {batch, 3, 9, 9};
    library_opened o;
    cudasim_settings settings = t->control->defaults();
    settings.unsupported_algorithms = ~(1u << WINOGRAD);
    t->control->configure(&settings);
    tort_status status = library_open(t, model, "cudasim", shape, &o);
    library_check(t, !status, "a share of the workspace", o.error.msg);
    if (!status) {
        library_check(t, !strcmp(library_kernel_of(&o, "first"), first), "a share of the workspace",
                      library_kernel_of(&o, "first"));
        library_check(t, !strcmp(library_kernel_of(&o, "second"), OWN), "a share of the workspace",
                      library_kernel_of(&o, "second"));
    }
    library_close(&o);
    library_check_leftovers(t, "a share of the workspace");
}

/* Bytes of a context's values and scratch on the device. */
static int64_t peak_of(const library_opened *o) {
    tort_report *report = report_of(o->session);
    const int64_t bytes = report->providers[0]->peak_bytes;
    tort_report_free(report);
    return bytes;
}

/* The minimum of memory, in steps of 256 bytes, with which a session opens and is right; *frugal: in some session, the
 * first node was told to have no workspace. */
static int min_memory(library_tester *t, const tort_model *model, const char *options, const library_expectation *e,
                      bool *frugal) {
    const int64_t shape[] = {1, 3, 9, 9};
    int min = 0;
    for (int limit = 256; limit <= 64 << 10; limit += 256) {
        char chain[80];
        library_opened o;
        library_play(t, 9);
        snprintf(chain, sizeof chain, "cudasim:mem_limit=%d%s", limit, options);
        if (!library_open(t, model, chain, shape, &o)) {
            if (!min) min = limit;
            *frugal = *frugal || strstr(library_kernel_of(&o, "first"), "without a workspace");
            library_check_run(t, &o, false, 1, e, chain);
        }
        library_close(&o);
        library_check_leftovers(t, chain);
    }
    return min;
}

/* A plan has the scratch that the chosen algorithms need (the fake's: 4 KiB at most), not the bound that the kernel
 * states before (64 KiB and more); and where memory is short, none. */
static void check_scratch(library_tester *t, const tort_model *model) {
    const int64_t shape[] = {1, 3, 9, 9};
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    bool frugal = false, unused = false;
    char text[80];
    if (!e) exit(2);
    library_expect(t, model, false, 1, e);
    library_play(t, 9);
    tort_status status = library_open(t, model, "cudasim", shape, &o);
    library_check(t, !status && peak_of(&o) < 48 << 10, "scratch", status ? o.error.msg : "is that of the bound");
    library_close(&o);
    const int own = min_memory(t, model, ":libraries=off", e, &unused), min = min_memory(t, model, "", e, &frugal);
    snprintf(text, sizeof text, "%d bytes by the own kernels, %d with cuDNN", own, min);
    library_check(t, own && min && min <= own, "the minimum of memory", text);
    library_check(t, frugal && !unused, "no node runs without a workspace", text);
    free(e);
}

static void check_workspace(library_tester *t, const tort_model *model) {
    check_scratch(t, model);
    check_algorithm(t, model, "cudasim", 1, 1, 1);               /* 3x3 by Winograd; 1x1 with its bias */
    check_algorithm(t, model, "cudasim:mem_limit=96K", 1, 1, 1); /* 6 KiB for a node */
    check_algorithm(t, model, "cudasim:mem_limit=32K", 1, 2, 0); /* 2 KiB: no table, so no bias in the same call */
    check_algorithm(t, model, "cudasim:libraries=off", 1, 0, 0); /* the own kernel */
    check_share(t, model, 1, "conv_cudnn");
    check_share(t, model, 34, OWN);
}

/* ---- TF32, float16: see case_table.c ---- */

static float product_of(library_tester *t, const char *chain, float x, float w) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    library_opened o = {NULL, NULL, {.node = -1}};
    tort_tensor input = {TORT_FLOAT, 4, {1, 2, 1, 1}, (float[]){x, 0.0f}}, output = {.data = NULL};
    const float weights[] = {w, 1.0f};
    float product = 0.0f;
    onnx_begin_model(&b, 18);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 4, (const int64_t[]){1, 2, 1, 1}, weights, sizeof weights);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 4, (const int64_t[]){1, 2, 1, 1});
    onnx_node(&b, "Conv", "conv", "x w", "y");
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 4, (const int64_t[]){1, 1, 1, 1});
    onnx_end(&b);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &o.error);
    if (!status) status = library_open(t, model, chain, NULL, &o);
    if (!status) status = tort_context_run(o.context, &input, 1, &output, 1, &o.error);
    if (status)
        library_check(t, false, chain, o.error.msg);
    else
        product = *(const float *)output.data;
    library_close(&o);
    tort_model_free(model);
    onnx_free(&b);
    return product;
}

static void check_tf32(library_tester *t) {
    const float x = 1.0009765625f + 0x1p-13f; /* more bits than TF32 has */
    library_play(t, 9);
    library_check(t, product_of(t, "cudasim", x, 3.0f) == x * 3.0f, "float32", "is not exact");
    library_check(t, product_of(t, "cudasim:tf32=on", x, 3.0f) != x * 3.0f, "tf32=on", "makes no difference");
    library_check_calls(t, "cudnnConvolutionForward", 4, "TF32: a trial and a run, twice");
    library_check_leftovers(t, "TF32");
}

/* ---- what a library cannot be given ---- */

/* One node whose input is [N,...], which a plan makes too large for the library's counts. */
static void check_too_large(library_tester *t, const char *op, int rank, const int64_t *weight_dims, int64_t batch) {
    tort_input_shape huge = {.name = "x", .rank = rank, .dims = {batch, 2, 1, 1}};
    onnx_bytes b = {0};
    tort_model *model = NULL;
    library_opened o = {NULL, NULL, {.node = -1}};
    onnx_begin_model(&b, 18);
    library_weight(&b, "w", rank, weight_dims);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, rank, (const int64_t[]){-1, 2, 1, 1});
    onnx_node(&b, op, "large", "x w", "y");
    onnx_begin(&b, GRAPH_OUTPUT);
    onnx_text(&b, 1, "y"); /* ValueInfoProto.name; type and shape are inferred */
    onnx_end(&b);
    onnx_end(&b);
    library_play(t, 9);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &o.error);
    if (!status) status = library_open(t, model, "cudasim", NULL, &o);
    library_check(t, !status, op, o.error.msg);
    if (!status) status = tort_session_plan(o.session, &huge, 1, &o.error);
    library_check(t, status == TORT_E_UNSUPPORTED && strstr(o.error.msg, "large") && strstr(o.error.msg, "2^31"), op,
                  o.error.msg);
    library_close(&o);
    tort_model_free(model);
    onnx_free(&b);
    library_check_leftovers(t, op);
}

/* ---- what cuDNN offers and then refuses ---- */

/* Opens at a fixed shape and runs on a machine of which `settings` are; which functions one run calls, and what the
 * report says of one of the two nodes. */
static void check_refusal(library_tester *t, const tort_model *model, const cudasim_settings *settings, int forward,
                          int with_bias, const char *kernel, const char *what) {
    static const int64_t shape[] = {2, 3, 9, 9};
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    if (!e) exit(2);
    library_expect(t, model, false, 2, e);
    t->control->configure(settings);
    tort_status status = library_open(t, model, "cudasim", shape, &o);
    library_check(t, !status, what, o.error.msg);
    library_mark(t);
    if (!status) {
        library_check(t, !strcmp(library_kernel_of(&o, "second"), kernel), what, library_kernel_of(&o, "second"));
        library_check_run(t, &o, false, 2, e, what);
        library_check_calls(t, "cudnnConvolutionForward", forward, what);
        library_check_calls(t, "cudnnConvolutionBiasActivationForward", with_bias, what);
    }
    library_close(&o);
    library_check_leftovers(t, what);
    free(e);
}

static void check_refusals(library_tester *t, const tort_model *model) {
    cudasim_settings settings = t->control->defaults();
    check_refusal(t, model, &settings, 1, 1, "conv_cudnn", "nothing is refused");
    settings.unsupported = "cudnnConvolutionBiasActivationForward";
    check_refusal(t, model, &settings, 2, 0, "conv_cudnn", "the bias is refused");
    settings.unsupported = NULL;
    settings.unsupported_algorithms = 1u << WINOGRAD;
    check_refusal(t, model, &settings, 1, 1, "conv_cudnn", "Winograd is refused");
    settings.unsupported_algorithms = 1u << WINOGRAD | 1u << PRECOMPUTED;
    check_refusal(t, model, &settings, 2, 0, "conv_cudnn", "all but the last algorithm are refused");
    settings.unsupported_algorithms = 1u << WINOGRAD | 1u << PRECOMPUTED | 1u << IMPLICIT_GEMM;
    check_refusal(t, model, &settings, 0, 0, OWN, "all algorithms are refused");
    settings.unsupported_algorithms = 0;
    settings.unsupported = "cudnnGetConvolutionForwardAlgorithm_v7";
    check_refusal(t, model, &settings, 0, 0, OWN, "the query of algorithms is refused");
}

/* Without memory to try on, the form is taken that the query of its workspace vouches for. */
static void check_no_trial(library_tester *t, const tort_model *model) {
    static const tort_input_shape shape = {"x", 4, {3, 3, 9, 9}};
    library_expectation *e = malloc(sizeof *e);
    library_opened o;
    if (!e) exit(2);
    library_expect(t, model, false, 3, e);
    library_play(t, 9);
    tort_status status = library_open(t, model, "cudasim", NULL, &o);
    for (int n = 1; !status && n <= 2; n++) { /* the second session_plan finds the plan of the first */
        if (n == 1) t->control->fail_nth("cudaMalloc", 2, cudaErrorMemoryAllocation);
        status = tort_session_plan(o.session, &shape, 1, &o.error);
    }
    library_check(t, !status, "no memory to try on", o.error.msg);
    library_check_calls(t, "cudnnConvolutionForward", 1, "the first Conv was tried");
    library_check_calls(t, "cudnnConvolutionBiasActivationForward", 0, "the second was not");
    library_mark(t);
    if (!status) library_check_run(t, &o, false, 3, e, "no memory to try on");
    library_check_calls(t, "cudnnConvolutionForward", 2, "untried, the bias is added by a launch");
    library_close(&o);
    library_check_leftovers(t, "no memory to try on");
    free(e);
}

/* ---- not there, not needed, failing ---- */

static void check_opening(library_tester *t, const tort_model *model) {
    static const int versions[] = {0, 8, 9};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        library_opened o;
        const bool served = versions[i] == 9;
        library_play(t, versions[i]);
        tort_status status = library_open(t, model, "cudasim", NULL, &o);
        library_check(t, !status, "a version of cuDNN", o.error.msg);
        if (!status)
            library_check(t, !strcmp(library_kernel_of(&o, "first"), served ? "conv_cudnn" : "conv_implicit_gemm"),
                          "a version of cuDNN", library_kernel_of(&o, "first"));
        library_check_calls(t, "cudnnCreate", served ? 2 : 0, "one handle for planning, one a context");
        library_close(&o);
        library_check_leftovers(t, "a version of cuDNN");
    }
}

static void check_error(library_tester *t, const tort_model *model, const char *function, const char *node,
                        bool planning) {
    static const int64_t shape[] = {2, 3, 9, 9};
    float *output = malloc(LIBRARY_MAX * sizeof *output);
    int64_t count;
    library_opened o;
    if (!output) exit(2);
    library_play(t, 9);
    if (planning) t->control->fail_nth(function, 1, cudaErrorUnknown);
    tort_status status = library_open(t, model, "cudasim", shape, &o);
    library_check(t, planning == (status != TORT_OK), function, o.error.msg);
    if (!planning) {
        t->control->fail_nth(function, 1, cudaErrorUnknown);
        status = library_run(o.context, false, 2, output, &count, &o.error);
    }
    library_check(t,
                  status == TORT_E_RUN && strstr(o.error.msg, node) && strstr(o.error.msg, function) &&
                      strstr(o.error.msg, "CUDNN_STATUS_") && strstr(o.error.msg, "told to fail") && o.error.provider &&
                      !strcmp(o.error.provider, "cudasim"),
                  "an error names node, function and cuDNN's words", o.error.msg);
    library_close(&o);
    library_check_leftovers(t, function);
    free(output);
}

static void check_errors(library_tester *t, const tort_model *model) {
    check_error(t, model, "cudnnConvolutionForward", "first", false);
    check_error(t, model, "cudnnConvolutionBiasActivationForward", "second", false);
    check_error(t, model, "cudnnCreateTensorDescriptor", "first", true);
    check_error(t, model, "cudnnSetTensorNdDescriptor", "first", true);
    check_error(t, model, "cudnnSetFilterNdDescriptor", "first", true);
    check_error(t, model, "cudnnSetConvolutionNdDescriptor", "first", true);
    check_error(t, model, "cudnnSetConvolutionGroupCount", "first", true);
    check_error(t, model, "cudnnGetConvolutionForwardAlgorithm_v7", "first", true);
    check_error(t, model, "cudnnSetActivationDescriptor", "second", true);
}

/* Products that cublasLt cannot end are ended by a launch of our own. */
static void check_without_lt(library_tester *t, const tort_model *model) {
    cudasim_settings settings = t->control->defaults();
    library_expectation *e = malloc(sizeof *e);
    bool right = false;
    library_opened o;
    if (!e) exit(2);
    library_expect(t, model, false, 2, e);
    for (int i = 0; i < 2; i++) {
        settings.unsupported = i ? "cublasLtMatmulAlgoGetHeuristic" : NULL;
        t->control->configure(&settings);
        const int before = t->control->calls("cublasLtMatmul");
        tort_status status = library_open(t, model, "cudasim", NULL, &o);
        if (!status) status = library_run_right(o.context, false, 2, e, &right, &o.error);
        library_check(t, !status && right, "products without cublasLt", o.error.msg);
        library_check(t, (t->control->calls("cublasLtMatmul") > before) == !i, "products without cublasLt",
                      "calls of it");
        library_close(&o);
        library_check_leftovers(t, "products without cublasLt");
    }
    free(e);
}

/* ---- the program ---- */

int main(void) {
    static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure};
    tort_counting_env memory;
    library_tester t = {.memory = &memory, .chain = "cudasim,cpu:threads=1"};
    tort_counting_env_init(&memory);
    if (!simulator_open(&t.provider, &t.control)) {
        printf("libtinyort-cudasim.so is not where the loader looks\n");
        return 2;
    }
    onnx_bytes bytes = {0}, more_bytes = {0}, fused_bytes = {0};
    tort_model *model = library_model(false, &bytes), *reshaped = library_model(true, &more_bytes);
    tort_model *fused = library_fused_model(&fused_bytes);
    check_one_shape(&t, model);
    check_shapes(&t, model, false);
    check_shapes(&t, reshaped, true);
    check_threads(&t, model);
    check_workspace(&t, model);
    check_tf32(&t);
    check_too_large(&t, "Conv", 4, (const int64_t[]){4, 2, 1, 1}, (int64_t)1 << 30);
    check_too_large(&t, "MatMul", 2, (const int64_t[]){2, 3}, (int64_t)1 << 31);
    check_too_large(&t, "Gemm", 2, (const int64_t[]){2, 3}, (int64_t)1 << 31);
    check_refusals(&t, model);
    check_no_trial(&t, model);
    check_opening(&t, model);
    check_errors(&t, model);
    check_without_lt(&t, fused);
    library_trials(&t);
    library_fail_every_allocation(&t, fused);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        library_fail_every_call(&t, model, false, codes[i]);
        library_fail_every_call(&t, reshaped, true, codes[i]);
        library_fail_every_call(&t, fused, false, codes[i]);
    }
    t.chain = "cudasim:tune=on,cpu:threads=1";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) library_fail_every_call(&t, fused, false, codes[i]);
    tort_model_free(model);
    tort_model_free(reshaped);
    tort_model_free(fused);
    onnx_free(&bytes);
    onnx_free(&more_bytes);
    onnx_free(&fused_bytes);
    printf("cuda-library-rows: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
