/* tensor_memory.h - memory of a tensor from a file: one block, with the bytes of its strings. */
#ifndef TORT_CLI_FILES_TENSOR_MEMORY_H
#define TORT_CLI_FILES_TENSOR_MEMORY_H

#include "runtime/core/base/error.h"

#define TORT_MAX_FILE_BYTES ((uint64_t)8 << 30) /* what values of a run on cpu may take, by default */

/* Allocates memory for a tensor whose type and shape are set, and `text` more bytes for its strings. Freed by
 * tort_tensor_file_free. */
tort_status tort_tensor_file_alloc(const tort_env *env, tort_tensor *tensor, size_t text, tort_error *error);
/* Frees the data and strings of a tensor from tort_tensor_file_alloc; no effect if data is NULL. */
void tort_tensor_file_free(const tort_env *env, tort_tensor *tensor);

#endif
