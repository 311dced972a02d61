/* dft_real.h - Fourier transforms of lanes (dft_lanes.h) of an even number of real numbers, times a window (NULL:
 * none), by a transform of half the length (H. V. Sorensen et al., "Real-valued fast Fourier transform algorithms",
 * IEEE Trans. ASSP 35, 1987). Neighbours x0 x1 are the parts of one number; of the transform Z of these, the sum of
 * Z[k] and the conjugate of Z[half - k] is twice the spectrum of x0 x2 x4.., their difference that of x1 x3 x5.., and a
 * wave joins both to bin k. scratch: 2 * length floats. */
#ifndef TORT_FIRMWARE_CODE_DFT_REAL_H
#define TORT_FIRMWARE_CODE_DFT_REAL_H

#include "kernels/firmware/code/dft_lanes.h"
#include "kernels/firmware/code/fft.h"

typedef struct tinyort_dft_real_shape {
    tinyort_dft_lanes at;
} tinyort_dft_real_shape;

static void tinyort_dft_real_load(const tinyort_dft_lanes *s, const float *x, const float *window, float *lane) {
    const int32_t count = s->in_length < s->length ? s->in_length : s->length;
    for (int32_t i = 0; i < count; i++) {
        lane[i] = window ? x[i * s->inner] * window[i] : x[i * s->inner];
    }
    for (int32_t i = count; i < s->length; i++) {
        lane[i] = 0.0f;
    }
}

/* Bins k and length - k, of which the output may have one. */
static inline void tinyort_dft_real_put(const tinyort_dft_lanes *s, float *y, int32_t k, float real, float imaginary) {
    const int32_t other = s->length - k, step = 2 * s->inner;
    y[k * step] = real;
    y[k * step + 1] = imaginary;
    if (other < s->out_length) {
        y[other * step] = real;
        y[other * step + 1] = -imaginary;
    }
}

static void tinyort_dft_real(const tinyort_dft_real_shape *shape, const float *x, const float *window, float *y,
                             void *scratch, const float *waves) {
    const tinyort_dft_lanes *s = &shape->at;
    const int32_t half = s->length / 2;
    float *lane = (float *)scratch;
    for (int32_t l = 0; l < s->lanes; l++) {
        float *to = tinyort_dft_to(s, y, l);
        tinyort_dft_real_load(s, tinyort_dft_from(s, x, l), window, lane);
        const float *z = tinyort_fft(lane, lane + s->length, half, waves, 2);
        tinyort_dft_real_put(s, to, 0, z[0] + z[1], 0.0f);
        tinyort_dft_real_put(s, to, half, z[0] - z[1], 0.0f);
        for (int32_t k = 1; k <= half - k; k++) {
            const float *a = z + 2 * k, *b = z + 2 * (half - k);
            const float even_re = 0.5f * (a[0] + b[0]), even_im = 0.5f * (a[1] - b[1]);
            float odd[2];
            tinyort_fft_put(odd, 0.5f * (a[1] + b[1]), 0.5f * (b[0] - a[0]), waves + 2 * k);
            tinyort_dft_real_put(s, to, k, even_re + odd[0], even_im + odd[1]);
            tinyort_dft_real_put(s, to, half - k, even_re - odd[0], odd[1] - even_im);
        }
    }
}

#endif
