/* loading.h - what the tests of the loader share: a model of bytes that must load, or be refused in so many words. */
#ifndef TORT_TESTS_UNIT_LOADING_H
#define TORT_TESTS_UNIT_LOADING_H

#include "runtime/core/graph/graph.h"
#include "tests/onnx_bytes.h"

static const int64_t three[] = {3}; /* the shape of most values */

/* Of bytes that must load; free_model frees both. */
tort_model *load_model(onnx_bytes *b);
void free_model(tort_model *model, onnx_bytes *b);
/* Loading must fail with this status and with all these words in the message. Frees the bytes. */
void refuse_model(onnx_bytes *b, tort_status expected, const char *const *words);
#define REFUSE(b, status, ...) refuse_model(b, status, (const char *const[]){__VA_ARGS__, NULL})

/* In any graph of the model; there must be one. */
const tort_node *node_named(const tort_model *model, const char *name);
/* "-" where it is absent. */
const char *input_name(const tort_model *model, int32_t graph, const tort_node *node, int32_t i);

/* Three floats that go in, and three that come out. */
void input_and_output(onnx_bytes *b, const char *in, const char *out);

#endif
