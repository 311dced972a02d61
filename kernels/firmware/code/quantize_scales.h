/* quantize_scales.h - floats as whole numbers from min to max: x / scale, rounded half to even, plus the zero
 * point, saturated; zero may be NULL. NaN becomes min. */
#ifndef TORT_FIRMWARE_CODE_QUANTIZE_SCALES_H
#define TORT_FIRMWARE_CODE_QUANTIZE_SCALES_H

#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/scales_shape.h"
#include "kernels/firmware/code/store.h"

#include <string.h>

typedef struct tinyort_quantize_scales_shape {
    int32_t min, max;
    tinyort_scales_shape at;
} tinyort_quantize_scales_shape;

static void tinyort_quantize_scales(const tinyort_quantize_scales_shape *s, const float *x, const float *scale,
                                    const void *zero, void *y) {
    for (int32_t i = 0; i < (s->at.outer * s->at.length * s->at.inner); i++) {
        const int32_t k = tinyort_scale_of(&s->at, i);
        const int32_t own = zero ? (int32_t)tinyort_load(s->at.type, zero, k) : 0;
        const float low = (float)(s->min - own), high = (float)(s->max - own);
        float value = x[i] / scale[k];
        int32_t bits;
        if (!(value > low)) {
            value = low;
        }
        if (value > high) {
            value = high;
        }
        value += 12582912.0f; /* 1.5 * 2^23: rounds to an integer, which stands in the low bits */
        (void)memcpy(&bits, &value, sizeof bits);
        tinyort_store(s->at.type, y, i, bits - 0x4b400000 + own);
    }
}

#endif
