/* provider_graphs.c - runs as CUDA graphs: a steady one makes four calls of CUDA, with inputs and outputs on the host
 * or bound to the device; values are right whatever moves or changes; a call that fails while a run is recorded or
 * replayed leaves no trace in the next; and what is not recorded is told with its reason. Read first:
 * provider_tester.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cudasim/cudart.h"
#include "runtime/include/tinyort_profile.h"
#include "tests/cuda/provider_tester.h"
#include "tests/onnx_bytes.h"
#include "tests/report_of.h"

enum { ROWS = 2, MAX_ROWS = 20000, COLUMNS = 3, COUNT = ROWS * COLUMNS, STEADY = 4 };

/* y = picked rows of -(x + x), by ids. These are compared with a number that each plan has as a literal on the device,
 * the number of rows and 100, which changes none. */
typedef struct graphs {
    tester *t;
    const char *what;
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    int calls; /* of CUDA, of the last run */
    /* Buffers of a run: here, so that they are at one address, whatever the compiler inlines where. */
    float x[MAX_ROWS * COLUMNS], y[COUNT];
    int64_t ids[ROWS];
} graphs;

static void check(const graphs *g, bool good, const char *detail) {
    tester_check(g->t, good, g->what, detail);
}

static void write_model(onnx_bytes *b) {
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, (const int64_t[]){-1, COLUMNS});
    onnx_value(b, GRAPH_INPUT, "ids", TORT_INT64, 1, (const int64_t[]){ROWS});
    onnx_node(b, "Add", "double", "x x", "twice");
    onnx_node(b, "Neg", "neg", "twice", "below");
    onnx_tensor(b, GRAPH_INITIALIZER, "hundred", TORT_INT64, 1, (const int64_t[]){1}, (const int64_t[]){100},
                sizeof(int64_t));
    onnx_begin_node(b, GRAPH_NODE, "Shape", "shape", "x", "rows");
    onnx_int_attribute(b, "end", 1);
    onnx_end(b);
    onnx_node(b, "Add", "limit", "rows hundred", "many");
    onnx_node(b, "Min", "min", "ids many", "bounded");
    onnx_node(b, "Gather", "gather", "below bounded", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 2, (const int64_t[]){ROWS, COLUMNS});
    onnx_end(b);
}

static tort_status open_model(graphs *g, void (*write)(onnx_bytes *), const char *chain, const char *binding) {
    const tort_provider *const providers[] = {g->t->provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options,
                                          .chain = chain,
                                          .providers = providers,
                                          .bindings = &binding,
                                          .binding_count = binding != NULL};
    const tort_env *env = &g->t->memory->env;
    onnx_bytes bytes = {0};
    write(&bytes);
    tort_status status = tort_model_load_buffer(env, bytes.data, bytes.size, NULL, &g->model, &g->error);
    if (!status) status = tort_session_create(env, g->model, &options, &g->session, &g->error);
    if (!status) status = tort_context_create(g->session, &g->context, &g->error);
    onnx_free(&bytes);
    return status;
}

static tort_status open_graphs(graphs *g, const char *chain, const char *binding) {
    return open_model(g, write_model, chain, binding);
}

static void close_graphs(graphs *g) {
    tort_context_free(g->context);
    tort_session_free(g->session);
    tort_model_free(g->model);
    tester_check_leftovers(g->t, g->what);
}

static bool is_right(const float *x, const int64_t *ids, const float *y) {
    bool right = true;
    for (int i = 0; i < COUNT; i++) right = right && y[i] == -2 * x[ids[i / COLUMNS] * COLUMNS + i % COLUMNS];
    return right;
}

