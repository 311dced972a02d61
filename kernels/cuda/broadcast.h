/* broadcast.h - numpy broadcasting on the device: offsets of the inputs' elements for element i of the output.
 *
 * ops/broadcast.h merges dimensions, so that tensors of one shape have one dimension and cost no division. Plain C,
 * except for the function that kernels call. */
#ifndef TORT_KERNELS_CUDA_BROADCAST_H
#define TORT_KERNELS_CUDA_BROADCAST_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

#define GPU_LOOP_OPERANDS 3
#define GPU_LOOP_RANK 10

/* Passed to kernels by value. Strides are in elements; 0 repeats an element. */
typedef struct gpu_loop {
    size_t count; /* elements of the output */
    int32_t rank;
    int64_t dims[GPU_LOOP_RANK];
    gpu_divisor divisors[GPU_LOOP_RANK]; /* of all dimensions but the first */
    int64_t strides[GPU_LOOP_OPERANDS][GPU_LOOP_RANK];
} gpu_loop;

#ifdef __cplusplus
/* Computes the offsets of the first `operands` operands for element i. */
template <int operands>
static __device__ __forceinline__ void loop_offsets(const gpu_loop &loop, size_t i, int64_t (&offsets)[operands]) {
    uint64_t rest = i;
    for (int k = 0; k < operands; k++) offsets[k] = 0;
    for (int d = loop.rank - 1; d > 0; d--) {
        uint64_t coordinate = rest;
        rest = divide(&coordinate, loop.divisors[d], loop.count);
        for (int k = 0; k < operands; k++) offsets[k] += (int64_t)coordinate * loop.strides[k][d];
    }
    for (int k = 0; loop.rank && k < operands; k++) offsets[k] += (int64_t)rest * loop.strides[k][0];
}
#else
#include "ops/broadcast.h"

/* To be called when count and dimensions are known. */
static inline void gpu_loop_ready(gpu_loop *loop) {
    for (int32_t d = 1; d < loop->rank; d++) loop->divisors[d] = gpu_divisor_of(loop->dims[d], loop->count);
}

static inline gpu_loop gpu_loop_of(const tort_loop *from) {
    gpu_loop loop = {.count = (size_t)from->count, .rank = from->rank};
    for (int32_t d = 0; d < from->rank; d++) {
        loop.dims[d] = from->dims[d];
        for (int32_t k = 0; k < from->operands && k < GPU_LOOP_OPERANDS; k++) loop.strides[k][d] = from->strides[k][d];
    }
    gpu_loop_ready(&loop);
    return loop;
}

static inline gpu_loop gpu_loop_broadcast(const tort_tensor *out, const tort_tensor *inputs, int32_t count) {
    const tort_loop loop = tort_loop_broadcast(out, inputs, count);
    return gpu_loop_of(&loop);
}
#endif

#endif
