/* matmul_nbits.h - interface between matmul_nbits.c and matmul_nbits.cu: products with weights of 2, 4 or 8 bits. Plain
 * C. */
#ifndef TORT_KERNELS_CUDA_MATMUL_NBITS_H
#define TORT_KERNELS_CUDA_MATMUL_NBITS_H

#include "kernels/cuda/claims.h"

enum { GPU_NBITS_FEW = 8 }; /* maximum of rows of A that are multiplied by the packed numbers directly */

/* Operands of Y = A * B' + bias; B is laid out as ops/microsoft/matmul_nbits.h says. */
typedef struct gpu_nbits {
    int64_t m, n, k, blocks;
    int32_t bits, block_shift; /* a block has 2^block_shift numbers */
    const void *a, *b, *scales, *bias;
    const void *zeros;           /* of the type of A; NULL: packed, or half of the range */
    const uint8_t *packed_zeros; /* packed as B is, columns padded to whole bytes; may be NULL */
    void *y;
} gpu_nbits;

/* Multiplies up to GPU_NBITS_FEW rows. */
GPU_LAUNCHER gpu_run_nbits_few(gpu_stream stream, gpu_type type, const gpu_nbits *p, int32_t multiprocessors);
/* Writes B as n rows of k elements of the type. */
GPU_LAUNCHER gpu_run_nbits_dequantize(gpu_stream stream, gpu_type type, const gpu_nbits *p, void *weights);
GPU_LAUNCHER gpu_load_nbits(gpu_type type, int32_t bits);

#endif
