/* conv_bytes.h - interface between conv_bytes.c and conv_bytes.cu: convolutions of 8-bit images with exact sums. Plain
 * C. */
#ifndef TORT_KERNELS_CUDA_CONV_BYTES_H
#define TORT_KERNELS_CUDA_CONV_BYTES_H

#include "kernels/cuda/integer.h"
#include "kernels/cuda/nhwc.h"

/* images.length is that of a packed window, a multiple of 16. Columns of `sums` are filters, its zero point of A is
 * that of X. */
typedef struct gpu_bytes_conv {
    gpu_nhwc_conv images;
    const gpu_conv_offset *planes; /* offsets of a window's elements, on the device, if X is in planes; else NULL */
    const void *padding;           /* the zero point of X, in each of 16 bytes */
    bool last;                     /* for the direct kernel: X and Y have channels last, else they are in planes */
    gpu_sums sums;
} gpu_bytes_conv;

/* o->packed: for each filter a window of int8, then the sum of each as int32, then the padding. X has channels last,
 * and each position of a window a multiple of 16 channels, of which those that X lacks are 0 there; or it is in planes.
 * Y has channels last. */
GPU_LAUNCHER gpu_run_bytes_conv(gpu_stream stream, const gpu_bytes_conv *p, const gpu_byte_operands *o,
                                const gpu_tiling *tiling, const gpu_parts *parts);
GPU_LAUNCHER gpu_load_bytes_conv(bool is_signed, bool planes);
/* Depthwise; weights are (positions, channels) of int16, less their zero points. */
GPU_LAUNCHER gpu_run_bytes_depthwise(gpu_stream stream, const gpu_bytes_conv *p, const void *x, const int16_t *weights,
                                     void *y);
GPU_LAUNCHER gpu_load_bytes_depthwise(bool is_signed);
/* Any convolution, a thread for each element of Y. w: as the operator has it. */
GPU_LAUNCHER gpu_run_bytes_direct(gpu_stream stream, const gpu_bytes_conv *p, const void *x, const void *w, void *y);
GPU_LAUNCHER gpu_load_bytes_direct(void);

#endif
