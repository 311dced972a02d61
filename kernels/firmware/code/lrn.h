/* lrn.h - divides each element by (bias + alpha * sum)^beta, where sum is over the squares of channels c - before to
 * c + after; x is (batch, channels, inner). power: the function a^b. */
#ifndef TORT_FIRMWARE_CODE_LRN_H
#define TORT_FIRMWARE_CODE_LRN_H

#include <stdint.h>

typedef struct tinyort_lrn_shape {
    int32_t batch, channels, inner, before, after;
} tinyort_lrn_shape;

static void tinyort_lrn(const tinyort_lrn_shape *s, const float *x, float *y, float (*power)(float, float), float alpha,
                        float beta, float bias) {
    for (int32_t at = 0; at < (s->batch * s->channels * s->inner); at++) {
        const int32_t c = at / s->inner % s->channels;
        const int32_t low = (c < s->before) ? c : s->before;
        const int32_t high = ((s->channels - 1 - c) < s->after) ? (s->channels - 1 - c) : s->after;
        float sum = 0.0f;
        for (int32_t k = -low; k <= high; k++) {
            const float value = x[at + (k * s->inner)], square = value * value;
            sum += square;
        }
        const float scaled = alpha * sum;
        y[at] = x[at] / power(bias + scaled, beta);
    }
}

#endif
