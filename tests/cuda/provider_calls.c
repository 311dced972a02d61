/* provider_calls.c - what a run that is not recorded asks of the device, as the provider tells it: each family of
 * nodes, streams that wait, an input out of range. Read first: provider_tester.h; network_calls.c does whole networks.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/provider_tester.h"
#include "tests/cuda/simulator.h"

/* ---- what is told ------------------------------------------------------------------------------------------------ */

/* One run; what was told of it is what the device saw. */
static void check_run(tester *t, tort_context *context, const char *what, tort_status expected) {
    float found[PROVIDER_MODEL_COUNT];
    char text[200];
    tort_device_calls told = {0};
    tort_error error;
    const tort_device_calls before = simulator_saw(t->control);
    const tort_status status = provider_model_run(&t->model, context, found, &error);
    const tort_device_calls seen = simulator_saw_since(t->control, &before);
    tester_check(t, status == expected, what, error.msg);
    const tort_status asked = tort_context_calls(context, "cudasim", &told, &error);
    snprintf(text, sizeof text, "told %llu %llu %llu %llu, seen %llu %llu %llu %llu", (unsigned long long)told.launches,
             (unsigned long long)told.copies, (unsigned long long)told.waits, (unsigned long long)told.allocations,
             (unsigned long long)seen.launches, (unsigned long long)seen.copies, (unsigned long long)seen.waits,
             (unsigned long long)seen.allocations);
    tester_check(t, !asked && told.launches && !memcmp(&told, &seen, sizeof told), what, text);
}

/* ---- literals ---------------------------------------------------------------------------------------------------- */

enum { MAX_WORDS = 9 };

/* y = x + how many elements x has: integers that the shape determines, and a kernel reads. */
static void write_counting_model(onnx_bytes *b) {
    onnx_begin_model(b, 20);
    onnx_value(b, GRAPH_INPUT, "x", TORT_INT64, 1, (const int64_t[]){-1});
    onnx_node(b, "Shape", "shape", "x", "count");
    onnx_node(b, "Add", "add", "x count", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_INT64, 1, (const int64_t[]){-1});
    onnx_end(b);
}

/* `again`: the run before had as many words. */
static void check_words(tester *t, tort_context *context, int64_t words, bool again) {
    int64_t x[MAX_WORDS], y[MAX_WORDS] = {0};
    tort_error error = {.node = -1};
    for (int64_t i = 0; i < words; i++) x[i] = 100 * i;
    const tort_tensor input = {.type = TORT_INT64, .rank = 1, .dims = {words}, .data = x};
    tort_tensor output = {.type = TORT_INT64, .rank = 1, .dims = {words}, .data = y};
    const tort_device_calls before = simulator_saw(t->control);
    bool right = !tort_context_run(context, &input, 1, &output, 1, &error);
    const tort_device_calls seen = simulator_saw_since(t->control, &before);
    for (int64_t i = 0; i < words; i++) right = right && y[i] == x[i] + words;
    tester_check(t, right, "an element count that a kernel adds", error.msg);
    tester_check(t, seen.copies == (again ? 2 : 3), "copies",
                 "a literal goes to the device with its plan, not in runs");
}

static void check_literals(tester *t, tort_context *context) {
    static const int64_t words[] = {4, 4, 4, MAX_WORDS, MAX_WORDS, 4, 4};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        check_words(t, context, words[i], i && words[i] == words[i - 1]);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

/* The same value twice, and the input itself. */
static void write_copying_model(onnx_bytes *b) {
    static const char *const outputs[] = {"y", "z", "w"};
    onnx_begin_model(b, 20);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_node(b, "Neg", "neg", "x", "y");
    onnx_node(b, "Identity", "same", "y", "z");
    onnx_node(b, "Identity", "input", "x", "w");
    for (int i = 0; i < 3; i++) onnx_value(b, GRAPH_OUTPUT, outputs[i], TORT_FLOAT, 1, (const int64_t[]){-1});
    onnx_end(b);
}

/* `over`: the output whose buffer is the input's own; -1. `lent`: the one without a buffer; -1. */
static void check_outputs_of(tester *t, tort_context *context, int over, int lent) {
    float x[MAX_WORDS], found[3][MAX_WORDS];
    tort_tensor outputs[3];
    tort_error error = {.node = -1};
    for (int i = 0; i < MAX_WORDS; i++) x[i] = (float)(i + 1);
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {MAX_WORDS}, .data = x};
    for (int i = 0; i < 3; i++) {
        outputs[i] = input;
        outputs[i].data = i == lent ? NULL : i == over ? x : found[i];
    }
    const tort_status status = tort_context_run(context, &input, 1, outputs, 3, &error);
    bool right = !status;
    for (int i = 0; right && i < 3; i++)
        for (int k = 0; k < MAX_WORDS; k++)
            right = right && ((const float *)outputs[i].data)[k] == (i < 2 ? -1.0f : 1.0f) * (float)(k + 1);
    tester_check(t, right, "outputs that are there when the run ends", error.msg);
}

