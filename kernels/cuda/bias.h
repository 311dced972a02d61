/* bias.h - interface between bias.c and bias.cu: sums of rows, a bias and more. Plain C. */
#ifndef TORT_KERNELS_CUDA_BIAS_H
#define TORT_KERNELS_CUDA_BIAS_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

/* The sum itself, its Gelu by erf or by tanh, or the left half of a row times the Gelu of the right half. */
typedef enum gpu_bias_function { GPU_BIAS_SUM, GPU_BIAS_GELU, GPU_BIAS_GELU_TANH, GPU_BIAS_SPLIT } gpu_bias_function;

/* Operands of x + bias + skip, in rows of `columns` elements; the bias is one row. */
typedef struct gpu_bias {
    gpu_bias_function function;
    size_t count, columns;       /* count: elements of y */
    const void *x, *bias, *skip; /* skip may be NULL */
    void *y;
    uint8_t *mask; /* elements that a dropout keeps, which is all of them; NULL: no such output */
} gpu_bias;

GPU_LAUNCHER gpu_run_bias(gpu_stream stream, gpu_type type, const gpu_bias *bias);
GPU_LAUNCHER gpu_load_bias(gpu_type type);

/* SwiGLU of tensors of one shape: y = a * sigmoid(alpha * a) * b. */
GPU_LAUNCHER gpu_run_swiglu(gpu_stream stream, gpu_type type, float alpha, const void *a, const void *b, void *y,
                            size_t count);
GPU_LAUNCHER gpu_load_swiglu(gpu_type type);

/* Softmax of x + bias, by lanes of `length` elements. Lane i takes lane i / repeats % bias_lanes of the bias. */
typedef struct gpu_bias_softmax {
    size_t lanes, length, repeats, bias_lanes;
    const void *x, *bias;
    void *y;
} gpu_bias_softmax;

GPU_LAUNCHER gpu_run_bias_softmax(gpu_stream stream, gpu_type type, const gpu_bias_softmax *softmax);
GPU_LAUNCHER gpu_load_bias_softmax(gpu_type type);

#endif
