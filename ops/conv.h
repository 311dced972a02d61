/* conv.h - what Conv and ConvTranspose are once their attributes are decoded; shared by the kernels of all devices.
 *
 * X is (batch, channels, input...), Y is (batch, filters, output...). Weights of Conv are
 * (filters, channels/group, kernel...), of ConvTranspose (channels, filters/group, kernel...). Read next: conv.c. */
#ifndef TORT_OPS_CONV_H
#define TORT_OPS_CONV_H

#include "ops/sliding.h"

/* Numbers that are not yet known while claims are made are -1. */
typedef struct tort_conv_params {
    tort_sliding window;
    int64_t batch, channels, filters, group;
} tort_conv_params;

/* In a ConvTranspose the same window reads the other way: input element i adds to outputs
 * i * stride + k * dilation - begin, and `output_padding` outputs more may follow. */

/* What plain loops over X, W and B read: float and double as they are; smaller floats are widened to float once, into
 * scratch, of which this is the size. False: more than a size_t. Dims that are not known count as 0. */
bool tort_conv_scratch(const tort_node_view *node, size_t *bytes);
/* Pointers to inputs 0..2 of type *type, widened into call->scratch if need be; data[2] is NULL without bias. */
void tort_conv_operands(const tort_call *call, tort_type *type, const void *data[3]);

#endif
