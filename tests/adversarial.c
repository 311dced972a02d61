/* adversarial.c - see adversarial.h. Messages are written from the inside out, with onnx_blob, whose lengths are as
 * short as they can be (onnx_end's are not). */
#include "tests/adversarial.h"

#include <stdio.h>
#include <string.h>

/* ---- writing densely --------------------------------------------------------------------------------------------- */

/* Puts a finished message into another one, and empties it. */
static void put(onnx_bytes *outer, int field, onnx_bytes *inner) {
    onnx_blob(outer, field, inner->data, inner->size);
    onnx_free(inner);
}

/* A name of three bytes for every number below 250^3; the first byte says what it is a name of. */
static const char *name_of(char first, int i) {
    static char name[5];
    name[0] = first;
    name[1] = (char)(i % 250 + 1);
    name[2] = (char)(i / 250 % 250 + 1);
    name[3] = (char)(i / 62500);
    name[4] = 0;
    return name;
}

static void begin(onnx_bytes *b) {
    onnx_bytes opset = {0};
    onnx_int(b, MODEL_IR, 10);
    onnx_int(&opset, 2, 17);
    put(b, MODEL_OPSET, &opset);
}

static void end(onnx_bytes *b, onnx_bytes *graph) {
    put(b, MODEL_GRAPH, graph);
}

/* A node without attributes; an absent list is NULL, an item "-" is "". */
static void put_node(onnx_bytes *graph, int field, const char *op, const char *in, const char *out) {
    onnx_bytes node = {0};
    if (in) onnx_text(&node, NODE_INPUT, in);
    if (out) onnx_text(&node, NODE_OUTPUT, out);
    onnx_text(&node, NODE_OP, op);
    put(graph, field, &node);
}

/* A declared tensor of float; `dims` of which nothing is known, none where the rank is unknown too. */
static void put_value(onnx_bytes *graph, int field, const char *name, int dims) {
    onnx_bytes value = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < dims; i++) onnx_blob(&shape, 1, "", 0);
    onnx_int(&tensor, 1, TORT_FLOAT);
    if (dims >= 0) put(&tensor, 2, &shape);
    put(&type, 1, &tensor);
    onnx_text(&value, 1, name);
    put(&value, 2, &type);
    put(graph, field, &value);
}

static void put_body(onnx_bytes *node, const char *attribute, onnx_bytes *body) {
    onnx_bytes message = {0};
    onnx_text(&message, ATTR_NAME, attribute);
    put(&message, ATTR_G, body);
    put(node, NODE_ATTRIBUTE, &message);
}

/* ---- fields that repeat ------------------------------------------------------------------------------------------ */

static void repeated_graph(onnx_bytes *b, int n) {
    begin(b);
    for (int i = 0; i < n; i++) onnx_blob(b, MODEL_GRAPH, "\x6a", 2); /* with a value_info in each piece */
}

static void repeated_tensor(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&attribute, ATTR_T, "", 0);
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void repeated_type(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, value = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&value, 2, "", 0);
    put(&graph, GRAPH_VALUE_INFO, &value);
    end(b, &graph);
}

static void repeated_texts(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_text(&graph, GRAPH_NAME, "a");
    end(b, &graph);
}

static void empty_messages(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_blob(&graph, field, "", 0);
    end(b, &graph);
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
    begin(b);
    onnx_text(&node, NODE_OP, "A");
    for (int i = 0; i < n; i++) onnx_blob(&node, NODE_ATTRIBUTE, "", 0);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void empty_metadata(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_blob(b, MODEL_METADATA, "", 0);
    end(b, &graph);
}

static void opsets(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes opset = {0};
        onnx_text(&opset, 1, name_of('o', i));
        onnx_int(&opset, 2, 1);
        put(b, MODEL_OPSET, &opset);
    }
    end(b, &graph);
}

/* ---- nodes and values -------------------------------------------------------------------------------------------- */

static void nodes(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) put_node(&graph, GRAPH_NODE, "A", NULL, NULL);
    end(b, &graph);
}

