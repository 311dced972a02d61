/* max_unpool.h - params of MaxUnpool, for every provider. */
#ifndef TORT_OPS_MAX_UNPOOL_H
#define TORT_OPS_MAX_UNPOOL_H

#include "runtime/include/tinyort.h"

typedef struct tort_max_unpool_params {
    int64_t unpooled[TORT_MAX_RANK]; /* the shape in which indices count */
} tort_max_unpool_params;

#endif
