/* qlinear_mean.h - interface between qlinear_mean.c and qlinear_mean.cu: com.microsoft's operators on bytes that add
 * them up. Plain C. */
#ifndef TORT_KERNELS_CUDA_QLINEAR_MEAN_H
#define TORT_KERNELS_CUDA_QLINEAR_MEAN_H

#include "kernels/cuda/qlinear.h"
#include "kernels/cuda/window.h"

/* Y has an element for each of `kept`, the mean of the elements that `reduced` has from there. */
typedef struct gpu_linear_mean {
    gpu_linear from, to;
    gpu_loop kept, reduced; /* operand 0 */
    bool along;             /* neighbours in X are reduced; false: they are kept */
} gpu_linear_mean;

GPU_LAUNCHER gpu_run_linear_mean(gpu_stream stream, bool is_signed, const gpu_linear_mean *mean, const void *x,
                                 void *y);
GPU_LAUNCHER gpu_load_linear_mean(bool is_signed);

/* Means of windows: X is [outer, in_h, in_w, inner], and Y likewise; inner is 1, or the channels. */
typedef struct gpu_linear_pool {
    gpu_linear from, to;
    gpu_window window;
    gpu_divisor inner, out_w, out_h;
    size_t count; /* of Y */
    bool count_include_pad;
} gpu_linear_pool;

GPU_LAUNCHER gpu_run_linear_pool(gpu_stream stream, bool is_signed, const gpu_linear_pool *pool, const void *x,
                                 void *y);
GPU_LAUNCHER gpu_load_linear_pool(bool is_signed);

/* X is [outer, length, inner]; a lane is the elements along `length`. */
typedef struct gpu_linear_softmax {
    gpu_linear from, to;
    gpu_divisor inner;
    int64_t length;
    size_t lanes;
} gpu_linear_softmax;

GPU_LAUNCHER gpu_run_linear_softmax(gpu_stream stream, bool is_signed, const gpu_linear_softmax *softmax, const void *x,
                                    void *y);
GPU_LAUNCHER gpu_load_linear_softmax(bool is_signed);

#endif
