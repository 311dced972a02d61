/* library_rows.c - kernels that libraries serve, on the simulated device; above all Conv by cuDNN: that it is really
 * called, at several shapes and from several threads, within its workspace, without TF32, and what is said where it
 * fails or is not there.
 *
 * A program of its own, as its settings are those of the whole machine (kernels/cudasim/control.h). The simulated
 * cuDNN has an algorithm that is the fastest for windows of 3x3 and needs much workspace (WINOGRAD_NONFUSED), one that
 * needs 4 KiB and alone can add a bias (IMPLICIT_PRECOMP_GEMM), and one that needs none; which of them ran shows in
 * the functions that were called. What it offers it may still refuse to run. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/control.h"
#include "kernels/cudasim/cudart.h"
#include "tests/counting_env.h"
#include "tests/cuda/library_models.h"
#include "tests/cuda/simulator.h"
#include "tests/report_of.h"

enum { MOST = 16384 };
enum { IMPLICIT_GEMM = 0, PRECOMPUTED = 1, WINOGRAD = 7 }; /* algorithms, by the bit of cudasim_settings */

typedef struct tester {
    const tort_provider *provider;
    const cudasim_control *control;
    tort_counting_env *memory; /* host memory of sessions on the device */
    int passed, failed;
    int marked[2]; /* calls of what `counted` names up to the mark */
} tester;

/* What convolves: also tried once for each plan, before its first run. */
static const char *const counted[] = {"cudnnConvolutionForward", "cudnnConvolutionBiasActivationForward"};

static void check(tester *t, bool good, const char *what, const char *detail) {
    t->passed += good;
    t->failed += !good;
    if (!good) printf("FAILED: %s: %s\n", what, detail);
}

static void check_leftovers(tester *t, const char *what) {
    char text[300];
    if (t->control->leftovers(text, sizeof text)) check(t, false, what, text);
    if (t->memory->live_blocks || t->memory->wrong_sizes) check(t, false, what, "host memory is not freed");
    t->memory->live_blocks = t->memory->wrong_sizes = 0; /* told once */
}

/* Calls are counted from here on. */
static void mark(tester *t) {
    for (int i = 0; i < 2; i++) t->marked[i] = t->control->calls(counted[i]);
}

static void play(tester *t, int cudnn_version) {
    cudasim_settings settings = t->control->defaults();
    settings.cudnn_version = cudnn_version;
    t->control->configure(&settings);
    mark(t);
}

/* ---- sessions and runs ---- */

typedef struct opened {
    tort_session *session;
    tort_context *context;
    tort_error error;
} opened;

/* shape: of x, fixed for the session; NULL: left open. */
static tort_status open_session(const tester *t, const tort_model *model, const char *chain, const int64_t *shape,
                                opened *o) {
    const tort_provider *const providers[] = {t->provider, NULL};
    tort_input_shape fixed = {.name = "x", .rank = 4};
    tort_session_options options = {.struct_size = sizeof options,
                                    .chain = chain,
                                    .providers = providers,
                                    .shapes = &fixed,
                                    .shape_count = shape ? 1 : 0};
    if (shape) memcpy(fixed.dims, shape, 4 * sizeof *shape);
    *o = (opened){NULL, NULL, {.node = -1}};
    const tort_env *env = !strcmp(chain, "cpu") ? NULL : &t->memory->env;
    tort_status status = tort_session_create(env, model, &options, &o->session, &o->error);
    if (!status) status = tort_context_create(o->session, &o->context, &o->error);
    return status;
}

static void close_session(opened *o) {
    tort_context_free(o->context);
    tort_session_free(o->session);
}

static const char *kernel_of(const opened *o, const char *name) {
    tort_report *report = report_of(o->session);
    const char *kernel = ""; /* a name in a row: it outlives the report */
    for (int32_t i = 0; i < report->node_count; i++)
        if (!strcmp(report->nodes[i]->name, name)) kernel = report->nodes[i]->kernel;
    tort_report_free(report);
    return kernel;
}

