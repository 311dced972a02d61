/* fft.h - the Fourier transform of n complex numbers in a pass for each factor of n: fours, then a two, then odd ones.
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

/* A group of an odd factor, its numbers `apart` floats apart. Numbers u and factor - u meet conjugate waves, so their
 * sum is multiplied by the cosine and their difference by the sine, and outputs t and factor - t have these products in
 * common: a quarter of those of the plain sum. Powers of wave `turn` are the factor's, those of `own` the group's. */
static void tinyort_fft_group(const float *x, float *y, int32_t factor, int32_t apart, int32_t out, const float *waves,
                              int32_t turn, int32_t own) {
    const int32_t half = factor / 2;
    float sum_re = x[0], sum_im = x[1];
    for (int32_t t = 1; t <= half; t++) {
        float even_re = x[0], even_im = x[1], odd_re = 0.0f, odd_im = 0.0f;
        for (int32_t u = 1, at = t * turn; u <= half; u++) {
            const float *a = x + u * apart, *b = x + (factor - u) * apart, *wave = waves + 2 * at;
            const float c = (a[0] + b[0]) * wave[0], d = (a[1] + b[1]) * wave[0];
            const float e = (a[0] - b[0]) * wave[1], f = (a[1] - b[1]) * wave[1];
            even_re += c;
            even_im += d;
            odd_re += e;
            odd_im += f;
            at += at < (factor - t) * turn ? t * turn : (t - factor) * turn;
        }
        tinyort_fft_put(y + t * out, even_re - odd_im, even_im + odd_re, waves + 2 * t * own);
        tinyort_fft_put(y + (factor - t) * out, even_re + odd_im, even_im - odd_re, waves + 2 * (factor - t) * own);
        sum_re += x[t * apart] + x[(factor - t) * apart];
        sum_im += x[t * apart + 1] + x[(factor - t) * apart + 1];
    }
    y[0] = sum_re;
    y[1] = sum_im;
}

static void tinyort_fft_odd(const float *x, float *y, int32_t factor, int32_t m, int32_t s, const float *waves,
                            int32_t step) {
    for (int32_t p = 0; p < m; p++) {
        for (int32_t q = 0; q < s; q++) {
            tinyort_fft_group(x, y, factor, 2 * m * s, 2 * s, waves, m * step, p * step);
            x += 2;
            y += 2;
        }
        y += 2 * s * (factor - 1);
    }
}

/* The next factor of n, which is not 1. */
static int32_t tinyort_fft_factor(int32_t n) {
    int32_t factor = 3;
    if (n % 2 == 0) {
        return n % 4 == 0 ? 4 : 2;
    }
    while (n % factor != 0) {
        factor = factor <= n / factor ? factor + 2 : n;
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
            tinyort_fft_odd(x, y, factor, m, s, waves, s * step);
        }
        s *= factor;
        x = y;
        y = from;
    }
    return x;
}

#endif
