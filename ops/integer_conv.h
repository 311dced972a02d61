/* integer_conv.h - params of com.microsoft's QLinearConv, for every provider. Read next: integer_conv.c. */
#ifndef TORT_OPS_INTEGER_CONV_H
#define TORT_OPS_INTEGER_CONV_H

#include "ops/conv.h"

typedef struct tort_either_conv {
    tort_conv_params conv; /* of tensors with the channels first */
    bool channels_last;    /* x and y have them last; w never has */
} tort_either_conv;

#endif
