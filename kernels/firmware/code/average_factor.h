/* average_factor.h - the factor of a sum of `count` bytes that gives their average in steps of y. */
#ifndef TORT_FIRMWARE_CODE_AVERAGE_FACTOR_H
#define TORT_FIRMWARE_CODE_AVERAGE_FACTOR_H

#include <stdint.h>

static float tinyort_average_factor(float x_scale, float y_scale, int32_t count) {
    return count ? (x_scale / (y_scale * (float)count)) : 0.0f;
}

#endif
