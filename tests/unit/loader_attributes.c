/* Tests of loader/attributes.c, functions.c and flex_attention.c: attributes that say what they are and hold something
 * else, calls that do not fit their function, graphs that do not fit their attention. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"
#include "tests/unit/loading.h"

enum { KIND_FLOAT = 1, KIND_INT, KIND_TENSOR = 4, KIND_GRAPH, KIND_INTS = 7, KIND_SPARSE = 11, KIND_TYPE_PROTO = 13 };

/* A node of an operator that nobody knows is open, with an attribute of this type; end_attribute ends all. */
static void begin_attribute(onnx_bytes *b, int type) {
    onnx_opset(b, MODEL_OPSET, "d", 1);
    onnx_begin_model(b, 17);
    onnx_begin_node(b, GRAPH_NODE, "Any", "any", "", "y");
    onnx_text(b, NODE_DOMAIN, "d");
    onnx_begin(b, NODE_ATTRIBUTE);
    onnx_text(b, ATTR_NAME, "a");
    if (type) onnx_int(b, ATTR_TYPE, type);
}

static void end_attribute(onnx_bytes *b) {
    for (int i = 0; i < 3; i++) onnx_end(b);
}

Test(loader_attributes, a_type_that_is_none_or_holds_nothing) {
    static const struct {
        int type;
        const char *words;
    } cases[] = {{-1, "its type is -1; ONNX has 1 to 14"},
                 {15, "its type is 15; ONNX has 1 to 14"},
                 {0, "it has neither type nor value"},
                 {KIND_TENSOR, "its type is tensor, but it holds none"},
                 {KIND_GRAPH, "its type is graph, but it holds none"},
                 {KIND_SPARSE, "its type is sparse_tensor, but it holds none"},
                 {KIND_TYPE_PROTO, "its type is type_proto, but it holds none"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        onnx_bytes b = {0};
        begin_attribute(&b, cases[i].type);
        end_attribute(&b);
        REFUSE(&b, TORT_E_MODEL, "node 0 \"any\"", "attribute \"a\"", cases[i].words);
    }
}

Test(loader_attributes, a_value_of_another_type_than_stated) {
    onnx_bytes b = {0};
    begin_attribute(&b, KIND_INT);
    onnx_float(&b, ATTR_F, 1);
    end_attribute(&b);
    REFUSE(&b, TORT_E_MODEL, "its type is int, but it holds float");
}

/* The oldest files state no type. */
Test(loader_attributes, a_type_that_only_the_value_tells) {
    onnx_bytes b = {0};
    begin_attribute(&b, 0);
    onnx_int(&b, ATTR_INTS, 5);
    end_attribute(&b);
    tort_model *model = load_model(&b);
    const tort_attribute *attribute = &node_named(model, "any")->attributes[0];
    cr_assert_eq(attribute->kind, TORT_ATTR_INTS);
    cr_assert_eq(attribute->u.ints[0], 5);
    free_model(model, &b);
}

Test(loader_attributes, a_name_that_is_missing_or_there_twice) {
    onnx_bytes b = {0};
    begin_attribute(&b, KIND_INT);
    onnx_text(&b, ATTR_NAME, "");
    end_attribute(&b);
    REFUSE(&b, TORT_E_MODEL, "an attribute without a name");
    begin_attribute(&b, KIND_INT);
    onnx_end(&b);
    onnx_int_attribute(&b, "a", 1);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "attribute \"a\"", "it is there twice");
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

/* Function "f"."d" of the inputs x and z with the output y and the parameter p is open. */
static void begin_function(onnx_bytes *b) {
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, "f");
    onnx_text(b, FUNCTION_DOMAIN, "d");
    onnx_text(b, FUNCTION_INPUT, "x");
    onnx_text(b, FUNCTION_INPUT, "z");
    onnx_text(b, FUNCTION_OUTPUT, "y");
    onnx_text(b, FUNCTION_ATTRIBUTE, "p");
    onnx_opset(b, FUNCTION_OPSET, "", 17);
    onnx_opset(b, FUNCTION_OPSET, "d", 1);
}

