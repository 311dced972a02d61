/* exp_reduced.h - what e^x is made of: e^x = 2^n e^r with x = n ln 2 + r, |r| <= ln 2 / 2, and ln 2 in two parts, of
 * which the first has so few bits that its product with n is exact. Returns e^r; n: to *power. The sum with 1.5 * 2^23
 * has no place for a fraction: n is in its low bits, without a conversion, which NaN would not survive. */
#ifndef TORT_FIRMWARE_CODE_EXP_REDUCED_H
#define TORT_FIRMWARE_CODE_EXP_REDUCED_H

#include <stdint.h>
#include <string.h>

static inline float tinyort_exp_reduced(float x, int32_t *power) {
    const float scaled = x * 1.44269502f;
    const float shifted = scaled + 12582912.0f, n = shifted - 12582912.0f;
    const float high = n * 0.693145752f, low = n * 1.42860677e-06f;
    const float r = (x - high) - low;
    float result = 0.001394121425f * r;
    result = (result + 0.008363235074f) * r;
    result = (result + 0.04166637413f) * r;
    result = (result + 0.166665766464f) * r;
    result = (result + 0.500000002709f) * r;
    result *= r;
    (void)memcpy(power, &shifted, sizeof shifted);
    *power -= 0x4B400000;
    return (result + r) + 1.0f;
}

static inline float tinyort_power_of_two(int32_t power) {
    const uint32_t bits = (uint32_t)(power + 127) << 23;
    float factor;
    (void)memcpy(&factor, &bits, sizeof bits);
    return factor;
}

#endif
