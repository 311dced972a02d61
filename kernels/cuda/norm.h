/* norm.h - normalizations: arguments and launchers of norm.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_NORM_H
#define TORT_KERNELS_CUDA_NORM_H

#include "kernels/cuda/broadcast.h"

#define GPU_NORM_TERMS 3

/* Rows that are added up. Row r of the norm takes row r % period of the data; with ids, row ids[r % period] of a table.
 */
typedef struct gpu_norm_term {
    const void *data;   /* NULL: no such term */
    const int32_t *ids; /* may be NULL */
    size_t period;
    int64_t table_rows; /* ids are less */
} gpu_norm_term;

/* Contiguous rows, normalized by their own statistics: y = (x - mean) / sqrt(variance + epsilon) * scale + bias. */
typedef struct gpu_norm {
    size_t rows, size;
    float epsilon;
    bool centered;                /* false: the mean is taken as 0 */
    gpu_loop affine;              /* over all of x: strides of scale (operand 0) and bias (operand 1) */
    const void *x, *scale, *bias; /* bias may be NULL; so may x: then it is the sum of the terms */
    void *y;
    float *mean, *inverse;               /* one per row; may be NULL */
    gpu_norm_term terms[GPU_NORM_TERMS]; /* the last may be absent */
    void *sums;                          /* receives the sums; may be NULL */
    int32_t node;                        /* for reports of ids */
    void *status;                        /* gpu_status; NULL without ids */
} gpu_norm;

/* x as [batch, channels, inner], with given statistics per channel. */
typedef struct gpu_batch_norm {
    size_t count, channels, inner; /* count: elements of x */
    float epsilon;
    const void *x, *scale, *bias, *mean, *variance;
    void *y;
} gpu_batch_norm;

GPU_LAUNCHER gpu_run_norm(gpu_stream stream, gpu_type type, const gpu_norm *norm);
GPU_LAUNCHER gpu_load_norm(gpu_type type);
/* The same for sums of terms; not of doubles. */
GPU_LAUNCHER gpu_run_norm_of_sums(gpu_stream stream, gpu_type type, const gpu_norm *norm);
GPU_LAUNCHER gpu_load_norm_of_sums(gpu_type type);
/* Counts the ones in each of `rows` rows of the mask; 0 without one. */
GPU_LAUNCHER gpu_run_count_ones(gpu_stream stream, const int32_t *mask, int32_t *counts, size_t rows, size_t length);
GPU_LAUNCHER gpu_load_count_ones(void);
/* Statistics, scale and bias may be float where x is a half type. */
GPU_LAUNCHER gpu_run_batch_norm(gpu_stream stream, gpu_type type, gpu_type statistics, const gpu_batch_norm *norm);
GPU_LAUNCHER gpu_load_batch_norm(gpu_type type, gpu_type statistics);

#endif
