/* dequantize_scales.h - whole numbers as floats: (x - zero) * scale, rounded once; zero may be NULL. Differences that
 * a float cannot hold are multiplied in double. */
#ifndef TORT_FIRMWARE_CODE_DEQUANTIZE_SCALES_H
#define TORT_FIRMWARE_CODE_DEQUANTIZE_SCALES_H

#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/scales_shape.h"

typedef struct tinyort_dequantize_scales_shape {
    tinyort_scales_shape at;
} tinyort_dequantize_scales_shape;

static void tinyort_dequantize_scales(const tinyort_dequantize_scales_shape *s, const void *x, const float *scale,
                                      const void *zero, float *y) {
    for (int32_t i = 0; i < (s->at.outer * s->at.length * s->at.inner); i++) {
        const int32_t k = tinyort_scale_of(&s->at, i);
        const int64_t whole = tinyort_load(s->at.type, x, i) - (zero ? tinyort_load(s->at.type, zero, k) : 0);
        y[i] = ((whole < 16777216) && (whole > -16777216)) ? ((float)whole * scale[k])
                                                           : (float)((double)whole * (double)scale[k]);
    }
}

#endif
