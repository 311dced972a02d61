/* unpool.h - interface between unpool.c and unpool.cu: MaxUnpool and Col2Im. Plain C. */
#ifndef TORT_KERNELS_CUDA_UNPOOL_H
#define TORT_KERNELS_CUDA_UNPOOL_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"
#include "kernels/cuda/number.h"
#include "ops/col2im.h"

/* Indices count in the shape `from`, elements of y in `to`, which is as large or larger. */
typedef struct gpu_unpool {
    int32_t rank, node;
    int64_t to[TORT_MAX_RANK], total; /* total: elements of `from` */
    gpu_divisor from[TORT_MAX_RANK];
    size_t count, outputs;
    const void *x;
    const int64_t *indices;
    unsigned long long *last; /* scratch, by element of y: 1 + the last element of x that goes there */
    void *y, *status;
} gpu_unpool;

GPU_LAUNCHER gpu_run_unpool(gpu_stream stream, int element_bytes, const gpu_unpool *p);
GPU_LAUNCHER gpu_load_unpool(int element_bytes);

typedef struct gpu_col2im {
    tort_col2im_params params;
    size_t count;       /* pixels of all images */
    gpu_divisor pixels; /* of an image */
    gpu_divisor image[TORT_COL2IM_RANK], stride[TORT_COL2IM_RANK], step[TORT_COL2IM_RANK];
    uint64_t max; /* number that is divided by these: the count, or a place in a padded image */
    const void *x;
    void *y;
} gpu_col2im;

GPU_LAUNCHER gpu_run_col2im(gpu_stream stream, gpu_number type, const gpu_col2im *p);
GPU_LAUNCHER gpu_load_col2im(gpu_number type);

#endif
