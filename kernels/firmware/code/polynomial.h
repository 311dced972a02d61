/* polynomial.h - c[0] * x^(count - 1) + ... + c[count - 1], by Horner's rule. A product has a statement of its own, so
 * that a compiler that contracts within expressions makes no FMA of it. */
#ifndef TORT_FIRMWARE_CODE_POLYNOMIAL_H
#define TORT_FIRMWARE_CODE_POLYNOMIAL_H

#include <stdint.h>

static float tinyort_polynomial(float x, const float *c, int32_t count) {
    float sum = c[0];
    for (int32_t i = 1; i < count; i++) {
        const float product = sum * x;
        sum = product + c[i];
    }
    return sum;
}

#endif
