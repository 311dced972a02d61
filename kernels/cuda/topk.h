/* topk.h - the first elements in an order along an axis: arguments and launchers of topk.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_TOPK_H
#define TORT_KERNELS_CUDA_TOPK_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

/* x as [outer, length, inner], the outputs as [outer, k, inner]. */
typedef struct gpu_topk {
    size_t outer, length, inner, k;
    bool largest;   /* largest first, otherwise smallest first */
    bool nan_first; /* NaN comes before all numbers, otherwise after */
    bool last;      /* among equal elements, the last index first */
    const void *x;
    void *values;     /* may be NULL */
    int64_t *indices; /* may be NULL */
} gpu_topk;

/* All types but bool. */
GPU_LAUNCHER gpu_run_topk(gpu_stream stream, gpu_number type, const gpu_topk *topk);
GPU_LAUNCHER gpu_load_topk(gpu_number type);

#endif
