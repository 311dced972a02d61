/* norm.h - normalizations: arguments and launchers of norm.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_NORM_H
#define TORT_KERNELS_CUDA_NORM_H

#include "kernels/cuda/broadcast.h"

/* Contiguous rows, normalized by their own statistics: y = (x - mean) / sqrt(variance + epsilon) * scale + bias. */
typedef struct gpu_norm {
    size_t rows, size;
    float epsilon;
    bool centered;                /* false: the mean is taken as 0 */
    gpu_loop affine;              /* over all of x: strides of scale (operand 0) and bias (operand 1) */
    const void *x, *scale, *bias; /* bias may be NULL */
    void *y;
    float *mean, *inverse; /* one per row; may be NULL */
} gpu_norm;

/* x as [batch, channels, inner], with given statistics per channel. */
typedef struct gpu_batch_norm {
    size_t count, channels, inner; /* count: elements of x */
    float epsilon;
    const void *x, *scale, *bias, *mean, *variance;
    void *y;
} gpu_batch_norm;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
cudaError_t gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm);
cudaError_t gpu_load_norm(gpu_type type);
/* Statistics, scale and bias may be float where x is a half type. */
cudaError_t gpu_run_batch_norm(gpu_stream stream, gpu_type type, gpu_type statistics, const gpu_batch_norm *norm);
cudaError_t gpu_load_batch_norm(gpu_type type, gpu_type statistics);
#ifdef __cplusplus
}
#endif
#endif

#endif
