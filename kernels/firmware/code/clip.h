/* clip.h - every element between two bounds, which are read, or, where they are NULL, given as numbers. y may lie over
 * x. Everything becomes the upper bound where it is below the lower one. */
#ifndef TORT_FIRMWARE_CODE_CLIP_H
#define TORT_FIRMWARE_CODE_CLIP_H

#include "kernels/firmware/code/clamp.h"

typedef struct tinyort_clip_shape {
    int32_t count;
} tinyort_clip_shape;

static void tinyort_clip(const tinyort_clip_shape *s, const float *x, const float *low, const float *high, float *y,
                         float lowest, float highest) {
    const float top = high ? *high : highest;
    float bottom = low ? *low : lowest;
    if (bottom > top) {
        bottom = top;
    }
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = tinyort_clamp(x[i], bottom, top);
    }
}

#endif
