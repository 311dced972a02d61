/* Tests of loader/graph.c, functions.c and attributes.c: scopes, captures, calls that are expanded, what exporters
 * write, and the words of refusals. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/graph.h"
#include "tests/onnx_bytes.h"

static const int64_t three[] = {3};

static tort_model *load(onnx_bytes *b) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error);
    cr_assert_eq(status, TORT_OK, "%s", error.msg);
    return model;
}

/* Loading must fail with this status and with all these words in the message. */
static void refuse(onnx_bytes *b, tort_status expected, const char *const *words) {
    tort_model *model = NULL;
    tort_error error = {0};
    tort_status status = tort_model_load_buffer(NULL, b->data, b->size, NULL, &model, &error);
    cr_assert_eq(status, expected, "status %s: %s", tort_status_name(status), error.msg);
    cr_assert_null(model);
    for (; *words; words++) cr_assert(strstr(error.msg, *words), "\"%s\" is not in: %s", *words, error.msg);
    onnx_free(b);
}

#define REFUSE(b, status, ...) refuse(b, status, (const char *const[]){__VA_ARGS__, NULL})

static void done(tort_model *model, onnx_bytes *b) {
    tort_model_free(model);
    onnx_free(b);
}

static const tort_node *node_named(const tort_model *model, const char *name) {
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t i = 0; i < model->graphs[g].node_count; i++)
            if (strcmp(model->graphs[g].nodes[i].name, name) == 0) return &model->graphs[g].nodes[i];
    cr_assert_fail("no node \"%s\"", name);
    return NULL;
}

static const char *input_name(const tort_model *model, int32_t graph, const tort_node *node, int32_t i) {
    return node->inputs[i] < 0 ? "-" : model->graphs[graph].values[node->inputs[i]].name;
}

static void input_and_output(onnx_bytes *b, const char *in, const char *out) {
    onnx_value(b, GRAPH_INPUT, in, TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_OUTPUT, out, TORT_FLOAT, 1, three);
}

Test(loader_graph, header_and_sample) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load(&b);
    cr_assert_eq(model->ir_version, 10);
    cr_assert_str_eq(model->producer, "tests");
    cr_assert_eq(model->metadata_count, 1);
    cr_assert_str_eq(model->metadata[0].value, "value");
    cr_assert_eq(model->opset_count, 2);
    cr_assert_eq(tort_model_input_count(model), 3);
    tort_port batch = tort_model_input(model, 2);
    cr_assert_eq(batch.dims[0], -1);
    cr_assert_str_eq(batch.dim_names[0], "N");
    cr_assert_eq(model->graph_count, 3);
    cr_assert_str_eq(model->graphs[1].path, "If_1/then_branch");
    done(model, &b);
}

Test(loader_graph, nodes_may_come_in_any_order) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Neg", "second", "m", "y");
    onnx_node(&b, "Abs", "first", "x", "m");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load(&b);
    cr_assert_str_eq(model->graphs[0].nodes[0].name, "first");
    cr_assert_eq(model->graphs[0].nodes[1].file_index, 0);
    done(model, &b);
}

Test(loader_graph, what_exporters_write) {
    onnx_bytes b = {0};
    const float w[] = {1, 2, 3};
    onnx_opset(&b, MODEL_OPSET, "ai.onnx.ml", 3); /* imported, not used */
    onnx_opset(&b, MODEL_OPSET, "com.microsoft.nchwc", 1);
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w: 1/2 .x", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_value(&b, GRAPH_INPUT, "w: 1/2 .x", TORT_FLOAT, 1, three); /* old files list initializers as inputs */
    onnx_begin_node(&b, GRAPH_NODE, "Add", "same", "x", "m");
    onnx_text(&b, NODE_INPUT, "w: 1/2 .x");
    onnx_text(&b, NODE_DOMAIN, "ai.onnx");
    onnx_end(&b);
    onnx_node(&b, "Clip", "same", "m - -", "c"); /* a duplicate name; absent optional inputs */
    onnx_node(&b, "Clip", "", "c - w0", "y");
    onnx_tensor(&b, GRAPH_INITIALIZER, "w0", TORT_FLOAT, 0, NULL, w, 4);
    onnx_value(&b, GRAPH_VALUE_INFO, "nobody", TORT_FLOAT, 1, three);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load(&b);
    const tort_node *nodes = model->graphs[0].nodes;
    cr_assert_eq(model->opset_count, 3);
    cr_assert_str_eq(nodes[0].domain, "");
    cr_assert_eq(nodes[0].opset, 17);
    cr_assert_str_eq(nodes[1].name, "same#2");
    cr_assert_str_eq(nodes[2].name, "Clip_2");
    cr_assert_eq(nodes[2].inputs[1], -1);
    cr_assert_eq(tort_model_input_count(model), 1);
    done(model, &b);
}

