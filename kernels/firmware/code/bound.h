/* bound.h - every element between two bounds: Relu. y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_BOUND_H
#define TORT_FIRMWARE_CODE_BOUND_H

#include "kernels/firmware/code/clamp.h"

typedef struct tinyort_bound_shape {
    int32_t count;
} tinyort_bound_shape;

static void tinyort_bound(const tinyort_bound_shape *s, const float *x, float *y, float low, float high) {
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = tinyort_clamp(x[i], low, high);
    }
}

#endif
