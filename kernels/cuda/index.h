/* index.h - an index that a kernel has read: wrapped if it is negative, reported if it is out of range. For .cu files,
 * after gpu.h. */
#ifndef TORT_KERNELS_CUDA_INDEX_H
#define TORT_KERNELS_CUDA_INDEX_H

#include "kernels/cuda/status.h"

/* Brings an index into an axis of `size` elements; false if it is not in [-size, size). The first wrong node wins the
 * status word; what is written for that element does not matter. */
static __device__ __forceinline__ bool wrap_index(int64_t &index, int64_t size, int32_t node, gpu_status *status) {
    if (index >= -size && index < size) {
        if (index < 0) index += size;
        return true;
    }
    if (atomicCAS(&status->node, 0, node + 1) == 0) {
        status->fault = GPU_FAULT_INDEX;
        status->value = index;
        status->limit = size;
    }
    return false;
}

#endif
