/* adversarial_bodies.c - files with many bodies and calls of functions (adversarial.h). */
#include "tests/adversarial.h"

#include <string.h>

#include "tests/dense_messages.h"

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* A node with one body in each of many attributes, which all capture something else. */
static void bodies_of_one_node(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, source = {0};
    dense_begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&source, NODE_OP, "A");
    for (int i = 0; i < n && i < 1000; i++) {
        onnx_bytes body = {0};
        dense_node(&body, GRAPH_NODE, "A", dense_name('v', i), NULL);
        onnx_text(&source, NODE_OUTPUT, dense_name('v', i));
        dense_body(&node, dense_name('a', i), &body);
    }
    dense_put(&graph, GRAPH_NODE, &source);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

/* The same in one attribute that holds a list of graphs. */
static void list_of_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0}, source = {0};
    dense_begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) {
        onnx_bytes body = {0};
        dense_node(&body, GRAPH_NODE, "A", dense_name('v', i), NULL);
        onnx_text(&source, NODE_OUTPUT, dense_name('v', i));
        dense_put(&attribute, 11, &body);
    }
    onnx_text(&node, NODE_OP, "A");
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &source);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

/* Many captures of the bodies of one node, no two the same. */
static void captures(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, source = {0};
    dense_begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&node, NODE_OP, "If");
    for (int k = 0; k < 2; k++) {
        onnx_bytes body = {0}, inner = {0};
        for (int i = 0; i < n; i++) {
            onnx_text(&inner, NODE_INPUT, dense_name((char)('v' + k), i));
            onnx_text(&source, NODE_OUTPUT, dense_name((char)('v' + k), i));
        }
        onnx_text(&inner, NODE_OP, "A");
        dense_put(&body, GRAPH_NODE, &inner);
        dense_body(&node, k ? "else_branch" : "then_branch", &body);
    }
    onnx_text(&node, NODE_INPUT, "c");
    dense_value(&graph, GRAPH_INPUT, "c", -1);
    dense_put(&graph, GRAPH_NODE, &source);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void empty_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, body = {0};
        onnx_text(&node, NODE_OP, "A");
        dense_body(&node, "a", &body);
        dense_body(&node, "b", &body);
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

static void small_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, body = {0};
        dense_node(&body, GRAPH_NODE, "A", "x", "y");
        onnx_text(&node, NODE_OP, "A");
        dense_body(&node, "a", &body);
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_value(&graph, GRAPH_INPUT, "x", -1);
    dense_end(b, &graph);
}

/* A body in a body and so on, the innermost of which takes n values from the main graph: every one on the way takes
 * them too. */
static void deep_captures(onnx_bytes *b, int n) {
    enum { DEEP = 24 };
    onnx_bytes graph = {0}, inner = {0}, body = {0}, source = {0};
    dense_begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&inner, NODE_OP, "A");
    for (int i = 0; i < n; i++) {
        onnx_text(&inner, NODE_INPUT, dense_name('v', i));
        onnx_text(&source, NODE_OUTPUT, dense_name('v', i));
    }
    dense_put(&body, GRAPH_NODE, &inner);
    for (int k = 0; k < DEEP; k++) {
        onnx_bytes node = {0}, outer = {0};
        onnx_text(&node, NODE_OP, "A");
        dense_body(&node, "a", &body);
        dense_put(&outer, GRAPH_NODE, &node);
        body = outer;
    }
    graph = body;
    dense_put(&graph, GRAPH_NODE, &source);
    dense_end(b, &graph);
}

/* A node with a long name, and in its body many nodes with bodies, whose paths begin with that name. */
static void long_paths(onnx_bytes *b, int n) {
    enum { LONG = 20000 };
    static char name[LONG + 1];
    onnx_bytes graph = {0}, body = {0}, node = {0};
    memset(name, 'n', LONG);
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes inner = {0}, empty = {0};
        onnx_text(&inner, NODE_OP, "A");
        dense_body(&inner, "a", &empty);
        dense_put(&body, GRAPH_NODE, &inner);
    }
    onnx_text(&node, NODE_NAME, name);
    onnx_text(&node, NODE_OP, "A");
    dense_body(&node, "a", &body);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void functions(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes function = {0}, opset = {0};
        onnx_text(&function, FUNCTION_NAME, dense_name('f', i));
        onnx_int(&opset, 2, 1);
        dense_put(&function, FUNCTION_OPSET, &opset);
        dense_put(b, MODEL_FUNCTION, &function);
    }
    dense_end(b, &graph);
}

