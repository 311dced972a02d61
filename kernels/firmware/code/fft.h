/* fft.h - the Fourier transform of n complex numbers in a pass for each factor of n: fours, then a two, then others.
 *
 * Stockham's form of the fast transform (J. W. Cooley et al., "What is the Fast Fourier Transform?", Proc. IEEE 55,
 * 1967; C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, section 1.7): a pass reads one
 * array and writes the other, with the numbers where the next pass reads them, so that nothing is put in order at the
 * end. Of 8 numbers the pass of 4 makes four from x0 x2 x4 x6, which it writes to y0..y3, and four from x1 x3 x5 x7,
 * to y4..y7; the pass of 2 then joins y0 y4, y1 y5, y2 y6 and y3 y7.
 *
 * A pass of `factor` has m * s groups: s transforms lie interleaved, of m * factor numbers each. `waves` are pairs of
 * cos and -sin of 2 pi k / (n * step), of which a pass reads every (s * step)th. */
#ifndef TORT_FIRMWARE_CODE_FFT_H
#define TORT_FIRMWARE_CODE_FFT_H

#include <stdint.h>

static inline void tinyort_fft_put(float *to, float real, float imaginary, const float *wave) {
    const float u = real * wave[0], v = imaginary * wave[1], w = real * wave[1], z = imaginary * wave[0];
    to[0] = u - v;
    to[1] = w + z;
}

static void tinyort_fft_four(const float *x, float *y, int32_t m, int32_t s, const float *waves, int32_t step) {
    const int32_t apart = 2 * m * s, out = 2 * s;
    for (int32_t p = 0; p < m; p++) {
        const float one[2] = {waves[2 * p * step], waves[2 * p * step + 1]};
        const float two[2] = {waves[4 * p * step], waves[4 * p * step + 1]};
        const float three[2] = {waves[6 * p * step], waves[6 * p * step + 1]};
        for (int32_t q = 0; q < s; q++) {
            const float *b = x + apart, *c = b + apart, *d = c + apart;
            const float even_re = x[0] + c[0], even_im = x[1] + c[1], left_re = x[0] - c[0], left_im = x[1] - c[1];
            const float odd_re = b[0] + d[0], odd_im = b[1] + d[1], right_re = b[1] - d[1], right_im = d[0] - b[0];
            y[0] = even_re + odd_re;
            y[1] = even_im + odd_im;
            tinyort_fft_put(y + out, left_re + right_re, left_im + right_im, one);
            tinyort_fft_put(y + 2 * out, even_re - odd_re, even_im - odd_im, two);
            tinyort_fft_put(y + 3 * out, left_re - right_re, left_im - right_im, three);
            x += 2;
            y += 2;
        }
        y += 3 * out;
    }
}

static void tinyort_fft_two(const float *x, float *y, int32_t m, int32_t s, const float *waves, int32_t step) {
    const int32_t apart = 2 * m * s, out = 2 * s;
    for (int32_t p = 0; p < m; p++) {
        for (int32_t q = 0; q < s; q++) {
            y[0] = x[0] + x[apart];
            y[1] = x[1] + x[apart + 1];
            tinyort_fft_put(y + out, x[0] - x[apart], x[1] - x[apart + 1], waves + 2 * p * step);
            x += 2;
            y += 2;
        }
        y += out;
    }
}

/* A pass of any other factor, by the sum that defines a transform. */
static void tinyort_fft_any(const float *x, float *y, int32_t factor, int32_t m, int32_t s, const float *waves,
                            int32_t step) {
    const int32_t all = factor * m * step; /* waves */
    for (int32_t p = 0; p < m; p++) {
        for (int32_t t = 0; t < factor; t++) {
            for (int32_t q = 0; q < s; q++) {
                float real = 0.0f, imaginary = 0.0f;
                for (int32_t u = 0, at = p * t * step; u < factor; u++) {
                    const float *from = x + 2 * (q + s * (p + m * u));
                    float product[2];
                    tinyort_fft_put(product, from[0], from[1], waves + 2 * at);
                    real += product[0];
                    imaginary += product[1];
                    at += at < all - t * m * step ? t * m * step : t * m * step - all;
                }
                *y++ = real;
                *y++ = imaginary;
            }
        }
    }
}

static int32_t tinyort_fft_factor(int32_t n) {
    int32_t factor = n % 4 == 0 ? 4 : 2;
    while (n % factor != 0) {
        factor = factor < n / factor ? factor + 1 : n;
    }
    return factor;
}

/* Transforms the n numbers of x, whose place and that of y are overwritten. Returns the one that has the result. */
static const float *tinyort_fft(float *x, float *y, int32_t n, const float *waves, int32_t step) {
    for (int32_t s = 1, m = n; m > 1;) {
        const int32_t factor = tinyort_fft_factor(m);
        float *from = x;
        m /= factor;
        if (factor == 4) {
            tinyort_fft_four(x, y, m, s, waves, s * step);
        } else if (factor == 2) {
            tinyort_fft_two(x, y, m, s, waves, s * step);
        } else {
            tinyort_fft_any(x, y, factor, m, s, waves, s * step);
        }
        s *= factor;
        x = y;
        y = from;
    }
    return x;
}

#endif
