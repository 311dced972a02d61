/* normalize.h - (x - mean) / sqrt(variance + epsilon) of `rows` rows of `size` elements; without `centered`, the mean
 * counts as 0. y may lie over x. The means, and the inverses of the roots, are stored where there is room for them. */
#ifndef TORT_FIRMWARE_CODE_NORMALIZE_H
#define TORT_FIRMWARE_CODE_NORMALIZE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tinyort_normalize_shape {
    int32_t rows, size, centered;
} tinyort_normalize_shape;

static void tinyort_normalize(const tinyort_normalize_shape *s, const float *x, float *y, float *means, float *inverses,
                              float epsilon) {
    for (int32_t row = 0; row < s->rows; row++) {
        float mean = 0.0f, variance = 0.0f;
        for (int32_t i = 0; i < s->size; i++) {
            mean += x[i];
        }
        mean = s->centered ? (mean / (float)s->size) : 0.0f;
        for (int32_t i = 0; i < s->size; i++) {
            const float away = x[i] - mean, square = away * away;
            variance += square;
        }
        const float inverse = 1.0f / sqrtf((variance / (float)s->size) + epsilon);
        if (means != NULL) {
            means[row] = mean;
        }
        if (inverses != NULL) {
            inverses[row] = inverse;
        }
        for (int32_t i = 0; i < s->size; i++) {
            const float away = x[i] - mean;
            y[i] = away * inverse;
        }
        x += s->size;
        y += s->size;
    }
}

#endif