/* Names that the loader would give to others, and one name for many. */
static void node_names(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        char name[32];
        snprintf(name, sizeof name, i % 3 == 0 ? "A_%d" : i % 3 == 1 ? "x#%d" : "x", i + 1);
        if (i % 4) onnx_text(&node, NODE_NAME, name);
        onnx_text(&node, NODE_OP, "A");
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

/* The last node first, so that they must be put into order. */
static void nodes_in_reverse(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = n; i > 0; i--) {
        char in[5];
        strcpy(in, name_of('v', i - 1));
        put_node(&graph, GRAPH_NODE, "Abs", in, name_of('v', i));
    }
    put_value(&graph, GRAPH_INPUT, name_of('v', 0), 8);
    end(b, &graph);
}

static void outputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_OUTPUT, name_of('v', i));
    onnx_text(&node, NODE_OP, "A");
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void split(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    begin(b);
    put_value(&graph, GRAPH_INPUT, "x", 8);
    onnx_text(&node, NODE_INPUT, "x");
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_OUTPUT, name_of('v', i));
    onnx_text(&node, NODE_OP, "Split");
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void absent_inputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_INPUT, "");
    onnx_text(&node, NODE_OP, "A");
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void concat_of_one(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    begin(b);
    put_value(&graph, GRAPH_INPUT, "x", 1);
    for (int i = 0; i < n; i++) onnx_text(&node, NODE_INPUT, "x");
    onnx_text(&node, NODE_OUTPUT, "y");
    onnx_text(&node, NODE_OP, "Concat");
    onnx_text(&attribute, ATTR_NAME, "axis");
    onnx_int(&attribute, ATTR_I, 0);
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void inputs(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) put_value(&graph, GRAPH_INPUT, name_of('v', i), -1);
    end(b, &graph);
}

static void inputs_of_rank_8(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) put_value(&graph, GRAPH_INPUT, name_of('v', i), 8);
    end(b, &graph);
}

/* Every size of every sum is a new unknown. */
static void broadcasts(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    put_value(&graph, GRAPH_INPUT, "x", 8);
    put_value(&graph, GRAPH_INPUT, "y", 8);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, "x");
        onnx_text(&node, NODE_INPUT, "y");
        onnx_text(&node, NODE_OUTPUT, name_of('v', i));
        onnx_text(&node, NODE_OP, "Add");
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

static void value_infos_of_one_name(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    put_node(&graph, GRAPH_NODE, "A", NULL, "y");
    for (int i = 0; i < n; i++) put_value(&graph, GRAPH_VALUE_INFO, "y", 8);
    end(b, &graph);
}

/* A shape of 256 sizes, summed up again and again: each sum has 256 new expressions. */
static void shape_arithmetic(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int k = 0; k < 32; k++) {
        char value[16], shape[16];
        snprintf(value, sizeof value, "x%d", k);
        snprintf(shape, sizeof shape, "s%d", k);
        put_value(&graph, GRAPH_INPUT, value, 8);
        put_node(&graph, GRAPH_NODE, "Shape", value, shape);
    }
    onnx_bytes concat = {0}, attribute = {0};
    for (int k = 0; k < 32; k++) {
        char shape[16];
        snprintf(shape, sizeof shape, "s%d", k);
        onnx_text(&concat, NODE_INPUT, shape);
    }
    onnx_text(&concat, NODE_OUTPUT, name_of('v', 0));
    onnx_text(&concat, NODE_OP, "Concat");
    onnx_text(&attribute, ATTR_NAME, "axis");
    onnx_int(&attribute, ATTR_I, 0);
    put(&concat, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &concat);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, name_of('v', i));
        onnx_text(&node, NODE_INPUT, name_of('v', i / 2));
        onnx_text(&node, NODE_OUTPUT, name_of('v', i + 1));
        onnx_text(&node, NODE_OP, i % 2 ? "Mul" : "Add");
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static void attributes(onnx_bytes *b, int n) {
    enum { A_NODE = 1000 };
    onnx_bytes graph = {0};
    begin(b);
    for (int done = 0; done < n; done += A_NODE) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_OP, "A");
        for (int i = 0; i < A_NODE; i++) {
            onnx_bytes attribute = {0};
            onnx_text(&attribute, ATTR_NAME, name_of('a', i));
            onnx_int(&attribute, ATTR_I, 0);
            put(&node, NODE_ATTRIBUTE, &attribute);
        }
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

