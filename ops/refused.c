/* refused.c - operators that tinyort knows by name and does not run: why, and what to do instead.
 *
 * A row without an operator is for all of its domain. An application may bring rows of its own for any of them. */
#include "runtime/op.h"

// clang-format off: a line an operator
const tort_refusal tort_refusals[] = {
    {"com.microsoft.nchwc", NULL, "is onnxruntime's own form for one kind of machine",
     "save the model at a lower optimization level (ORT_ENABLE_EXTENDED)"},
    {NULL, NULL, NULL, NULL},
};
