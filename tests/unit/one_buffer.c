/* one_buffer.c - an input and an output in one buffer of the caller: written in place where the step that writes the
 * output is the last to read the input and its kernel allows it (tort_plan_extends), otherwise filled by a copy at the
 * end. The values are the same in both; a cache in place keeps what lies behind its keys, which a copy sets to 0. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/include/provider.h"
#include "tests/onnx_bytes.h"

enum { HEAD = 4, ROOM = 6, BEFORE = 3, CACHE = HEAD * ROOM };

static const float behind = 7;

/* A GroupQueryAttention of one new token, with three before it. With a reader, a later node reads its past keys. */
static void write_attention(onnx_bytes *b, bool reader) {
    const int64_t query[] = {1, 1, 2 * HEAD}, key[] = {1, 1, HEAD}, cache[] = {1, 1, ROOM, HEAD}, one[] = {1};
    const int32_t length = BEFORE, total = BEFORE + 1;
    onnx_begin_model(b, 21);
    onnx_value(b, GRAPH_INPUT, "query", TORT_FLOAT, 3, query);
    onnx_value(b, GRAPH_INPUT, "key", TORT_FLOAT, 3, key);
    onnx_value(b, GRAPH_INPUT, "value", TORT_FLOAT, 3, key);
    onnx_value(b, GRAPH_INPUT, "past_key", TORT_FLOAT, 4, cache);
    onnx_value(b, GRAPH_INPUT, "past_value", TORT_FLOAT, 4, cache);
    onnx_tensor(b, GRAPH_INITIALIZER, "length", TORT_INT32, 1, one, &length, sizeof length);
    onnx_tensor(b, GRAPH_INITIALIZER, "total", TORT_INT32, 0, NULL, &total, sizeof total);
    onnx_begin_node(b, GRAPH_NODE, "GroupQueryAttention", "attention",
                    "query key value past_key past_value length total", "y present_key present_value");
    onnx_text(b, NODE_DOMAIN, "com.microsoft");
    onnx_int_attribute(b, "num_heads", 2);
    onnx_int_attribute(b, "kv_num_heads", 1);
    onnx_end(b);
    if (reader) onnx_node(b, "Neg", "reader", "past_key", "negative");
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "present_key", TORT_FLOAT, -1, NULL);
    onnx_value(b, GRAPH_OUTPUT, "present_value", TORT_FLOAT, -1, NULL);
    if (reader) onnx_value(b, GRAPH_OUTPUT, "negative", TORT_FLOAT, -1, NULL);
    onnx_end(b);
    onnx_opset(b, MODEL_OPSET, "com.microsoft", 1);
}

static void open(const onnx_bytes *bytes, const char *chain, tort_model **model, tort_session **session,
                 tort_context **context) {
    const tort_session_options options = {.struct_size = sizeof options, .chain = chain};
    tort_error error;
    cr_assert_eq(tort_model_load_buffer(NULL, bytes->data, bytes->size, NULL, model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, *model, &options, session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_context_create(*session, context, &error), TORT_OK, "%s", error.msg);
}

/* Past of keys (which 0) or values: known rows, and `behind` in the room for later ones. */
static void fill_past(float *past, int which) {
    for (int i = 0; i < CACHE; i++)
        past[i] = i < BEFORE * HEAD ? (float)((i * 5 + which * 3) % 7) / 8.0f - 0.25f : behind;
}

typedef struct result {
    float y[2 * HEAD], past[2][CACHE], present[2][CACHE], negative[CACHE];
} result;

/* shared[which]: that past and its present have one buffer, r->past[which]. */
static void attend(const char *chain, bool reader, const bool *shared, result *r) {
    static float query[2 * HEAD] = {0.5f, -1, 2, 0.25f, 1, -0.5f, 0.125f, 1.5f}, key[HEAD] = {1, 0.5f, -1, 2},
                           value[HEAD] = {3, -2, 1, 0.5f};
    onnx_bytes bytes = {0};
    tort_model *model;
    tort_session *session;
    tort_context *context;
    tort_error error;
    const tort_tensor cache = {.type = TORT_FLOAT, .rank = 4, .dims = {1, 1, ROOM, HEAD}};
    tort_tensor inputs[5] = {{.type = TORT_FLOAT, .rank = 3, .dims = {1, 1, 2 * HEAD}, .data = query},
                             {.type = TORT_FLOAT, .rank = 3, .dims = {1, 1, HEAD}, .data = key},
                             {.type = TORT_FLOAT, .rank = 3, .dims = {1, 1, HEAD}, .data = value},
                             cache,
                             cache};
    tort_tensor outputs[4] = {
        {.type = TORT_FLOAT, .rank = 3, .dims = {1, 1, 2 * HEAD}, .data = r->y}, cache, cache, cache};
    outputs[3].data = r->negative;
    for (int which = 0; which < 2; which++) {
        fill_past(r->past[which], which);
        inputs[3 + which].data = r->past[which];
        outputs[1 + which].data = shared[which] ? r->past[which] : r->present[which];
    }
    write_attention(&bytes, reader);
    open(&bytes, chain, &model, &session, &context);
    cr_assert_eq(tort_context_run(context, inputs, 5, outputs, reader ? 4 : 3, &error), TORT_OK, "%s", error.msg);
    for (int which = 0; which < 2; which++)
        if (shared[which]) memcpy(r->present[which], r->past[which], sizeof r->past[which]);
    tort_context_free(context);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&bytes);
}

