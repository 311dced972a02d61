/* onnx_bytes.h - writes ONNX files for tests, byte by byte, so that they can also be wrong.
 *
 * Field numbers are those of ONNX's onnx.proto; the functions below name the common ones. All memory is the writer's,
 * freed by onnx_free. */
#ifndef TORT_TESTS_ONNX_BYTES_H
#define TORT_TESTS_ONNX_BYTES_H

#include "runtime/include/tinyort.h"

typedef struct onnx_bytes {
    uint8_t *data;
    size_t size, capacity;
    size_t open[128]; /* where the messages that are not yet ended begin */
    int depth;
} onnx_bytes;

/* Field numbers, by message. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_METADATA = 14, MODEL_FUNCTION = 25 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { GRAPH_VALUE_INFO = 13, GRAPH_SPARSE = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_S = 4, ATTR_T = 5, ATTR_G = 6, ATTR_INTS = 8, ATTR_STRINGS = 9 };
enum { ATTR_TYPE = 20, ATTR_REF = 21, ATTR_SPARSE = 22 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_STRINGS = 6, TENSOR_INT64S = 7 };
enum { TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_DOUBLES = 10, TENSOR_UINT64S = 11, TENSOR_EXTERNAL = 13 };
enum { TENSOR_LOCATION = 14 };
enum { FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT = 5, FUNCTION_ATTRIBUTE = 6, FUNCTION_NODE = 7 };
enum { FUNCTION_OPSET = 9, FUNCTION_DOMAIN = 10, FUNCTION_DEFAULT = 11 };

void onnx_free(onnx_bytes *b);
void onnx_int(onnx_bytes *b, int field, int64_t value);
void onnx_float(onnx_bytes *b, int field, float value);
void onnx_text(onnx_bytes *b, int field, const char *text);
void onnx_blob(onnx_bytes *b, int field, const void *bytes, size_t size);
void onnx_raw(onnx_bytes *b, const void *bytes, size_t size); /* without a field */
void onnx_begin(onnx_bytes *b, int field);
void onnx_end(onnx_bytes *b);

/* ir_version 10 and an import of the main domain; then the graph is begun. onnx_end ends it. */
void onnx_begin_model(onnx_bytes *b, int opset);
void onnx_opset(onnx_bytes *b, int field, const char *domain, int64_t version);
/* A declared tensor in `field` of a graph; a dim of -1 has the name "N", of -2 none. A rank below 0: without a shape;
 * type UNDEFINED: the name alone. */
void onnx_value(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims);
/* Begins a node; inputs and outputs are words, "-" is an absent one. onnx_end ends it. */
void onnx_begin_node(onnx_bytes *b, int field, const char *op, const char *name, const char *inputs,
                     const char *outputs);
void onnx_node(onnx_bytes *b, const char *op, const char *name, const char *inputs, const char *outputs);
void onnx_begin_attribute(onnx_bytes *b, const char *name, int type);
/* A graph as an attribute of the node that is open. */
void onnx_begin_body(onnx_bytes *b, const char *attribute);
void onnx_end_body(onnx_bytes *b);
/* A Loop, open in its body, that carries one float value: "v" there, of this shape. The counter is "i", the condition
 * "going", which "still" repeats: the first output that the body has to be given. */
void onnx_begin_loop(onnx_bytes *b, const char *name, const char *inputs, const char *outputs, int rank,
                     const int64_t *dims);
void onnx_end_loop(onnx_bytes *b);
void onnx_int_attribute(onnx_bytes *b, const char *name, int64_t value);
/* Begins a tensor in `field` with name, type and shape; onnx_end ends it. */
void onnx_begin_tensor(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims);
void onnx_tensor(onnx_bytes *b, int field, const char *name, tort_type type, int rank, const int64_t *dims,
                 const void *bytes, size_t size);

/* A small model that holds one of everything that the loader reads: a function with parameters, nested bodies that
 * capture, sparse and string tensors, every data field. */
void onnx_sample_model(onnx_bytes *b);

#endif
