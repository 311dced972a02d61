/* tensor_scatter.h - params of TensorScatter, for every provider. */
#ifndef TORT_OPS_TENSOR_SCATTER_H
#define TORT_OPS_TENSOR_SCATTER_H

#include "runtime/include/tinyort.h"

typedef struct tort_tensor_scatter_params {
    int32_t axis; /* of the sequence; not 0 */
    bool circular;
} tort_tensor_scatter_params;

#endif
