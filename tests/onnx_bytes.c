/* onnx_bytes.c - see onnx_bytes.h. Lengths of messages are written as varints of five bytes, so that they can be filled
 * in afterwards. Out of memory ends the test. */
#include "tests/onnx_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 5 };

void onnx_free(onnx_bytes *b) {
    free(b->data);
    *b = (onnx_bytes){0};
}

void onnx_raw(onnx_bytes *b, const void *bytes, size_t size) {
    if (b->size + size > b->capacity) {
        b->capacity = (b->size + size) * 2;
        b->data = realloc(b->data, b->capacity);
        if (!b->data) abort();
    }
    if (size) memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

static void put_varint(onnx_bytes *b, uint64_t value) {
    uint8_t byte;
    for (; value > 0x7f; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        onnx_raw(b, &byte, 1);
    }
    byte = (uint8_t)value;
    onnx_raw(b, &byte, 1);
}

void onnx_int(onnx_bytes *b, int field, int64_t value) {
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

void onnx_float(onnx_bytes *b, int field, float value) {
    put_varint(b, (uint64_t)field << 3 | 5);
    onnx_raw(b, &value, sizeof value);
}

void onnx_blob(onnx_bytes *b, int field, const void *bytes, size_t size) {
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, size);
    onnx_raw(b, bytes, size);
}

void onnx_text(onnx_bytes *b, int field, const char *text) {
    onnx_blob(b, field, text, strlen(text));
}

void onnx_begin(onnx_bytes *b, int field) {
    put_varint(b, (uint64_t)field << 3 | 2);
    onnx_raw(b, "\0\0\0\0\0", LENGTH_BYTES);
    b->open[b->depth++] = b->size;
}

void onnx_end(onnx_bytes *b) {
    size_t start = b->open[--b->depth], length = b->size - start;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        b->data[start - LENGTH_BYTES + (size_t)i] = (uint8_t)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

void onnx_opset(onnx_bytes *b, int field, const char *domain, int64_t version) {
    onnx_begin(b, field);
    onnx_text(b, 1, domain);
    onnx_int(b, 2, version);
    onnx_end(b);
}

void onnx_begin_model(onnx_bytes *b, int opset) {
    onnx_int(b, MODEL_IR, 10);
    onnx_opset(b, MODEL_OPSET, "", opset);
    onnx_begin(b, MODEL_GRAPH);
    onnx_text(b, GRAPH_NAME, "test");
}

void onnx_value(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims) {
    onnx_begin(b, field);
    onnx_text(b, 1, name);
    if (type == TORT_UNDEFINED) {
        onnx_end(b);
        return;
    }
    onnx_begin(b, 2); /* type */
    onnx_begin(b, 1); /* tensor_type */
    onnx_int(b, 1, type);
    if (rank >= 0) onnx_begin(b, 2); /* shape */
    for (int i = 0; i < rank; i++) {
        onnx_begin(b, 1);
        if (dims[i] == -1) onnx_text(b, 2, "N");
        if (dims[i] >= 0) onnx_int(b, 1, dims[i]);
        onnx_end(b);
    }
    for (int i = 0; i < (rank >= 0 ? 4 : 3); i++) onnx_end(b);
}

static void put_words(onnx_bytes *b, int field, const char *words) {
    while (*words) {
        size_t length = strcspn(words, " ");
        onnx_blob(b, field, words, length == 1 && *words == '-' ? 0 : length);
        words += length;
        words += strspn(words, " ");
    }
}

void onnx_begin_node(onnx_bytes *b, int field, const char *op, const char *name, const char *inputs,
                     const char *outputs) {
    onnx_begin(b, field);
    put_words(b, NODE_INPUT, inputs);
    put_words(b, NODE_OUTPUT, outputs);
    if (*name) onnx_text(b, NODE_NAME, name);
    onnx_text(b, NODE_OP, op);
}

void onnx_node(onnx_bytes *b, const char *op, const char *name, const char *inputs, const char *outputs) {
    onnx_begin_node(b, GRAPH_NODE, op, name, inputs, outputs);
    onnx_end(b);
}

void onnx_begin_attribute(onnx_bytes *b, const char *name, int type) {
    onnx_begin(b, NODE_ATTRIBUTE);
    onnx_text(b, ATTR_NAME, name);
    onnx_int(b, ATTR_TYPE, type);
}

void onnx_int_attribute(onnx_bytes *b, const char *name, int64_t value) {
    onnx_begin_attribute(b, name, 2);
    onnx_int(b, ATTR_I, value);
    onnx_end(b);
}

void onnx_begin_tensor(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims) {
    onnx_begin(b, field);
    for (int i = 0; i < rank; i++) onnx_int(b, TENSOR_DIMS, dims[i]);
    onnx_int(b, TENSOR_TYPE, type);
    if (*name) onnx_text(b, TENSOR_NAME, name);
}

void onnx_tensor(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims,
                 const void *bytes, size_t size) {
    onnx_begin_tensor(b, field, name, type, rank, dims);
    onnx_blob(b, TENSOR_RAW, bytes, size);
    onnx_end(b);
}

/* ---- the sample ------------------------------------------------------------------------------------------------- */

static const int64_t two[] = {2}, three[] = {3};

/* Twice(x; times = 2) = Mul(Add(x, x), Constant(times)), with an If whose bodies are in the function. */
static void sample_function(onnx_bytes *b) {
    onnx_begin(b, MODEL_FUNCTION);
    onnx_text(b, FUNCTION_NAME, "Twice.1");
    onnx_text(b, FUNCTION_DOMAIN, "local");
    onnx_text(b, FUNCTION_INPUT, "x");
    onnx_text(b, FUNCTION_OUTPUT, "y");
    onnx_opset(b, FUNCTION_OPSET, "", 17);
    onnx_begin_node(b, FUNCTION_NODE, "Constant", "", "", "factor");
    onnx_begin_attribute(b, "value_float", 1);
    onnx_text(b, ATTR_REF, "times");
    onnx_end(b);
    onnx_end(b);
    onnx_begin_node(b, FUNCTION_NODE, "Add", "sum", "x x", "s");
    onnx_end(b);
    onnx_begin_node(b, FUNCTION_NODE, "Mul", "", "s factor", "y");
    onnx_end(b);
    onnx_begin(b, FUNCTION_DEFAULT);
    onnx_text(b, ATTR_NAME, "times");
    onnx_int(b, ATTR_TYPE, 1);
    onnx_float(b, ATTR_F, 2.0f);
    onnx_end(b);
    onnx_end(b);
}

static void sample_weights(onnx_bytes *b) {
    const float floats[] = {1, 2, 3};
    const int64_t indices[] = {0, 2};
    onnx_tensor(b, GRAPH_INITIALIZER, "raw", TORT_FLOAT, 1, three, floats, sizeof floats);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "typed", TORT_FLOAT, 1, three);
    onnx_blob(b, TENSOR_FLOATS, floats, sizeof floats);
    onnx_end(b);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "shape", TORT_INT64, 1, two);
    onnx_blob(b, TENSOR_INT64S, "\x01\x03", 2);
    onnx_end(b);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "nibbles", TORT_INT4, 1, three);
    onnx_blob(b, TENSOR_INT32S, "\x21\x03", 2);
    onnx_end(b);
    onnx_begin_tensor(b, GRAPH_INITIALIZER, "words", TORT_STRING, 1, two);
    onnx_text(b, TENSOR_STRINGS, "one");
    onnx_blob(b, TENSOR_STRINGS, "t\0o", 3);
    onnx_end(b);
    onnx_begin(b, GRAPH_SPARSE);
    onnx_tensor(b, 1, "sparse", TORT_FLOAT, 1, two, floats, 8);
    onnx_tensor(b, 2, "", TORT_INT64, 1, two, indices, sizeof indices);
    onnx_int(b, 3, 3);
    onnx_end(b);
}

