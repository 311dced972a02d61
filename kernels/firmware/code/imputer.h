/* imputer.h - elements that equal `replaced`, which may be NaN, become a number of a list of one, or of one for each
 * feature. */
#ifndef TORT_FIRMWARE_CODE_IMPUTER_H
#define TORT_FIRMWARE_CODE_IMPUTER_H

#include <stdint.h>

typedef struct tinyort_imputer_shape {
    int32_t count, imputed;
} tinyort_imputer_shape;

static void tinyort_imputer(const tinyort_imputer_shape *s, const float *x, const float *imputed, float *y,
                            float replaced) {
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t missing = x[i] == replaced || (x[i] != x[i] && replaced != replaced);
        y[i] = missing ? imputed[i % s->imputed] : x[i];
    }
}

#endif
