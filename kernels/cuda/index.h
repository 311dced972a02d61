/* index.h - numbers that a kernel reads: an index is wrapped if it is negative, and reported if it is out of range.
 * For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_INDEX_H
#define TORT_KERNELS_CUDA_INDEX_H

#include "kernels/cuda/status.h"

/* Reports a bad value. The first failing node wins the status word. */
static __device__ __forceinline__ void report_fault(gpu_status *status, int32_t node, gpu_fault fault, int64_t value,
                                                    size_t place, int64_t limit) {
    if (atomicCAS(&status->node, 0, node + 1) != 0) return;
    status->fault = fault;
    status->value = value;
    status->place = (int64_t)place;
    status->limit = limit;
}

/* Reads an index into an axis of `size` elements and wraps it; if it is not in [-size, size) it is reported, and the
 * result is false: the element written then does not matter. */
template <class I>
static __device__ __forceinline__ bool read_index(const I *indices, size_t place, int64_t size, int32_t node,
                                                  gpu_status *status, int64_t *index) {
    const int64_t found = (int64_t)indices[place];
    *index = found < 0 ? found + size : found;
    if (found >= -size && found < size) return true;
    report_fault(status, node, GPU_FAULT_INDEX, found, place, size);
    return false;
}

#endif
