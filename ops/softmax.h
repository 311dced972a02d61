/* softmax.h - params of Softmax, LogSoftmax and Hardmax, for every provider. */
#ifndef TORT_OPS_SOFTMAX_H
#define TORT_OPS_SOFTMAX_H

#include "runtime/include/op.h"

/* Views the tensor as [outer, length, inner]: `outer * inner` lanes of `length` elements, `inner` apart. Each lane is
 * normalised on its own. All zero while the shape is not known, but inner is 1 as soon as lanes are known to be
 * contiguous. */
typedef struct tort_softmax_params {
    int64_t outer, length, inner;
} tort_softmax_params;

/* Resolve functions by the meaning of `axis`: all dimensions from it on are one lane (up to version 12), or it alone
 * is. */
tort_status tort_resolve_softmax_coerced(tort_resolve *resolve);
tort_status tort_resolve_softmax_axis(tort_resolve *resolve);

#endif
