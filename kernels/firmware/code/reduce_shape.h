/* reduce_shape.h - the axes of a reduction, which keeps some and has `count` results; steps are in elements. */
#ifndef TORT_FIRMWARE_CODE_REDUCE_SHAPE_H
#define TORT_FIRMWARE_CODE_REDUCE_SHAPE_H

#include "kernels/firmware/code/axes.h"

#include <stdint.h>

typedef struct tinyort_reduce_shape {
    int32_t count, kept, reduced, kept_dims[TINYORT_AXES], kept_steps[TINYORT_AXES], dims[TINYORT_AXES],
        steps[TINYORT_AXES];
} tinyort_reduce_shape;

#endif
