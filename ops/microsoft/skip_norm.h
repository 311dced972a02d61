/* skip_norm.h - params of the normalisations of com.microsoft that make sums first, for every provider. */
#ifndef TORT_OPS_MICROSOFT_SKIP_NORM_H
#define TORT_OPS_MICROSOFT_SKIP_NORM_H

#include "ops/norm.h"

/* SkipLayerNormalization, SkipSimplifiedLayerNormalization: what is normalised is input + skip + bias. The skip may be
 * repeated along the first axis, the bias is one row. */
typedef struct tort_skip_norm_params {
    tort_norm_params norm;
    int64_t skip_rows;
    bool has_beta; /* input 3 is beta, else (and 4 otherwise) the bias of the sum */
} tort_skip_norm_params;

enum { TORT_SKIP_NORM_SUM = 3 }; /* the output that gets the sums */

/* Operands of a call; NULL where there is none. */
const tort_tensor *tort_skip_norm_beta(const tort_call *call);
const tort_tensor *tort_skip_norm_bias(const tort_call *call);

#endif
