/* byte_conv.h - what the kernels of ConvInteger and QLinearConv share. Read next: byte_conv.c, byte_depthwise.c. */
#ifndef TORT_KERNELS_CPU_BYTE_CONV_H
#define TORT_KERNELS_CPU_BYTE_CONV_H

#include "kernels/cpu/byte_product.h"
#include "kernels/cpu/conv.h"

/* The numbers of inputs besides X, 0. Without a scale of W there are no scales at all, and the sums are the result. */
typedef struct tort_byte_conv_inputs {
    int32_t x_zero, w, w_zero, w_scale;
} tort_byte_conv_inputs;

extern const tort_byte_conv_inputs tort_qlinear_conv_inputs;

/* Of a kernel of one channel, whose sums floats hold exactly: 128 * 255 * 255 is below 2^23. A bias of 2^24 saturates
 * the result, whatever the sum is. */
#define TORT_DEPTHWISE_POSITIONS 128
#define TORT_DEPTHWISE_BIAS 0x1p24f

/* Are all of these zero points, of int8 or uint8, 0? */
bool tort_byte_zeros_are_none(const tort_tensor *zeros);
/* What a sum of each filter is multiplied by. */
void tort_byte_conv_factors(const tort_call *call, const tort_byte_conv_inputs *in, int64_t filters, float *factors);

#endif
