/* dynamic_quantize.h - floats as uint8 with a scale and a zero point of their own, so that 0 to 255 cover 0 and every
 * element. A range of one number has scale 1. */
#ifndef TORT_FIRMWARE_CODE_DYNAMIC_QUANTIZE_H
#define TORT_FIRMWARE_CODE_DYNAMIC_QUANTIZE_H

#include "kernels/firmware/code/quantize.h"

typedef struct tinyort_dynamic_quantize_shape {
    int32_t count;
} tinyort_dynamic_quantize_shape;

static void tinyort_dynamic_quantize(const tinyort_dynamic_quantize_shape *s, const float *x, void *y, float *scale,
                                     uint8_t *zero) {
    float low = 0.0f, high = 0.0f;
    for (int32_t i = 0; i < s->count; i++) {
        if (x[i] < low) {
            low = x[i];
        }
        if (x[i] > high) {
            high = x[i];
        }
    }
    *scale = (high > low) ? ((high - low) / 255.0f) : 1.0f;
    float middle = (*scale > 0.0f) ? (-low / *scale) : 0.0f;
    if (!(middle > 0.0f)) {
        middle = 0.0f;
    }
    if (middle > 255.0f) {
        middle = 255.0f;
    }
    middle += 12582912.0f; /* 1.5 * 2^23: rounds to even */
    *zero = (uint8_t)(middle - 12582912.0f);
    const tinyort_quantize_shape quantize = {s->count, *zero, 0x80};
    tinyort_quantize(&quantize, x, y, (*scale > 0.0f) ? *scale : 1.0f);
}

#endif
