/* slice.h - params of Slice, after negative and overlong positions are clamped; shared by every provider. */
#ifndef TORT_OPS_SLICE_H
#define TORT_OPS_SLICE_H

#include "runtime/include/op.h"

/* Output element (i, j, ...) is input element (starts[0] + i * steps[0], starts[1] + j * steps[1], ...); the output's
 * shape limits i, j, .... Axes that are not sliced have start 0 and step 1. */
typedef struct tort_slice_params {
    tort_parts parts; /* the output as a part of the input */
    int32_t rank;
    int64_t starts[TORT_MAX_RANK];
    int64_t steps[TORT_MAX_RANK]; /* never 0 */
} tort_slice_params;

#endif
