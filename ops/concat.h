/* concat.h - params of Concat and Split, for every provider. */
#ifndef TORT_OPS_CONCAT_H
#define TORT_OPS_CONCAT_H

#include "runtime/op.h"

typedef struct tort_concat_params {
    tort_parts parts; /* with the axis */
} tort_concat_params;

/* Lengths of the outputs along the axis: a list, or one length for all, of which the last ones may be shorter. */
typedef struct tort_split_params {
    tort_parts parts;  /* with the axis */
    tort_list lengths; /* int64_t, of the attribute; empty: input 1, or equal parts */
    int64_t part;
} tort_split_params;

#endif