/* A node of the function, open, with an attribute that stands for a parameter. */
static void begin_referring(onnx_bytes *b, const char *op, const char *inputs, const char *outputs,
                            const char *attribute, int type, const char *parameter) {
    onnx_begin_node(b, FUNCTION_NODE, op, "inner", inputs, outputs);
    onnx_begin_attribute(b, attribute, type);
    onnx_text(b, ATTR_REF, parameter);
    onnx_end(b);
}

static void begin_main(onnx_bytes *b) {
    onnx_opset(b, MODEL_OPSET, "d", 1);
    onnx_begin_model(b, 17);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
}

/* The main graph: a call, whose attribute p has this value unless it is 0. */
static void call_main(onnx_bytes *b, const char *inputs, const char *outputs, int64_t p) {
    begin_main(b);
    onnx_begin_node(b, GRAPH_NODE, "f", "call", inputs, outputs);
    onnx_text(b, NODE_DOMAIN, "d");
    if (p) onnx_int_attribute(b, "p", p);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

/* The attribute is then left out. */
Test(loader_attributes, a_parameter_that_the_call_does_not_give) {
    for (int given = 0; given < 2; given++) {
        onnx_bytes b = {0};
        begin_function(&b);
        begin_referring(&b, "Softmax", "x", "y", "axis", KIND_INT, "p");
        onnx_end(&b);
        onnx_end(&b);
        call_main(&b, "x x", "y", -given);
        tort_model *model = load_model(&b);
        cr_assert_eq(node_named(model, "call/inner")->attributes[0].is_default, !given);
        free_model(model, &b);
    }
}

Test(loader_attributes, references_that_refer_to_nothing) {
    onnx_bytes b = {0};
    begin_function(&b);
    begin_referring(&b, "Softmax", "x", "y", "axis", KIND_INT, "q");
    onnx_end(&b);
    onnx_end(&b);
    call_main(&b, "x x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "attribute \"axis\"", "refers to \"q\", which is not a parameter of the function");
    begin_main(&b);
    onnx_begin_node(&b, GRAPH_NODE, "Softmax", "", "x", "y");
    onnx_begin_attribute(&b, "axis", KIND_INT);
    onnx_text(&b, ATTR_REF, "p");
    for (int i = 0; i < 3; i++) onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "refers to \"p\", a parameter, outside a function");
}

Test(loader_attributes, a_parameter_of_another_type) {
    onnx_bytes b = {0};
    begin_function(&b);
    begin_referring(&b, "Softmax", "x", "y", "axis", KIND_FLOAT, "p");
    onnx_end(&b);
    onnx_end(&b);
    call_main(&b, "x x", "y", 1);
    REFUSE(&b, TORT_E_MODEL, "its type is 1, but the call gives \"p\" of type 2");
}

Test(loader_attributes, a_graph_that_is_handed_to_a_function) {
    for (int many = 0; many < 2; many++) {
        onnx_bytes b = {0};
        const int kind = many ? 10 : KIND_GRAPH;
        begin_function(&b);
        begin_referring(&b, "Any", "x", "y", "graph", kind, "p");
        onnx_end(&b);
        onnx_end(&b);
        begin_main(&b);
        onnx_begin_node(&b, GRAPH_NODE, "f", "call", "x x", "y");
        onnx_text(&b, NODE_DOMAIN, "d");
        onnx_begin_attribute(&b, "p", kind);
        onnx_begin(&b, many ? 11 : ATTR_G);
        for (int i = 0; i < 4; i++) onnx_end(&b);
        REFUSE(&b, TORT_E_UNSUPPORTED, "a graph that is handed to a function as an attribute");
    }
}

Test(loader_attributes, functions_that_are_there_twice) {
    onnx_bytes b = {0};
    for (int i = 0; i < 2; i++) {
        begin_function(&b);
        onnx_end(&b);
    }
    begin_main(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "function 1 \"f\"", "function 0 is the same");
}

/* Its default then counts. */
Test(loader_attributes, a_parameter_with_and_without_a_default) {
    onnx_bytes b = {0};
    begin_function(&b);
    onnx_begin(&b, FUNCTION_DEFAULT);
    onnx_text(&b, ATTR_NAME, "p");
    onnx_int(&b, ATTR_TYPE, KIND_INT);
    onnx_int(&b, ATTR_I, -1);
    onnx_end(&b);
    begin_referring(&b, "Softmax", "x", "y", "axis", KIND_INT, "p");
    onnx_end(&b);
    onnx_end(&b);
    call_main(&b, "x x", "y", 0);
    tort_model *model = load_model(&b);
    cr_assert_eq(node_named(model, "call/inner")->attributes[0].u.i, -1);
    free_model(model, &b);
}

