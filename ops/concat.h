/* concat.h - params of Concat and Split, for every provider. */
#ifndef TORT_OPS_CONCAT_H
#define TORT_OPS_CONCAT_H

#include "runtime/include/op.h"

enum { TORT_CONCAT_STRIDED = 2 };
typedef struct tort_concat_params {
    tort_parts parts;                                    /* with the axis */
    int64_t strides[TORT_CONCAT_STRIDED][TORT_MAX_RANK]; /* of inputs, see tort_strided; 0: in row-major order */
} tort_concat_params;

/* Lengths of the outputs along the axis: a list, or one length for all, of which the last ones may be shorter. */
typedef struct tort_split_params {
    tort_parts parts;  /* with the axis */
    tort_list lengths; /* int64_t, of the attribute; empty: input 1, or equal parts */
    int64_t part;
} tort_split_params;

/* Joins one more input to dims, whose length is 0 before the first: the input's length is added, all other dimensions
 * must equal those of the inputs before. */
tort_status tort_concat_join(const tort_infer *infer, const tort_info *input, int32_t axis, bool first, tort_dim *dims);

#endif