static void list_attribute(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0}, packed = {0};
    begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) {
        if (field == ATTR_STRINGS)
            onnx_text(&attribute, field, "");
        else
            onnx_raw(&packed, "", 1);
    }
    if (field == ATTR_INTS) put(&attribute, field, &packed);
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void integers(onnx_bytes *b, int n) {
    list_attribute(b, n, ATTR_INTS);
}

static void empty_strings(onnx_bytes *b, int n) {
    list_attribute(b, n, ATTR_STRINGS);
}

static void one_by_one(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) onnx_int(&attribute, ATTR_INTS, 0);
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

/* Types within types, as deep as they may be. */
static void types(onnx_bytes *b, int n) {
    enum { DEEP = TORT_MAX_NESTING };
    onnx_bytes graph = {0}, node = {0}, attribute = {0};
    begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i += DEEP) {
        onnx_bytes inner = {0}, tensor = {0};
        onnx_int(&tensor, 1, i / DEEP % 28 + 1);
        put(&inner, 1, &tensor);
        for (int k = 0; k < DEEP; k++) {
            onnx_bytes outer = {0}, type = {0};
            put(&outer, 1, &inner);
            put(&type, (uint64_t)(i / DEEP / 28) >> k & 1 ? 4 : 9, &outer);
            inner = type;
        }
        put(&attribute, 15, &inner);
    }
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static void initializers(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes tensor = {0};
        onnx_int(&tensor, TENSOR_DIMS, 0);
        onnx_int(&tensor, TENSOR_TYPE, TORT_FLOAT);
        onnx_text(&tensor, TENSOR_NAME, name_of('w', i));
        put(&graph, GRAPH_INITIALIZER, &tensor);
    }
    end(b, &graph);
}

static void constants(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0}, tensor = {0};
        onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
        onnx_raw(&tensor, "\x3a\x01\x01", 3);
        onnx_text(&attribute, ATTR_NAME, "value");
        put(&attribute, ATTR_T, &tensor);
        onnx_text(&node, NODE_OUTPUT, name_of('c', i));
        onnx_text(&node, NODE_OP, "Constant");
        put(&node, NODE_ATTRIBUTE, &attribute);
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

/* One large weight, which every node takes for a shape: reading it once for each would take quadratic time. */
static void shapes_from_a_large_weight(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0}, packed = {0};
    begin(b);
    onnx_int(&tensor, TENSOR_DIMS, 25 * (int64_t)n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
    onnx_text(&tensor, TENSOR_NAME, "w");
    for (int i = 0; i < 25 * n; i++) onnx_raw(&packed, "\x01", 1);
    put(&tensor, TENSOR_INT64S, &packed);
    put(&graph, GRAPH_INITIALIZER, &tensor);
    put_value(&graph, GRAPH_INPUT, "x", -1);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_INPUT, "x");
        onnx_text(&node, NODE_INPUT, "w");
        onnx_text(&node, NODE_OUTPUT, name_of('v', i));
        onnx_text(&node, NODE_OP, "Tile");
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

/* Elements of a tensor, each with a tag of its own, and a name between every two. */
static void scattered_elements(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    begin(b);
    onnx_int(&tensor, TENSOR_DIMS, n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_INT64);
    for (int i = 0; i < n; i++) {
        onnx_int(&tensor, TENSOR_INT64S, 0);
        onnx_text(&tensor, TENSOR_NAME, i ? "" : "w");
    }
    onnx_text(&tensor, TENSOR_NAME, "w");
    put(&graph, GRAPH_INITIALIZER, &tensor);
    end(b, &graph);
}

static void tensor_strings(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    begin(b);
    onnx_int(&tensor, TENSOR_DIMS, n);
    onnx_int(&tensor, TENSOR_TYPE, TORT_STRING);
    onnx_text(&tensor, TENSOR_NAME, "w");
    for (int i = 0; i < n; i++) onnx_text(&tensor, TENSOR_STRINGS, "");
    put(&graph, GRAPH_INITIALIZER, &tensor);
    end(b, &graph);
}

