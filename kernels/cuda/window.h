/* window.h - a window that slides over rows and columns, as the kernels of Conv and the pools take it. Plain C. */
#ifndef TORT_KERNELS_CUDA_WINDOW_H
#define TORT_KERNELS_CUDA_WINDOW_H

#include "kernels/cuda/claims.h"

struct tort_sliding;

/* Sizes in elements. Over one spatial axis everything has a single row. */
typedef struct gpu_window {
    int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    int64_t pad_h, pad_w, pad_h_end, pad_w_end; /* before the first row and column, behind the last */
} gpu_window;

/* YES where the rank is known and there are 1 to `most` spatial axes. */
tort_verdict tort_cuda_claim_window(const tort_node_view *node, const struct tort_sliding *sliding, int32_t max);
/* Of one or two axes whose sizes are known. */
gpu_window tort_cuda_window(const struct tort_sliding *sliding);

#endif
