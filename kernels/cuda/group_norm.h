/* group_norm.h - com.microsoft's GroupNorm and SkipGroupNorm: arguments and launchers of group_norm.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_GROUP_NORM_H
#define TORT_KERNELS_CUDA_GROUP_NORM_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

/* Images as [batch, pixels, channels], or [batch, channels, pixels]; skip, bias and sums may be NULL. */
typedef struct gpu_group_norm {
    size_t batch, groups, channels, pixels;
    float epsilon;
    bool silu, channels_last, skip_is_pixel;
    gpu_divisor run; /* elements of a group that lie one behind the other */
    const void *x, *skip, *bias;
    const void *gamma, *beta; /* of type M */
    void *y, *sums;
} gpu_group_norm;

/* Types: float or half. */
GPU_LAUNCHER gpu_run_group_norm(gpu_stream stream, gpu_type type, gpu_type m, const gpu_group_norm *norm);
GPU_LAUNCHER gpu_load_group_norm(gpu_type type, gpu_type m);

#endif