static void dims(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, tensor = {0};
    begin(b);
    for (int i = 0; i < n; i++) onnx_int(&tensor, TENSOR_DIMS, 0);
    onnx_int(&tensor, TENSOR_TYPE, TORT_FLOAT);
    onnx_text(&tensor, TENSOR_NAME, "w");
    put(&graph, GRAPH_INITIALIZER, &tensor);
    end(b, &graph);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* A node with one body in each of many attributes, which all capture something else. */
static void bodies_of_one_node(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, source = {0};
    begin(b);
    onnx_text(&node, NODE_OP, "A");
    onnx_text(&source, NODE_OP, "A");
    for (int i = 0; i < n && i < 1000; i++) {
        onnx_bytes body = {0};
        put_node(&body, GRAPH_NODE, "A", name_of('v', i), NULL);
        onnx_text(&source, NODE_OUTPUT, name_of('v', i));
        put_body(&node, name_of('a', i), &body);
    }
    put(&graph, GRAPH_NODE, &source);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

/* The same in one attribute that holds a list of graphs. */
static void list_of_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, attribute = {0}, source = {0};
    begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&attribute, ATTR_NAME, "a");
    for (int i = 0; i < n; i++) {
        onnx_bytes body = {0};
        put_node(&body, GRAPH_NODE, "A", name_of('v', i), NULL);
        onnx_text(&source, NODE_OUTPUT, name_of('v', i));
        put(&attribute, 11, &body);
    }
    onnx_text(&node, NODE_OP, "A");
    put(&node, NODE_ATTRIBUTE, &attribute);
    put(&graph, GRAPH_NODE, &source);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

/* Many captures of the bodies of one node, no two the same. */
static void captures(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, node = {0}, source = {0};
    begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&node, NODE_OP, "If");
    for (int k = 0; k < 2; k++) {
        onnx_bytes body = {0}, inner = {0};
        for (int i = 0; i < n; i++) {
            onnx_text(&inner, NODE_INPUT, name_of((char)('v' + k), i));
            onnx_text(&source, NODE_OUTPUT, name_of((char)('v' + k), i));
        }
        onnx_text(&inner, NODE_OP, "A");
        put(&body, GRAPH_NODE, &inner);
        put_body(&node, k ? "else_branch" : "then_branch", &body);
    }
    onnx_text(&node, NODE_INPUT, "c");
    put_value(&graph, GRAPH_INPUT, "c", -1);
    put(&graph, GRAPH_NODE, &source);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

static void empty_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, body = {0};
        onnx_text(&node, NODE_OP, "A");
        put_body(&node, "a", &body);
        put_body(&node, "b", &body);
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

static void small_bodies(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, body = {0};
        put_node(&body, GRAPH_NODE, "A", "x", "y");
        onnx_text(&node, NODE_OP, "A");
        put_body(&node, "a", &body);
        put(&graph, GRAPH_NODE, &node);
    }
    put_value(&graph, GRAPH_INPUT, "x", -1);
    end(b, &graph);
}

/* A body in a body and so on, the innermost of which takes n values from the main graph: every one on the way takes
 * them too. */
static void deep_captures(onnx_bytes *b, int n) {
    enum { DEEP = 24 };
    onnx_bytes graph = {0}, inner = {0}, body = {0}, source = {0};
    begin(b);
    onnx_text(&source, NODE_OP, "A");
    onnx_text(&inner, NODE_OP, "A");
    for (int i = 0; i < n; i++) {
        onnx_text(&inner, NODE_INPUT, name_of('v', i));
        onnx_text(&source, NODE_OUTPUT, name_of('v', i));
    }
    put(&body, GRAPH_NODE, &inner);
    for (int k = 0; k < DEEP; k++) {
        onnx_bytes node = {0}, outer = {0};
        onnx_text(&node, NODE_OP, "A");
        put_body(&node, "a", &body);
        put(&outer, GRAPH_NODE, &node);
        body = outer;
    }
    graph = body;
    put(&graph, GRAPH_NODE, &source);
    end(b, &graph);
}

