/* conv.h - interface between conv.c and conv.cu, conv_cudnn.c: Conv and FusedConv on the device. Plain C. */
#ifndef TORT_KERNELS_CUDA_CONV_H
#define TORT_KERNELS_CUDA_CONV_H

#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/tiling.h"
#include "kernels/cuda/window.h"

/* A convolution: weights (filters, channels * kernel) of a group by the input's windows. Sizes in elements. */
typedef struct gpu_conv {
    gpu_window window;
    int64_t batch, group, channels, filters; /* per group */
    tort_epilogue epilogue;
} gpu_conv;

typedef struct gpu_conv_operands {
    const void *x, *w, *bias, *residual; /* bias and residual: NULL if absent */
    void *y;
} gpu_conv_operands;

/* ---- as a matrix product: weights (filters, length) by windows (length, pixels), for each image and group ---- */

enum { GPU_CONV_AXES = 3 }; /* missing axes have size 1 */

/* Offset of element k within any window: elements from the window's first, and coordinates, which must be inside the
 * input. */
typedef struct gpu_conv_offset {
    int32_t elements, at[GPU_CONV_AXES];
} gpu_conv_offset;

/* Offset of kernel position `position`, counted row by row, in channel `channel` of planes. */
gpu_conv_offset tort_cuda_conv_offset(const struct tort_sliding *window, int64_t channel, int64_t position);

typedef struct gpu_conv_product {
    int64_t batch, group, channels, filters; /* per group */
    int64_t length, pixels, in_pixels;       /* of a window; outputs and inputs per channel */
    int32_t in[GPU_CONV_AXES], out[GPU_CONV_AXES], stride[GPU_CONV_AXES], pad[GPU_CONV_AXES];
    const gpu_conv_offset
        *offsets; /* gpu_conv_offset_count of them, on the device; those from `length` on are outside of any input */
    tort_epilogue epilogue;
} gpu_conv_product;

static inline int64_t gpu_conv_offset_count(int64_t length) {
    return gpu_pieces(length, GPU_MAX_STEP) * GPU_MAX_STEP;
}

/* Functions of the row conv_implicit_gemm, which also serves where cuDNN cannot. */
tort_status tort_cuda_conv_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error);
/* Functions of the row conv_cudnn, in conv_cudnn.c. */
tort_verdict tort_cuda_conv_cudnn_claim(const tort_target *target, const tort_node_view *node);
tort_status tort_cuda_conv_cudnn_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                      tort_error *error);
GPU_LAUNCHER gpu_run_conv(gpu_stream stream, gpu_type type, const gpu_conv_product *p, const gpu_conv_operands *o,
                          const gpu_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_load_conv(gpu_type type);
GPU_LAUNCHER gpu_run_conv_depthwise(gpu_stream stream, gpu_type type, const gpu_conv *p, const gpu_conv_operands *o);
GPU_LAUNCHER gpu_load_conv_depthwise(gpu_type type);

cudaError_t tort_cuda_conv_load(gpu_board board, const tort_node_view *node);
tort_status tort_cuda_conv_fit(tort_fit *fit);
tort_status tort_cuda_conv_run(const tort_call *call);
tort_status tort_cuda_conv_cudnn_prepare(tort_prepare *p);
tort_status tort_cuda_conv_cudnn_fit(tort_fit *fit);
void tort_cuda_conv_cudnn_unfit(void *device, const tort_env *env, void *fitted);
tort_status tort_cuda_conv_cudnn_run(const tort_call *call);
gpu_conv_operands tort_cuda_conv_operands(const tort_call *call);
/* Runs a convolution without channels: every sum is empty, so Y is the epilogue of the bias. */
tort_status tort_cuda_conv_run_empty(const tort_call *call);
tort_status tort_cuda_conv_prepare_empty(tort_prepare *p);

#endif
