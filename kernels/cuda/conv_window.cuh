/* nhwc_window.cuh - windows of images with channels last: where one begins, and which of its positions are inside the
 * image. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_NHWC_WINDOW_CUH
#define TORT_KERNELS_CUDA_NHWC_WINDOW_CUH

#include "kernels/cuda/nhwc.h"

/* Returns the mask of positions inside, bit i for position i; *first is the element of the window's beginning, which
 * may be outside. row: the pixel of the output, counted over all images. */
static __device__ __forceinline__ unsigned window_of(const gpu_nhwc_conv &p, int64_t row, int64_t *first) {
    const unsigned image = (unsigned)row / (unsigned)p.pixels;
    unsigned rest = (unsigned)row - image * (unsigned)p.pixels;
    int at[GPU_CONV_AXES];
    int64_t pixel = 0, plane = 1;
#pragma unroll
    for (int i = GPU_CONV_AXES - 1; i >= 0; i--) {
        at[i] = (int)(rest % (unsigned)p.out[i]) * p.stride[i] - p.pad[i];
        rest /= (unsigned)p.out[i];
        pixel += at[i] * plane;
        plane *= p.in[i];
    }
    *first = ((int64_t)image * p.in_pixels + pixel) * p.channels * p.group;
    unsigned position = 0, all = 0;
    for (int d = 0; d < p.kernel[0]; d++)
        for (int h = 0; h < p.kernel[1]; h++)
            for (int w = 0; w < p.kernel[2]; w++, position++)
                all |= (unsigned)((unsigned)(at[0] + d * p.dilation[0]) < (unsigned)p.in[0] &&
                                  (unsigned)(at[1] + h * p.dilation[1]) < (unsigned)p.in[1] &&
                                  (unsigned)(at[2] + w * p.dilation[2]) < (unsigned)p.in[2])
                       << position;
    return all;
}

#endif