Test(loader_attributes, a_call_that_gives_a_parameter_twice) {
    onnx_bytes b = {0};
    begin_function(&b);
    onnx_end(&b);
    begin_main(&b);
    onnx_begin_node(&b, GRAPH_NODE, "f", "call", "x", "y");
    onnx_text(&b, NODE_DOMAIN, "d");
    for (int i = 0; i < 2; i++) onnx_int_attribute(&b, "p", i);
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_MODEL, "node 0 \"call\"", "attribute \"p\"", "it is there twice");
}

/* A call in a function whose attribute refers to what the outer function does not have. */
Test(loader_attributes, a_reference_of_a_call_in_a_function) {
    onnx_bytes b = {0};
    begin_function(&b);
    begin_referring(&b, "g", "x", "y", "p", KIND_INT, "q");
    onnx_text(&b, NODE_DOMAIN, "d");
    onnx_end(&b);
    onnx_end(&b);
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "g");
    onnx_text(&b, FUNCTION_DOMAIN, "d");
    onnx_text(&b, FUNCTION_INPUT, "x");
    onnx_text(&b, FUNCTION_ATTRIBUTE, "p");
    onnx_end(&b);
    call_main(&b, "x x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "node 0 \"inner\" (g)", "attribute \"p\"", "which is not a parameter of the function");
}

Test(loader_attributes, ports_of_a_function_that_do_not_fit) {
    onnx_bytes b = {0};
    begin_function(&b);
    onnx_end(&b);
    call_main(&b, "x x x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "3 inputs; the function takes 2");
    begin_function(&b);
    onnx_end(&b);
    call_main(&b, "x", "y also", 0);
    REFUSE(&b, TORT_E_MODEL, "2 outputs; the function has 1");
    begin_function(&b);
    onnx_text(&b, FUNCTION_INPUT, "x");
    onnx_end(&b);
    call_main(&b, "x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "the function has two inputs \"x\"");
    begin_function(&b);
    onnx_end(&b);
    call_main(&b, "gone", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "node 0 \"call\"", "input 0", "\"gone\" is not made by any node");
    begin_function(&b);
    onnx_begin_node(&b, FUNCTION_NODE, "Neg", "", "x", "z"); /* z is an input */
    onnx_end(&b);
    onnx_end(&b);
    call_main(&b, "x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "output \"z\" is an input of the function");
}

/* The function returns its second input, which the call leaves out. */
Test(loader_attributes, an_output_that_is_an_absent_input) {
    onnx_bytes b = {0};
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "f");
    onnx_text(&b, FUNCTION_DOMAIN, "d");
    onnx_text(&b, FUNCTION_INPUT, "x");
    onnx_text(&b, FUNCTION_INPUT, "z");
    onnx_text(&b, FUNCTION_OUTPUT, "z");
    onnx_end(&b);
    call_main(&b, "x", "y", 0);
    REFUSE(&b, TORT_E_MODEL, "output 0 is an input that the call does not give");
}

/* A body in a function captures an input that the call leaves out: absent there too. It calls another function, under
 * the name of its own; a name of more than 128 characters is not kept. */