Test(loader_graph, a_body_captures_through_every_level) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    onnx_begin_node(&b, GRAPH_NODE, "If", "outer", "c", "y");
    for (int branch = 0; branch < 2; branch++) {
        onnx_begin_attribute(&b, branch ? "else_branch" : "then_branch", 5);
        onnx_begin(&b, ATTR_G);
        if (branch == 0) {
            onnx_begin_node(&b, GRAPH_NODE, "If", "inner", "c", "t");
            for (int deep = 0; deep < 2; deep++) {
                onnx_begin_attribute(&b, deep ? "else_branch" : "then_branch", 5);
                onnx_begin(&b, ATTR_G);
                onnx_node(&b, "Abs", deep ? "abs2" : "abs1", deep ? "x" : "late", "u");
                onnx_value(&b, GRAPH_OUTPUT, "u", TORT_FLOAT, 1, three);
                onnx_end(&b);
                onnx_end(&b);
            }
            onnx_end(&b);
        } else {
            onnx_node(&b, "Neg", "neg", "x", "t");
        }
        onnx_value(&b, GRAPH_OUTPUT, "t", TORT_FLOAT, 1, three);
        onnx_end(&b);
        onnx_end(&b);
    }
    onnx_end(&b);
    onnx_node(&b, "Exp", "exp", "x", "late"); /* made after the node that captures it */
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load(&b);
    cr_assert_eq(model->graph_count, 5);
    const tort_node *outer = node_named(model, "outer"), *inner = node_named(model, "inner");
    cr_assert_str_eq(model->graphs[0].nodes[0].name, "exp");
    cr_assert_eq(outer->captured, 3); /* c, late and x, each once, although both branches use x */
    cr_assert_eq(outer->input_count, 4);
    cr_assert_eq(inner->captured, 2);
    for (int32_t g = 1; g < model->graph_count; g++) {
        bool deep = strstr(model->graphs[g].path, "inner/") != NULL;
        cr_assert_eq(model->graphs[g].input_count, deep ? 2 : 3, "%s", model->graphs[g].path);
    }
    const tort_node *abs1 = node_named(model, "abs1");
    cr_assert_str_eq(input_name(model, 2, abs1, 0), "late");
    cr_assert_str_eq(model->graphs[2].path, "outer/then_branch/inner/then_branch");
    done(model, &b);
}

Test(loader_graph, a_call_is_expanded_with_its_attributes) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load(&b);
    const tort_node *constant = node_named(model, "call/Constant_0"), *sum = node_named(model, "call/sum");
    cr_assert_eq(constant->attribute_count, 1);
    cr_assert_str_eq(constant->attributes[0].name, "value_float");
    cr_assert_float_eq(constant->attributes[0].u.f, 3.0f, 0);
    cr_assert_eq(sum->file_index, 0);
    cr_assert_str_eq(input_name(model, 0, sum, 0), "x");
    cr_assert_str_eq(model->graphs[0].values[sum->outputs[0]].name, "call/s");
    const tort_node *product = node_named(model, "call/Mul_2");
    cr_assert_str_eq(model->graphs[0].values[product->outputs[0]].name, "scaled");
    done(model, &b);
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

