/* reduce_shape.h - the axes of a reduction, which keeps some and has `count` results; steps are in elements. */
#ifndef TORT_FIRMWARE_CODE_REDUCE_SHAPE_H
#define TORT_FIRMWARE_CODE_REDUCE_SHAPE_H

#include <stdint.h>

typedef struct tinyort_reduce_shape {
    int32_t count, kept, reduced, kept_dims[8], kept_steps[8], dims[8], steps[8];
} tinyort_reduce_shape;

#endif
