/* nhwc.h - the layout of 16-bit images with channels last, and its convolutions and pools. Plain C.
 *
 * Tensors are stored as N, pixels, C instead of N, C, pixels: 8 channels of a pixel are then one load of 16 bytes,
 * and directly an operand of a tensor core. Only tensors whose number of channels is a multiple of 8 are stored so,
 * which needs no padding. */
#ifndef TORT_KERNELS_CUDA_NHWC_H
#define TORT_KERNELS_CUDA_NHWC_H

#include "kernels/cuda/conv.h"
#include "kernels/cuda/pool.h"

enum {
    GPU_NHWC = 1,            /* index among the provider's layouts */
    GPU_NHWC_PIECE = 8,      /* channels in a piece */
    GPU_NHWC_POSITIONS = 32, /* max positions of a kernel: each is a bit of a pixel's mask */
    GPU_NHWC_AHEAD = 8       /* extra entries after the offset table, readable but unused */
};

extern const tort_layout tort_cuda_layouts[];

/* True if input i has a type and a number of channels that fit the layout. */
tort_verdict tort_cuda_claim_nhwc(const tort_node_view *node, int32_t input, int64_t channels);

/* A piece of 8 channels of any window: its offset from the window's first element, and the bit of its position. */
typedef struct gpu_nhwc_offset {
    int32_t elements;
    uint32_t bit; /* 0: past the end of the window */
} gpu_nhwc_offset;

/* Rows of the product are the pixels of all images; columns are the filters of a group. */
typedef struct gpu_nhwc_conv {
    int64_t group, channels, filters; /* channels and filters of one group */
    int64_t length;                   /* of a window: kernel positions times channels */
    int64_t rows, pixels, in_pixels;  /* rows: pixels of all outputs; pixels, in_pixels: of one image */
    int32_t in[GPU_CONV_AXES], out[GPU_CONV_AXES], stride[GPU_CONV_AXES], pad[GPU_CONV_AXES];
    int32_t kernel[GPU_CONV_AXES], dilation[GPU_CONV_AXES];
    const gpu_nhwc_offset *offsets; /* on the device */
    tort_epilogue epilogue;
} gpu_nhwc_conv;

/* Functions of the kernel table's rows conv_nhwc and conv_depthwise_nhwc; conv_nhwc.c. */
tort_verdict tort_cuda_conv_nhwc_claim(const tort_target *target, const tort_node_view *node);
tort_verdict tort_cuda_conv_nhwc_claim_depthwise(const tort_target *target, const tort_node_view *node);
bool tort_cuda_conv_nhwc_pays_alone(const tort_node_view *node);
tort_status tort_cuda_conv_nhwc_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                     tort_error *error);
tort_status tort_cuda_conv_nhwc_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                          uint32_t *consumed, tort_error *error);

/* Transposes X (batch, rows, columns) to Y (batch, columns, rows), elements of 2 bytes; no dimension is 0. */
GPU_LAUNCHER gpu_run_exchange(gpu_stream stream, int64_t batch, int64_t rows, int64_t columns, const void *x, void *y);
GPU_LAUNCHER gpu_load_exchange(void);

/* Weights are (filters, positions, channels of a group). Y is not empty. */
GPU_LAUNCHER gpu_run_nhwc_conv(gpu_stream stream, const gpu_nhwc_conv *p, const gpu_conv_operands *o,
                               const gpu_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_load_nhwc_conv(void);
/* Depthwise convolution: one channel and one filter per group; weights are (positions, channels). */
GPU_LAUNCHER gpu_run_nhwc_depthwise(gpu_stream stream, const gpu_nhwc_conv *p, const gpu_conv_operands *o);
GPU_LAUNCHER gpu_load_nhwc_depthwise(void);

/* Windowed pools with the arguments of pool.h, whose planes are counted over batch and channels. */
GPU_LAUNCHER gpu_run_nhwc_pool(gpu_stream stream, const gpu_pool *p, int64_t channels, const void *x, void *y);
GPU_LAUNCHER gpu_load_nhwc_pool(void);
/* Y is in the plain layout, which is the same for a single pixel: the average or maximum of a channel. */
GPU_LAUNCHER gpu_run_nhwc_global_pool(gpu_stream stream, bool maximum, int64_t batch, int64_t channels, int64_t pixels,
                                      const void *x, void *y);
GPU_LAUNCHER gpu_load_nhwc_global_pool(void);

/* Returns the status of prepare for the result of a kernel's loader; also loads the conversions that surround the
 * kernel. */
tort_status tort_cuda_nhwc_loaded(tort_prepare *p, cudaError_t code);
tort_status tort_cuda_conv_nhwc_prepare(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_prepare_depthwise(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_fit(tort_fit *fit);
tort_status tort_cuda_conv_nhwc_run(const tort_call *call);
tort_status tort_cuda_conv_nhwc_run_depthwise(const tort_call *call);

#endif
