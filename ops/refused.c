/* refused.c - operators that tinyort knows by name and does not run: why, and what to do instead.
 *
 * A row without an operator is for all of its domain. An application may bring rows of its own for any of them. */
#include "runtime/op.h"

// clang-format off: a line an operator
const tort_refusal tort_refusals[] = {
    {"ai.onnx.preview.training", "Gradient", "differentiates the graph around it, which only a training framework does",
     "export the model with its gradients as nodes, or for inference"},
    {"com.microsoft.nchwc", NULL, "is onnxruntime's own form for one kind of machine",
     "save the model at a lower optimization level (ORT_ENABLE_EXTENDED)"},
    {NULL, NULL, NULL, NULL},
};
