/* pool.h - params of the pooling operators; shared by the kernels of all devices.
 *
 * X is (batch, channels, input...), Y is (batch, channels, output...); a global pool is a window as large as the input,
 * which may have no spatial axes. Read next: pool.c, sliding.h. */
#ifndef TORT_OPS_POOL_H
#define TORT_OPS_POOL_H

#include "ops/sliding.h"

#include <math.h>

typedef enum tort_pool_kind { TORT_POOL_MAX, TORT_POOL_AVERAGE, TORT_POOL_LP } tort_pool_kind;

/* Sizes that are not known yet, while providers claim nodes, are -1. */
typedef struct tort_pool_params {
    tort_sliding window; /* of a global pool only axes, input and output */
    tort_pool_kind kind;
    bool global;
    bool count_include_pad; /* AveragePool divides by the number of positions in the padded input, not in the input */
    bool column_major;      /* MaxPool with storage_order=1: indices count the first spatial axis fastest */
    double p;               /* of LpPool */
    int64_t batch, channels;
} tort_pool_params;

/* True if `value` replaces the maximum `best`: NaN wins over everything and stays. */
static inline bool tort_pool_exceeds(double value, double best) {
    return value > best || (isnan(value) && !isnan(best));
}

/* Divisor of an average along `axis`: the number of positions that output `out` counts. */
int64_t tort_pool_divisor(const tort_pool_params *params, int32_t axis, int64_t out);

/* For nodes whose input 0 is X and output 0 is Y. */
tort_status tort_infer_pool(tort_infer *infer);
tort_status tort_infer_global_pool(tort_infer *infer);
tort_status tort_resolve_max_pool(tort_resolve *resolve); /* params are tort_pool_params */
tort_status tort_resolve_average_pool(tort_resolve *resolve);
tort_status tort_resolve_global_average_pool(tort_resolve *resolve);
tort_status tort_run_pool(const tort_call *call);

#endif