Test(loader_graph, calls_within_calls_keep_names_apart_and_opsets) {
    onnx_bytes b = {0};
    small_function(&b, "f1", "f2", "x", "y");
    small_function(&b, "f2", "Neg", "x", "y");
    onnx_begin_model(&b, 17);
    call(&b, "f1", "x", "a");
    call(&b, "f1", "a", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load(&b);
    cr_assert_eq(model->graphs[0].node_count, 2);
    cr_assert_str_eq(model->graphs[0].nodes[0].name, "f1_0/f2_0/Neg_0");
    cr_assert_str_eq(model->graphs[0].nodes[1].name, "f1_1/f2_0/Neg_0");
    cr_assert_eq(model->graphs[0].nodes[0].opset, 13);
    done(model, &b);
}

Test(loader_graph, a_function_that_returns_its_input_is_a_copy) {
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
    tort_model *model = load(&b);
    cr_assert_str_eq(model->graphs[0].nodes[0].op_type, "Identity");
    cr_assert_eq(model->graphs[0].nodes[0].opset, 17);
    done(model, &b);
}

Test(loader_graph, a_function_that_calls_itself_is_refused) {
    onnx_bytes b = {0};
    small_function(&b, "f1", "f2", "x", "y");
    small_function(&b, "f2", "f1", "x", "y");
    onnx_begin_model(&b, 17);
    call(&b, "f1", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 0", "(f1)", "calls itself");
}

Test(loader_graph, calls_that_multiply_are_refused) {
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

Test(loader_graph, nested_calls_are_bounded) {
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

Test(loader_graph, refusals_name_the_node_and_the_field) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Abs", "first", "x", "m");
    onnx_node(&b, "Neg", "conv1", "nowhere", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 1 \"conv1\" (Neg)", "input 0", "\"nowhere\"");

    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Softmax", "s", "x", "y");
    onnx_begin_attribute(&b, "axis", 1);
    onnx_int(&b, ATTR_I, 3); /* says float, holds int */
    onnx_end(&b);
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 0 \"s\" (Softmax)", "attribute \"axis\"", "float", "int");

    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Softmax", "s", "x", "y");
    onnx_int_attribute(&b, "axis", 0);
    onnx_int_attribute(&b, "axis", 0);
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "attribute \"axis\"", "twice");

    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Softmax", "s", "x", "y");
    onnx_begin_attribute(&b, "axis", 2);
    onnx_text(&b, ATTR_REF, "alpha");
    onnx_end(&b);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "attribute \"axis\"", "outside a function");

    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Foo", "", "x", "y");
    onnx_text(&b, NODE_DOMAIN, "com.example");
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "com.example", "opset_import");

    onnx_begin_model(&b, 17);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "output 0 \"y\"");

    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 9, (const int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    onnx_end(&b);
    REFUSE(&b, TORT_E_UNSUPPORTED, "input 0 \"x\"", "rank 9");
}

/* An operator that takes a list takes one at least: there would be no type of what it gives. */
Test(loader_graph, a_list_of_inputs_is_not_empty) {
    static const char *const ops[] = {"Sum", "Mean", "Min", "Max", "Concat", "Einsum"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        for (int absent = 0; absent < 2; absent++) {
            onnx_bytes b = {0};
            onnx_begin_model(&b, 17);
            onnx_begin_node(&b, GRAPH_NODE, ops[i], "", absent ? "-" : "", "y");
            if (i == 4) onnx_int_attribute(&b, "axis", 0);
            if (i == 5) {
                onnx_begin_attribute(&b, "equation", 3);
                onnx_text(&b, ATTR_S, "a->a");
                onnx_end(&b);
            }
            onnx_end(&b);
            input_and_output(&b, "x", "y");
            onnx_end(&b);
            REFUSE(&b, TORT_E_MODEL, ops[i], absent ? "number 0 is missing" : "expected one or more");
        }
    }
}

Test(loader_graph, names_must_be_unique) {
    onnx_bytes b = {0};
    const float w[] = {1, 2, 3};
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "initializer 1 \"w\"", "two of this name");

    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "input 1 \"x\"", "two of this name");

    onnx_begin_model(&b, 17);
    onnx_node(&b, "Abs", "one", "x", "y");
    onnx_node(&b, "Neg", "two", "x", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "two", "\"y\"", "already");
}

Test(loader_graph, cycles_are_refused) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_node(&b, "Add", "a", "x n", "m");
    onnx_node(&b, "Neg", "b", "m", "n");
    input_and_output(&b, "x", "n");
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "cycle");
}

