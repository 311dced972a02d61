/* dense_messages.h - messages of ONNX written from the inside out, with onnx_blob, whose lengths are as short as they
 * can be (those of onnx_begin and onnx_end are not). */
#ifndef TORT_TESTS_DENSE_MESSAGES_H
#define TORT_TESTS_DENSE_MESSAGES_H

#include "tests/onnx_bytes.h"

/* Puts a finished message into another one, and empties it. */
void dense_put(onnx_bytes *outer, int field, onnx_bytes *inner);
/* A name of three bytes for every number below 250^3, valid until the next call; the first byte says what it is a name
 * of. */
const char *dense_name(char first, int i);

/* The model up to its graph; then its graph. */
void dense_begin(onnx_bytes *b);
void dense_end(onnx_bytes *b, onnx_bytes *graph);
/* A node without attributes; an absent list is NULL, an item "-" is "". */
void dense_node(onnx_bytes *graph, int field, const char *op, const char *in, const char *out);
/* A declared tensor of float; `dims` of which nothing is known, none where the rank is unknown too. */
void dense_value(onnx_bytes *graph, int field, const char *name, int dims);
void dense_body(onnx_bytes *node, const char *attribute, onnx_bytes *body);

#endif
