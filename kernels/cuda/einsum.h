/* einsum.h - interface between einsum.c and einsum.cu: Einsum, of operands laid out in any order. Plain C. */
#ifndef TORT_KERNELS_CUDA_EINSUM_H
#define TORT_KERNELS_CUDA_EINSUM_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

enum { GPU_EINSUM_AXES = 16, GPU_EINSUM_OPERANDS = 8 };

/* Strides in A, B and the output, in elements. */
typedef struct gpu_einsum_axis {
    int64_t size, a, b, c;
} gpu_einsum_axis;

/* Axes, outermost first, and the divisors of their sizes. */
typedef struct gpu_einsum_axes {
    int32_t count;
    uint64_t total; /* product of the sizes */
    gpu_divisor divisors[GPU_EINSUM_AXES];
    int64_t a[GPU_EINSUM_AXES], b[GPU_EINSUM_AXES], c[GPU_EINSUM_AXES];
} gpu_einsum_axes;

/* The products of ops/einsum_product.h: one for each index of `loops`, the sum of those of all indices of `sums`. */
typedef struct gpu_einsum {
    gpu_einsum_axis row, column, depth;
    gpu_einsum_axes loops, sums;
    const void *a, *b;
    void *y;
} gpu_einsum;

/* Any equation. Labels: first the `kept` ones of the output, then the summed ones, of which the last is `inner`. */
typedef struct gpu_einsum_any {
    int32_t kept, labels, operands;
    uint64_t outputs, sums; /* products of sizes: of the kept labels, of the summed ones but the last */
    int64_t inner;          /* size of the last one; 1 if there is none */
    gpu_divisor divisors[GPU_EINSUM_AXES];
    int64_t strides[GPU_EINSUM_OPERANDS][GPU_EINSUM_AXES], y_strides[GPU_EINSUM_AXES];
    int64_t steps[GPU_EINSUM_OPERANDS]; /* strides along `inner` */
    const void *x[GPU_EINSUM_OPERANDS];
    void *y;
} gpu_einsum_any;

GPU_LAUNCHER gpu_run_einsum_any(gpu_stream stream, gpu_type type, const gpu_einsum_any *einsum);
GPU_LAUNCHER gpu_load_einsum_any(gpu_type type);

GPU_LAUNCHER gpu_run_einsum(gpu_stream stream, gpu_type type, const gpu_einsum *einsum);
GPU_LAUNCHER gpu_load_einsum(gpu_type type);

#endif
