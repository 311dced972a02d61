/* causal_conv.h - the convolution of each of `batch` times `channels` rows with a filter of its channel, over positions
 * up to its own: before the first there are those of `past`, or zeros. `present`, where there is room for it, has the
 * last kernel - 1 positions, for the next run. */
#ifndef TORT_FIRMWARE_CODE_CAUSAL_CONV_H
#define TORT_FIRMWARE_CODE_CAUSAL_CONV_H

#include <stdint.h>

typedef struct tinyort_causal_conv_shape {
    int32_t batch, channels, length, kernel;
} tinyort_causal_conv_shape;

/* Position `at` of row `row`; below 0 it is in the past. */
static float tinyort_position(const tinyort_causal_conv_shape *s, const float *x, const float *past, int32_t row,
                              int32_t at) {
    const int32_t kept = s->kernel - 1;
    if (at >= 0) {
        return x[(row * s->length) + at];
    }
    return past ? past[(row * kept) + kept + at] : 0.0f;
}

static void tinyort_causal_conv(const tinyort_causal_conv_shape *s, const float *x, const float *w, const float *bias,
                                const float *past, float *y, float *present) {
    const int32_t kept = s->kernel - 1;
    for (int32_t row = 0; row < (s->batch * s->channels); row++) {
        const float *filter = w + (row % s->channels * s->kernel);
        for (int32_t t = 0; t < s->length; t++) {
            float sum = bias ? bias[row % s->channels] : 0.0f;
            for (int32_t k = 0; k < s->kernel; k++) {
                const float product = filter[k] * tinyort_position(s, x, past, row, t - kept + k);
                sum += product;
            }
            y[(row * s->length) + t] = sum;
        }
        for (int32_t k = 0; present && (k < kept); k++) {
            present[(row * kept) + k] = tinyort_position(s, x, past, row, s->length - kept + k);
        }
    }
}

#endif
