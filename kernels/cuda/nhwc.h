/* nhwc.h - the layout of images with channels last, and its convolutions and pools: of 16-bit elements, of floats
 * whose products are rounded (tf32=on), and of bytes. Plain C.
 *
 * Tensors are stored as N, pixels, C instead of N, C, pixels: 8 channels of a pixel are then one load of 16 bytes (4
 * floats), and directly an operand of a tensor core. Only tensors whose number of channels is a multiple of 8 are
 * stored so, which needs no padding. */
#ifndef TORT_KERNELS_CUDA_NHWC_H
#define TORT_KERNELS_CUDA_NHWC_H

#include "kernels/cuda/conv.h"
#include "kernels/cuda/divisor.h"
#include "kernels/cuda/pool.h"

struct tort_conv_params;

enum {
    GPU_NHWC = 1,            /* index among the provider's layouts */
    GPU_NHWC_PIECE = 8,      /* channels that a thread takes */
    GPU_NHWC_POSITIONS = 32, /* max positions of a kernel: each is a bit of a pixel's mask */
    GPU_NHWC_AHEAD = 8,      /* extra entries after the offset table, readable but unused */
    GPU_NHWC_PATCHES = 1     /* variant of the row whose X is not in the layout */
};

extern const tort_layout tort_cuda_layouts[];

/* Accepts an input 0 whose type fits the layout, and such a number of channels. */
tort_verdict tort_cuda_claim_nhwc(const tort_target *target, const tort_node_view *node, int64_t channels);

/* A piece of 16 bytes of any window: its offset from the window's first element, and the bit of its position. */
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

/* A convolution of images in the layout. */
gpu_nhwc_conv tort_cuda_nhwc_images_of(const struct tort_conv_params *params);
/* Offset of a channel of a group, at a position of the kernel counted row by row. */
gpu_nhwc_offset tort_cuda_nhwc_offset(const gpu_nhwc_conv *p, int64_t position, int64_t channel);
/* Functions of the kernel table's rows conv_nhwc and conv_depthwise_nhwc; conv_nhwc.c. */
tort_verdict tort_cuda_conv_nhwc_claim(const tort_target *target, const tort_node_view *node);
tort_verdict tort_cuda_conv_nhwc_claim_depthwise(const tort_target *target, const tort_node_view *node);
/* Claims of an X of planes: filters that fit the layout, up to so many axes, and a constant W. */
tort_verdict tort_cuda_claim_planes(const tort_target *target, const tort_node_view *node, int32_t axes);
/* Checks that offsets and rows fit 32 bits. */
tort_status tort_cuda_conv_nhwc_check(const struct tort_conv_params *params, tort_error *error);
tort_verdict tort_cuda_conv_patches_claim(const tort_target *target, const tort_node_view *node);
bool tort_cuda_conv_nhwc_pays_alone(const tort_node_view *node);
tort_status tort_cuda_conv_nhwc_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                     tort_error *error);
tort_status tort_cuda_conv_nhwc_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                          uint32_t *consumed, tort_error *error);

