/* conv.h - Conv as a matrix product of floats, for the kernels of Conv and of its quantized kin. Read next: conv.c. */
#ifndef TORT_KERNELS_CPU_CONV_H
#define TORT_KERNELS_CPU_CONV_H

#include "kernels/cpu/cpu.h"
#include "ops/conv.h"

/* Kernels for 1 to 3 spatial axes and a known W. */
tort_verdict tort_cpu_claim_window(const tort_target *target, const tort_conv_params *params);

/* So many products for what is read and written that a layout pays for one convolution alone. Where filters have one
 * element, the plain product copies nothing and the layout would not. */
bool tort_cpu_conv_pays_alone(const tort_node_view *node);

/* Floats of all weights, packed; -1: too many. */
int64_t tort_cpu_conv_packed_size(const tort_simd *simd, const tort_conv_params *params);
void tort_cpu_conv_pack(const tort_simd *simd, const tort_conv_params *params, const float *weights, float *packed);

/* Scratch of tort_cpu_conv_run, added to *scratch. False: more than a size_t. */
bool tort_cpu_conv_reserve(const tort_target *target, const tort_conv_params *params, size_t *scratch);
/* Y of X and packed weights; bias is NULL for none. */
void tort_cpu_conv_run(const tort_call *call, const float *x, const float *packed, const float *bias, float *y,
                       char *scratch);

#endif
