/* normalizer.h - rows divided by a norm, unless it is 0: 0 the largest element, 1 the sum of the sizes, 2 the root of
 * the sum of the squares. */
#ifndef TORT_FIRMWARE_CODE_NORMALIZER_H
#define TORT_FIRMWARE_CODE_NORMALIZER_H

#include "kernels/firmware/code/feature.h"

#include <math.h>

typedef struct tinyort_normalizer_shape {
    int32_t rows, columns, type, norm;
} tinyort_normalizer_shape;

static void tinyort_normalizer(const tinyort_normalizer_shape *s, const void *x, float *y) {
    for (int32_t row = 0; row < s->rows; row++) {
        const int32_t first = row * s->columns, end = first + s->columns;
        float norm = s->norm == 0 ? -INFINITY : 0.0f;
        for (int32_t i = first; i < end; i++) {
            const float value = tinyort_feature(s->type, x, i);
            if (s->norm == 0) {
                norm = value > norm ? value : norm;
            } else {
                norm += s->norm == 1 ? fabsf(value) : value * value;
            }
        }
        norm = s->norm == 2 ? sqrtf(norm) : norm;
        for (int32_t i = first; i < end; i++) {
            const float value = tinyort_feature(s->type, x, i);
            y[i] = norm != 0.0f ? value / norm : value;
        }
    }
}

#endif
