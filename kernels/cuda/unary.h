/* unary.h - elementwise functions of one tensor: arguments and launchers of unary.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_UNARY_H
#define TORT_KERNELS_CUDA_UNARY_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

typedef enum gpu_unary {
    GPU_ACOS,
    GPU_ACOSH,
    GPU_ASIN,
    GPU_ASINH,
    GPU_ATAN,
    GPU_ATANH,
    GPU_CEIL,
    GPU_CELU,
    GPU_COS,
    GPU_COSH,
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
    GPU_MISH,
    GPU_RECIPROCAL,
    GPU_ROUND,
    GPU_SELU,
    GPU_SHRINK,
    GPU_SIGMOID,
    GPU_SIN,
    GPU_SINH,
    GPU_SOFTPLUS,
    GPU_SOFTSIGN,
    GPU_SQRT,
    GPU_SWISH,
    GPU_TAN,
    GPU_TANH,
    GPU_THRESHOLDED_RELU,
    GPU_ABS, /* this and the following take integers too */
    GPU_NEG,
    GPU_RELU,
    GPU_SIGN,
    GPU_UNARY_COUNT
} gpu_unary;

/* Predicates of a floating-point number. */
typedef enum gpu_predicate { GPU_IS_NAN, GPU_IS_INF, GPU_IS_MINUS_INF, GPU_IS_PLUS_INF, GPU_IS_NEVER } gpu_predicate;

/* y[i] = f(x[i]) for count elements; y may be x. */
GPU_LAUNCHER gpu_run_unary(gpu_stream stream, gpu_unary function, gpu_number type, const void *x, void *y, size_t count,
                           float alpha, float beta);
GPU_LAUNCHER gpu_load_unary(gpu_unary function, gpu_number type);
/* Each result is a byte, 0 or 1. */
GPU_LAUNCHER gpu_run_predicate(gpu_stream stream, gpu_predicate predicate, gpu_type type, const void *x, void *y,
                               size_t count);
GPU_LAUNCHER gpu_load_predicate(gpu_type type);

#endif
