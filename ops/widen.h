/* widen.h - operands of plain loops over many products: float and double as they are, smaller types widened to float
 * once, into scratch. Read next: conv.c, matmul.c, which loop over the result and sum in double. */
#ifndef TORT_OPS_WIDEN_H
#define TORT_OPS_WIDEN_H

#include "runtime/op.h"

/* Scratch for those of the first `count` inputs that have the type of the first. False: more than a size_t. Dims that
 * are not known count as 0. */
bool tort_widen_scratch(const tort_node_view *node, int32_t count, size_t *bytes);
/* Pointers to the first `count` inputs, which share a type; now of type *type (float or double); NULL where one is
 * absent. */
void tort_widen_inputs(const tort_call *call, int32_t count, tort_type *type, const void **data);
double tort_wide_element(tort_type type, const void *data, int64_t i); /* of a float or double array */

#endif