Test(loader_attributes, a_body_in_a_function) {
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    onnx_bytes b = {0};
    begin_function(&b);
    onnx_begin_node(&b, FUNCTION_NODE, "Loop", "loop", "- - x", "y");
    onnx_begin_body(&b, "body");
    onnx_value(&b, GRAPH_INPUT, "i", TORT_INT64, 0, NULL);
    onnx_value(&b, GRAPH_INPUT, "going", TORT_BOOL, 0, NULL);
    onnx_value(&b, GRAPH_INPUT, "v", TORT_FLOAT, 1, three);
    onnx_begin_node(&b, GRAPH_NODE, "g", name, "v", "u");
    onnx_text(&b, NODE_DOMAIN, "d");
    onnx_end(&b);
    onnx_node(&b, "Clip", "clip", "u z", "w");
    onnx_node(&b, "Identity", "", "going", "still");
    onnx_value(&b, GRAPH_OUTPUT, "still", TORT_BOOL, 0, NULL);
    onnx_value(&b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, three);
    onnx_end_body(&b);
    onnx_end(&b);
    onnx_end(&b);
    onnx_begin(&b, MODEL_FUNCTION);
    onnx_text(&b, FUNCTION_NAME, "g");
    onnx_text(&b, FUNCTION_DOMAIN, "d");
    onnx_text(&b, FUNCTION_INPUT, "x");
    onnx_text(&b, FUNCTION_OUTPUT, "y");
    onnx_opset(&b, FUNCTION_OPSET, "", 17);
    onnx_begin_node(&b, FUNCTION_NODE, "Neg", "neg", "x", "y");
    onnx_end(&b);
    onnx_end(&b);
    call_main(&b, "x", "y", 0);
    tort_model *model = load_model(&b);
    cr_assert_str_eq(input_name(model, 1, node_named(model, "clip"), 1), "-");
    cr_assert_not_null(node_named(model, "g_0/neg"));
    free_model(model, &b);
}

/* As many calls within each other as there may be, and in the last of them a body. */
Test(loader_attributes, a_body_in_the_last_of_many_calls) {
    enum { LEVELS = 63 };
    onnx_bytes b = {0};
    for (int level = 0; level < LEVELS; level++) {
        char name[16], next[16];
        snprintf(name, sizeof name, level ? "f%d" : "f", level);
        snprintf(next, sizeof next, "f%d", level + 1);
        onnx_begin(&b, MODEL_FUNCTION);
        onnx_text(&b, FUNCTION_NAME, name);
        onnx_text(&b, FUNCTION_DOMAIN, "d");
        onnx_opset(&b, FUNCTION_OPSET, "", 17);
        onnx_opset(&b, FUNCTION_OPSET, "d", 1);
        onnx_begin_node(&b, FUNCTION_NODE, level + 1 < LEVELS ? next : "If", "", "", "");
        if (level + 1 < LEVELS)
            onnx_text(&b, NODE_DOMAIN, "d");
        else
            onnx_begin_body(&b, "then_branch"), onnx_end_body(&b);
        onnx_end(&b);
        onnx_end(&b);
    }
    call_main(&b, "", "", 0);
    REFUSE(&b, TORT_E_MODEL, "bodies and calls of functions are nested more than 64 deep");
}

/* A constant of a function is loaded once, however often the function is called. */
Test(loader_attributes, constants_of_a_function_are_loaded_once) {
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        const int64_t indices[] = {0, 2}, two[] = {2};
        onnx_bytes b = {0};
        begin_function(&b);
        onnx_begin_node(&b, FUNCTION_NODE, "Constant", "", "", "y");
        onnx_begin_attribute(&b, is_sparse ? "sparse_value" : "value", is_sparse ? KIND_SPARSE : KIND_TENSOR);
        if (is_sparse) onnx_begin(&b, ATTR_SPARSE);
        onnx_tensor(&b, is_sparse ? 1 : ATTR_T, "", TORT_INT8, 1, two, "\x01\x02", 2);
        if (is_sparse) onnx_tensor(&b, 2, "", TORT_INT64, 1, two, indices, sizeof indices);
        if (is_sparse) onnx_int(&b, 3, 3);
        for (int i = 0; i < 3 + is_sparse; i++) onnx_end(&b);
        begin_main(&b);
        for (int i = 0; i < 2; i++) {
            onnx_begin_node(&b, GRAPH_NODE, "f", i ? "second" : "first", "x", i ? "v" : "-");
            onnx_text(&b, NODE_DOMAIN, "d");
            onnx_end(&b);
        }
        onnx_end(&b);
        tort_model *model = load_model(&b);
        cr_assert_eq(model->weight_count, 1);
        free_model(model, &b);
    }
}

/* ---- attention with graphs -------------------------------------------------------------------------------------- */

typedef struct attention {
    const char *op, *inputs, *outputs;
    int kind;              /* of score_mod */
    int arguments, values; /* of the graph */
} attention;

