/* quantized.h - shared by products of quantized tensors: operands less their zero points, and quantized results.
 *
 * Operands become floats, which hold every difference of 8-bit numbers exactly; their products are summed in double,
 * which is exact as well. Read next: integer_matmul.c, integer_conv.c. */
#ifndef TORT_OPS_QUANTIZED_H
#define TORT_OPS_QUANTIZED_H

#include "ops/broadcast.h"

enum { TORT_MAX_OPERANDS = 5 };

/* View of a node with only a few of its inputs, those with the indices `from`: the form that the float family (MatMul,
 * Conv) can infer and resolve. */
typedef struct tort_operands {
    tort_node_view view;
    tort_info inputs[TORT_MAX_OPERANDS];
} tort_operands;

void tort_operands_of(const tort_node_view *node, int32_t count, const int32_t *from, tort_operands *operands);

/* Infers the node by the function of the float family; output 0 gets this type. */
tort_status tort_operands_infer(tort_infer *infer, int32_t count, const int32_t *from, tort_type type,
                                tort_status (*family)(tort_infer *infer));
/* Resolves the node by the function of the float family, but with scratch for operands 0 and 1 as floats. */
tort_status tort_operands_resolve(tort_resolve *resolve, int32_t count, const int32_t *from,
                                  tort_status (*family)(tort_resolve *resolve));

/* Bytes of scratch for the operands a and b as floats; an operand with unknown dimensions counts as 0. False:
 * overflow. */
bool tort_operands_scratch(const tort_info *a, const tort_info *b, size_t *bytes);

/* out[i] = x[i] - zero_point[i]; the zero point broadcasts to x, NULL is 0. */
void tort_subtract_zero_point(const tort_call *call, const tort_tensor *x, const tort_tensor *zero_point, float *out);

/* Copy of input i with `trailing` dimensions of 1 appended; NULL if the input is absent. */
const tort_tensor *tort_optional_input(const tort_call *call, int32_t i, int32_t trailing, tort_tensor *copy);

/* Stores elements first .. first+count-1 of `y`: acc[i] * factor[i], rounded to even, plus zero_point[i], saturated. At
 * most TORT_BLOCK. */
void tort_requantize(const tort_tensor *y, int64_t first, int64_t count, const double *acc, const float *factor,
                     const float *zero_point);

#endif
