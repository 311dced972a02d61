/* window.c - see window.h. */
#include "kernels/cuda/window.h"

#include "ops/sliding.h"

tort_verdict tort_cuda_claim_window(const tort_node_view *node, const tort_sliding *sliding, int32_t max) {
    tort_verdict verdict = tort_cuda_claim_rank(node);
    if (verdict.code == TORT_YES && (sliding->axes < 1 || sliding->axes > max))
        return tort_no(TORT_NO_SHAPE, "", "%d spatial axes, the kernel has 1 to %d", sliding->axes, max);
    return verdict;
}

gpu_window tort_cuda_window(const tort_sliding *sliding) {
    int32_t w = sliding->axes - 1;
    bool flat = sliding->axes == 1;
    return (gpu_window){.in_h = flat ? 1 : sliding->input[0],
                        .in_w = sliding->input[w],
                        .out_h = flat ? 1 : sliding->output[0],
                        .out_w = sliding->output[w],
                        .kernel_h = flat ? 1 : sliding->kernel[0],
                        .kernel_w = sliding->kernel[w],
                        .stride_h = flat ? 1 : sliding->strides[0],
                        .stride_w = sliding->strides[w],
                        .dilation_h = flat ? 1 : sliding->dilations[0],
                        .dilation_w = sliding->dilations[w],
                        .pad_h = flat ? 0 : sliding->begin[0],
                        .pad_w = sliding->begin[w],
                        .pad_h_end = flat ? 0 : sliding->end[0],
                        .pad_w_end = sliding->end[w]};
}