static void write_attention(onnx_bytes *b, const attention *a) {
    const int64_t q[] = {1, 1, 2, 4};
    onnx_opset(b, MODEL_OPSET, "ai.onnx.preview", 1);
    onnx_begin_model(b, 25);
    onnx_value(b, GRAPH_INPUT, "q", TORT_FLOAT, 4, q);
    onnx_begin_node(b, GRAPH_NODE, a->op, "attend", a->inputs, a->outputs);
    onnx_text(b, NODE_DOMAIN, "ai.onnx.preview");
    onnx_begin_attribute(b, "score_mod", a->kind);
    if (a->kind == KIND_INT) onnx_int(b, ATTR_I, 1);
    if (a->kind == KIND_GRAPH) onnx_begin(b, ATTR_G);
    for (int i = 0; i < a->arguments; i++) onnx_value(b, GRAPH_INPUT, i ? "other" : "score", TORT_FLOAT, -1, NULL);
    for (int i = 0; i < a->values; i++) onnx_value(b, GRAPH_OUTPUT, "score", TORT_FLOAT, -1, NULL);
    if (a->kind == KIND_GRAPH) onnx_end(b);
    onnx_end(b);
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "y", TORT_FLOAT, -1, NULL);
    onnx_end(b);
}

Test(loader_attributes, graphs_that_do_not_fit_their_attention) {
    static const struct {
        attention model;
        const char *words;
    } cases[] = {
        {{"FlexAttention", "q q", "y", KIND_GRAPH, 1, 1}, "it has 2 inputs and 1 outputs; expected Q, K, V and Y"},
        {{"FlexAttention", "q q q", "y z", KIND_GRAPH, 1, 1}, "it has 3 inputs and 2 outputs; expected Q, K, V and Y"},
        {{"FlexAttention", "q q q", "y", KIND_GRAPH, 2, 1}, "score_mod has 2 inputs and 1 outputs; expected one of"},
        {{"FlexAttention", "q q q", "y", KIND_GRAPH, 1, 2}, "score_mod has 1 inputs and 2 outputs; expected one of"},
        {{"FlexAttention", "q q q", "y", KIND_INT, 0, 0}, "score_mod"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        onnx_bytes b = {0};
        write_attention(&b, &cases[i].model);
        REFUSE(&b, TORT_E_MODEL, "attend", cases[i].words);
    }
    onnx_bytes b = {0};
    write_attention(&b, &(attention){"Another", "q q q", "y", KIND_GRAPH, 1, 1});
    free_model(load_model(&b), &b); /* an operator that no provider will take */
}

/* ---- the application's ------------------------------------------------------------------------------------------ */

static tort_status double_nothing(const tort_call *call) {
    (void)call;
    return TORT_OK;
}

#define ROW(domain, name)                                                                                              \
    {                                                                                                                  \
        domain, name, 1, 28, "Q:T K:T V:T", "Y:T", "T=float", "score_mod:graph", .infer = tort_infer_elementwise,      \
                                                                                 .reference = double_nothing           \
    }

/* An operator of this name that the application brings is not split. */
Test(loader_attributes, an_attention_of_the_application) {
    static const tort_op other[] = {ROW("ai.onnx.preview", "Another"), {.name = NULL}};
    static const tort_op own[] = {ROW("d", "FlexAttention"), ROW("ai.onnx.preview", "FlexAttention"), {.name = NULL}};
    static const tort_op *const without[] = {other, NULL}, *const with[] = {other, own, NULL};
    for (int is_own = 0; is_own < 2; is_own++) {
        const tort_load_options options = {
            .struct_size = sizeof options, .operators = is_own ? with : without, .operator_abi = TORT_PROVIDER_ABI};
        onnx_bytes b = {0};
        tort_model *model = NULL;
        tort_error error = {0};
        write_attention(&b, &(attention){"FlexAttention", "q q q", "y", KIND_GRAPH, 1, 1});
        cr_assert_eq(tort_model_load_buffer(NULL, b.data, b.size, &options, &model, &error), TORT_OK, "%s", error.msg);
        cr_assert_eq(model->graphs[0].node_count, is_own ? 1 : 4);
        free_model(model, &b);
    }
}
