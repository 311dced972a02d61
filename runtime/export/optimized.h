/* optimized.h - writes a model as planning leaves it, folded and fused into ONNX's own operators. For the command line
 * and Python; the library goes without. */
#ifndef TORT_EXPORT_OPTIMIZED_H
#define TORT_EXPORT_OPTIMIZED_H

#include "runtime/core/base/new_file.h"

struct TortOnnx__ModelProto; /* of the header that protoc-c makes */
typedef struct tort_optimized tort_optimized;

/* Plans the model for the CPU with the shapes, sizes, fusions and time limit of these options, and makes a message of
 * what is left, which borrows the model's weights. The caller frees *made before the model, after a failure too.
 * TORT_E_UNSUPPORTED: the model cannot be written in this way. TORT_E_PLACEMENT: the CPU cannot run it. */
tort_status tort_optimized_make(const tort_model *model, const tort_session_options *options, tort_optimized **made,
                                tort_error *error);
struct TortOnnx__ModelProto *tort_optimized_message(tort_optimized *made);
void tort_optimized_free(tort_optimized *made); /* NULL is allowed */

/* tort_optimized_make to a file, which is open; the caller ends it. Weights of other files become part of the model. */
tort_status tort_optimized_write(const tort_model *model, const tort_session_options *options, tort_new_file *file,
                                 tort_error *error);

#endif
