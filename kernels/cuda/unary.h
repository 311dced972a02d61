/* unary.h - functions of one tensor, element by element: what unary.c asks of unary.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_UNARY_H
#define TORT_KERNELS_CUDA_UNARY_H

#include "kernels/cuda/claims.h"

typedef enum gpu_unary {
    GPU_ABS,
    GPU_CEIL,
    GPU_COS,
    GPU_ELU,
    GPU_ERF,
    GPU_EXP,
    GPU_FLOOR,
    GPU_GELU,
    GPU_GELU_TANH,
    GPU_HARD_SIGMOID,
    GPU_HARD_SWISH,
    GPU_LEAKY_RELU,
    GPU_LOG,
    GPU_NEG,
    GPU_RECIPROCAL,
    GPU_RELU,
    GPU_SIGMOID,
    GPU_SIN,
    GPU_SOFTPLUS,
    GPU_SQRT,
    GPU_TANH,
    GPU_UNARY_COUNT
} gpu_unary;

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* y[i] = f(x[i]), count elements; x and y may be the same. */
cudaError_t gpu_run_unary(cudaStream_t stream, gpu_unary function, gpu_type type, const void *x, void *y, size_t count,
                          float alpha, float beta);
cudaError_t gpu_load_unary(gpu_unary function, gpu_type type);
#ifdef __cplusplus
}
#endif
#endif

#endif
