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

static int8_t tinyort_requantize(const tinyort_bytes_shape *s, int32_t sum, float factor) {
    float scaled = (float)sum * factor;
    int32_t value;
    if (s->wide) {
        scaled = (float)((double)sum * (double)factor);
        if (scaled < -1000.0f) scaled = -1000.0f;
        if (scaled > 1000.0f) scaled = 1000.0f;
    }
    scaled += 12582912.0f;
    memcpy(&value, &scaled, sizeof value);
    value += s->zero - 0x4b400000;
    if (value < -128) value = -128;
    if (value > 127) value = 127;
    return (int8_t)(value ^ s->flip);
}

#endif
