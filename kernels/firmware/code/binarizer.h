/* binarizer.h - 1 for elements above a threshold, else 0. */
#ifndef TORT_FIRMWARE_CODE_BINARIZER_H
#define TORT_FIRMWARE_CODE_BINARIZER_H

#include <stdint.h>

typedef struct tinyort_binarizer_shape {
    int32_t count;
} tinyort_binarizer_shape;

static void tinyort_binarizer(const tinyort_binarizer_shape *s, const float *x, float *y, float threshold) {
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = x[i] > threshold ? 1.0f : 0.0f;
    }
}

#endif
