/* cumulative.h - params of CumSum and CumProd, for every provider. */
#ifndef TORT_OPS_CUMULATIVE_H
#define TORT_OPS_CUMULATIVE_H

#include "runtime/include/op.h"

typedef struct tort_cumulative_params {
    bool exclusive, reverse;
} tort_cumulative_params;

/* x as [outer, length, inner] around the axis that input 1 gives, which is in host memory. TORT_E_RUN if there is no
 * such axis. */
typedef struct tort_cumulative_view {
    int64_t outer, length, inner;
} tort_cumulative_view;
tort_status tort_cumulative_view_of(const tort_call *call, tort_cumulative_view *view);

#endif
