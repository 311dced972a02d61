/* exp.h - e^x for any x, within 1.5 ulp: x = n ln 2 + r, |r| <= ln 2 / 2, and ln 2 in two parts, of which the first has
 * so few bits that its product with n is exact. 2^n is made of two factors, so that subnormal results are right. */
#ifndef TORT_FIRMWARE_CODE_EXP_H
#define TORT_FIRMWARE_CODE_EXP_H

#include "kernels/firmware/code/polynomial.h"

#include <math.h>
#include <string.h>

static float tinyort_exp(float x) {
    static const float c[] = {0.001394121425f, 0.008363235074f, 0.04166637413f, 0.166665766464f, 0.500000002709f};
    float factors[2];
    if (!(x < 89.0f)) return x != x ? x : INFINITY;
    if (x < -104.0f) return 0.0f;
    const float scaled = x * 1.44269502f;
    const float n = floorf(scaled + 0.5f);
    const float high = n * 0.693145752f, low = n * 1.42860677e-06f;
    const float r = (x - high) - low;
    float result = tinyort_polynomial(r, c, 5) * r;
    result *= r;
    result = (result + r) + 1.0f;
    for (int32_t i = 0; i < 2; i++) {
        const int32_t power = (int32_t)n, half = i ? power - power / 2 : power / 2;
        const uint32_t bits = (uint32_t)(half + 127) << 23;
        memcpy(&factors[i], &bits, sizeof bits);
    }
    result *= factors[0];
    return result * factors[1];
}

#endif
