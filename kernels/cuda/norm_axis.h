/* norm_axis.h - LpNormalization, LRN, MeanVarianceNormalization and Hardmax: arguments and launchers of
 * norm_axis.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_NORM_AXIS_H
#define TORT_KERNELS_CUDA_NORM_AXIS_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"
#include "ops/norm.h"
#include "ops/reduce.h"

/* Result of a line: x / sum |x|, x / sqrt(sum x^2), or 1 at the first maximum and 0 elsewhere. */
typedef enum gpu_line_function { GPU_LINE_L1, GPU_LINE_L2, GPU_LINE_HARDMAX } gpu_line_function;

/* x as [outer, length, inner]: each line along the middle dimension is independent. */
typedef struct gpu_lines {
    gpu_line_function function;
    size_t outer, length, inner;
    const void *x;
    void *y;
} gpu_lines;

GPU_LAUNCHER gpu_run_lines(gpu_stream stream, gpu_type type, const gpu_lines *lines);
GPU_LAUNCHER gpu_load_lines(gpu_type type);
GPU_LAUNCHER gpu_run_lrn(gpu_stream stream, gpu_type type, const tort_lrn_params *lrn, const void *x, void *y);
GPU_LAUNCHER gpu_load_lrn(gpu_type type);
/* (x - mean) / (standard deviation + 1e-9) over the reduced dimensions of the view. */
GPU_LAUNCHER gpu_run_mean_variance(gpu_stream stream, gpu_type type, const tort_reduce_params *view, const void *x,
                                   void *y);
GPU_LAUNCHER gpu_load_mean_variance(gpu_type type);

#endif