/* Other values each time, in buffers of the host; a failure is the caller's to judge, wrong values are not. */
static tort_status run(graphs *g, int64_t rows, int turn, bool own) {
    float *x = g->x, *y = g->y;
    int64_t *ids = g->ids;
    ids[0] = turn % rows;
    ids[1] = rows - 1;
    for (int i = 0; i < rows * COLUMNS; i++) x[i] = (float)(i + 10 * turn);
    const tort_tensor inputs[] = {{TORT_FLOAT, 2, {rows, COLUMNS}, x}, {TORT_INT64, 1, {ROWS}, ids}};
    tort_tensor output = {TORT_FLOAT, 2, {ROWS, COLUMNS}, own ? y : NULL};
    const int before = g->t->control->calls(NULL);
    const tort_status status = tort_context_run(g->context, inputs, 2, &output, 1, &g->error);
    g->calls = g->t->control->calls(NULL) - before;
    if (!status) check(g, is_right(x, ids, output.data), "wrong values");
    return status;
}

static void run_well(graphs *g, int64_t rows, int turn, bool own) {
    const tort_status status = run(g, rows, turn, own);
    check(g, !status, status ? g->error.msg : "");
}

static void expect_calls_of(const graphs *g, int max, bool steady) {
    char text[80];
    snprintf(text, sizeof text, "%d calls of CUDA in a run, expected %s %d", g->calls, steady ? "at most" : "more than",
             max);
    check(g, steady == (g->calls <= max), text);
}

static void expect_calls(const graphs *g, bool steady) {
    expect_calls_of(g, STEADY, steady);
}

static void configure(tester *t, bool lazy) {
    cudasim_settings settings = t->control->defaults();
    settings.lazy_streams = lazy;
    tester_configure(t, &settings);
}

/* ---- inputs and outputs on the host ------------------------------------------------------------------------------ */

static void ignore_step(void *ud, const tort_profile_step *step) {
    (void)step;
    ++*(int *)ud;
}

/* Pointers of the host are looked at when they change, which costs three calls each. */
static void check_host(tester *t, const char *chain, bool lazy) {
    graphs g = {.t = t, .what = chain};
    int steps = 0;
    configure(t, lazy);
    tort_status status = open_graphs(&g, chain, NULL);
    check(&g, !status, status ? g.error.msg : "");
    for (int turn = 0; !status && turn < 6; turn++) {
        run_well(&g, ROWS, turn, false);
        expect_calls(&g, turn > 1);
    }
    for (int turn = 6; !status && turn < 8; turn++) run_well(&g, ROWS, turn, true);
    if (!status) expect_calls(&g, true);
    for (int turn = 0; !status && turn < 3; turn++) run_well(&g, 5, turn, false); /* another plan */
    if (!status) expect_calls(&g, true);
    for (int turn = 0; !status && turn < 3; turn++) run_well(&g, ROWS, turn, false); /* the first again */
    if (!status) expect_calls(&g, true);
    if (!status) tort_context_profile(g.context, false, ignore_step, &steps);
    if (!status) run_well(&g, ROWS, 9, false);
    if (!status) tort_context_profile(g.context, false, NULL, NULL);
    check(&g, steps > 3, "a profiled run has no steps");
    if (!status) run_well(&g, ROWS, 10, false);
    if (!status) expect_calls(&g, true);
    close_graphs(&g);
}

enum { SWITCHED = STEADY + 6 }; /* another plan asks for staging memory; its literal is copied, and waited for */

/* Plans in turns: a stream keeps their graphs. One more than it keeps are all made anew. */
static void check_turns(tester *t, bool lazy) {
    graphs g = {.t = t, .what = "shapes in turns"};
    configure(t, lazy);
    tort_status status = open_graphs(&g, "cudasim", NULL);
    check(&g, !status, status ? g.error.msg : "");
    for (int plans = TORT_RECORDINGS; !status && plans <= TORT_RECORDINGS + 1; plans++)
        for (int turn = 0; turn < 5 * plans; turn++) {
            run_well(&g, ROWS + turn % plans, turn, false);
            if (turn >= 4 * plans) expect_calls_of(&g, SWITCHED, plans == TORT_RECORDINGS);
        }
    close_graphs(&g);
}

/* A graph copies from and to staging memory, which a larger plan replaces; while the run of that plan is profiled, it
 * is not offered for recording, so that nothing but the memory tells that the graph is stale. */