/* Weights are (filters, positions, channels of a group). Y is not empty. */
GPU_LAUNCHER gpu_run_nhwc_conv(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p, const gpu_conv_operands *o,
                               const gpu_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_load_nhwc_conv(gpu_type type);
/* Depthwise convolution: one channel and one filter per group; weights are (positions, channels). */
GPU_LAUNCHER gpu_run_nhwc_depthwise(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p,
                                    const gpu_conv_operands *o);
GPU_LAUNCHER gpu_load_nhwc_depthwise(gpu_type type);

/* ---- a convolution of few channels, which are planes, to the layout: conv_stem.c ---- */

enum {
    GPU_STEM_ROWS = 8, /* of a tile of outputs, and columns, and filters of a block */
    GPU_STEM_COLUMNS = 16,
    GPU_STEM_FILTERS = 64,
    GPU_STEM_THREADS = 128,
    GPU_STEM_QUAD = 4,   /* neighbouring elements of a window's row */
    GPU_STEM_QUADS = 64, /* max in a window */
    GPU_STEM_SHARED = 64 << 10
};

/* A quad of any window: staged elements from the window's first, and 0 as the mask of one that is padding. */
typedef struct gpu_stem_quad {
    int32_t offset;
    uint32_t mask;
} gpu_stem_quad;

/* Elements of a window are numbered by channel, row and tap, with 4 or 8 taps a row. */
typedef struct gpu_stem {
    int64_t filters;
    int32_t batch, tiles, across; /* tiles of an image, and in a row of it */
    int32_t channels, in_h, in_w, out_h, out_w, stride_h, stride_w, pad_h;
    int32_t width;        /* taps a row: 4 or 8 */
    int32_t origin, skip; /* staged columns begin at column * stride_w + origin; those before a window; both even */
    int32_t rows, pieces; /* staged of a channel, and pieces of 8 elements in each */
    int32_t staged;       /* pieces of all channels */
    int32_t quads;        /* of a window, a multiple of 4 */
    gpu_divisor by_rows, by_pieces;
    uint32_t masks[GPU_STEM_QUAD]; /* of pairs of taps: 0 where they are padding */
    gpu_stem_quad places[GPU_STEM_QUADS];
    tort_epilogue epilogue;
} gpu_stem;

/* Bytes of shared memory: the weights of a block, two tiles, sums on their way out, offsets. */
static inline size_t gpu_stem_shared(const gpu_stem *p) {
    const size_t weights = (size_t)p->quads * GPU_STEM_QUAD * GPU_STEM_FILTERS,
                 tile = (size_t)p->staged * GPU_NHWC_PIECE;
    return 2 * (weights + 2 * tile) + 4 * GPU_STEM_ROWS / 2 * GPU_STEM_COLUMNS * GPU_STEM_FILTERS +
           (size_t)p->quads * sizeof(gpu_stem_quad);
}

tort_verdict tort_cuda_stem_claim(const tort_target *target, const tort_node_view *node);
tort_status tort_cuda_stem_size(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                tort_error *error);
tort_status tort_cuda_stem_pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes,
                                     uint32_t *consumed, tort_error *error);
/* W is packed: for each 64 filters, for each 16 elements of a window: 16 of each filter,
 * whose halves are exchanged in every other 4 filters, so that 8 filters are in 8 groups of banks. The stride is 1, 2
 * or 4. */
GPU_LAUNCHER gpu_run_stem(gpu_stream stream, gpu_type type, const gpu_stem *p, const gpu_conv_operands *o);
GPU_LAUNCHER gpu_load_stem(gpu_type type, int32_t stride);

/* Windowed pools with the arguments of pool.h, whose planes are counted over batch and channels. */
GPU_LAUNCHER gpu_run_nhwc_pool(gpu_stream stream, gpu_number type, const gpu_pool *p, int64_t channels, const void *x,
                               void *y);
GPU_LAUNCHER gpu_load_nhwc_pool(gpu_number type);
/* Y is in the plain layout, which is the same for a single pixel: the average or maximum of a channel. */
GPU_LAUNCHER gpu_run_nhwc_global_pool(gpu_stream stream, gpu_type type, bool maximum, int64_t batch, int64_t channels,
                                      int64_t pixels, const void *x, void *y);
GPU_LAUNCHER gpu_load_nhwc_global_pool(gpu_type type);

/* Returns the status of prepare for the result of a kernel's loader; also loads the conversions that surround the
 * kernel. */
tort_status tort_cuda_nhwc_loaded(tort_prepare *p, cudaError_t code);
tort_status tort_cuda_conv_nhwc_ready(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_ready_depthwise(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_prepare(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_prepare_depthwise(tort_prepare *p);
tort_status tort_cuda_conv_nhwc_fit(tort_fit *fit);
tort_status tort_cuda_conv_nhwc_run(const tort_call *call);
tort_status tort_cuda_stem_ready(tort_prepare *p);
tort_status tort_cuda_stem_prepare(tort_prepare *p);
tort_status tort_cuda_stem_run(const tort_call *call);
tort_status tort_cuda_conv_nhwc_run_depthwise(const tort_call *call);

#endif
