/* index.h - tensors of indices (int32 or int64) into an axis: reading and checking them.
 *
 * All indices are checked before the first element moves, so that loops need no error path. But a caller's memory may
 * change after that check, or between two reads: whatever becomes an address is read once by tort_index_at and held
 * within its axis by tort_index_wrapped, tort_index_within or a check of that number itself. */
#ifndef TORT_OPS_INDEX_H
#define TORT_OPS_INDEX_H

#include "ops/extent.h"

/* Element i of an int32 or int64 tensor, by one load: a compiler may repeat those of plain memory. */
static inline int64_t tort_index_at(const tort_tensor *indices, int64_t i) {
    return indices->type == TORT_INT32 ? ((const volatile int32_t *)indices->data)[i]
                                       : ((const volatile int64_t *)indices->data)[i];
}

/* The index, or 0 if it has come to be outside of an axis of `size`, which is not 0. */
static inline int64_t tort_index_within(int64_t index, int64_t size) {
    return (uint64_t)index < (uint64_t)size ? index : 0;
}

/* Element i, which was checked, in [0, size): negative values count from the end. */
static inline int64_t tort_index_wrapped(const tort_tensor *indices, int64_t i, int64_t size) {
    const int64_t index = tort_index_at(indices, i);
    return tort_index_within(index < 0 ? index + size : index, size);
}

/* TORT_E_RUN with index, position and range, unless elements first, first + step ... of `indices` are all in
 * [-size, size). */
tort_status tort_check_indices(const tort_call *call, const tort_tensor *indices, int64_t first, int64_t step,
                               int64_t size);

#endif