void onnx_begin_body(onnx_bytes *b, const char *attribute) {
    onnx_begin_attribute(b, attribute, 5); /* AttributeProto.GRAPH */
    onnx_begin(b, ATTR_G);
}

void onnx_end_body(onnx_bytes *b) {
    onnx_end(b);
    onnx_end(b);
}

void onnx_begin_loop(onnx_bytes *b, const char *name, const char *inputs, const char *outputs, int rank,
                     const int64_t *dims) {
    onnx_begin_node(b, GRAPH_NODE, "Loop", name, inputs, outputs);
    onnx_begin_body(b, "body");
    onnx_value(b, GRAPH_INPUT, "i", TORT_INT64, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "going", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "v", TORT_FLOAT, rank, dims);
    onnx_node(b, "Identity", "go", "going", "still");
}

void onnx_end_loop(onnx_bytes *b) {
    onnx_end_body(b);
    onnx_end(b);
}

/* A body without inputs that adds `other` to the captured `scaled`. */
static void sample_body(onnx_bytes *b, const char *attribute, const char *other) {
    char inputs[64] = "scaled ";
    onnx_begin_body(b, attribute);
    onnx_text(b, GRAPH_NAME, attribute);
    onnx_node(b, "Add", "", strcat(inputs, other), "sum");
    onnx_value(b, GRAPH_OUTPUT, "sum", TORT_FLOAT, 1, three);
    onnx_end_body(b);
}

void onnx_sample_model(onnx_bytes *b) {
    const int64_t batch[] = {-1};
    onnx_text(b, MODEL_PRODUCER, "tests");
    onnx_begin(b, MODEL_METADATA);
    onnx_text(b, 1, "key");
    onnx_text(b, 2, "value");
    onnx_end(b);
    onnx_opset(b, MODEL_OPSET, "local", 1);
    sample_function(b);
    onnx_begin_model(b, 17);
    sample_weights(b);
    onnx_value(b, GRAPH_INPUT, "x", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_INPUT, "choice", TORT_BOOL, 0, NULL);
    onnx_value(b, GRAPH_INPUT, "batch", TORT_FLOAT, 1, batch);
    onnx_begin_node(b, GRAPH_NODE, "Twice.1", "call", "x", "scaled");
    onnx_text(b, NODE_DOMAIN, "local");
    onnx_begin_attribute(b, "times", 1);
    onnx_float(b, ATTR_F, 3.0f);
    onnx_end(b);
    onnx_end(b);
    onnx_begin_node(b, GRAPH_NODE, "If", "", "choice", "y");
    sample_body(b, "then_branch", "raw");
    sample_body(b, "else_branch", "typed");
    onnx_end(b);
    onnx_node(b, "Add", "last", "y sparse", "z");
    onnx_begin_node(b, GRAPH_NODE, "Softmax", "soft", "z", "w");
    onnx_int_attribute(b, "axis", -1);
    onnx_end(b);
    onnx_value(b, GRAPH_VALUE_INFO, "z", TORT_FLOAT, 1, three);
    onnx_value(b, GRAPH_OUTPUT, "w", TORT_FLOAT, 1, three);
    onnx_end(b);
}