/* A node with a long name, and in its body many nodes with bodies, whose paths begin with that name. */
static void long_paths(onnx_bytes *b, int n) {
    enum { LONG = 20000 };
    static char name[LONG + 1];
    onnx_bytes graph = {0}, body = {0}, node = {0};
    memset(name, 'n', LONG);
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes inner = {0}, empty = {0};
        onnx_text(&inner, NODE_OP, "A");
        put_body(&inner, "a", &empty);
        put(&body, GRAPH_NODE, &inner);
    }
    onnx_text(&node, NODE_NAME, name);
    onnx_text(&node, NODE_OP, "A");
    put_body(&node, "a", &body);
    put(&graph, GRAPH_NODE, &node);
    end(b, &graph);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void functions(onnx_bytes *b, int n) {
    onnx_bytes graph = {0};
    begin(b);
    for (int i = 0; i < n; i++) {
        onnx_bytes function = {0}, opset = {0};
        onnx_text(&function, FUNCTION_NAME, name_of('f', i));
        onnx_int(&opset, 2, 1);
        put(&function, FUNCTION_OPSET, &opset);
        put(b, MODEL_FUNCTION, &function);
    }
    end(b, &graph);
}

/* Many calls of a function with nothing in it, all of one name. */
static void empty_calls(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    put(b, MODEL_FUNCTION, &function);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0};
        onnx_text(&node, NODE_NAME, "c");
        onnx_text(&node, NODE_OP, "F");
        put(&graph, GRAPH_NODE, &node);
    }
    end(b, &graph);
}

/* Calls of a function of some size: n of them, so that it grows with what is expanded. */
static void calls(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    for (int i = 0; i < 20; i++) put_node(&function, FUNCTION_NODE, "A", NULL, name_of('v', i));
    put(b, MODEL_FUNCTION, &function);
    for (int i = 0; i < n; i++) put_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    end(b, &graph);
}

/* A function with many parameters, and as many attributes that refer to them. */
static void parameters(onnx_bytes *b, int n) {
    onnx_bytes graph = {0}, function = {0};
    begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0}, value = {0};
        onnx_text(&value, ATTR_NAME, name_of('p', i));
        onnx_int(&value, ATTR_I, 0);
        put(&function, FUNCTION_DEFAULT, &value);
        onnx_text(&attribute, ATTR_NAME, "a");
        onnx_text(&attribute, ATTR_REF, name_of('p', i));
        onnx_text(&node, NODE_OP, "A");
        put(&node, NODE_ATTRIBUTE, &attribute);
        put(&function, FUNCTION_NODE, &node);
    }
    put(b, MODEL_FUNCTION, &function);
    put_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    end(b, &graph);
}

/* One large attribute, which every node of a function takes: reading it once for each would take quadratic time, and
 * where it is a list, memory. */
static void references(onnx_bytes *b, int n, int field) {
    onnx_bytes graph = {0}, function = {0}, value = {0};
    begin(b);
    onnx_text(&function, FUNCTION_NAME, "F");
    onnx_text(&value, ATTR_NAME, "p");
    for (int i = 0; i < n; i++) onnx_int(&value, field, 0);
    put(&function, FUNCTION_DEFAULT, &value);
    for (int i = 0; i < n; i++) {
        onnx_bytes node = {0}, attribute = {0};
        onnx_text(&attribute, ATTR_NAME, "a");
        onnx_text(&attribute, ATTR_REF, "p");
        onnx_text(&node, NODE_OP, "A");
        put(&node, NODE_ATTRIBUTE, &attribute);
        put(&function, FUNCTION_NODE, &node);
    }
    put(b, MODEL_FUNCTION, &function);
    put_node(&graph, GRAPH_NODE, "F", NULL, NULL);
    end(b, &graph);
}

static void references_to_a_number(onnx_bytes *b, int n) {
    references(b, n, ATTR_I);
}

static void references_to_a_list(onnx_bytes *b, int n) {
    references(b, n, ATTR_INTS);
}

#define TWICE "there a second time"

const adversarial_shape adversarial_shapes[] = {
    {"repeated graph", repeated_graph, 20000, TORT_E_MODEL, TWICE},
    {"repeated tensor", repeated_tensor, 40000, TORT_E_MODEL, TWICE},
    {"repeated type", repeated_type, 40000, TORT_E_MODEL, TWICE},
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
