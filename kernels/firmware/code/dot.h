/* dot.h - the sum of the products of `count` features, from element `first` on, and numbers; or of the squares of their
 * differences, with `distance`. */
#ifndef TORT_FIRMWARE_CODE_DOT_H
#define TORT_FIRMWARE_CODE_DOT_H

#include "kernels/firmware/code/feature.h"

static float tinyort_dot(int32_t type, const void *x, int32_t first, const float *with, int32_t count,
                         int32_t distance) {
    float sum = 0.0f;
    for (int32_t i = 0; i < count; i++) {
        const float value = tinyort_feature(type, x, first + i), away = value - with[i];
        const float product = distance ? away * away : value * with[i];
        sum += product;
    }
    return sum;
}

#endif
