/* optimized.h - writes a model as planning has left it: folded, and fused into ONNX's own operators. */
#ifndef TORT_CLI_OPTIMIZED_H
#define TORT_CLI_OPTIMIZED_H

#include "runtime/include/tinyort.h"

/* Plans the model for the CPU with these options, whose chain is not used, and writes what is left as a model to `to`.
 * Weights of other files become part of it. TORT_E_UNSUPPORTED: the model cannot be written in this way.
 * TORT_E_PLACEMENT: the CPU cannot run it. */
tort_status cli_optimize(const char *to, const tort_model *model, const tort_session_options *options,
                         tort_error *error);

#endif
