/* provider_calls.c - what a run asks of the device, as the provider tells it: each family of nodes, streams that wait,
 * an input out of range. Read first: provider_tester.h; network_calls.c does whole networks. */
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

enum { MOST_WORDS = 9 };

/* y = x + how many elements x has: integers that the shape determines, and a kernel reads. */
static tort_status load_counting_model(tester *t, onnx_bytes *b, tort_model **model, tort_error *error) {
    onnx_begin_model(b, 20);
    onnx_value(b, GRAPH_INPUT, "x", TORT_INT64, 1, (const int64_t[]){-1});
    onnx_node(b, "Shape", "shape", "x", "count");
    onnx_node(b, "Add", "add", "x count", "y");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_INT64, 1, (const int64_t[]){-1});
    onnx_end(b);
    return tort_model_load_buffer(&t->memory->env, b->data, b->size, NULL, model, error);
}

/* `again`: the run before had as many words. */
static void check_words(tester *t, tort_context *context, int64_t words, bool again) {
    int64_t x[MOST_WORDS], y[MOST_WORDS] = {0};
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

static void check_literals(tester *t, const char *chain) {
    static const int64_t words[] = {4, 4, 4, MOST_WORDS, MOST_WORDS, 4, 4};
    const tort_provider *const providers[] = {t->provider, NULL};
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain, .providers = providers};
    onnx_bytes bytes = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_error error = {.node = -1};
    tort_status status = load_counting_model(t, &bytes, &model, &error);
    if (!status) status = tort_session_create(&t->memory->env, model, &options, &session, &error);
    if (!status) status = tort_context_create(session, &context, &error);
    tester_check(t, !status, "literals", error.msg);
    for (size_t i = 0; !status && i < sizeof words / sizeof *words; i++)
        check_words(t, context, words[i], i && words[i] == words[i - 1]);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
    tester_check_leftovers(t, "literals");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void provider_test_calls(tester *t) {
    static const char *const chains[] = {"cudasim", "cudasim:libraries=off", "cudasim,cpu"};
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
        check_literals(t, "cudasim");
    }
    tester_configure(t, NULL);
}
