/* adversarial_graph.c - files with many or repeated fields, nodes and values (adversarial.h). */
#include "tests/adversarial.h"

#include <stdio.h>
#include <string.h>

#include "tests/dense_messages.h"

/* ---- fields that repeat ------------------------------------------------------------------------------------------ */

static void repeated_graph(onnx_bytes *b, int n) {
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_blob(b, MODEL_GRAPH, "\x6a", 2); /* with a value_info in each piece */
}

static void repeated_tensor(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&attribute, ATTR_T, "", 0);
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void repeated_type(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, value = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&value, 2, "", 0);
    dense_put(&graph, GRAPH_VALUE_INFO, &value);
    dense_end(b, &graph);
}

static void repeated_texts(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_text(&graph, GRAPH_NAME, "a");
    dense_end(b, &graph);
}

static void empty_messages(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&graph, field, "", 0);
    dense_end(b, &graph);
}

static void empty_nodes(onnx_bytes *b, int n) {
    empty_messages(b, n, GRAPH_NODE);
}

static void empty_tensors(onnx_bytes *b, int n) {
    empty_messages(b, n, GRAPH_INITIALIZER);
}

static void empty_inputs(onnx_bytes *b, int n) {
    empty_messages(b, n, GRAPH_INPUT);
}

static void empty_value_infos(onnx_bytes *b, int n) {
    empty_messages(b, n, GRAPH_VALUE_INFO);
}

static void empty_attributes(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    dense_begin(b);
    onnx_text(&node, NODE_OP, "A");
    for (int i = 0; i < n; i++) onnx_blob(&node, NODE_ATTRIBUTE, "", 0);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void empty_metadata(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_blob(b, MODEL_METADATA, "", 0);
    dense_end(b, &graph);
}

static void opsets(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes opset = {0};
        onnx_text(&opset, 1, dense_name('o', i));
        onnx_int(&opset, 2, 1);
        dense_put(b, MODEL_OPSET, &opset);
    }
    dense_end(b, &graph);
}

/* ---- nodes and values -------------------------------------------------------------------------------------------- */

static void nodes(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) dense_node(&graph, GRAPH_NODE, "A", NULL, NULL);
    dense_end(b, &graph);
}

/* Names that the loader would give to others, and one name for many. */
static void node_names(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        char name[32];
        snprintf(name, sizeof name, i % 3 == 0 ? "A_%d" : i % 3 == 1 ? "x#%d" : "x", i + 1);
        if (i % 4) onnx_text(&node, NODE_NAME, name);
        onnx_text(&node, NODE_OP, "A");
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

/* The last node first, so that they must be put into order. */
static void nodes_in_reverse(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = n; i > 0; i--) {
        char in[5];
        strcpy(in, dense_name('v', i - 1));
        dense_node(&graph, GRAPH_NODE, "Abs", in, dense_name('v', i));
    }
    dense_value(&graph, GRAPH_INPUT, dense_name('v', 0), 8);
    dense_end(b, &graph);
}

static void outputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_OUTPUT, dense_name('v', i));
    onnx_text(&node, NODE_OP, "A");
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void split(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    dense_begin(b);
    dense_value(&graph, GRAPH_INPUT, "x", 8);
    onnx_text(&node, NODE_INPUT, "x");
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_OUTPUT, dense_name('v', i));
    onnx_text(&node, NODE_OP, "Split");
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void absent_inputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_INPUT, "");
    onnx_text(&node, NODE_OP, "A");
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void concat_of_one(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    dense_begin(b);
    dense_value(&graph, GRAPH_INPUT, "x", 1);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_INPUT, "x");
    onnx_text(&node, NODE_OUTPUT, "y");
    onnx_text(&node, NODE_OP, "Concat");
    onnx_text(&attribute, ATTR_NAME, "axis");
    onnx_int(&attribute, ATTR_I, 0);
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void inputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) dense_value(&graph, GRAPH_INPUT, dense_name('v', i), -1);
    dense_end(b, &graph);
}

static void inputs_of_rank_8(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) dense_value(&graph, GRAPH_INPUT, dense_name('v', i), 8);
    dense_end(b, &graph);
}