static void check_outputs(tester *t, tort_context *context) {
    for (int over = -1; over < 3; over++)
        for (int lent = -1; lent < 3; lent++) check_outputs_of(t, context, over, lent);
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

enum {
    MAX_LENGTH = 100,
    FEW_ALLOCATIONS =
        40 /* arenas and page-locked memory grow by half, values by a quarter: 12 and 27 times up to 100 */
};

/* y = 0, 2, 4 .. 2 (n - 1): its length is the value of an input. */
static void write_range_model(onnx_bytes *b) {
    const int64_t start[] = {0}, step[] = {1};
    onnx_begin_model(b, 20);
    onnx_tensor(b, GRAPH_INITIALIZER, "start", TORT_INT64, 0, NULL, start, sizeof start);
    onnx_tensor(b, GRAPH_INITIALIZER, "step", TORT_INT64, 0, NULL, step, sizeof step);
    onnx_value(b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
    onnx_node(b, "Range", "range", "start n step", "r");
    onnx_node(b, "Add", "double", "r r", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_INT64, 1, (const int64_t[]){-1});
    onnx_end(b);
}

static bool run_range(tort_context *context, int64_t n) {
    const tort_tensor input = {.type = TORT_INT64, .data = &n};
    tort_tensor output = {.data = NULL};
    bool right = !tort_context_run(context, &input, 1, &output, 1, NULL) && output.dims[0] == n;
    for (int64_t i = 0; right && i < n; i++) right = ((const int64_t *)output.data)[i] == 2 * i;
    return right;
}

static bool run_copies(tort_context *context, int64_t n) {
    float x[MAX_LENGTH];
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {n}, .data = x};
    tort_tensor outputs[3] = {{.data = NULL}};
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i + 1);
    bool right = !tort_context_run(context, &input, 1, outputs, 3, NULL);
    for (int64_t i = 0; right && i < n; i++) right = ((const float *)outputs[1].data)[i] == -x[i];
    return right;
}

static void check_lengths(tester *t, tort_context *context, bool (*run)(tort_context *context, int64_t n)) {
    char text[80];
    bool right = true;
    const tort_device_calls before = simulator_saw(t->control);
    for (int64_t n = 1; n <= MAX_LENGTH; n++) right = right && run(context, n);
    const uint64_t grown = simulator_saw_since(t->control, &before).allocations;
    for (int64_t n = MAX_LENGTH; n > 0; n--) right = right && run(context, n);
    for (int64_t n = 1; n <= MAX_LENGTH; n++) right = right && run(context, n);
    const uint64_t more = simulator_saw_since(t->control, &before).allocations - grown;
    snprintf(text, sizeof text, "%llu allocations while it grew, %llu then", (unsigned long long)grown,
             (unsigned long long)more);
    tester_check(t, right, "lengths from 1 to 100", "wrong values");
    tester_check(t, grown <= FEW_ALLOCATIONS && !more, "lengths from 1 to 100", text);
}

static void check_ranges(tester *t, tort_context *context) {
    check_lengths(t, context, run_range);
}

/* Two values of 808 bytes and an arena of one byte: nothing is left for regions that grow by half, or are kept. */
static void check_full(tester *t, tort_context *context) {
    bool right = true;
    for (int64_t n = 1; n <= MAX_LENGTH + 1; n++) right = right && run_range(context, n);
    tester_check(t, right, "lengths from 1 to 101 in memory for just those", "fails, or gives wrong values");
    tester_check(t, !run_range(context, MAX_LENGTH + 2), "mem_limit", "a run takes more");
    tester_check(t, run_range(context, MAX_LENGTH), "mem_limit", "a run after one that asked for more fails");
}

static void check_copies(tester *t, tort_context *context) {
    check_lengths(t, context, run_copies);
}

/* ---- small models ------------------------------------------------------------------------------------------------ */

static void with_context(tester *t, const char *chain, void (*write)(onnx_bytes *b),
                         void (*check)(tester *t, tort_context *context)) {
    const tort_provider *const providers[] = {t->provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.node = -1};
    write(&bytes);
    tort_status status = tort_model_load_buffer(&t->memory->env, bytes.data, bytes.size, NULL, &model, &error);
    if (!status) status = tort_session_create(&t->memory->env, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    tester_check(t, !status, "a small model", error.msg);
    if (!status) check(t, context);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    tester_check_leftovers(t, "a small model");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void provider_test_calls(tester *t) {
    static const char *const chains[] = {"cudasim:graph=off", "cudasim:libraries=off:graph=off",
                                         "cudasim:graph=off,cpu"};
    tort_error error;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        tort_session *session = NULL;
        tort_context *context = NULL;
        tester_configure(t, NULL);
        tort_status status = tester_start(t, chains[i], &session, &context, &error);
        tester_check(t, !status, chains[i], error.msg);
        for (int run = 0; !status && run < 2; run++) check_run(t, context, chains[i], TORT_OK);
        if (!status) {
            t->model.ids[1] = 99;
            check_run(t, context, "an index out of range", TORT_E_RUN);
            t->model.ids[1] = PROVIDER_MODEL_ID;
        }
        tort_context_free(context);
        tort_session_free(session);
        tester_check_leftovers(t, chains[i]);
    }
    for (int lazy = 0; lazy < 2; lazy++) {
        cudasim_settings settings = t->control->defaults();
        settings.lazy_streams = lazy;
        tester_configure(t, &settings);
        with_context(t, "cudasim:graph=off", write_counting_model, check_literals);
        with_context(t, "cudasim:graph=off", write_copying_model, check_outputs);
        with_context(t, "cudasim:graph=off", write_copying_model, check_copies);
        with_context(t, "cudasim:graph=off", write_range_model, check_ranges);
        with_context(t, "cudasim:graph=off:mem_limit=1617", write_range_model, check_full);
    }
    tester_configure(t, NULL);
}
