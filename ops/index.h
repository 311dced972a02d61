/* index.h - tensors of indices (int32 or int64) into an axis: reading and checking them.
 *
 * A reference checks all indices before it moves the first element, so that its loops need no error path. */
#ifndef TORT_OPS_INDEX_H
#define TORT_OPS_INDEX_H

#include "ops/extent.h"

/* Element i of an int32 or int64 tensor. */
static inline int64_t tort_index_at(const tort_tensor *indices, int64_t i) {
    return indices->type == TORT_INT32 ? ((const int32_t *)indices->data)[i] : ((const int64_t *)indices->data)[i];
}

/* The same with negative values counted from the end of an axis of `size`; known to be in range. */
static inline int64_t tort_index_wrapped(const tort_tensor *indices, int64_t i, int64_t size) {
    int64_t index = tort_index_at(indices, i);
    return index < 0 ? index + size : index;
}

/* TORT_E_RUN with index, position and range, unless elements first, first + step ... of `indices` are all in
 * [-size, size). */
tort_status tort_check_indices(const tort_call *call, const tort_tensor *indices, int64_t first, int64_t step,
                               int64_t size);

#endif
