/* softmax.h - what Softmax, LogSoftmax and Hardmax need to know of a node, for every provider. */
#ifndef TORT_OPS_SOFTMAX_H
#define TORT_OPS_SOFTMAX_H

#include <stdint.h>

/* The tensor seen as [outer, length, inner]: `outer * inner` lanes of `length` elements, `inner` apart. Each lane is
 * normalised on its own. All zero where the shape is not known, but inner is 1 as soon as lanes are known to be
 * contiguous. */
typedef struct tort_softmax_params {
    int64_t outer, length, inner;
} tort_softmax_params;

#endif
