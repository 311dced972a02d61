/* hardmax.h - 1 at the first of the largest elements of each lane, 0 elsewhere: x and y are (outer, length, inner). */
#ifndef TORT_FIRMWARE_CODE_HARDMAX_H
#define TORT_FIRMWARE_CODE_HARDMAX_H

#include <stdint.h>

typedef struct tinyort_hardmax_shape {
    int32_t outer, length, inner;
} tinyort_hardmax_shape;

static void tinyort_hardmax(const tinyort_hardmax_shape *s, const float *x, float *y) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const int32_t first = (lane / s->inner * s->length * s->inner) + (lane % s->inner);
        int32_t largest = first;
        for (int32_t i = 1; i < s->length; i++) {
            if (x[first + (i * s->inner)] > x[largest]) {
                largest = first + (i * s->inner);
            }
        }
        for (int32_t i = 0; i < s->length; i++) {
            y[first + (i * s->inner)] = 0.0f;
        }
        y[largest] = 1.0f;
    }
}

#endif
