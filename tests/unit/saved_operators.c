/* saved_operators.c - saved plans of an operator that the application brings, with attributes of every kind that a row
 * can name. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/include/provider.h"
#include "tests/counting_env.h"
#include "tests/unit/loading.h"
#include "tests/unit/saved_models.h"

/* ---- the operator ------------------------------------------------------------------------------------------------ */

typedef struct params {
    float factor;
    int32_t padding;
} params;

static int64_t weight_count(const tort_attribute *attribute) {
    return attribute ? attribute->count : 0;
}

/* A number to which each attribute adds its own. */
static tort_status resolve_all(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    params *p = resolve->params;
    int32_t ints, floats;
    const int64_t *i = tort_attr_ints(node, "is", &ints);
    const float *f = tort_attr_floats(node, "fs", &floats);
    const tort_attribute *strings = tort_attr(node, "ss"), *type = tort_attr(node, "type");
    p->factor = tort_attr_float(node, "f") + (float)tort_attr_int(node, "i");
    p->factor += (float)strlen(tort_attr_string(node, "s"));
    for (int32_t k = 0; k < ints; k++) p->factor += (float)i[k];
    for (int32_t k = 0; k < floats; k++) p->factor += f[k];
    for (int32_t k = 0; strings && k < strings->count; k++) p->factor += (float)strings->u.strings[k].length;
    p->factor += (float)(weight_count(tort_attr(node, "t")) + weight_count(tort_attr(node, "ts")));
    p->factor += (float)(weight_count(tort_attr(node, "sparse")) + (type ? type->u.types->type : 0));
    return TORT_OK;
}

static tort_status scale(const tort_call *call) {
    const params *p = call->params;
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tort_count(&call->outputs[0]); i++) y[i] = x[i] * p->factor;
    return TORT_OK;
}

static const tort_op rows[] = {
    {"d", "Everything", 1, 1, "X:T", "Y:T Z?:T", "T=float",
     "f:float i:int s:string fs:floats is:ints ss:strings t:tensor ts:tensors sparse:sparse_tensor type:type",
     .params_size = sizeof(params), .infer = tort_infer_elementwise, .resolve = resolve_all, .reference = scale},
    {.name = NULL},
};
static const tort_op *const operators[] = {rows, NULL};

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

enum { KINDS = 10, ANSWER = 1 + 2 + 3 + (4 + 5) + (6 + 7) + (1 + 2) + 1 + 2 + 1 + TORT_FLOAT };

static void tensor(onnx_bytes *b, int field) {
    const int64_t two[] = {2}, numbers[] = {0, 2};
    onnx_tensor(b, field, "", TORT_INT64, 1, two, numbers, sizeof numbers);
}

static void contents(onnx_bytes *b, int kind) {
    const float floats[] = {4, 5};
    switch (kind) {
    case 0: onnx_float(b, ATTR_F, 1); break;
    case 1: onnx_int(b, ATTR_I, 2); break;
    case 2: onnx_text(b, ATTR_S, "abc"); break;
    case 3: onnx_blob(b, 7, floats, sizeof floats); break;
    case 4: onnx_blob(b, ATTR_INTS, "\x06\x07", 2); break;
    case 5: onnx_text(b, ATTR_STRINGS, "a"), onnx_text(b, ATTR_STRINGS, "bc"); break;
    case 6: tensor(b, ATTR_T); break;
    case 7: tensor(b, 10), tensor(b, 10); break;
    case 8:
        onnx_begin(b, ATTR_SPARSE);
        tensor(b, 1), tensor(b, 2);
        onnx_int(b, 3, 3);
        onnx_end(b);
        break;
    default:
        onnx_begin(b, 14); /* a type */
        onnx_begin(b, 1);
        onnx_int(b, 1, TORT_FLOAT);
        onnx_end(b), onnx_end(b);
    }
}

static void write_model(onnx_bytes *b) {
    static const struct {
        const char *name;
        int kind;
    } attributes[KINDS] = {{"f", 1},  {"i", 2}, {"s", 3},  {"fs", 6},      {"is", 7},
                           {"ss", 8}, {"t", 4}, {"ts", 9}, {"sparse", 11}, {"type", 13}};
    onnx_opset(b, MODEL_OPSET, "d", 1);
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    for (int twice = 0; twice < 2; twice++) {
        onnx_begin_node(b, GRAPH_NODE, "Everything", twice ? "second" : "first", twice ? "m" : "x",
                        twice ? "y" : "m -");
        onnx_text(b, NODE_DOMAIN, "d");
        for (int k = 0; k < KINDS; k++) {
            onnx_begin_attribute(b, attributes[k].name, attributes[k].kind);
            contents(b, k);
            onnx_end(b);
        }
        onnx_end(b);
    }
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, three);
    onnx_end(b);
}