static void check_larger_staging(tester *t, bool lazy) {
    graphs g = {.t = t, .what = "staging memory that grew"};
    int steps = 0;
    configure(t, lazy);
    tort_status status = open_graphs(&g, "cudasim", NULL);
    check(&g, !status, status ? g.error.msg : "");
    for (int turn = 0; !status && turn < 4; turn++) run_well(&g, ROWS, turn, false);
    if (!status) expect_calls(&g, true);
    if (!status) tort_context_profile(g.context, false, ignore_step, &steps);
    if (!status) run_well(&g, MAX_ROWS, 4, false);
    if (!status) tort_context_profile(g.context, false, NULL, NULL);
    for (int turn = 5; !status && turn < 8; turn++) run_well(&g, ROWS, turn, false);
    if (!status) expect_calls(&g, true);
    check(&g, !*t->control->failure(), t->control->failure());
    close_graphs(&g);
}

/* The status word comes back with the graph. */
static void check_bad_index(tester *t, bool lazy) {
    graphs g = {.t = t, .what = "a bad index in a graph"};
    configure(t, lazy);
    tort_status status = open_graphs(&g, "cudasim", NULL);
    for (int turn = 0; !status && turn < 4; turn++) run_well(&g, ROWS, turn, false);
    const float x[COUNT] = {0};
    const int64_t ids[ROWS] = {0, 7};
    const tort_tensor inputs[] = {{TORT_FLOAT, 2, {ROWS, COLUMNS}, (void *)x}, {TORT_INT64, 1, {ROWS}, (void *)ids}};
    tort_tensor output = {.data = NULL};
    if (!status) status = tort_context_run(g.context, inputs, 2, &output, 1, &g.error);
    check(&g, status == TORT_E_RUN && strstr(g.error.msg, "index 7") && strstr(g.error.msg, "\"gather\""), g.error.msg);
    run_well(&g, ROWS, 3, false);
    run_well(&g, ROWS, 4, false);
    expect_calls(&g, true);
    close_graphs(&g);
}

/* ---- bound to the device ----------------------------------------------------------------------------------------- */

enum { BUFFERS = 2, BYTES = COUNT * sizeof(float) };

/* With inputs and outputs in buffers of the device, `which` of two each. */
static void run_bound(graphs *g, void *const *x, void *const *y, void *ids, int which, int turn) {
    float values[COUNT], found[COUNT];
    const int64_t indices[ROWS] = {turn % 2, 1};
    for (int i = 0; i < COUNT; i++) values[i] = (float)(i * turn + which);
    tort_status status = tort_memory_copy(g->context, "cudasim", x[which], values, BYTES, TORT_TO_DEVICE, &g->error);
    if (!status)
        status = tort_memory_copy(g->context, "cudasim", ids, indices, sizeof indices, TORT_TO_DEVICE, &g->error);
    const tort_tensor inputs[] = {{TORT_FLOAT, 2, {ROWS, COLUMNS}, x[which]}, {TORT_INT64, 1, {ROWS}, ids}};
    tort_tensor output = {TORT_FLOAT, 2, {ROWS, COLUMNS}, y[which]};
    const int before = g->t->control->calls(NULL);
    if (!status) status = tort_context_run(g->context, inputs, 2, &output, 1, &g->error);
    g->calls = g->t->control->calls(NULL) - before;
    if (!status) status = tort_memory_copy(g->context, "cudasim", found, y[which], BYTES, TORT_TO_HOST, &g->error);
    check(g, !status && is_right(values, indices, found), status ? g->error.msg : "wrong values");
}

