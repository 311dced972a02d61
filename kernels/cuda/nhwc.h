/* nhwc.h - the layout of images of 16-bit elements whose channels lie side by side, and what is convolved and pooled in
 * it. Plain C.
 *
 * N, pixels, C in the place of N, C, pixels: then 8 channels of a pixel are one load of 16 bytes, and what a tensor
 * core multiplies. Only tensors whose channels are whole pieces of 8 are in it, so that nothing lies between elements.
 */
#ifndef TORT_KERNELS_CUDA_NHWC_H
#define TORT_KERNELS_CUDA_NHWC_H

#include "kernels/cuda/conv.h"
#include "kernels/cuda/pool.h"

enum {
    GPU_NHWC = 1,            /* its number among the layouts of the provider */
    GPU_NHWC_PIECE = 8,      /* channels */
    GPU_NHWC_POSITIONS = 32, /* of a kernel, at most: each is a bit of what a pixel sees */
    GPU_NHWC_AHEAD = 8       /* entries behind the table of offsets that may be read, for nothing */
};

extern const tort_layout tort_cuda_layouts[];

/* Is input i of a type, and of so many channels, that the layout has? */
tort_verdict tort_cuda_claim_nhwc(const tort_node_view *node, int32_t input, int64_t channels);

/* A piece of 8 channels of any window: how far from the window's first element it lies, and the bit of its position. */
typedef struct gpu_nhwc_offset {
    int32_t elements;
    uint32_t bit; /* 0: it is behind the window */
} gpu_nhwc_offset;

/* Rows of the product are pixels of all images, columns are filters of a group. */
typedef struct gpu_nhwc_conv {
    int64_t group, channels, filters; /* channels and filters of one group */
    int64_t length;                   /* of a window: positions of the kernel, channels of each */
    int64_t rows, pixels, in_pixels;  /* rows of all images; outputs and inputs of one */
    int32_t in[GPU_CONV_AXES], out[GPU_CONV_AXES], stride[GPU_CONV_AXES], pad[GPU_CONV_AXES];
    int32_t kernel[GPU_CONV_AXES], dilation[GPU_CONV_AXES];
    const gpu_nhwc_offset *offsets; /* on the device */
    tort_epilogue epilogue;
} gpu_nhwc_conv;

/* The functions of the rows conv_nhwc and conv_depthwise_nhwc; conv_nhwc.c. */
tort_verdict tort_cuda_conv_nhwc_claim(const tort_target *target, const tort_node_view *node);
tort_verdict tort_cuda_conv_nhwc_claim_depthwise(const tort_target *target, const tort_node_view *node);
bool tort_cuda_conv_nhwc_pays_alone(const tort_node_view *node);
tort_status tort_cuda_conv_nhwc_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                     tort_error *error);
tort_status tort_cuda_conv_nhwc_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                          uint32_t *consumed, tort_error *error);

#ifdef CUDA_DEVICE
#ifdef __cplusplus
extern "C" {
#endif
/* X (batch, rows, columns) to Y (batch, columns, rows), elements of 2 bytes; none of them is 0. */
cudaError_t gpu_run_exchange(gpu_stream stream, int64_t batch, int64_t rows, int64_t columns, const void *x, void *y);
cudaError_t gpu_load_exchange(void);

/* Weights are (filters, positions, channels of a group). Y is not empty. */
cudaError_t gpu_run_nhwc_conv(gpu_stream stream, const gpu_nhwc_conv *p, const gpu_conv_operands *o,
                              const gpu_tiling *tiling, const gpu_parts *parts);
cudaError_t gpu_load_nhwc_conv(void);
/* One channel a group, one filter each; weights are (positions, channels). */
cudaError_t gpu_run_nhwc_depthwise(gpu_stream stream, const gpu_nhwc_conv *p, const gpu_conv_operands *o);
cudaError_t gpu_load_nhwc_depthwise(void);

/* As in pool.h, planes being batch times channels. */
cudaError_t gpu_run_nhwc_pool(gpu_stream stream, const gpu_pool *p, int64_t channels, const void *x, void *y);
cudaError_t gpu_load_nhwc_pool(void);
/* Y is plain: an average or a maximum has one pixel. */
cudaError_t gpu_run_nhwc_global_pool(gpu_stream stream, bool maximum, int64_t batch, int64_t channels, int64_t pixels,
                                     const void *x, void *y);
cudaError_t gpu_load_nhwc_global_pool(void);
#ifdef __cplusplus
}
#else
/* What a loader of such a kernel returned, as the status of prepare, which loads the conversions around it too. */
tort_status tort_cuda_nhwc_loaded(tort_prepare *p, cudaError_t code);
tort_status tort_cuda_conv_nhwc_prepare(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_prepare_depthwise(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_fit(tort_fit *fit);
tort_status tort_cuda_conv_nhwc_run(const tort_call *call);
tort_status tort_cuda_conv_nhwc_run_depthwise(const tort_call *call);
#endif
#endif

#endif
