/* feature.h - element i of floats, or of whole numbers (load.h), as a float. */
#ifndef TORT_FIRMWARE_CODE_FEATURE_H
#define TORT_FIRMWARE_CODE_FEATURE_H

#include "kernels/firmware/code/load.h"

#include <stddef.h>

static inline float tinyort_feature(int32_t type, const void *x, int32_t i) {
    return type == 7 ? ((const float *)x)[i] : (float)tinyort_load(type, x, i);
}

#endif