Test(loader_graph, newer_files_are_refused_in_one_message) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 99);
    onnx_node(&b, "Abs", "", "x", "m");
    onnx_node(&b, "Abs", "", "m", "y");
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_load_options options = {.struct_size = sizeof options, .assume_opset = 22};
    tort_model *model;
    cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, NULL), TORT_OK);
    cr_assert_eq(model->graphs[0].nodes[0].opset, 22);
    tort_model_free(model);
    REFUSE(&b, TORT_E_MODEL, "99", "28", "--assume-opset");

    onnx_int(&b, MODEL_IR, 99);
    onnx_begin(&b, MODEL_GRAPH);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "ir_version is 99");
}

Test(loader_graph, dimensions_that_exporters_write) {
    onnx_bytes b = {0};
    static const char *const texts[] = {"N", "((batch*seq)//batch)", "?", "", NULL};
    onnx_begin_model(&b, 17);
    onnx_begin(&b, GRAPH_INPUT);
    onnx_text(&b, 1, "x");
    onnx_begin(&b, 2);
    onnx_begin(&b, 1);
    onnx_int(&b, 1, TORT_FLOAT);
    onnx_begin(&b, 2);
    for (int i = 0; texts[i]; i++) {
        onnx_begin(&b, 1);
        onnx_text(&b, 2, texts[i]);
        onnx_end(&b);
    }
    for (int64_t value = -1; value <= 0; value++) {
        onnx_begin(&b, 1);
        onnx_int(&b, 1, value);
        onnx_end(&b);
    }
    onnx_begin(&b, 1); /* neither */
    onnx_end(&b);
    for (int i = 0; i < 4; i++) onnx_end(&b);
    onnx_end(&b);
    tort_model *model = load(&b);
    tort_port x = tort_model_input(model, 0);
    cr_assert_eq(x.rank, 7);
    cr_assert_str_eq(x.dim_names[0], "N");
    cr_assert_str_eq(x.dim_names[1], texts[1]);
    for (int i = 2; i <= 6; i++) {
        cr_assert_str_eq(x.dim_names[i], "");
        cr_assert_eq(x.dims[i], i == 5 ? 0 : -1);
    }
    done(model, &b);
}

Test(loader_graph, a_hundred_thousand_constants_load_in_linear_time) {
    onnx_bytes b = {0};
    enum { COUNT = 100000 };
    onnx_begin_model(&b, 17);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "constant_%d", i);
        onnx_begin_node(&b, GRAPH_NODE, "Constant", "", "", name);
        onnx_begin_attribute(&b, "value", 4);
        onnx_tensor(&b, ATTR_T, "", TORT_FLOAT, 0, NULL, "\0\0\0\0", 4);
        onnx_end(&b);
        onnx_end(&b);
    }
    onnx_value(&b, GRAPH_OUTPUT, "constant_7", TORT_FLOAT, 0, NULL);
    onnx_end(&b);
    tort_model *model = load(&b);
    cr_assert_eq(model->graphs[0].node_count, COUNT);
    cr_assert_eq(model->weight_count, COUNT);
    done(model, &b);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Names that the core makes never take away, or repeat, one that the file has. */
Test(loader_graph, every_node_has_a_name_of_its_own) {
    static const char *const given[] = {"", "Neg_0", "twin", "twin", "twin#2", "twin", "Neg_0#2", "", "Neg_7", ""};
    static const char *const named[] = {"Neg_0#3", "Neg_0",   "twin",    "twin#3", "twin#2",
                                        "twin#4",  "Neg_0#2", "Neg_7#2", "Neg_7",  "Neg_9"};
    enum { COUNT = sizeof given / sizeof *given };
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    for (int i = 0; i < COUNT; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%d", i);
        onnx_node(&b, "Neg", given[i], "x", out);
    }
    onnx_value(&b, GRAPH_OUTPUT, "y0", TORT_FLOAT, 1, three);
    onnx_end(&b);
    tort_model *model = load(&b);
    for (int i = 0; i < COUNT; i++) cr_assert_str_eq(model->graphs[0].nodes[i].name, named[i]);
    done(model, &b);
}

/* Begins a node with a body of the attribute `branch`; two calls of onnx_end end the body. */
static void begin_body(onnx_bytes *b, const char *branch) {
    onnx_begin_attribute(b, branch, 5);
    onnx_begin(b, ATTR_G);
}