static void check(const char *chain, bool reader, const bool *shared, const bool *in_place) {
    static const bool apart[2];
    static result wanted, got;
    attend(chain, reader, apart, &wanted);
    attend(chain, reader, shared, &got);
    cr_assert(!memcmp(got.y, wanted.y, sizeof got.y), "%s: another output", chain);
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < CACHE; i++) {
            const float expected = in_place[which] && i >= (BEFORE + 1) * HEAD ? behind : wanted.present[which][i];
            cr_assert_eq(got.present[which][i], expected, "%s: element %d of cache %d is %g, expected %g", chain, i,
                         which, (double)got.present[which][i], (double)expected);
        }
    for (int i = 0; reader && i < CACHE; i++) {
        float past[CACHE];
        fill_past(past, 0);
        cr_assert_eq(got.negative[i], -past[i], "%s: a later node reads a past that was changed", chain);
    }
}

static const char *const chains[] = {"cpu:threads=1", "cpu:threads=2", "cpu:isa=v2"};

Test(one_buffer, caches_are_extended_where_they_are) {
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        for (int bits = 0; bits < 4; bits++) {
            const bool shared[2] = {bits & 1, bits >> 1};
            check(chains[i], false, shared, shared);
        }
}

Test(one_buffer, a_past_that_is_read_later_is_copied) {
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const bool shared[2] = {true, true}, in_place[2] = {false, true};
        check(chains[i], true, shared, in_place);
    }
}

/* y = Relu(x); with a reader z = Neg(x) follows. Elements are written over those they come from. */
Test(one_buffer, an_element_is_written_over_the_one_it_comes_from) {
    const int64_t dims[] = {4};
    const float given[4] = {-1, 2, -3, 4}, positive[4] = {0, 2, 0, 4}, negative[4] = {1, -2, 3, -4};
    for (int reader = 0; reader < 2; reader++) {
        onnx_bytes bytes = {0};
        tort_model *model;
        tort_session *session;
        tort_context *context;
        tort_error error;
        float x[4], z[4];
        memcpy(x, given, sizeof x);
        onnx_begin_model(&bytes, 21);
        onnx_value(&bytes, GRAPH_INPUT, "x", TORT_FLOAT, 1, dims);
        onnx_node(&bytes, "Relu", "relu", "x", "y");
        if (reader) onnx_node(&bytes, "Neg", "neg", "x", "z");
        onnx_value(&bytes, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
        if (reader) onnx_value(&bytes, GRAPH_OUTPUT, "z", TORT_FLOAT, -1, NULL);
        onnx_end(&bytes);
        open(&bytes, "cpu:threads=1", &model, &session, &context);
        const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = x};
        tort_tensor outputs[2] = {input, {.type = TORT_FLOAT, .rank = 1, .dims = {4}, .data = z}};
        cr_assert_eq(tort_context_run(context, &input, 1, outputs, 1 + reader, &error), TORT_OK, "%s", error.msg);
        cr_assert(!memcmp(x, positive, sizeof x));
        cr_assert(!reader || !memcmp(z, negative, sizeof z));
        tort_context_free(context);
        tort_session_free(session);
        tort_model_free(model);
        onnx_free(&bytes);
    }
}
