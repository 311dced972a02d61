/* conv_window.cuh - windows of images: where one begins, and what of it is inside the image. P has out, stride, pad and
 * in. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_CONV_WINDOW_CUH
#define TORT_KERNELS_CUDA_CONV_WINDOW_CUH

#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/pack.h"

/* Sets where the window of an output's pixel begins, along each axis; returns that place among the pixels of the input,
 * before the first if it begins in the padding. */
template <class P>
static __device__ __forceinline__ int64_t window_begin(const P &p, unsigned pixel, int (&at)[GPU_CONV_AXES]) {
    int64_t place = 0, plane = 1;
#pragma unroll
    for (int i = GPU_CONV_AXES - 1; i >= 0; i--) {
        at[i] = (int)(pixel % (unsigned)p.out[i]) * p.stride[i] - p.pad[i];
        pixel /= (unsigned)p.out[i];
        place += at[i] * plane;
        plane *= p.in[i];
    }
    return place;
}

typedef pack<int32_t, 4> window_offset; /* a gpu_conv_offset, in one load */

/* True if this element of a window that begins at `at` is inside the image. */
template <class P>
static __device__ __forceinline__ bool is_inside(const P &p, const int (&at)[GPU_CONV_AXES],
                                                 const window_offset &offset) {
    bool inside = true;
#pragma unroll
    for (int i = 0; i < GPU_CONV_AXES; i++) inside = inside && (unsigned)(at[i] + offset.at[1 + i]) < (unsigned)p.in[i];
    return inside;
}

/* Mask of positions of a window inside an image with channels last: bit i for position i; *first is the element of
 * the window's beginning, which may be outside. row: the pixel of the output, counted over all images. */
static __device__ __forceinline__ unsigned window_of(const gpu_nhwc_conv &p, int64_t row, int64_t *first) {
    const unsigned image = (unsigned)row / (unsigned)p.pixels;
    int at[GPU_CONV_AXES];
    const int64_t pixel = window_begin(p, (unsigned)row - image * (unsigned)p.pixels, at);
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
