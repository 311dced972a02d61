/* window.h - a window that slides over rows and columns, for the kernels of Conv and the pools. Plain C, and functions
 * for .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_WINDOW_H
#define TORT_KERNELS_CUDA_WINDOW_H

#include "kernels/cuda/claims.h"

struct tort_sliding;

/* Sizes in elements. With one spatial axis there is a single row. */
typedef struct gpu_window {
    int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w, pad_h_end, pad_w_end; /* before the first and after the last row and column */
} gpu_window;

/* Returns YES if the rank is known and there are 1 to `max` spatial axes. */
tort_verdict tort_cuda_claim_window(const tort_node_view *node, const struct tort_sliding *sliding, int32_t max);
/* The window over one or two axes of known sizes. */
gpu_window tort_cuda_window(const struct tort_sliding *sliding);

#ifdef __cplusplus
/* Smallest n >= 0 with n * step >= distance, but at most `max`. */
template <class I> static __device__ __forceinline__ I first_at(I distance, I step, I max) {
    const I n = distance <= 0 ? 0 : step == 1 ? distance : (distance + step - 1) / step;
    return n < max ? n : max;
}

/* Number of a window's positions in the padded input. Computed, not counted: padding may exceed any image. */
static __device__ __forceinline__ int64_t counted_positions(const gpu_window &g, int64_t first_h, int64_t first_w) {
    return first_at(g.in_h + g.pad_h_end - first_h, g.dilation_h, g.kernel_h) *
           first_at(g.in_w + g.pad_w_end - first_w, g.dilation_w, g.kernel_w);
}
#endif

#endif
