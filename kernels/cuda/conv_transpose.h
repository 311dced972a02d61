/* conv_transpose.h - interface between conv_transpose.c and conv_transpose.cu. Plain C. */
#ifndef TORT_KERNELS_CUDA_CONV_TRANSPOSE_H
#define TORT_KERNELS_CUDA_CONV_TRANSPOSE_H

#include "kernels/cuda/nhwc.h"

/* Runs a transposed convolution of planes: in and out are those of X and Y; weights are (channels, filters of a group,
 * kernel). No epilogue. */
GPU_LAUNCHER gpu_run_conv_transpose(gpu_stream stream, gpu_type type, const gpu_nhwc_conv *p,
                                    const gpu_conv_operands *o);
GPU_LAUNCHER gpu_load_conv_transpose(gpu_type type);

#endif
