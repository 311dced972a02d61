/* widen.h - operands of plain loops over many products: float and double as they are, smaller types widened to float
 * once, into scratch. Read next: conv.c, matmul.c, which loop over the result and sum in double. */
#ifndef TORT_OPS_WIDEN_H
#define TORT_OPS_WIDEN_H

#include "runtime/include/op.h"

/* Bytes of scratch for those of the first `count` inputs that have the type of the first; unknown dims count as 0.
 * False: overflow. */
bool tort_widen_scratch(const tort_node_view *node, int32_t count, size_t *bytes);
/* Sets data to the first `count` inputs, which share a type, as *type (float or double); NULL for absent ones. */
void tort_widen_inputs(const tort_call *call, int32_t count, tort_type *type, const void **data);
double tort_wide_element(tort_type type, const void *data, int64_t i); /* of a float or double array */

#endif