/* Buffers that are others than in the run before are not those of the graph. */
static void check_bound(tester *t, const char *chain, bool lazy) {
    static const int whichs[] = {0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0};
    graphs g = {.t = t, .what = "bound inputs and outputs"};
    void *x[BUFFERS] = {NULL}, *y[BUFFERS] = {NULL}, *ids = NULL;
    configure(t, lazy);
    tort_status status = open_graphs(&g, chain, "*=cudasim");
    for (int i = 0; i < BUFFERS; i++) {
        if (!status) status = tort_memory_alloc(g.session, "cudasim", BYTES, &x[i], &g.error);
        if (!status) status = tort_memory_alloc(g.session, "cudasim", BYTES, &y[i], &g.error);
    }
    if (!status) status = tort_memory_alloc(g.session, "cudasim", ROWS * sizeof(int64_t), &ids, &g.error);
    check(&g, !status, status ? g.error.msg : "");
    for (int i = 0; !status && i < (int)(sizeof whichs / sizeof *whichs); i++) {
        run_bound(&g, x, y, ids, whichs[i], i);
        const bool steady = i > 2 && whichs[i - 1] == whichs[i] && whichs[i - 2] == whichs[i];
        if (steady) expect_calls(&g, true);
    }
    for (int i = 0; g.session && i < BUFFERS; i++) {
        tort_memory_free(g.session, "cudasim", x[i], BYTES);
        tort_memory_free(g.session, "cudasim", y[i], BYTES);
    }
    if (g.session) tort_memory_free(g.session, "cudasim", ids, ROWS * sizeof(int64_t));
    close_graphs(&g);
}

/* ---- each call fails once ---------------------------------------------------------------------------------------- */

enum { TURNS = 5 };

static bool has_note(const graphs *g) {
    tort_report *report = report_of(g->session);
    const bool has = report && *report->recording_note;
    tort_report_free(report);
    return has;
}

/* Runs go on after a failure; all but one are right, and the next one is. Returns how many failed. *noted: a failure to
 * record was told. */
static int run_all(graphs *g, bool lost, bool *noted) {
    int failed = 0;
    *noted = false;
    for (int turn = 0; turn < TURNS; turn++) {
        const tort_status status = run(g, ROWS, turn, false);
        failed += status != TORT_OK;
        check(g, !status || (g->error.code == status && *g->error.msg), "a failure without a message");
        if (lost && failed) check(g, status == TORT_E_DEVICE_LOST, "a lost device does not stay lost");
        *noted = *noted || has_note(g);
    }
    return failed;
}

static void fail_every_call(tester *t, int code, bool lazy) {
    char what[120];
    int recorded = 0;
    bool noted;
    configure(t, lazy);
    graphs g = {.t = t, .what = what};
    snprintf(what, sizeof what, "no failure");
    if (open_graphs(&g, "cudasim", NULL)) return;
    const int before = t->control->calls(NULL);
    check(&g, run_all(&g, false, &noted) == 0 && !noted, "is told as one");
    const int calls = t->control->calls(NULL) - before;
    close_graphs(&g);
    for (int n = 1; n <= calls; n++) {
        snprintf(what, sizeof what, "%s streams, error %d in call %d of %d", lazy ? "lazy" : "eager", code, n, calls);
        configure(t, lazy);
        g = (graphs){.t = t, .what = what};
        if (open_graphs(&g, "cudasim", NULL)) break;
        t->control->fail_nth(NULL, n, code);
        const bool lost = code == cudaErrorLaunchFailure || code == cudaErrorContained;
        const int failed = run_all(&g, lost, &noted);
        if (!lost) check(&g, failed <= 1, "more than one run failed");
        check(&g, lost || !t->control->last_error(), "the application's cudaGetLastError finds an error");
        if (!lost && !failed) recorded += noted;
        close_graphs(&g);
    }
    if (code == cudaErrorMemoryAllocation || code == cudaErrorUnknown)
        tester_check(t, recorded > 4, "calls that fail while recording", "are not told, or runs are not recorded");
}

static void expect_note(const graphs *g, const char *words) {
    tort_report *report = report_of(g->session);
    check(g, report && (words ? !!strstr(report->recording_note, words) : !*report->recording_note),
          report ? report->recording_note : "no report");
    tort_report_free(report);
}

