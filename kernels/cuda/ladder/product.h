/* product.h - the matrix product in five steps, from three loops to the pipeline of product_mma.cuh: product.cu.
 * Plain C. */
#ifndef TORT_KERNELS_CUDA_LADDER_PRODUCT_H
#define TORT_KERNELS_CUDA_LADDER_PRODUCT_H

#include "kernels/cuda/stream.h"

enum { LADDER_STEPS = 5 };

/* Y (m, n) = A (m, k) B (k, n), row-major halves with float sums, by step 1 to LADDER_STEPS. m and n must be
 * multiples of 64, k of 32: the ladder shows speed, and product_mma.cuh handles the edges. */
GPU_LAUNCHER ladder_product(gpu_stream stream, int step, const void *a, const void *b, void *y, int m, int n, int k);

#endif
