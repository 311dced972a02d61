/* depthwise_plain.h - a convolution over bytes with a filter for each channel, channels last, for any processor. w is
 * (kernel_h, kernel_w, channels). See depthwise_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H

#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"

#if defined(__aarch64__)
#include <arm_neon.h>

enum { TINYORT_LANES = 8 };

/* Eight channels from c on. */
static void tinyort_depthwise_lanes(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *taps, const int32_t *bias, int32_t *sums) {
    int32x4_t low = vld1q_s32(bias), high = vld1q_s32(bias + 4);
    for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++, from += row) {
        const int8_t *x = from;
        for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++, x += column, taps += s->rows.filters) {
            int8x8_t value = vld1_s8(x);
            if (tinyort_flips(s->rows.x_flip)) value = veor_s8(value, vdup_n_s8(-128));
            const int16x8_t product = vmull_s8(value, vld1_s8(taps));
            low = vaddw_s16(low, vget_low_s16(product));
            high = vaddw_high_s16(high, product);
        }
    }
    vst1q_s32(sums, low);
    vst1q_s32(sums + 4, high);
}
#else
enum { TINYORT_LANES = 4 };

/* Four channels from c on. */
static void tinyort_depthwise_lanes(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *taps, const int32_t *bias, int32_t *sums) {
    const int32_t channels = s->rows.filters, flip = s->rows.x_flip;
    int32_t a = bias[0], b = bias[1], c = bias[2], d = bias[3];
    (void)flip;
    for (int32_t kh = s->window.at.kernel_h; kh > 0; kh--, from += row) {
        const int8_t *x = from;
        for (int32_t kw = s->window.at.kernel_w; kw > 0; kw--, x += column, taps += channels) {
            a += (int8_t)tinyort_flipped(x[0], flip) * taps[0];
            b += (int8_t)tinyort_flipped(x[1], flip) * taps[1];
            c += (int8_t)tinyort_flipped(x[2], flip) * taps[2];
            d += (int8_t)tinyort_flipped(x[3], flip) * taps[3];
        }
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}
#endif /* __aarch64__ */

static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const int32_t channels = s->rows.filters;
    int32_t c = 0;
    for (int32_t sums[TINYORT_LANES]; c + TINYORT_LANES <= channels; c += TINYORT_LANES) {
        tinyort_depthwise_lanes(s, from + c, row, column, w + c, bias + c, sums);
        for (int32_t i = 0; i < TINYORT_LANES; i++) y[c + i] = tinyort_requantize(&s->rows, sums[i], factors[c + i]);
    }
    for (; c < channels; c++) {
        int32_t sum = bias[c];
        const int8_t *taps = w + c, *line = from + c;
        for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++, line += row) {
            const int8_t *x = line;
            for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++, x += column, taps += channels)
                sum += (int8_t)tinyort_flipped(*x, s->rows.x_flip) * *taps;
        }
        y[c] = tinyort_requantize(&s->rows, sum, factors[c]);
    }
}

#endif
