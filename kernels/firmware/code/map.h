/* map.h - f of every element; y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_MAP_H
#define TORT_FIRMWARE_CODE_MAP_H

#include <stdint.h>

typedef struct tinyort_map_shape {
    int32_t count;
} tinyort_map_shape;

static void tinyort_map(const tinyort_map_shape *s, const float *x, float *y, float (*f)(float)) {
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = f(x[i]);
    }
}

#endif