/* What fails while recording is told by its name; runs go on step by step, until it is tried again. */
static void check_refusal(tester *t, const char *function) {
    graphs g = {.t = t, .what = function};
    configure(t, false);
    tort_status status = open_graphs(&g, "cudasim", NULL);
    check(&g, !status, status ? g.error.msg : "");
    t->control->fail_nth(function, 1, cudaErrorUnknown);
    for (int turn = 0; !status && turn < 3; turn++) {
        run_well(&g, ROWS, turn, false);
        expect_calls(&g, false);
    }
    if (!status) expect_note(&g, "graph");
    if (!status) expect_note(&g, "cudaErrorUnknown");
    for (int turn = 3; !status && turn < 6; turn++) run_well(&g, ROWS, turn, false);
    if (!status) expect_calls(&g, true);
    if (!status) expect_note(&g, NULL);
    close_graphs(&g);
}

/* Nothing waits for the whole device, so an application's captures, of any stream and thread, stay whole. Only closing
 * does: cuBLAS and cuDNN wait for the device where they are freed. */
static void check_others_capture(tester *t, bool lazy) {
    cudasim_settings settings = t->control->defaults();
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.msg = ""};
    float found[PROVIDER_MODEL_COUNT];
    settings.lazy_streams = lazy;
    settings.others_capture = true;
    tester_configure(t, &settings);
    tort_status status = tester_start(t, "cudasim,cpu:threads=1", &session, &context, &error);
    for (int turn = 0; !status && turn < 4; turn++) status = provider_model_run(&t->model, context, found, &error);
    tester_check(t, !status && tester_is_right(t, found), "another thread captures", error.msg);
    tester_check(t, !t->control->broken_captures(), "another thread captures", "its capture is broken");
    tort_context_free(context);
    tort_session_free(session);
    tester_check_leftovers(t, "another thread captures");
}

/* ---- recorded in part -------------------------------------------------------------------------------------------- */

/* y = place number k of the places in picked rows of x that are not 0. All up to NonZero is recorded. */
static void write_partly(onnx_bytes *b) {
    onnx_begin_model(b, 18);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 2, (const int64_t[]){ROWS, COLUMNS});
    onnx_value(b, GRAPH_INPUT, "ids", TORT_INT64, 1, (const int64_t[]){ROWS});
    onnx_value(b, GRAPH_INPUT, "k", TORT_INT64, 1, (const int64_t[]){1});
    onnx_node(b, "Neg", "neg", "x", "below");
    onnx_node(b, "Mul", "square", "below x", "squares");
    onnx_node(b, "Gather", "gather", "squares ids", "picked");
    onnx_node(b, "Exp", "exp", "picked", "powers");
    onnx_node(b, "Floor", "floor", "picked", "numbers");
    onnx_node(b, "NonZero", "places", "numbers", "found");
    onnx_begin_node(b, GRAPH_NODE, "Gather", "pick", "found k", "y");
    onnx_int_attribute(b, "axis", 1);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "powers", TORT_FLOAT, 2, (const int64_t[]){ROWS, COLUMNS});
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_INT64, -1, NULL);
    onnx_end(b);
}

/* ids: the last row, then row `row`. */
static tort_status run_partly(graphs *g, int64_t row, int64_t k, int turn) {
    int64_t found = 0, place[2] = {-1, -1};
    g->ids[0] = ROWS - 1;
    g->ids[1] = row;
    for (int i = 0; i < COUNT; i++) g->x[i] = (float)((i + turn) % 3);
    const tort_tensor inputs[] = {
        {TORT_FLOAT, 2, {ROWS, COLUMNS}, g->x}, {TORT_INT64, 1, {ROWS}, g->ids}, {TORT_INT64, 1, {1}, &k}};
    tort_tensor outputs[2] = {{.data = NULL}, {.data = NULL}};
    const int before = g->t->control->calls(NULL);
    const tort_status status = tort_context_run(g->context, inputs, 3, outputs, 2, &g->error);
    g->calls = g->t->control->calls(NULL) - before;
    if (status) return status;
    for (int i = 0; i < COUNT; i++)
        if (g->x[g->ids[i / COLUMNS] * COLUMNS + i % COLUMNS] != 0 && found++ == k)
            place[0] = i / COLUMNS, place[1] = i % COLUMNS;
    check(g, !memcmp(outputs[1].data, place, sizeof place), "wrong place");
    return status;
}

