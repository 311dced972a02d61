/* provider_model.h - a model of some thirty small nodes, of every family that the CUDA provider serves. */
#ifndef TORT_TESTS_CUDA_PROVIDER_MODEL_H
#define TORT_TESTS_CUDA_PROVIDER_MODEL_H

#include "tests/onnx_bytes.h"

enum { PROVIDER_MODEL_COUNT = 12, PROVIDER_MODEL_ID = 2 }; /* elements of its output; its second index */

typedef struct provider_model {
    onnx_bytes bytes;
    tort_model *model;
    float image[2 * 3 * 6 * 5]; /* the inputs: [2, 3, 6, 5], and indices below 3 */
    int64_t ids[2];
    bool folded; /* its sessions fold and fuse; else every node runs */
} provider_model;

/* False: it is not valid; the reason was printed. */
bool provider_model_make(provider_model *model);
/* provider_bodies.c: one with a loop, a condition, fusions and a sequence in its place. */
bool provider_bodies_make(provider_model *model);
void provider_model_free(provider_model *model);
/* Runs it on its inputs; output takes PROVIDER_MODEL_COUNT elements. */
tort_status provider_model_run(provider_model *model, tort_context *context, float *output, tort_error *error);

#endif