/* Every size of every sum is a new unknown. */
static void broadcasts(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    dense_value(&graph, GRAPH_INPUT, "x", 8);
    dense_value(&graph, GRAPH_INPUT, "y", 8);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, "x");
        onnx_text(&node, NODE_INPUT, "y");
        onnx_text(&node, NODE_OUTPUT, dense_name('v', i));
        onnx_text(&node, NODE_OP, "Add");
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

static void value_infos_of_one_name(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    dense_node(&graph, GRAPH_NODE, "A", NULL, "y");
    for (int i = 0; i < n; i++) dense_value(&graph, GRAPH_VALUE_INFO, "y", 8);
    dense_end(b, &graph);
}

/* A shape of 256 sizes, summed up again and again: each sum has 256 new expressions. */
static void shape_arithmetic(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int k = 0; k < 32; k++) {
        char value[16], shape[16];
        snprintf(value, sizeof value, "x%d", k);
        snprintf(shape, sizeof shape, "s%d", k);
        dense_value(&graph, GRAPH_INPUT, value, 8);
        dense_node(&graph, GRAPH_NODE, "Shape", value, shape);
    }
    onnx_bytes concat = {0}, attribute = {0};
    for (int k = 0; k < 32; k++) {
        char shape[16];
        snprintf(shape, sizeof shape, "s%d", k);
        onnx_text(&concat, NODE_INPUT, shape);
    }
    onnx_text(&concat, NODE_OUTPUT, dense_name('v', 0));
    onnx_text(&concat, NODE_OP, "Concat");
    onnx_text(&attribute, ATTR_NAME, "axis");
    onnx_int(&attribute, ATTR_I, 0);
    dense_put(&concat, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &concat);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, dense_name('v', i));
        onnx_text(&node, NODE_INPUT, dense_name('v', i / 2));
        onnx_text(&node, NODE_OUTPUT, dense_name('v', i + 1));
        onnx_text(&node, NODE_OP, i % 2 ? "Mul" : "Add");
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const adversarial_shape adversarial_graph[] = {
    {"repeated graph", repeated_graph, 20000, TORT_E_MODEL, "there a second time"},
    {"repeated tensor", repeated_tensor, 40000, TORT_E_MODEL, "there a second time"},
    {"repeated type", repeated_type, 40000, TORT_E_MODEL, "there a second time"},
    {"repeated texts", repeated_texts, 30000, TORT_OK, NULL},
    {"empty nodes", empty_nodes, 50000, TORT_E_MODEL, "it has no op_type"},
    {"empty tensors", empty_tensors, 50000, TORT_E_MODEL, "data_type 0"},
    {"empty inputs", empty_inputs, 50000, TORT_E_MODEL, "it has no name"},
    {"empty value_infos", empty_value_infos, 50000, TORT_OK, NULL},
    {"empty attributes", empty_attributes, 50000, TORT_E_MODEL, "attributes; at most 1000"},
    {"empty metadata", empty_metadata, 50000, TORT_OK, NULL},
    {"opsets", opsets, 10000, TORT_OK, NULL},
    {"nodes", nodes, 20000, TORT_OK, NULL},
    {"node names", node_names, 10000, TORT_OK, NULL},
    {"nodes in reverse", nodes_in_reverse, 5000, TORT_OK, NULL},
    {"outputs", outputs, 20000, TORT_OK, NULL},
    {"split", split, 20000, TORT_OK, NULL},
    {"absent inputs", absent_inputs, 50000, TORT_OK, NULL},
    {"concat of one", concat_of_one, 30000, TORT_OK, NULL},
    {"inputs", inputs, 8000, TORT_OK, NULL},
    {"inputs of rank 8", inputs_of_rank_8, 3000, TORT_OK, NULL},
    {"broadcasts", broadcasts, 5000, TORT_OK, NULL},
    {"value_infos of one name", value_infos_of_one_name, 4000, TORT_OK, NULL},
    {"shape arithmetic", shape_arithmetic, 4000, TORT_E_MODEL, "the limit for a file of"},
    {NULL, NULL, 0, TORT_OK, NULL},
};
