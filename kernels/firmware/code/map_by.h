/* map_by.h - f of every element, with two numbers; y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_MAP_BY_H
#define TORT_FIRMWARE_CODE_MAP_BY_H

#include <stdint.h>

typedef struct tinyort_map_by_shape {
    int32_t count;
} tinyort_map_by_shape;

static void tinyort_map_by(const tinyort_map_by_shape *s, const float *x, float *y, float (*f)(float, float, float),
                           float alpha, float beta) {
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = f(x[i], alpha, beta);
    }
}

#endif
