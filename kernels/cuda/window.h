/* window.h - a window that slides over rows and columns, for the kernels of Conv and the pools. Plain C. */
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

#endif
