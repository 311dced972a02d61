/* byte_conv.h - declarations that the kernels of ConvInteger and QLinearConv share. Read next: byte_conv.c,
 * byte_depthwise.c. */
#ifndef TORT_KERNELS_CPU_BYTE_CONV_H
#define TORT_KERNELS_CPU_BYTE_CONV_H

#include "kernels/cpu/byte_product.h"
#include "kernels/cpu/conv.h"

/* Numbers of the inputs besides X, which is 0. w_scale is negative for ConvInteger, which has no scales: its result is
 * the sums. */
typedef struct tort_byte_conv_inputs {
    int32_t x_zero, w, w_zero, w_scale;
} tort_byte_conv_inputs;

extern const tort_byte_conv_inputs tort_qlinear_conv_inputs;

/* Limits for kernels of one channel: floats hold their sums exactly, as 128 * 255 * 255 is below 2^23. A bias of
 * 2^24 or more saturates the result, whatever the sum is. */
#define TORT_DEPTHWISE_POSITIONS 128
#define TORT_DEPTHWISE_BIAS 0x1p24f

/* True if all of these zero points, of int8 or uint8, are 0. */
bool tort_byte_zeros_are_none(const tort_tensor *zeros);
/* Sets the factor of each filter's sums: x_scale * w_scale / y_scale. */
void tort_byte_conv_factors(const tort_call *call, const tort_byte_conv_inputs *in, int64_t filters, float *factors);

#endif
