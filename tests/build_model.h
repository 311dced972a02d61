/* build_model.h - small models made in C, for tests of the core that need no file. */
#ifndef TORT_TESTS_BUILD_MODEL_H
#define TORT_TESTS_BUILD_MODEL_H

#include "runtime/core/graph/graph.h"

/* A model that is being built; `model` is NULL once something failed. */
typedef struct model_builder {
    tort_model *model;
} model_builder;

model_builder build_begin(const tort_env *env);
/* A graph input; a dim of -1, -2, -3 is the symbol "n", "m", "k". */
int32_t build_input(model_builder *b, const char *name, tort_type type, int32_t rank, const int64_t *dims);
int32_t build_weight(model_builder *b, const char *name, const tort_tensor *tensor);
/* One node of the main domain, opset 21, with one output; inputs end with -1. Returns the output's value. */
int32_t build_node(model_builder *b, const char *op, const char *name, const int32_t *inputs);
/* The same with several outputs: as many as `wanted` has characters, those of '0' absent (-1). */
void build_wide_node(model_builder *b, const char *op, const char *name, const int32_t *inputs, const char *wanted,
                     int32_t *outputs);
void build_output(model_builder *b, int32_t value);
/* Checks the model; the caller frees it. NULL with the error filled when it is not valid. */
tort_model *build_end(model_builder *b, tort_error *error);

#endif
