/* refused.c - operators that tinyort knows by name and does not run: why, and what to do instead.
 *
 * A row without an operator is for all of its domain. An application may bring rows of its own for any of them. */
#include "runtime/op.h"

// clang-format off: a line an operator
const tort_refusal tort_refusals[] = {
    {"", "ImageDecoder",
     "is in libtinyort_extra, which is not there, or was built without libtiff, libwebp or OpenJPEG",
     "install libtiff-dev, libwebp-dev and libopenjp2-7-dev (make setup) and build again; an application gives "
     "tort_extra_operators to tort_load_options"},
    {"", "RegexFullMatch", "is in libtinyort_extra, which is not there, or was built without RE2",
     "install libre2-dev and g++ (make setup) and build again; an application gives tort_extra_operators to "
     "tort_load_options"},
    {"ai.onnx.preview.training", "Gradient", "differentiates the graph around it, which only a training framework does",
     "export the model with its gradients as nodes, or for inference"},
    {"com.microsoft.nchwc", NULL, "is onnxruntime's own form for one kind of machine",
     "save the model at a lower optimization level (ORT_ENABLE_EXTENDED)"},
    {NULL, NULL, NULL, NULL},
};
