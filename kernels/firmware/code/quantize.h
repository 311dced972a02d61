/* quantize.h - floats as bytes: x / scale, rounded half to even, plus the zero point, saturated. flip is 0x80 for
 * uint8. NaN becomes the least byte. */
#ifndef TORT_FIRMWARE_CODE_QUANTIZE_H
#define TORT_FIRMWARE_CODE_QUANTIZE_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_quantize_shape {
    int32_t count, zero, flip;
} tinyort_quantize_shape;

static void tinyort_quantize(const tinyort_quantize_shape *s, const float *x, void *y, float scale) {
    const float low = (float)(-128 + s->flip - s->zero), high = (float)(127 + s->flip - s->zero);
    int8_t *to = (int8_t *)y;
    for (int32_t i = 0; i < s->count; i++) {
        float value = x[i] / scale;
        int32_t bits;
        if (!(value > low)) {
            value = low;
        }
        if (value > high) {
            value = high;
        }
        value += 12582912.0f; /* 1.5 * 2^23: rounds to an integer, which stands in the low bits */
        (void)memcpy(&bits, &value, sizeof bits);
        to[i] = (int8_t)((bits - 0x4b400000 + s->zero) & 0xff);
    }
}

#endif