Test(loader_graph, bodies_are_called_after_their_node) {
    char longest[301];
    memset(longest, 'n', 300);
    longest[300] = 0;
    const char *const given[] = {"same", "same", "", longest};
    const char *const paths[] = {"same/then_branch", "same#2/then_branch", "If_2/then_branch", "If_3/then_branch"};
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    for (int i = 0; i < 4; i++) {
        onnx_begin_node(&b, GRAPH_NODE, "If", given[i], "c", "");
        begin_body(&b, "then_branch");
        onnx_end(&b);
        onnx_end(&b);
        onnx_end(&b);
    }
    onnx_end(&b);
    tort_model *model = load(&b);
    for (int i = 0; i < 4; i++) cr_assert_str_eq(model->graphs[i + 1].path, paths[i]);
    done(model, &b);
}

/* Two calls of one name, and one that is unnamed but would be called like another. */
Test(loader_graph, calls_have_names_of_their_own) {
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
    tort_model *model = load(&b);
    for (int i = 0; i < 4; i++) {
        const tort_node *node = &model->graphs[0].nodes[i];
        char value[32];
        snprintf(value, sizeof value, "%.*s/inner", (int)strcspn(named[i], "/"), named[i]);
        cr_assert_str_eq(node->name, named[i]);
        cr_assert_str_eq(model->graphs[0].values[node->outputs[0]].name, value);
    }
    done(model, &b);
}

/* ---- what exporters leave out ------------------------------------------------------------------------------------ */

enum { NO_TYPE, EMPTY_TYPE, EMPTY_TENSOR_TYPE, UNDEFINED_ELEMENTS, WAYS };

/* A value whose type says nothing, in one of the ways in which that is written. */
static void untyped_value(onnx_bytes *b, int field, const char *name, int way) {
    onnx_begin(b, field);
    onnx_text(b, 1, name);
    if (way != NO_TYPE) onnx_begin(b, 2);
    if (way >= EMPTY_TENSOR_TYPE) onnx_begin(b, 1);
    if (way == UNDEFINED_ELEMENTS) onnx_int(b, 1, 0);
    if (way >= EMPTY_TENSOR_TYPE) onnx_end(b);
    if (way != NO_TYPE) onnx_end(b);
    onnx_end(b);
}

Test(loader_graph, bodies_and_outputs_without_types) {
    for (int way = 0; way < WAYS; way++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        onnx_value(&b, GRAPH_INPUT, "n", TORT_INT64, 0, NULL);
        onnx_value(&b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
        onnx_begin_node(&b, GRAPH_NODE, "Loop", "loop", "n - x", "y");
        begin_body(&b, "body");
        untyped_value(&b, GRAPH_INPUT, "i", way);
        untyped_value(&b, GRAPH_INPUT, "again", way);
        untyped_value(&b, GRAPH_INPUT, "a", way);
        onnx_node(&b, "Neg", "", "a", "m");
        onnx_node(&b, "Neg", "", "m", "out");
        untyped_value(&b, GRAPH_VALUE_INFO, "m", way);
        untyped_value(&b, GRAPH_OUTPUT, "again", way);
        untyped_value(&b, GRAPH_OUTPUT, "out", way);
        for (int i = 0; i < 3; i++) onnx_end(&b);
        onnx_node(&b, "Neg", "neg", "x", "z");
        untyped_value(&b, GRAPH_OUTPUT, "y", way);
        untyped_value(&b, GRAPH_OUTPUT, "z", way);
        onnx_end(&b);
        tort_model *model = load(&b);
        const tort_graph *body = &model->graphs[1];
        cr_assert_eq(body->values[body->outputs[1]].info.type, TORT_UNDEFINED);
        tort_port z = tort_model_output(model, 1);
        cr_assert(z.type == TORT_FLOAT && z.rank == 1 && z.dims[0] == 3); /* inferred */
        done(model, &b);
    }
}

/* Only what a caller must give has to have a type, and no initializer stands in for it. */
Test(loader_graph, an_input_without_a_type_is_refused) {
    const float w[] = {1, 2, 3};
    for (int way = 0; way < WAYS; way++) {
        onnx_bytes b = {0};
        onnx_begin_model(&b, 17);
        untyped_value(&b, GRAPH_INPUT, "x", way);
        onnx_end(&b);
        REFUSE(&b, TORT_E_MODEL, "input 0 \"x\"", "it has no type");
        onnx_begin_model(&b, 17);
        onnx_tensor(&b, GRAPH_INITIALIZER, "w", TORT_FLOAT, 1, three, w, sizeof w);
        untyped_value(&b, GRAPH_INPUT, "w", way);
        onnx_node(&b, "Neg", "", "w", "y");
        onnx_value(&b, GRAPH_OUTPUT, "y", TORT_FLOAT, 1, three);
        onnx_end(&b);
        done(load(&b), &b);
    }
}

/* None of these can change what the model computes. */
Test(loader_graph, what_nothing_can_refer_to_is_passed_over) {
    const float w[] = {1, 2, 3};
    onnx_bytes b = {0};
    onnx_opset(&b, MODEL_OPSET, "com.example", 0); /* a domain of no node */
    onnx_opset(&b, MODEL_OPSET, "com.example.other", -1);
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "F");
    onnx_text(&b, FUNCTION_INPUT, "a");
    onnx_text(&b, FUNCTION_OUTPUT, "b");
    onnx_begin_node(&b, FUNCTION_NODE, "Neg", "", "a", "b");
    onnx_end(&b);
    onnx_end(&b);
    onnx_begin_model(&b, 17);
    onnx_tensor(&b, GRAPH_INITIALIZER, "", TORT_FLOAT, 1, three, w, sizeof w); /* a weight without a name */
    onnx_begin_node(&b, GRAPH_NODE, "F", "", "x", "y");
    onnx_int_attribute(&b, "note", 1); /* which the function does not declare */
    onnx_end(&b);
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load(&b);
    cr_assert_eq(model->opset_count, 1);
    cr_assert_eq(tort_model_opset(model, "com.example"), 0);
    cr_assert_eq(model->graphs[0].node_count, 1);
    done(model, &b);
    onnx_opset(&b, MODEL_OPSET, "", 0);
    onnx_begin_model(&b, 17);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "opset_import 0", "main domain has version 0");
}

