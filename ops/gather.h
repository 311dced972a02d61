/* gather.h - params of Gather, GatherElements and GatherND, for every provider. */
#ifndef TORT_OPS_GATHER_H
#define TORT_OPS_GATHER_H

#include "runtime/include/op.h"

/* Views data as [outer, size, inner], output as [outer, index_count, inner]. */
typedef struct tort_gather_params {
    tort_parts parts; /* set for a single known index */
    int32_t axis;
    int64_t outer, size, inner, index_count;
} tort_gather_params;

typedef struct tort_gather_elements_params {
    int32_t axis;
} tort_gather_elements_params;

/* Views data as [batch, indexed dims..., inner], indices as [batch, tuples, tuple_length]; scatter uses the same
 * view. */
typedef struct tort_gather_nd_params {
    int32_t tuple_length;
    int64_t batch, tuples, inner;
    int64_t sizes[TORT_MAX_RANK];   /* of the indexed dims */
    int64_t strides[TORT_MAX_RANK]; /* in elements */
    int64_t batch_stride;           /* elements of data in one batch */
} tort_gather_nd_params;

#endif
