/* Tests of loader/bodies.c: what bodies capture, how they are called, how many a node may have. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/loading.h"

/* A body of one node of `op` over `input`, which it captures. */
static void write_body(onnx_bytes *b, const char *branch, const char *op, const char *name, const char *input) {
    onnx_begin_body(b, branch);
    onnx_node(b, op, name, input, "t");
    onnx_value(b, GRAPH_OUTPUT, "t", TORT_FLOAT, 1, three);
    onnx_end(b);
    onnx_end(b);
}

/* An If "outer" with an If "inner" in its first branch. */
static void write_nested(onnx_bytes *b) {
    onnx_begin_node(b, GRAPH_NODE, "If", "outer", "c", "y");
    onnx_begin_body(b, "then_branch");
    onnx_begin_node(b, GRAPH_NODE, "If", "inner", "c", "t");
    write_body(b, "then_branch", "Abs", "abs1", "late");
    write_body(b, "else_branch", "Abs", "abs2", "x");
    onnx_end(b);
    onnx_value(b, GRAPH_OUTPUT, "t", TORT_FLOAT, 1, three);
    onnx_end(b);
    onnx_end(b);
    write_body(b, "else_branch", "Neg", "neg", "x");
    onnx_end(b);
}

Test(loader_bodies, a_body_captures_through_every_level) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    write_nested(&b);
    onnx_node(&b, "Exp", "exp", "x", "late"); /* made after the node that captures it */
    input_and_output(&b, "x", "y");
    onnx_end(&b);
    tort_model *model = load_model(&b);
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
    free_model(model, &b);
}

Test(loader_bodies, bodies_are_called_after_their_node) {
    char longest[301];
    memset(longest, 'n', 300);
    longest[300] = 0;
    const char *const given[] = {"same", "same", "", longest};
    const char *const branches[] = {"then_branch", "else_branch"};
    const char *const paths[] = {"same/then_branch", "same#2/then_branch", "If_2/then_branch", "If_3/then_branch"};
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_value(&b, GRAPH_INPUT, "c", TORT_BOOL, 0, NULL);
    for (int i = 0; i < 4; i++) {
        onnx_begin_node(&b, GRAPH_NODE, "If", given[i], "c", "");
        for (int k = 0; k < 2; k++) {
            onnx_begin_body(&b, branches[k]);
            onnx_end_body(&b);
        }
        onnx_end(&b);
    }
    onnx_end(&b);
    tort_model *model = load_model(&b);
    for (int i = 0; i < 4; i++) cr_assert_str_eq(model->graphs[2 * i + 1].path, paths[i]);
    free_model(model, &b);
}

Test(loader_bodies, a_node_of_many_bodies_is_refused) {
    onnx_bytes b = {0};
    onnx_begin_model(&b, 17);
    onnx_begin_node(&b, GRAPH_NODE, "Many", "many", "", "");
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), 0};
        onnx_begin_body(&b, name);
        onnx_end_body(&b);
    }
    onnx_end(&b);
    onnx_end(&b);
    REFUSE(&b, TORT_E_UNSUPPORTED, "node 0 \"many\" (Many)", "attribute \"e\"", "more than 4 bodies");
}
