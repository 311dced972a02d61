/* deform_conv.h - params of DeformConv, for every provider. */
#ifndef TORT_OPS_DEFORM_CONV_H
#define TORT_OPS_DEFORM_CONV_H

#include "ops/sliding.h"

typedef struct tort_deform_conv_params {
    tort_sliding window;
    int64_t batch, channels, filters, group, offset_group;
} tort_deform_conv_params;

enum { TORT_DEFORM_X, TORT_DEFORM_W, TORT_DEFORM_OFFSET, TORT_DEFORM_B, TORT_DEFORM_MASK, TORT_DEFORM_INPUTS };

#endif
