/* adversarial_contents.c - files with much in their attributes and weights (adversarial.h). */
#include "tests/adversarial.h"
#include "tests/dense_messages.h"

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static void attributes(onnx_bytes *b, int n) {
    enum { A_NODE = 1000 };
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int done = 0; done < n; done += A_NODE) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_OP, "A");
        for (int i = 0; i < A_NODE; i++) {
            onnx_bytes attribute = {0};
            onnx_text(&attribute, ATTR_NAME, dense_name('a', i));
            onnx_int(&attribute, ATTR_I, 0);
            dense_put(&node, NODE_ATTRIBUTE, &attribute);
        }
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

static void list_attribute(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0}, packed = {0};
    dense_begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) {
        if (field == ATTR_STRINGS)
            onnx_text(&attribute, field, "");
        else
            onnx_raw(&packed, "", 1);
    }
    if (field == ATTR_INTS) dense_put(&attribute, field, &packed);
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

static void integers(onnx_bytes *b, int n) {
    list_attribute(b, n, ATTR_INTS);
}

static void empty_strings(onnx_bytes *b, int n) {
    list_attribute(b, n, ATTR_STRINGS);
}

static void one_by_one(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    dense_begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) onnx_int(&attribute, ATTR_INTS, 0);
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

/* Types within types, as deep as they may be. */
static void types(onnx_bytes *b, int n) {
    enum { DEEP = TORT_MAX_NESTING };
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    dense_begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i += DEEP) {
        onnx_bytes inner = {0}, tensor = {0};
        onnx_int(&tensor, 1, i / DEEP % 28 + 1);
        dense_put(&inner, 1, &tensor);
        for (int k = 0; k < DEEP; k++) {
            onnx_bytes outer = {0}, type = {0};
            dense_put(&outer, 1, &inner);
            dense_put(&type, (uint64_t)(i / DEEP / 28) >> k & 1 ? 4 : 9, &outer);
            inner = type;
        }
        dense_put(&attribute, 15, &inner);
    }
    dense_put(&node, NODE_ATTRIBUTE, &attribute);
    dense_put(&graph, GRAPH_NODE, &node);
    dense_end(b, &graph);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void initializers(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes tensor = {0};
        onnx_int(&tensor, TENSOR_DIMS, 0);
        onnx_int(&tensor, TENSOR_TYPE, TORT_FLOAT);
        onnx_text(&tensor, TENSOR_NAME, dense_name('w', i));
        dense_put(&graph, GRAPH_INITIALIZER, &tensor);
    }
    dense_end(b, &graph);
}

static void constants(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0}, tensor = {0};
        onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
        onnx_raw(&tensor, "\x3a\x01\x01", 3);
        onnx_text(&attribute, ATTR_NAME, "value");
        dense_put(&attribute, ATTR_T, &tensor);
        onnx_text(&node, NODE_OUTPUT, dense_name('c', i));
        onnx_text(&node, NODE_OP, "Constant");
        dense_put(&node, NODE_ATTRIBUTE, &attribute);
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

/* One large weight, which every node takes for a shape: reading it once for each would take quadratic time. */
static void shapes_from_a_large_weight(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0}, packed = {0};
    dense_begin(b);
    onnx_int(&tensor, TENSOR_DIMS, 25 * (int64_t)n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
    onnx_text(&tensor, TENSOR_NAME, "w");
    for (int i = 0; i < 25 * n; i++) onnx_raw(&packed, "\x01", 1);
    dense_put(&tensor, TENSOR_INT64S, &packed);
    dense_put(&graph, GRAPH_INITIALIZER, &tensor);
    dense_value(&graph, GRAPH_INPUT, "x", -1);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, "x");
        onnx_text(&node, NODE_INPUT, "w");
        onnx_text(&node, NODE_OUTPUT, dense_name('v', i));
        onnx_text(&node, NODE_OP, "Tile");
        dense_put(&graph, GRAPH_NODE, &node);
    }
    dense_end(b, &graph);
}

/* Elements of a tensor, each with a tag of its own, and a name between every two. */
static void scattered_elements(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    dense_begin(b);
    onnx_int(&tensor, TENSOR_DIMS, n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
    for (int i = 0; i < n; i++) {
        onnx_int(&tensor, TENSOR_INT64S, 0);
        onnx_text(&tensor, TENSOR_NAME, i ? "" : "w");
    }
    onnx_text(&tensor, TENSOR_NAME, "w");
    dense_put(&graph, GRAPH_INITIALIZER, &tensor);
    dense_end(b, &graph);
}

static void tensor_strings(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    dense_begin(b);
    onnx_int(&tensor, TENSOR_DIMS, n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_STRING);
    onnx_text(&tensor, TENSOR_NAME, "w");
    for (int i = 0; i < n; i++) onnx_text(&tensor, TENSOR_STRINGS, "");
    dense_put(&graph, GRAPH_INITIALIZER, &tensor);
    dense_end(b, &graph);
}

static void dims(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    dense_begin(b);
    for (int i = 0; i < n; i++) onnx_int(&tensor, TENSOR_DIMS, 0);
    onnx_int(&tensor, TENSOR_TYPE, TORT_FLOAT);
    onnx_text(&tensor, TENSOR_NAME, "w");
    dense_put(&graph, GRAPH_INITIALIZER, &tensor);
    dense_end(b, &graph);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const adversarial_shape adversarial_contents[] = {
    {"attributes", attributes, 10000, TORT_OK, NULL},
    {"integers", integers, 100000, TORT_OK, NULL},
    {"empty strings", empty_strings, 50000, TORT_OK, NULL},
    {"one by one", one_by_one, 50000, TORT_OK, NULL},
    {"types", types, 20000, TORT_OK, NULL},
    {"initializers", initializers, 10000, TORT_OK, NULL},
    {"constants", constants, 3000, TORT_OK, NULL},
    {"shapes from a large weight", shapes_from_a_large_weight, 2000, TORT_E_MODEL, "expected at most 16"},
    {"scattered elements", scattered_elements, 25000, TORT_OK, NULL},
    {"tensor strings", tensor_strings, 50000, TORT_OK, NULL},
    {"dims", dims, 50000, TORT_E_UNSUPPORTED, "tinyort handles at most 8"},
    {NULL, NULL, 0, TORT_OK, NULL},
};