/* Runs on `batch` pictures of 9 x 9; copies the output. */
static tort_status run(tort_context *context, bool reshaped, int64_t batch, float *output, int64_t *count,
                       tort_error *error) {
    float *x = malloc(MOST * sizeof *x);
    int64_t shape[4] = {batch, 3, 9, 9};
    if (!x) exit(2);
    for (int i = 0; i < MOST; i++) x[i] = library_value(i + (int)batch);
    tort_tensor inputs[] = {{TORT_FLOAT, 4, {batch, 3, 9, 9}, x}, {TORT_INT64, 1, {4}, shape}};
    tort_tensor made = {.data = NULL};
    if (reshaped) inputs[0] = (tort_tensor){TORT_FLOAT, 1, {batch * 3 * 9 * 9}, x};
    tort_status status = tort_context_run(context, inputs, reshaped ? 2 : 1, &made, 1, error);
    if (!status) {
        (void)tort_tensor_count(&made, count);
        memcpy(output, made.data, (size_t)*count * sizeof *output);
    }
    free(x);
    return status;
}

typedef struct expectation {
    float values[MOST];
    int64_t count;
} expectation;

/* What cpu makes of it. */
static void expect(const tester *t, const tort_model *model, bool reshaped, int64_t batch, expectation *e) {
    opened o;
    tort_status status = open_session(t, model, "cpu", NULL, &o);
    if (!status) status = run(o.context, reshaped, batch, e->values, &e->count, &o.error);
    if (status) {
        printf("on cpu: %s\n", o.error.msg);
        exit(2);
    }
    close_session(&o);
}

/* Runs and compares. */
static tort_status run_right(tort_context *context, bool reshaped, int64_t batch, const expectation *e, bool *right,
                             tort_error *error) {
    float *found = malloc(MOST * sizeof *found);
    int64_t count = 0;
    if (!found) exit(2);
    tort_status status = run(context, reshaped, batch, found, &count, error);
    *right = !status && count == e->count;
    for (int64_t i = 0; *right && i < count; i++)
        *right = fabsf(found[i] - e->values[i]) <= 1e-5f + 1e-4f * fabsf(e->values[i]);
    free(found);
    return status;
}

static void check_run(tester *t, opened *o, bool reshaped, int64_t batch, const expectation *e, const char *what) {
    bool right;
    tort_status status = run_right(o->context, reshaped, batch, e, &right, &o->error);
    check(t, right, what, status ? o->error.msg : "wrong values");
}

static void check_calls(tester *t, const char *function, int expected, const char *what) {
    char text[120];
    int calls = t->control->calls(function);
    for (int i = 0; i < 2; i++)
        if (!strcmp(function, counted[i])) calls -= t->marked[i];
    snprintf(text, sizeof text, "%d calls of %s, expected %d", calls, function, expected);
    check(t, calls == expected, what, text);
}

/* ---- one shape: descriptors while planning, nothing but the calls while running ---- */

static void check_one_shape(tester *t, const tort_model *model) {
    static const int64_t shape[] = {2, 3, 9, 9};
    expectation *e = malloc(sizeof *e);
    opened o;
    if (!e) exit(2);
    expect(t, model, false, 2, e);
    play(t, 9);
    tort_status status = open_session(t, model, "cudasim", shape, &o);
    check(t, !status, "one shape", o.error.msg);
    if (!status) {
        check(t, !strcmp(kernel_of(&o, "first"), "conv_cudnn") && !strcmp(kernel_of(&o, "second"), "conv_cudnn"),
              "the report names conv_cudnn", kernel_of(&o, "first"));
        mark(t);
        check_run(t, &o, false, 2, e, "one shape");
        const int descriptors = t->control->calls("cudnnCreateTensorDescriptor");
        const int64_t allocations = t->memory->allocations;
        check_run(t, &o, false, 2, e, "one shape again");
        check(t, t->memory->allocations == allocations, "one shape", "the second run allocates");
        check_calls(t, "cudnnCreateTensorDescriptor", descriptors, "a run makes no descriptors");
        check_calls(t, "cudnnGetConvolutionForwardAlgorithm_v7", 2, "a Conv chooses once");
        check_calls(t, "cudnnConvolutionForward", 2, "the window of 3x3");
        check_calls(t, "cudnnConvolutionBiasActivationForward", 2, "the window of 1x1 with its bias");
    }
    close_session(&o);
    check_leftovers(t, "one shape");
    free(e);
}

