/* dft.h - Fourier transforms of `lanes` lanes by the sum that defines them, so that any length is right: lanes of
 * `inner` neighbours, whose numbers are `inner` apart; or frames of signals, times a window (NULL: none). `parts`: 1 of
 * real numbers, 2 of complex ones. A lane is padded with zeros or cut to `length`; the second half of a spectrum that
 * the inverse completes mirrors the first. scratch: 4 * length floats, for a table of the waves and a lane. */
#ifndef TORT_FIRMWARE_CODE_DFT_H
#define TORT_FIRMWARE_CODE_DFT_H

#include <stddef.h>
#include <stdint.h>

typedef struct tinyort_dft_shape {
    int32_t lanes, inner, in_length, in_parts, out_length, out_parts, length, inverse, completes, frames, frame_step,
        signal;
} tinyort_dft_shape;

static void tinyort_dft_load(const tinyort_dft_shape *s, const float *x, const float *window, float *lane) {
    const int32_t n = s->length;
    for (int32_t i = 0; i < n; i++) {
        const float *from = x + (i * s->inner * s->in_parts),
                    weight = (window && (i < s->in_length)) ? window[i] : 1.0f;
        lane[2 * i] = (i < s->in_length) ? (from[0] * weight) : 0.0f;
        lane[(2 * i) + 1] = ((i < s->in_length) && (s->in_parts > 1)) ? (from[1] * weight) : 0.0f;
    }
    for (int32_t i = (n / 2) + 1; s->completes && (i < n); i++) {
        lane[2 * i] = lane[2 * (n - i)];
        lane[(2 * i) + 1] = -lane[(2 * (n - i)) + 1];
    }
}

static void tinyort_dft(const tinyort_dft_shape *s, const float *x, const float *window, float *y, void *scratch,
                        float (*cosine)(float), float (*sine)(float), float divisor) {
    const int32_t n = s->length;
    float *waves = (float *)scratch, *lane = waves + (2 * n);
    for (int32_t i = 0; i < n; i++) {
        const int32_t turn = (i > (n / 2)) ? (i - n) : i; /* from -pi to pi, where a float has the most digits */
        const float angle = (float)(6.283185307179586 * (double)(s->inverse ? turn : -turn) / (double)n);
        waves[2 * i] = cosine(angle);
        waves[(2 * i) + 1] = sine(angle);
    }
    for (int32_t l = 0; l < s->lanes; l++) {
        const int32_t group = l / s->inner, own = l % s->inner;
        const int32_t first = s->frames ? ((l / s->frames * s->signal) + (l % s->frames * s->frame_step))
                                        : ((group * s->in_length * s->inner) + own);
        tinyort_dft_load(s, x + (first * s->in_parts), window, lane);
        for (int32_t q = 0; q < s->out_length; q++) {
            float real = 0.0f, imaginary = 0.0f;
            for (int32_t i = 0, at = 0; i < n; i++) {
                const float u = lane[2 * i] * waves[2 * at], v = lane[(2 * i) + 1] * waves[(2 * at) + 1];
                const float w = lane[2 * i] * waves[(2 * at) + 1], z = lane[(2 * i) + 1] * waves[2 * at];
                real += u - v;
                imaginary += w + z;
                at += (q < (n - at)) ? q : (q - n);
            }
            float *to = y + (((group * s->out_length * s->inner) + (q * s->inner) + own) * s->out_parts);
            to[0] = real / divisor;
            if (s->out_parts > 1) {
                to[1] = imaginary / divisor;
            }
        }
    }
}

#endif
