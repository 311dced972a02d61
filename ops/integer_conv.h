/* integer_conv.h - params of com.microsoft's QLinearConv and tinyort's QLinearConvAdd, for every provider. Read next:
 * integer_conv.c. */
#ifndef TORT_OPS_INTEGER_CONV_H
#define TORT_OPS_INTEGER_CONV_H

#include "ops/conv.h"

typedef struct tort_either_conv {
    tort_conv_params conv; /* as for tensors with the channels first */
    bool channels_last;    /* x and y have the channels last; w never has */
} tort_either_conv;

typedef struct tort_conv_add {
    tort_conv_params conv;
    bool second; /* the convolution is B of the QLinearAdd, else A: its sum is rounded in this order */
} tort_conv_add;

/* Input indices of QLinearConvAdd beyond those of QLinearConv: the other operand, its scale and zero point; those of Y.
 * Scale and zero point that QLinearConv has for Y are the convolution's. */
enum { TORT_CONV_ADD_S = 9, TORT_CONV_ADD_Y = 12 };

/* Runs a channels-first kernel on the tensors as they are, or on transposed copies (channels_last.h). */
tort_status tort_either_conv_run(const tort_call *call, tort_status (*run)(const tort_call *call));
/* Adds the bytes of the transposed copies to *scratch. */
tort_status tort_either_conv_size(const tort_node_view *node, const tort_either_conv *params, size_t *scratch,
                                  tort_error *error);

#endif
