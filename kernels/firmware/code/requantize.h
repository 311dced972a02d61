/* requantize.h - a sum of products of bytes as a byte: sum * factor, rounded half to even, plus the zero point,
 * saturated.
 *
 * The product is that of real numbers, rounded to float. A float holds sums below 2^24 exactly, so one multiplication
 * of floats gives it; `wide` sums take one of doubles. Adding 1.5 * 2^23 rounds a float below 2^22 to an integer, which
 * then stands in the low bits. `flip` is 0x80 for uint8, whose bytes are computed as int8 less 128; else 0. */
#ifndef TORT_FIRMWARE_CODE_REQUANTIZE_H
#define TORT_FIRMWARE_CODE_REQUANTIZE_H

#include "kernels/firmware/code/bytes_shape.h"

#include <string.h>

/* Compilers do not find SSAT in two comparisons, and the intrinsic of GCC 12 warns about a conversion of its own. */
static int32_t tinyort_saturate(int32_t value) {
#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)
    int32_t near;
    __asm__("ssat %0, #8, %1" : "=r"(near) : "r"(value));
    return near;
#else
    return (value < -128) ? -128 : (value > 127) ? 127 : value;
#endif /* __ARM_FEATURE_SAT */
}

static inline int8_t tinyort_requantize(const tinyort_bytes_shape *s, int32_t sum, float factor) {
    float scaled = (float)sum * factor;
    int32_t value;
#if !defined(TINYORT_COMPILED) || defined(TINYORT_WIDE)
    if (s->wide != 0) {
        scaled = (float)((double)sum * (double)factor);
        if (scaled < -1000.0f) {
            scaled = -1000.0f;
        }
        if (scaled > 1000.0f) {
            scaled = 1000.0f;
        }
    }
#endif /* TINYORT_WIDE */
    scaled += 12582912.0f;
    (void)memcpy(&value, &scaled, sizeof value);
    value += s->zero - 0x4b400000;
    value = tinyort_saturate(value);
    return (int8_t)tinyort_flipped(value, s->flip);
}

#endif
