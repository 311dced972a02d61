/* dot.h - the product of two lists of floats, from the first to the last. */
#ifndef TORT_FIRMWARE_CODE_DOT_H
#define TORT_FIRMWARE_CODE_DOT_H

#include <stdint.h>

static float tinyort_dot(const float *a, const float *b, int32_t count) {
    float sum = 0.0f;
    for (int32_t i = 0; i < count; i++) {
        const float product = a[i] * b[i];
        sum += product;
    }
    return sum;
}

#endif