/* Many calls of a function with nothing in it, all of one name. */
static void empty_calls(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    dense_begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    dense_put(b, MODEL_FUNCTION, &function);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_NAME, "c");
        onnx_text(&node, NODE_OP, "F");
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

/* Calls of a function of some size: n of them, so that it grows with what is expanded. */
static void calls(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    dense_begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    for (int i = 0; i < 20; i++) dense_node(&function, FUNCTION_NODE, "A", NULL, dense_name('v', i));
    dense_put(b, MODEL_FUNCTION, &function);
    for (int i = 0; i < n; i++) dense_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    dense_end(b, &graph);
}

/* A function with many parameters, and as many attributes that refer to them. */
static void parameters(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    dense_begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0}, value = {0};
        onnx_text(&value, ATTR_NAME, dense_name('p', i));
        onnx_int(&value, ATTR_I, 0);
        dense_put(&function, FUNCTION_DEFAULT, &value);
        onnx_text(&attribute, ATTR_NAME, "a");
        onnx_text(&attribute, ATTR_REF, dense_name('p', i));
        onnx_text(&node, NODE_OP, "A");
        dense_put(&node, NODE_ATTRIBUTE, &attribute);
        dense_put(&function, FUNCTION_NODE, &node);
    }
    dense_put(b, MODEL_FUNCTION, &function);
    dense_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    dense_end(b, &graph);
}

/* One large attribute, which every node of a function takes: reading it once for each would take quadratic time, and
 * where it is a list, memory. */
static void references(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0}, function = {0}, value = {0};
    dense_begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    onnx_text(&value, ATTR_NAME, "p");
    for (int i = 0; i < n; i++) onnx_int(&value, field, 0);
    dense_put(&function, FUNCTION_DEFAULT, &value);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0};
        onnx_text(&attribute, ATTR_NAME, "a");
        onnx_text(&attribute, ATTR_REF, "p");
        onnx_text(&node, NODE_OP, "A");
        dense_put(&node, NODE_ATTRIBUTE, &attribute);
        dense_put(&function, FUNCTION_NODE, &node);
    }
    dense_put(b, MODEL_FUNCTION, &function);
    dense_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    dense_end(b, &graph);
}

static void references_to_a_number(onnx_bytes *b, int n) {
    references(b, n, ATTR_I);
}

static void references_to_a_list(onnx_bytes *b, int n) {
    references(b, n, ATTR_INTS);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const adversarial_shape adversarial_bodies[] = {
    {"bodies of one node", bodies_of_one_node, 1000, TORT_E_UNSUPPORTED, "more than 4 bodies"},
    {"list of bodies", list_of_bodies, 6000, TORT_E_UNSUPPORTED, "more than 4 bodies"},
    {"captures", captures, 5000, TORT_OK, NULL},
    {"empty bodies", empty_bodies, 6000, TORT_OK, NULL},
    {"small bodies", small_bodies, 4000, TORT_OK, NULL},
    {"deep captures", deep_captures, 1000, TORT_OK, NULL},
    {"long paths", long_paths, 6000, TORT_OK, NULL},
    {"functions", functions, 7000, TORT_OK, NULL},
    {"empty calls", empty_calls, 12000, TORT_OK, NULL},
    {"calls", calls, 1000, TORT_OK, NULL},
    {"parameters", parameters, 4000, TORT_OK, NULL},
    {"references to a number", references_to_a_number, 6000, TORT_E_MODEL, "expand to more than"},
    {"references to a list", references_to_a_list, 6000, TORT_E_MODEL, "expand to more than"},
    {NULL, NULL, 0, TORT_OK, NULL},
};
