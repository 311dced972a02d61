/* generate.h - interface between generate.c and generate.cu: tensors made from a few numbers. Plain C. */
#ifndef TORT_KERNELS_CUDA_GENERATE_H
#define TORT_KERNELS_CUDA_GENERATE_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

/* The first number and the step of a Range: real_* for floats, the others for integers. */
typedef struct gpu_range {
    double real_start, real_step;
    int64_t start, step;
} gpu_range;

/* OneHot: indices are [outer, inner], the output is [outer, depth, inner]. */
typedef struct gpu_one_hot {
    size_t count, inner; /* count: elements of the output */
    int64_t depth;
} gpu_one_hot;

/* Trilu: `diagonal` is column - row of the border diagonal, which is kept. */
typedef struct gpu_triangle {
    size_t count; /* elements of all matrices */
    int64_t rows, columns, diagonal;
    bool upper;
} gpu_triangle;

/* All types but bool. */
GPU_LAUNCHER gpu_run_range(gpu_stream stream, gpu_number type, const gpu_range *range, void *output, size_t count);
GPU_LAUNCHER gpu_load_range(gpu_number type);
/* Indices of any type but bool; values: off, then on; elements of 1, 2, 4 or 8 bytes. */
GPU_LAUNCHER gpu_run_one_hot(gpu_stream stream, gpu_number type, int element_bytes, const gpu_one_hot *one_hot,
                             const void *indices, const void *values, void *output);
GPU_LAUNCHER gpu_load_one_hot(int element_bytes);
GPU_LAUNCHER gpu_run_triangle(gpu_stream stream, int element_bytes, const gpu_triangle *triangle, const void *x,
                              void *y);
GPU_LAUNCHER gpu_load_triangle(int element_bytes);

#endif
