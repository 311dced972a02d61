/* batch_norm.h - (x - mean) / sqrt(variance + epsilon) * scale + bias, with numbers for each channel; x is (batch,
 * channels, inner). y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_BATCH_NORM_H
#define TORT_FIRMWARE_CODE_BATCH_NORM_H

#include <math.h>
#include <stdint.h>

typedef struct tinyort_batch_norm_shape {
    int32_t batch, channels, inner;
} tinyort_batch_norm_shape;

static void tinyort_batch_norm(const tinyort_batch_norm_shape *s, const float *x, const float *scale, const float *bias,
                               const float *mean, const float *variance, float *y, float epsilon) {
    for (int32_t row = 0; row < (s->batch * s->channels); row++) {
        const int32_t c = row % s->channels;
        const float factor = scale[c] / sqrtf(variance[c] + epsilon);
        for (int32_t i = 0; i < s->inner; i++) {
            const float away = *x++ - mean[c], product = away * factor;
            *y++ = product + bias[c];
        }
    }
}

#endif
