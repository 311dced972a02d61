/* matmul.h - matrix products, of MatMul and Gemm: what matmul.c asks of matmul.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_MATMUL_H
#define TORT_KERNELS_CUDA_MATMUL_H

#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/tiling.h"

/* y[b] = alpha * A[b] * B[b] + beta * C, (m, k) by (k, n), and what the epilogue makes of it. Strides in elements; C
 * and the residual, which lies as Y does, are NULL where there is none. */
typedef struct gpu_matmul {
    int64_t m, n, k, batches;
    int64_t a_row, a_column, b_row, b_column; /* strides inside a matrix */
    int32_t batch_rank;
    int64_t batch_dims[TORT_MAX_RANK], a_batch[TORT_MAX_RANK], b_batch[TORT_MAX_RANK], c_batch[TORT_MAX_RANK];
    int64_t c_row, c_column;
    float alpha, beta;
    tort_epilogue epilogue;
} gpu_matmul;

enum { GPU_JOINED = 4 }; /* products of one A that are one launch */

/* Those of a batch; or of several products of one A, which then are the batch, and have a B, a C and a Y each. */
typedef struct gpu_matmul_operands {
    const void *a, *b, *c, *residual;
    void *y;
    const void *more_b[GPU_JOINED - 1], *more_c[GPU_JOINED - 1];
    void *more_y[GPU_JOINED - 1];
    int32_t joined; /* 0: a batch */
} gpu_matmul_operands;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_matmul(gpu_stream stream, gpu_type type, const gpu_matmul *p, const gpu_matmul_operands *o,
                           const gpu_tiling *tiling, const gpu_parts *parts);
cudaError_t gpu_load_matmul(gpu_type type);
#ifdef __cplusplus
}
#endif
#endif

#endif
