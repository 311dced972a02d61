/* slice.h - what a Slice comes to once negative and overlong positions are clamped; shared by every provider. */
#ifndef TORT_OPS_SLICE_H
#define TORT_OPS_SLICE_H

#include "runtime/op.h"

/* Output element (i, j, ...) is input element (starts[0] + i * steps[0], starts[1] + j * steps[1], ...). How many
 * there are is the output's shape. Axes that are not sliced have start 0 and step 1. */
typedef struct tort_slice_params {
    tort_parts parts; /* the output in the input */
    int32_t rank;
    int64_t starts[TORT_MAX_RANK];
    int64_t steps[TORT_MAX_RANK]; /* never 0 */
} tort_slice_params;

#endif