/* ---- several shapes in one session; several contexts side by side ---- */

static void check_shapes(tester *t, const tort_model *model, bool reshaped) {
    static const int64_t batches[] = {1, 3, 0, 1, 2, 3};
    const char *what = reshaped ? "shapes known while running" : "several shapes";
    expectation *e = malloc(sizeof *e);
    opened o;
    if (!e) exit(2);
    play(t, 9);
    tort_status status = open_session(t, model, "cudasim", NULL, &o);
    check(t, !status, what, o.error.msg);
    for (size_t i = 0; !status && i < sizeof batches / sizeof *batches; i++) {
        expect(t, model, reshaped, batches[i], e);
        check_run(t, &o, reshaped, batches[i], e, what);
    }
    /* Four batches, one of them empty; or each run anew. */
    check_calls(t, "cudnnGetConvolutionForwardAlgorithm_v7", reshaped ? 10 : 6, what);
    /* Both Convs of five batches, and the bias by a launch of our own; or the first of them, tried for each plan. */
    check_calls(t, "cudnnConvolutionForward", reshaped ? 10 : 5 + 3, what);
    check_calls(t, "cudnnConvolutionBiasActivationForward", reshaped ? 0 : 5 + 3, what);
    close_session(&o);
    check_leftovers(t, what);
    free(e);
}

typedef struct worker {
    tort_context *context;
    const expectation *expected;
    int64_t batch;
    int wrong;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    tort_error error;
    for (int i = 0; i < 20; i++) {
        bool right;
        if (run_right(w->context, false, w->batch, w->expected, &right, &error)) printf("%s\n", error.msg);
        w->wrong += !right;
    }
    return NULL;
}

static void check_threads(tester *t, const tort_model *model) {
    expectation *e = malloc(3 * sizeof *e);
    worker workers[3] = {{NULL, NULL, 0, 0}};
    pthread_t threads[3];
    opened o;
    if (!e) exit(2);
    play(t, 9);
    tort_status status = open_session(t, model, "cudasim", NULL, &o);
    for (int i = 0; !status && i < 3; i++) {
        workers[i] = (worker){.expected = &e[i], .batch = 1 + i / 2}; /* two contexts share a plan */
        expect(t, model, false, workers[i].batch, &e[i]);
        status = tort_context_create(o.session, &workers[i].context, &o.error);
    }
    check(t, !status, "threads", o.error.msg);
    for (int i = 0; !status && i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i])) exit(2);
    for (int i = 0; !status && i < 3; i++) {
        pthread_join(threads[i], NULL);
        check(t, workers[i].wrong == 0, "threads", "wrong values");
    }
    for (int i = 0; i < 3; i++) tort_context_free(workers[i].context);
    close_session(&o);
    check_leftovers(t, "threads");
    free(e);
}

/* ---- workspace ---- */

/* Which functions one run at a fixed shape calls. */
static void check_algorithm(tester *t, const tort_model *model, const char *chain, int64_t batch, int forward,
                            int with_bias) {
    const int64_t shape[] = {batch, 3, 9, 9};
    expectation *e = malloc(sizeof *e);
    opened o;
    if (!e) exit(2);
    expect(t, model, false, batch, e);
    play(t, 9);
    tort_status status = open_session(t, model, chain, shape, &o);
    check(t, !status, chain, o.error.msg);
    mark(t);
    if (!status) check_run(t, &o, false, batch, e, chain);
    check_calls(t, "cudnnConvolutionForward", forward, chain);
    check_calls(t, "cudnnConvolutionBiasActivationForward", with_bias, chain);
    close_session(&o);
    check_leftovers(t, chain);
    free(e);
}

/* Where cuDNN has nothing but Winograd, which node is refused? The 1x1 always; before it the 3x3, where the workspace
 * would be more than its share. */
static void check_share(tester *t, const tort_model *model, int64_t batch, const char *node) {
    const int64_t shape[] = {batch, 3, 9, 9};
    opened o;
    cudasim_settings settings = t->control->defaults();
    settings.unsupported_algorithms = ~(1u << WINOGRAD);
    t->control->configure(&settings);
    tort_status status = open_session(t, model, "cudasim", shape, &o);
    check(t, status == TORT_E_UNSUPPORTED && strstr(o.error.msg, node), "a share of the workspace", o.error.msg);
    close_session(&o);
    check_leftovers(t, "a share of the workspace");
}

