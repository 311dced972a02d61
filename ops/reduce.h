/* reduce.h - params of reductions: the view of the input with the fewest dimensions; for every provider. */
#ifndef TORT_OPS_REDUCE_H
#define TORT_OPS_REDUCE_H

#include "runtime/include/op.h"

/* The input without dimensions of size 1, and with neighbours that are both kept or both reduced merged: kept and
 * reduced dimensions alternate, the strides are the input's own, and the output is the kept ones, row-major. */
typedef struct tort_reduce_params {
    int32_t rank;
    int64_t dims[TORT_MAX_RANK], strides[TORT_MAX_RANK];
    bool reduced[TORT_MAX_RANK];
    int64_t kept_count, reduced_count; /* elements of the output; elements that go into each */
} tort_reduce_params;

/* ArgMax and ArgMin view the input as [outer, length, inner], the output as [outer, inner]. */
typedef struct tort_arg_reduce_params {
    int64_t outer, length, inner;
    bool select_last;
} tort_arg_reduce_params;

/* Fills the view of `input`, whose dims are known, for a mask of reduced axes (bit i: axis i). */
void tort_reduce_view(const tort_info *input, uint32_t mask, tort_reduce_params *params);

/* For nodes with `axes`, an attribute or input 1, and attribute keepdims. */
tort_status tort_infer_reduce(tort_infer *infer);
tort_status tort_resolve_reduce(tort_resolve *resolve); /* params are tort_reduce_params */
/* ReduceSum of floats; the output may be double. */
tort_status tort_reduce_sum(const tort_call *call);

#endif
