/* tensor_memory.c - see tensor_memory.h. */
#include "runtime/cli/files/tensor_memory.h"

#include <string.h>

#include "runtime/core/base/memory.h"

/* Layout of a block: its size, padded to TORT_HOST_ALIGN so that the elements are aligned; the elements; bytes of
 * strings. */
tort_status tort_tensor_file_alloc(const tort_env *env, tort_tensor *tensor, size_t text, tort_error *error) {
    size_t size;
    if (!tort_tensor_bytes(tensor, &size) || !tort_add_size(size, text, &size) ||
        !tort_add_size(size, TORT_HOST_ALIGN, &size))
        return tort_fail(error, TORT_E_INPUT, "the product of its dimensions overflows");
    char *block = tort_alloc_aligned(env, size);
    if (!block) return tort_out_of_memory(error, size);
    memcpy(block, &size, sizeof size);
    tensor->data = block + TORT_HOST_ALIGN;
    return TORT_OK;
}

void tort_tensor_file_free(const tort_env *env, tort_tensor *tensor) {
    tort_env complete = tort_env_complete(env);
    if (!tensor->data) return;
    char *block = (char *)tensor->data - TORT_HOST_ALIGN;
    size_t size;
    memcpy(&size, block, sizeof size);
    tort_free_aligned(&complete, block, size);
    tensor->data = NULL;
}
