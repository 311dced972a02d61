/* bias.h - params of the activations of com.microsoft that add a bias first, for every provider. */
#ifndef TORT_OPS_MICROSOFT_BIAS_H
#define TORT_OPS_MICROSOFT_BIAS_H

#include "ops/activation.h"

/* X is `rows` rows of `columns` elements, and the bias is one row. */
typedef struct tort_bias_params {
    tort_activation_params gelu; /* the form of Gelu */
    int64_t rows, columns;
} tort_bias_params;

/* BiasSoftmax: lanes of `length` elements. Lane i adds lane i / (lanes / bias_lanes) of the bias if inner, else lane i
 * % bias_lanes. */
typedef struct tort_bias_softmax_params {
    int64_t lanes, length, bias_lanes;
    bool inner;
} tort_bias_softmax_params;

#endif
