/* scatter.h - params of Scatter, ScatterElements and ScatterND, for every provider. */
#ifndef TORT_OPS_SCATTER_H
#define TORT_OPS_SCATTER_H

#include "ops/gather.h"

/* Combination of an update with the element that it meets. Updates are applied in the order of indices. */
typedef enum tort_scatter_reduction {
    TORT_SCATTER_REPLACE,
    TORT_SCATTER_ADD,
    TORT_SCATTER_MUL,
    TORT_SCATTER_MAX,
    TORT_SCATTER_MIN
} tort_scatter_reduction;

typedef struct tort_scatter_params {
    tort_scatter_reduction reduction;
    int32_t axis;             /* of ScatterElements */
    tort_gather_nd_params nd; /* of ScatterND: GatherND's view of data, without batches */
} tort_scatter_params;

#endif
