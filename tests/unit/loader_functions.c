/* Tests of loader/functions.c: calls of functions are expanded, with names and opsets of their own, within bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/loading.h"

Test(loader_functions, a_call_is_expanded_with_its_attributes) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load_model(&b);
    const tort_node *constant = node_named(model, "call/Constant_0"), *sum = node_named(model, "call/sum");
    cr_assert_eq(constant->attribute_count, 1);
    cr_assert_str_eq(constant->attributes[0].name, "value_float");
    cr_assert_float_eq(constant->attributes[0].u.f, 3.0f, 0);
    cr_assert_eq(sum->file_index, 0);
    cr_assert_str_eq(input_name(model, 0, sum, 0), "x");
    cr_assert_str_eq(model->graphs[0].values[sum->outputs[0]].name, "call/s");
    const tort_node *product = node_named(model, "call/Mul_2");
    cr_assert_str_eq(model->graphs[0].values[product->outputs[0]].name, "scaled");
    free_model(model, &b);
}

/* Function NAME(x) -> y that consists of one node. */
static void small_function(onnx_bytes *b, const char *name, const char *op, const char *inputs, const char *outputs) {
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, name);
    onnx_text(b, FUNCTION_DOMAIN, "f");
    onnx_text(b, FUNCTION_INPUT, "x");
    onnx_text(b, FUNCTION_OUTPUT, "y");
    onnx_opset(b, FUNCTION_OPSET, "", 13);
    onnx_opset(b, FUNCTION_OPSET, "f", 1);
    onnx_begin_node(b, FUNCTION_NODE, op, "", inputs, outputs);
    if (op[0] == 'f') onnx_text(b, NODE_DOMAIN, "f");
    onnx_end(b);
    onnx_end(b);
}

static void call(onnx_bytes *b, const char *function, const char *inputs, const char *outputs) {
    onnx_begin_node(b, GRAPH_NODE, function, "", inputs, outputs);
    onnx_text(b, NODE_DOMAIN, "f");
    onnx_end(b);
}

Test(loader_functions, calls_within_calls_keep_names_apart_and_opsets) {
    onnx_bytes b = {0};
    small_function(&b, "f1", "f2", "x", "y");
    small_function(&b, "f2", "Neg", "x", "y");
    onnx_begin_model(&b, 17);
    call(&b, "f1", "x", "a");
    call(&b, "f1", "a", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_eq(model->graphs[0].node_count, 2);
    cr_assert_str_eq(model->graphs[0].nodes[0].name, "f1_0/f2_0/Neg_0");
    cr_assert_str_eq(model->graphs[0].nodes[1].name, "f1_1/f2_0/Neg_0");
    cr_assert_eq(model->graphs[0].nodes[0].opset, 13);
    free_model(model, &b);
}

Test(loader_functions, a_function_that_returns_its_input_is_a_copy) {
    onnx_bytes b = {0};
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "same");
    onnx_text(&b, FUNCTION_DOMAIN, "f");
    onnx_text(&b, FUNCTION_INPUT, "x");
    onnx_text(&b, FUNCTION_OUTPUT, "x");
    onnx_end(&b);
    onnx_begin_model(&b, 17);
    call(&b, "same", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    cr_assert_str_eq(model->graphs[0].nodes[0].op_type, "Identity");
    cr_assert_eq(model->graphs[0].nodes[0].opset, 17);
    free_model(model, &b);
}

Test(loader_functions, a_function_that_calls_itself_is_refused) {
    onnx_bytes b = {0};
    small_function(&b, "f1", "f2", "x", "y");
    small_function(&b, "f2", "f1", "x", "y");
    onnx_begin_model(&b, 17);
    call(&b, "f1", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 0", "(f1)", "calls itself");
}

Test(loader_functions, calls_that_multiply_are_refused) {
    onnx_bytes b = {0};
    for (int level = 0; level < 30; level++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", level);
        snprintf(next, sizeof next, "f%d", level + 1);
        onnx_begin(&b, MODEL_FUNCTION);
        onnx_text(&b, FUNCTION_NAME, name);
        onnx_text(&b, FUNCTION_DOMAIN, "f");
        for (int twice = 0; twice < 2; twice++) {
            onnx_begin_node(&b, FUNCTION_NODE, next, "", "", "");
            onnx_text(&b, NODE_DOMAIN, "f");
            onnx_end(&b);
        }
        onnx_end(&b);
    }
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "f30");
    onnx_text(&b, FUNCTION_DOMAIN, "f");
    onnx_end(&b);
    onnx_begin_model(&b, 17);
    call(&b, "f0", "", "");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "expand to more than");
}

Test(loader_functions, nested_calls_are_bounded) {
    onnx_bytes b = {0};
    for (int level = 0; level < 200; level++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", level);
        snprintf(next, sizeof next, "f%d", level + 1);
        small_function(&b, name, next, "x", "y");
    }
    onnx_begin_model(&b, 17);
    call(&b, "f0", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "nested more than");
}

/* Two calls of one name, and one that is unnamed but would be called like another. */
Test(loader_functions, calls_have_names_of_their_own) {
    static const char *const given[] = {"call", "call", "", "F_2"};
    static const char *const named[] = {"call/Neg_0", "call#2/Neg_0", "F_2/Neg_0", "F_2#2/Neg_0"};
    onnx_bytes b = {0};
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "F");
    onnx_text(&b, FUNCTION_INPUT, "a");
    onnx_begin_node(&b, FUNCTION_NODE, "Neg", "", "a", "inner");
    onnx_end(&b);
    onnx_end(&b);
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    for (int i = 0; i < 4; i++) onnx_node(&b, "F", given[i], "x", "");
    onnx_end(&b);
    tort_model *model = load_model(&b);
    for (int i = 0; i < 4; i++) {
        const tort_node *node = &model->graphs[0].nodes[i];
        char value[32];
        snprintf(value, sizeof value, "%.*s/inner", (int)strcspn(named[i], "/"), named[i]);
        cr_assert_str_eq(node->name, named[i]);
        cr_assert_str_eq(model->graphs[0].values[node->outputs[0]].name, value);
    }
    free_model(model, &b);
}