static saved_bytes save(void) {
    const tort_load_options loading = {
        .struct_size = sizeof loading, .operators = operators, .operator_abi = TORT_PROVIDER_ABI};
    saved_bytes bytes = {0};
    const tort_writer writer = saved_writer(&bytes);
    onnx_bytes b = {0};
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_error error;
    write_model(&b);
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &loading, &model, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_create(NULL, model, &saved_on_cpu, &session, &error), TORT_OK, "%s", error.msg);
    cr_assert_eq(tort_session_save_writer(session, &writer, &error), TORT_OK, "%s", error.msg);
    tort_session_free(session);
    tort_model_free(model);
    onnx_free(&b);
    return bytes;
}

static const tort_plan_options with_operators = {
    .struct_size = sizeof with_operators, .operators = operators, .operator_abi = TORT_PROVIDER_ABI};

static tort_status load(const tort_env *env, const uint8_t *data, size_t size, float *y, tort_error *error) {
    float x[] = {1, 2, 3};
    const tort_tensor input = {.type = TORT_FLOAT, .rank = 1, .dims = {3}, .data = x};
    tort_tensor output = {.type = TORT_FLOAT, .rank = 1, .dims = {3}, .data = y};
    tort_session *session = NULL;
    tort_context *context = NULL;
    tort_status status = tort_session_load_buffer(env, data, size, &with_operators, &session, error);
    if (!status) status = tort_context_create(session, &context, error);
    if (!status) status = tort_context_run(context, &input, 1, &output, 1, error);
    tort_context_free(context);
    tort_session_free(session);
    return status;
}

Test(saved_operators, attributes_of_every_kind_come_back) {
    saved_bytes bytes = save();
    tort_error error = {.msg = ""};
    float y[3];
    cr_assert_eq(load(NULL, bytes.data, bytes.size, y, &error), TORT_OK, "%s", error.msg);
    for (int i = 0; i < 3; i++) cr_expect_eq(y[i], (float)((i + 1) * ANSWER * ANSWER), "%g", (double)y[i]);
    free(bytes.data);
}

Test(saved_operators, operators_that_are_missing_or_of_another_build) {
    saved_bytes bytes = save();
    tort_session *session = NULL;
    tort_error error;
    tort_plan_options options = {.struct_size = sizeof options};
    cr_expect_eq(tort_session_load_buffer(NULL, bytes.data, bytes.size, &options, &session, &error),
                 TORT_E_UNSUPPORTED);
    cr_expect(strstr(error.msg, "or give the application's operators"), "%s", error.msg);
    options = with_operators;
    options.operator_abi++;
    cr_expect_eq(tort_session_load_buffer(NULL, bytes.data, bytes.size, &options, &session, &error), TORT_E_USAGE);
    cr_expect(strstr(error.msg, "set operator_abi to TORT_PROVIDER_ABI"), "%s", error.msg);
    cr_expect_null(session);
    free(bytes.data);
}

Test(saved_operators, the_nth_allocation_fails) {
    saved_bytes bytes = save();
    tort_status status = TORT_E_MEMORY;
    float y[3];
    for (int64_t n = 1; status && n < 1000; n++) {
        tort_counting_env counting;
        tort_error error = {.msg = ""};
        tort_counting_env_init(&counting);
        counting.fail_at = n;
        status = load(&counting.env, bytes.data, bytes.size, y, &error);
        cr_expect(!status || status == TORT_E_MEMORY, "allocation %lld: %s", (long long)n, error.msg);
        cr_expect_eq(counting.live_blocks, 0);
        cr_expect_eq(counting.wrong_sizes, 0);
    }
    cr_expect_eq(status, TORT_OK);
    free(bytes.data);
}

/* Every number of the file, wherever it begins, is one of these instead. */
Test(saved_operators, numbers_that_are_others_do_no_harm) {
    static const int32_t numbers[] = {0, 1, 2, 9, 12, -1, -2, -4, 1 << 16, INT32_MAX};
    saved_bytes bytes = save();
    float y[3];
    uint8_t *copy = malloc(bytes.size);
    for (size_t at = 0; at + sizeof *numbers <= bytes.size; at++) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            tort_counting_env counting;
            tort_error error = {.msg = ""};
            tort_counting_env_init(&counting);
            memcpy(copy, bytes.data, bytes.size);
            memcpy(copy + at, &numbers[n], sizeof *numbers);
            saved_reseal(copy, bytes.size);
            const tort_status status = load(&counting.env, copy, bytes.size, y, &error);
            cr_expect(!status || *error.msg, "%d at %zu: %s", numbers[n], at, tort_status_name(status));
            cr_expect_neq(status, TORT_E_INTERNAL, "%d at %zu: %s", numbers[n], at, error.msg);
            cr_expect_eq(counting.live_blocks, 0);
            cr_expect_eq(counting.wrong_sizes, 0);
        }
    }
    free(copy);
    free(bytes.data);
}
