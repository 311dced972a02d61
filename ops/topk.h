/* topk.h - params of TopK, for every provider. */
#ifndef TORT_OPS_TOPK_H
#define TORT_OPS_TOPK_H

#include "runtime/include/tinyort.h"

/* Views the input as [outer, length, inner], the outputs as [outer, k, inner]. Of equal elements the one with the lower
 * index comes first; NaN counts as larger than every number. Output is sorted whatever `sorted` says. */
typedef struct tort_topk_params {
    int64_t outer, length, inner, k;
    bool largest;
} tort_topk_params;

#endif