static void check_workspace(tester *t, const tort_model *model) {
    check_algorithm(t, model, "cudasim", 1, 1, 1);               /* 3x3 by Winograd; 1x1 with its bias */
    check_algorithm(t, model, "cudasim:mem_limit=96K", 1, 1, 1); /* 6 KiB for a node */
    check_algorithm(t, model, "cudasim:mem_limit=32K", 1, 2, 0); /* 2 KiB: no table, so no bias in the same call */
    check_algorithm(t, model, "cudasim:libraries=off", 1, 0, 0); /* the own kernel */
    check_share(t, model, 1, "\"second\"");
    check_share(t, model, 34, "\"first\"");
}

/* ---- TF32, float16: see case_table.c ---- */

static float product_of(tester *t, const char *chain, float x, float w) {
    onnx_bytes b = {0};
    tort_model *model = NULL;
    opened o = {NULL, NULL, {.node = -1}};
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
    if (!status) status = open_session(t, model, chain, NULL, &o);
    if (!status) status = tort_context_run(o.context, &input, 1, &output, 1, &o.error);
    if (status)
        check(t, false, chain, o.error.msg);
    else
        product = *(const float *)output.data;
    close_session(&o);
    tort_model_free(model);
    onnx_free(&b);
    return product;
}

static void check_tf32(tester *t) {
    const float x = 1.0009765625f + 0x1p-13f; /* more bits than TF32 has */
    play(t, 9);
    check(t, product_of(t, "cudasim", x, 3.0f) == x * 3.0f, "float32", "is not exact");
    check(t, product_of(t, "cudasim:tf32=on", x, 3.0f) != x * 3.0f, "tf32=on", "makes no difference");
    check_calls(t, "cudnnConvolutionForward", 4, "TF32: a trial and a run, twice");
    check_leftovers(t, "TF32");
}

/* ---- what a library cannot be given ---- */

/* One node whose input is [N,...], which a plan makes too large for the library's counts. */
static void check_too_large(tester *t, const char *op, int rank, const int64_t *weight_dims, int64_t batch) {
    tort_input_shape huge = {.name = "x", .rank = rank, .dims = {batch, 2, 1, 1}};
    onnx_bytes b = {0};
    tort_model *model = NULL;
    opened o = {NULL, NULL, {.node = -1}};
    onnx_begin_model(&b, 18);
    library_weight(&b, "w", rank, weight_dims);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, rank, (const int64_t[]){-1, 2, 1, 1});
    onnx_node(&b, op, "large", "x w", "y");
    onnx_begin(&b, GRAPH_OUTPUT);
    onnx_text(&b, 1, "y"); /* ValueInfoProto.name; type and shape are inferred */
    onnx_end(&b);
    onnx_end(&b);
    play(t, 9);
    tort_status status = tort_model_load_buffer(NULL, b.data, b.size, NULL, &model, &o.error);
    if (!status) status = open_session(t, model, "cudasim", NULL, &o);
    check(t, !status, op, o.error.msg);
    if (!status) status = tort_session_plan(o.session, &huge, 1, &o.error);
    check(t, status == TORT_E_UNSUPPORTED && strstr(o.error.msg, "large") && strstr(o.error.msg, "2^31"), op,
          o.error.msg);
    close_session(&o);
    tort_model_free(model);
    onnx_free(&b);
    check_leftovers(t, op);
}

/* ---- what cuDNN offers and then refuses ---- */

/* Opens at a fixed shape and runs on a machine of which `settings` are; which functions one run calls. */
static void check_refusal(tester *t, const tort_model *model, const cudasim_settings *settings, int forward,
                          int with_bias, const char *what) {
    static const int64_t shape[] = {2, 3, 9, 9};
    expectation *e = malloc(sizeof *e);
    opened o;
    if (!e) exit(2);
    expect(t, model, false, 2, e);
    t->control->configure(settings);
    tort_status status = open_session(t, model, "cudasim", shape, &o);
    check(t, !status, what, o.error.msg);
    mark(t);
    if (!status) {
        check(t, !strcmp(kernel_of(&o, "second"), "conv_cudnn"), what, kernel_of(&o, "second"));
        check_run(t, &o, false, 2, e, what);
        check_calls(t, "cudnnConvolutionForward", forward, what);
        check_calls(t, "cudnnConvolutionBiasActivationForward", with_bias, what);
    }
    close_session(&o);
    check_leftovers(t, what);
    free(e);
}

