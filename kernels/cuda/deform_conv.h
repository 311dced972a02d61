/* deform_conv.h - interface between deform_conv.c and deform_conv.cu: samples of images at places that tensors move.
 * Plain C. */
#ifndef TORT_KERNELS_CUDA_DEFORM_CONV_H
#define TORT_KERNELS_CUDA_DEFORM_CONV_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/divisor.h"

/* Two spatial axes. Samples are [batch, channels, positions, pixels]: a matrix that filters multiply. */
typedef struct gpu_deform {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t offset_group;
    uint64_t count;
    gpu_divisor pixels, width, positions, kernel_width, channel; /* of numbers up to count */
    gpu_divisor moved;                                           /* channels that move together */
    const void *x, *offset, *mask;                               /* mask may be NULL */
    void *samples;
} gpu_deform;

GPU_LAUNCHER gpu_run_deform_samples(gpu_stream stream, gpu_type type, const gpu_deform *p);
GPU_LAUNCHER gpu_load_deform_samples(gpu_type type);

#endif
