/* scaler.h - (x - offset) * scale by feature; lists of 0 numbers (0 and 1 then), of 1, or of one for each feature. */
#ifndef TORT_FIRMWARE_CODE_SCALER_H
#define TORT_FIRMWARE_CODE_SCALER_H

#include "kernels/firmware/code/feature.h"

typedef struct tinyort_scaler_shape {
    int32_t count, type, offsets, scales;
} tinyort_scaler_shape;

static void tinyort_scaler(const tinyort_scaler_shape *s, const void *x, const float *offset, const float *scale,
                           float *y) {
    for (int32_t i = 0; i < s->count; i++) {
        float value = tinyort_feature(s->type, x, i);
        if (s->offsets > 0) {
            value -= offset[i % s->offsets];
        }
        if (s->scales > 0) {
            value *= scale[i % s->scales];
        }
        y[i] = value;
    }
}

#endif
