/* matmul.h - matrix products, of MatMul, Gemm and (as an implicit one) Conv: what the .c files ask of matmul.cu and
 * conv.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_MATMUL_H
#define TORT_KERNELS_CUDA_MATMUL_H

#include "kernels/cuda/claims.h"

/* y[b] = alpha * A[b] * B[b] + beta * C, (m, k) by (k, n). Strides in elements; C is NULL where there is none. */
typedef struct gpu_matmul {
    int64_t m, n, k, batches;
    int64_t a_row, a_column, b_row, b_column; /* strides inside a matrix */
    int32_t batch_rank;
    int64_t batch_dims[TORT_MAX_RANK], a_batch[TORT_MAX_RANK], b_batch[TORT_MAX_RANK];
    int64_t c_row, c_column;
    float alpha, beta;
} gpu_matmul;

/* A Conv over rows and columns (a 1-D one has one row) as a product: weights (filters, channels*kernel) of a group
 * by the input's windows. Sizes in elements. */
typedef struct gpu_conv {
    int64_t batch, group, channels, filters; /* channels and filters of one group */
    int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w;
    int64_t stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w; /* pad: before the first row and column */
} gpu_conv;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_matmul(cudaStream_t stream, gpu_type type, const gpu_matmul *p, const void *a, const void *b,
                           const void *c, void *y);
/* bias is NULL where there is none. */
cudaError_t gpu_run_conv(cudaStream_t stream, gpu_type type, const gpu_conv *p, const void *x, const void *w,
                         const void *bias, void *y);
cudaError_t gpu_run_conv_depthwise(cudaStream_t stream, gpu_type type, const gpu_conv *p, const void *x, const void *w,
                                   const void *bias, void *y);
#ifdef __cplusplus
}
#endif
#endif

#endif