/* What is behind the recorded part runs each time, and its bad values are heard like those of the graph. */
static void check_partly(tester *t, bool lazy) {
    graphs g = {.t = t, .what = "recorded up to NonZero"};
    int plain = 0;
    configure(t, lazy);
    tort_status status = open_model(&g, write_partly, "cudasim", NULL);
    for (int turn = 0; !status && turn < 6; turn++) {
        status = run_partly(&g, turn % ROWS, turn % 3, turn);
        if (!turn) plain = g.calls;
        if (turn > 2) check(&g, g.calls + 3 < plain, "the steps before it are not one launch");
    }
    check(&g, !status, g.error.msg);
    check(&g, run_partly(&g, 7, 0, 0) == TORT_E_RUN && strstr(g.error.msg, "index 7"), g.error.msg);
    check(&g, run_partly(&g, 0, 90, 1) == TORT_E_RUN && strstr(g.error.msg, "index 90"), g.error.msg);
    check(&g, !run_partly(&g, 1, 1, 2), g.error.msg);
    tort_report *report = report_of(g.session);
    check(&g, report && report->recording == TORT_RECORDING_DYNAMIC && report->recorded == 5, "5 recorded nodes");
    tort_report_free(report);
    close_graphs(&g);
}

/* ---- what is not recorded ---------------------------------------------------------------------------------------- */

typedef struct reason {
    const char *name, *chain;
    void (*write)(onnx_bytes *b);
    int32_t recording;       /* a tort_recording */
    const char *node, *note; /* NULL: none */
} reason;

static void write_elsewhere(onnx_bytes *b) {
    onnx_tensor(b, GRAPH_INITIALIZER, "labels", TORT_INT64, 1, (const int64_t[]){COLUMNS}, (const int64_t[]){2, 0, 1},
                COLUMNS * sizeof(int64_t));
    onnx_node(b, "Neg", "neg", "x", "n");
    onnx_node(b, "SoftmaxCrossEntropyLoss", "loss", "n labels", "d");
    onnx_node(b, "Neg", "last", "d", "y");
}

static void write_body(onnx_bytes *b) {
    const bool yes = true;
    onnx_tensor(b, GRAPH_INITIALIZER, "k", TORT_INT64, 0, NULL, (const int64_t[]){3}, sizeof(int64_t));
    onnx_tensor(b, GRAPH_INITIALIZER, "yes", TORT_BOOL, 0, NULL, &yes, sizeof yes);
    onnx_begin_loop(b, "loop", "k yes x", "y", 2, (const int64_t[]){COLUMNS, COLUMNS});
    onnx_node(b, "Neg", "turn", "v", "w");
    onnx_value(b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 2, (const int64_t[]){COLUMNS, COLUMNS});
    onnx_end_loop(b);
}

static void write_dynamic(onnx_bytes *b) {
    onnx_value(b, GRAPH_INPUT, "shape", TORT_INT64, 1, (const int64_t[]){2});
    onnx_node(b, "Neg", "neg", "x", "n");
    onnx_node(b, "Expand", "expand", "n shape", "y");
}

static void write_host_values(onnx_bytes *b) {
    onnx_value(b, GRAPH_INPUT, "k", TORT_INT64, 0, NULL);
    onnx_node(b, "Neg", "neg", "x", "n");
    onnx_node(b, "Trilu", "triangle", "n k", "y");
}

static void write_whole(onnx_bytes *b) {
    onnx_node(b, "Neg", "neg", "x", "y");
}