Test(loader_graph, a_node_of_many_bodies_is_refused) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Many", "many", "", "");
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), 0};
        begin_body(&b, name);
        onnx_end(&b);
        onnx_end(&b);
    }
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_UNSUPPORTED, "node 0 \"many\" (Many)", "attribute \"e\"", "more than 4 bodies");
}

/* ---- what an application may ask --------------------------------------------------------------------------------- */

Test(loader_graph, what_a_model_says_of_itself) {
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    onnx_text(&b, 3, "1.2");
    tort_model *model = load(&b);
    cr_assert_eq(tort_model_ir_version(model), 10);
    cr_assert_str_eq(tort_model_producer(model), "tests");
    cr_assert_str_eq(tort_model_producer_version(model), "1.2");
    cr_assert_str_eq(tort_model_graph_name(model), "test");
    cr_assert_eq(tort_model_opset(model, NULL), 17);
    cr_assert_eq(tort_model_opset(model, ""), 17);
    cr_assert_eq(tort_model_opset(model, "ai.onnx"), 17);
    cr_assert_eq(tort_model_opset(model, "local"), 1);
    cr_assert_eq(tort_model_opset(model, "com.example"), 0);
    cr_assert_eq(tort_model_metadata_count(model), 1);
    cr_assert_str_eq(tort_model_metadata(model, 0).key, "key");
    cr_assert_str_eq(tort_model_metadata(model, 0).value, "value");
    for (int32_t wrong = -1; wrong < 2; wrong += 2) {
        cr_assert_str_eq(tort_model_metadata(model, wrong).key, "");
        cr_assert_str_eq(tort_model_metadata(model, wrong).value, "");
    }
    done(model, &b);
}

Test(loader_graph, a_port_that_is_not_there_is_empty) {
    static const int32_t wrong[] = {-1, 3, 99, INT32_MAX, INT32_MIN};
    onnx_bytes b = {0};
    onnx_sample_model(&b);
    tort_model *model = load(&b);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tort_port ports[] = {tort_model_input(model, wrong[i]), tort_model_output(model, wrong[i])};
        for (int k = 0; k < 2; k++) {
            cr_assert_str_eq(ports[k].name, "");
            cr_assert_eq(ports[k].type, TORT_UNDEFINED);
            cr_assert_eq(ports[k].rank, -1);
            for (int d = 0; d < TORT_MAX_RANK; d++) cr_assert_str_eq(ports[k].dim_names[d], "");
        }
    }
    done(model, &b);
}