/* Nothing of cuDNN works: the plan is refused, with the node, the algorithms and what to do. */
static void check_all_refused(tester *t, const tort_model *model, const cudasim_settings *settings, const char *words) {
    static const int64_t shape[] = {2, 3, 9, 9};
    opened o;
    t->control->configure(settings);
    tort_status status = open_session(t, model, "cudasim", shape, &o);
    check(t,
          status == TORT_E_UNSUPPORTED && strstr(o.error.msg, "\"first\"") && strstr(o.error.msg, words) &&
              strstr(o.error.msg, "CUDNN_STATUS_NOT_SUPPORTED") && strstr(o.error.msg, "libraries=off"),
          "a Conv that cuDNN cannot do", o.error.msg);
    close_session(&o);
    check_leftovers(t, "a Conv that cuDNN cannot do");
}

static void check_refusals(tester *t, const tort_model *model) {
    cudasim_settings settings = t->control->defaults();
    check_refusal(t, model, &settings, 1, 1, "nothing is refused");
    settings.unsupported = "cudnnConvolutionBiasActivationForward";
    check_refusal(t, model, &settings, 2, 0, "the bias is refused");
    settings.unsupported = NULL;
    settings.unsupported_algorithms = 1u << WINOGRAD;
    check_refusal(t, model, &settings, 1, 1, "Winograd is refused");
    settings.unsupported_algorithms = 1u << WINOGRAD | 1u << PRECOMPUTED;
    check_refusal(t, model, &settings, 2, 0, "all but the last algorithm are refused");
    settings.unsupported_algorithms = 1u << WINOGRAD | 1u << PRECOMPUTED | 1u << IMPLICIT_GEMM;
    check_all_refused(t, model, &settings, "IMPLICIT_GEMM: ");
    settings.unsupported_algorithms = 0;
    settings.unsupported = "cudnnGetConvolutionForwardAlgorithm_v7";
    check_all_refused(t, model, &settings, "cudnnGetConvolutionForwardAlgorithm_v7: ");
}

/* Without memory to try on, the form is taken that the query of its workspace vouches for. */
static void check_no_trial(tester *t, const tort_model *model) {
    static const tort_input_shape shape = {"x", 4, {3, 3, 9, 9}};
    expectation *e = malloc(sizeof *e);
    opened o;
    if (!e) exit(2);
    expect(t, model, false, 3, e);
    play(t, 9);
    tort_status status = open_session(t, model, "cudasim", NULL, &o);
    for (int n = 1; !status && n <= 2; n++) { /* the second session_plan finds the plan of the first */
        if (n == 1) t->control->fail_nth("cudaMalloc", 2, cudaErrorMemoryAllocation);
        status = tort_session_plan(o.session, &shape, 1, &o.error);
    }
    check(t, !status, "no memory to try on", o.error.msg);
    check_calls(t, "cudnnConvolutionForward", 1, "the first Conv was tried");
    check_calls(t, "cudnnConvolutionBiasActivationForward", 0, "the second was not");
    mark(t);
    if (!status) check_run(t, &o, false, 3, e, "no memory to try on");
    check_calls(t, "cudnnConvolutionForward", 2, "untried, the bias is added by a launch");
    close_session(&o);
    check_leftovers(t, "no memory to try on");
    free(e);
}

/* ---- not there, not needed, failing ---- */

static void check_opening(tester *t, const tort_model *model) {
    static const int versions[] = {0, 8, 9};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        opened o;
        const bool served = versions[i] == 9;
        play(t, versions[i]);
        tort_status status = open_session(t, model, "cudasim", NULL, &o);
        check(t, !status, "a version of cuDNN", o.error.msg);
        if (!status)
            check(t, !strcmp(kernel_of(&o, "first"), served ? "conv_cudnn" : "conv_implicit_gemm"),
                  "a version of cuDNN", kernel_of(&o, "first"));
        check_calls(t, "cudnnCreate", served ? 2 : 0, "one handle for planning, one a context");
        close_session(&o);
        check_leftovers(t, "a version of cuDNN");
    }
}

