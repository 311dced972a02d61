/* conv.h - Conv as a matrix product of floats, for the kernels of Conv and its quantized variants. Read next:
 * conv.c. */
#ifndef TORT_KERNELS_CPU_CONV_H
#define TORT_KERNELS_CPU_CONV_H

#include "kernels/cpu/cpu.h"
#include "ops/conv.h"

/* Accepts 1 to 3 spatial axes, and a W and channels of known shape. */
tort_verdict tort_cpu_claim_window(const tort_target *target, const tort_conv_params *params);

/* True if a convolution does so many products per element that converting its layout pays even for this one alone. 1
 * x 1 filters never do: the plain product copies nothing. */
bool tort_cpu_conv_pays_alone(const tort_node_view *node);

/* True if dilations spread a window so wide that a copy of the rows under it would be mostly rows that it does not
 * read: conv_blocked_dilated. */
bool tort_cpu_conv_is_spread(const tort_conv_params *params);

/* Packed weights of all kernels of Conv in float depend on the filters alone: tort_pack.alike. */
bool tort_cpu_conv_alike(const void *params, const void *others);

/* Returns the floats of all packed weights; -1: overflow. */
int64_t tort_cpu_conv_packed_size(const tort_simd *simd, const tort_conv_params *params);
/* call: NULL, or that of the run in which the weights are packed. */
void tort_cpu_conv_pack(struct tort_watch *watch, const tort_simd *simd, const tort_conv_params *params,
                        const float *weights, float *packed);

/* Adds the scratch of tort_cpu_conv_run to *scratch; false on overflow. */
bool tort_cpu_conv_reserve(const tort_target *target, const tort_conv_params *params, size_t *scratch);
/* Computes Y from X and packed weights; bias may be NULL. */
void tort_cpu_conv_run(const tort_call *call, const float *x, const float *packed, const float *bias, float *y,
                       char *scratch);

#endif