static const reason reasons[] = {
    {"whole", "cudasim", write_whole, TORT_RECORDING_WHOLE, NULL, NULL},
    {"switched off", "cudasim:graph=off", write_whole, TORT_RECORDING_WHOLE, NULL, "graph=off"},
    {"on cpu", "cpu:threads=1", write_whole, TORT_RECORDING_NONE, NULL, NULL},
    {"a node on cpu", "cudasim,cpu:threads=1", write_elsewhere, TORT_RECORDING_ELSEWHERE, "loss", NULL},
    {"a loop", "cudasim,cpu:threads=1", write_body, TORT_RECORDING_BODIES, "loop", NULL},
    {"a shape out of data", "cudasim,cpu:threads=1", write_dynamic, TORT_RECORDING_DYNAMIC, "expand", NULL},
    {"a number on the host", "cudasim", write_host_values, TORT_RECORDING_HOST_VALUES, "triangle", NULL},
};

static tort_status run_reason(tort_context *context, int32_t inputs, int turn, tort_error *error) {
    float x[COLUMNS * COLUMNS];
    int64_t more[2] = {COLUMNS, COLUMNS};
    for (int i = 0; i < COLUMNS * COLUMNS; i++) x[i] = (float)(i * turn);
    if (turn % 2) more[0] = 1 + 2 * (COLUMNS == 3 && inputs > 1);
    const tort_tensor given[] = {{TORT_FLOAT, 2, {COLUMNS, COLUMNS}, x}, {TORT_INT64, inputs < 0 ? 0 : 1, {2}, more}};
    tort_tensor y = {.data = NULL};
    return tort_context_run(context, given, inputs < 0 ? 2 : inputs, &y, 1, error);
}

static void check_reason(tester *t, const reason *r) {
    const tort_provider *const providers[] = {t->provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options, .chain = r->chain, .providers = providers};
    const int32_t inputs = r->write == write_host_values ? -1 : r->write == write_dynamic ? 2 : 1;
    const tort_env *env = &t->memory->env;
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.msg = ""};
    tester_configure(t, NULL);
    onnx_begin_model(&b, 18);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 2, (const int64_t[]){COLUMNS, COLUMNS});
    r->write(&b);
    onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(&b);
    tort_status status = tort_model_load_buffer(env, b.data, b.size, NULL, &model, &error);
    if (!status) status = tort_session_create(env, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    for (int turn = 0; !status && turn < 4; turn++) status = run_reason(context, inputs, turn, &error);
    tester_check(t, !status, r->name, error.msg);
    tort_report *report = status ? NULL : report_of(session);
    const char *node = "";
    for (int32_t i = 0; report && i < report->node_count; i++)
        if (report->nodes[i]->index == report->recording_node) node = report->nodes[i]->name;
    tester_check(t, report && report->recording == r->recording && !strcmp(node, r->node ? r->node : ""), r->name,
                 node);
    tester_check(t, report && (r->note ? !!strstr(report->recording_note, r->note) : !*report->recording_note), r->name,
                 report ? report->recording_note : "");
    tort_report_free(report);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    tester_check_leftovers(t, r->name);
}

void provider_test_graphs(tester *t) {
    static const int codes[] = {cudaErrorMemoryAllocation, cudaErrorUnknown, cudaErrorLaunchFailure,
                                cudaErrorContained};
    for (int lazy = 0; lazy < 2; lazy++) {
        check_host(t, "cudasim", lazy);
        check_host(t, "cudasim:device=1:libraries=off,cpu:threads=1", lazy);
        check_turns(t, lazy);
        check_larger_staging(t, lazy);
        check_bad_index(t, lazy);
        check_bound(t, "cudasim", lazy);
        check_others_capture(t, lazy);
        check_partly(t, lazy);
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) fail_every_call(t, codes[i], lazy);
    }
    check_refusal(t, "cudaStreamBeginCapture");
    check_refusal(t, "cudaStreamEndCapture");
    check_refusal(t, "cudaGraphInstantiate");
    check_refusal(t, "cudaGraphLaunch");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) check_reason(t, &reasons[i]);
    tester_configure(t, NULL);
}
