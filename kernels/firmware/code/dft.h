/* dft.h - Fourier transforms of lanes (dft_lanes.h) times a window (NULL: none). The inverse is the transform of
 * numbers whose parts change places, and change them again at the end; the second half of a spectrum that it completes
 * mirrors the first. scratch: 4 * length floats. */
#ifndef TORT_FIRMWARE_CODE_DFT_H
#define TORT_FIRMWARE_CODE_DFT_H

#include "kernels/firmware/code/dft_lanes.h"
#include "kernels/firmware/code/fft.h"

typedef struct tinyort_dft_shape {
    tinyort_dft_lanes at;
    int32_t inverse, completes;
} tinyort_dft_shape;

static void tinyort_dft_load(const tinyort_dft_shape *s, const float *x, const float *window, float *lane) {
    const int32_t n = s->at.length, real = s->inverse, imaginary = 1 - s->inverse;
    for (int32_t i = 0; i < n; i++) {
        const int32_t inside = i < s->at.in_length;
        const float weight = window && inside ? window[i] : 1.0f;
        lane[2 * i + real] = inside ? x[0] * weight : 0.0f;
        lane[2 * i + imaginary] = inside && s->at.in_parts > 1 ? x[1] * weight : 0.0f;
        if (inside) {
            x += s->at.inner * s->at.in_parts;
        }
    }
    for (int32_t i = n / 2 + 1; s->completes && i < n; i++) {
        lane[2 * i + real] = lane[2 * (n - i) + real];
        lane[2 * i + imaginary] = -lane[2 * (n - i) + imaginary];
    }
}

static void tinyort_dft(const tinyort_dft_shape *s, const float *x, const float *window, float *y, void *scratch,
                        const float *waves, float divisor) {
    float *lane = (float *)scratch;
    for (int32_t l = 0; l < s->at.lanes; l++) {
        float *to = tinyort_dft_to(&s->at, y, l);
        tinyort_dft_load(s, tinyort_dft_from(&s->at, x, l), window, lane);
        const float *from = tinyort_fft(lane, lane + 2 * s->at.length, s->at.length, waves, 1);
        for (int32_t k = 0; k < s->at.out_length; k++) {
            to[0] = from[2 * k + s->inverse] / divisor;
            if (s->at.out_parts > 1) {
                to[1] = from[2 * k + 1 - s->inverse] / divisor;
            }
            to += s->at.inner * s->at.out_parts;
        }
    }
}

#endif
