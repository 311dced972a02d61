/* reduce.h - the axes of a reduction as its loops take them. */
#ifndef TORT_KERNELS_FIRMWARE_REDUCE_H
#define TORT_KERNELS_FIRMWARE_REDUCE_H

#include "kernels/firmware/code/reduce_shape.h"
#include "ops/reduce.h"

tinyort_reduce_shape tort_firmware_reduce_of(const tort_reduce_params *params);

#endif