static void check_error(tester *t, const tort_model *model, const char *function, const char *node, bool planning) {
    static const int64_t shape[] = {2, 3, 9, 9};
    float *output = malloc(MOST * sizeof *output);
    int64_t count;
    opened o;
    if (!output) exit(2);
    play(t, 9);
    if (planning) t->control->fail_nth(function, 1, cudaErrorUnknown);
    tort_status status = open_session(t, model, "cudasim", shape, &o);
    check(t, planning == (status != TORT_OK), function, o.error.msg);
    if (!planning) {
        t->control->fail_nth(function, 1, cudaErrorUnknown);
        status = run(o.context, false, 2, output, &count, &o.error);
    }
    check(t,
          status == TORT_E_RUN && strstr(o.error.msg, node) && strstr(o.error.msg, function) &&
              strstr(o.error.msg, "CUDNN_STATUS_") && strstr(o.error.msg, "told to fail") && o.error.provider &&
              !strcmp(o.error.provider, "cudasim"),
          "an error names node, function and cuDNN's words", o.error.msg);
    close_session(&o);
    check_leftovers(t, function);
    free(output);
}

static void check_errors(tester *t, const tort_model *model) {
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

/* A session, a run, and one at another shape; any call may fail. A failed query of one algorithm leaves the others. */
static tort_status use(tester *t, const tort_model *model, bool reshaped, const expectation *e, const char *what,
                       tort_error *error) {
    opened o;
    bool right = false;
    tort_status status = open_session(t, model, "cudasim,cpu:threads=1", NULL, &o);
    for (int i = 0; !status && i < 2; i++) {
        status = run_right(o.context, reshaped, 1 + i, &e[i], &right, &o.error);
        if (!status && !right) check(t, false, what, "a run that reports no failure gives wrong values");
    }
    *error = o.error;
    if (status && status != TORT_E_DEVICE_LOST && o.context) {
        status = run_right(o.context, reshaped, 1, &e[0], &right, &o.error);
        check(t, right, "the run after a failed one", status ? o.error.msg : what);
    }
    close_session(&o);
    return error->code;
}

static void fail_every_call(tester *t, const tort_model *model, bool reshaped, int code) {
    const bool lost = code == cudaErrorLaunchFailure;
    expectation *e = malloc(2 * sizeof *e);
    tort_error error;
    char what[80];
    int calls = 1, that_matter = 0, failures = 0;
    if (!e) exit(2);
    for (int i = 0; i < 2; i++) expect(t, model, reshaped, 1 + i, &e[i]);
    for (int n = 0; n <= calls; n++) { /* 0: none fails, to count them */
        snprintf(what, sizeof what, "%serror %d in call %d of %d", reshaped ? "reshaped, " : "", code, n, calls);
        play(t, 9);
        if (n) t->control->fail_nth(NULL, n, code);
        tort_status status = use(t, model, reshaped, e, what, &error);
        if (!n) calls = t->control->calls(NULL), that_matter = simulator_calls_that_matter(t->control);
        const bool named = lost ? status == TORT_E_DEVICE_LOST : status == TORT_E_RUN || status == TORT_E_MEMORY;
        check(t, !status || (n && named && *error.msg), what, status ? error.msg : "");
        failures += status != TORT_OK;
        check_leftovers(t, what);
    }
    check(t, failures > that_matter / 2, "failing calls", "most went unnoticed");
    free(e);
}

/* ---- the program ---- */

int main(void) {
    static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure};
    tort_counting_env memory;
    tester t = {.memory = &memory};
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
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        fail_every_call(&t, model, false, codes[i]);
        fail_every_call(&t, reshaped, true, codes[i]);
        fail_every_call(&t, fused, false, codes[i]);
    }
    tort_model_free(model);
    tort_model_free(reshaped);
    tort_model_free(fused);
    onnx_free(&bytes);
    onnx_free(&more_bytes);
    onnx_free(&fused_bytes);
    printf("cuda-library-rows: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0 || t.passed == 0;
}
