/* dense_messages.c - see dense_messages.h. */
#include "tests/dense_messages.h"

void dense_put(onnx_bytes *outer, int field, onnx_bytes *inner) {
    onnx_blob(outer, field, inner->data, inner->size);
    onnx_free(inner);
}

const char *dense_name(char first, int i) {
    static char name[5];
    name[0] = first;
    name[1] = (char)(i % 126 + 1); /* ASCII: text must be UTF-8 */
    name[2] = (char)(i / 126 % 126 + 1);
    name[3] = (char)(i / (126 * 126));
    name[4] = 0;
    return name;
}

void dense_begin(onnx_bytes *b) {
    onnx_bytes opset = {0};
    onnx_int(b, MODEL_IR, 10);
    onnx_int(&opset, 2, 17);
    dense_put(b, MODEL_OPSET, &opset);
}

void dense_end(onnx_bytes *b, onnx_bytes *graph) {
    dense_put(b, MODEL_GRAPH, graph);
}

void dense_node(onnx_bytes *graph, int field, const char *op, const char *in, const char *out) {
    onnx_bytes node = {0};
    if (in) onnx_text(&node, NODE_INPUT, in);
    if (out) onnx_text(&node, NODE_OUTPUT, out);
    onnx_text(&node, NODE_OP, op);
    dense_put(graph, field, &node);
}

void dense_value(onnx_bytes *graph, int field, const char *name, int dims) {
    onnx_bytes value = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < dims; i++) onnx_blob(&shape, 1, "", 0);
    onnx_int(&tensor, 1, TORT_FLOAT);
    if (dims >= 0) dense_put(&tensor, 2, &shape);
    dense_put(&type, 1, &tensor);
    onnx_text(&value, 1, name);
    dense_put(&value, 2, &type);
    dense_put(graph, field, &value);
}

void dense_body(onnx_bytes *node, const char *attribute, onnx_bytes *body) {
    onnx_bytes message = {0};
    onnx_text(&message, ATTR_NAME, attribute);
    dense_put(&message, ATTR_G, body);
    dense_put(node, NODE_ATTRIBUTE, &message);
}
