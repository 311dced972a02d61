/* depthwise_plain.h - a convolution over bytes with a filter for each channel, channels last, for any processor. w is
 * (kernel_h, kernel_w, channels). See depthwise_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H

#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

/* Four bytes at `from`, and the four that are `apart` behind. */
static inline int8x8_t tinyort_load_fours(const int8_t *from, const int32_t apart) {
    uint32_t low, high;
    if (apart == 4) {
        return vld1_s8(from);
    }
    (void)memcpy(&low, from, sizeof low);
    (void)memcpy(&high, from + apart, sizeof high);
    return vcreate_s8((uint64_t)high << 32 | low);
}

/* Eight channels: four at `from` and `taps`, and the four that are `apart` behind. */
static inline void tinyort_depthwise_eight(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row,
                                           int32_t column, const int8_t *taps, const int32_t apart, const int32_t *bias,
                                           const float *factors, int8_t *y) {
    int32_t sums[8];
    float steps[8];
    int8_t results[8];
    int32x4_t low = vld1q_s32(bias), high = vld1q_s32(bias + apart);
    for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++) {
        const int8_t *x = from;
        for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++) {
            int8x8_t value = tinyort_load_fours(x, apart);
            if (tinyort_flips(s->rows.x_flip) != 0) {
                value = veor_s8(value, vdup_n_s8(-128));
            }
            const int16x8_t product = vmull_s8(value, tinyort_load_fours(taps, apart));
            low = vaddw_s16(low, vget_low_s16(product));
            high = vaddw_high_s16(high, product);
            x += column;
            taps += s->rows.filters;
        }
        from += row;
    }
    vst1q_s32(sums, low);
    vst1q_s32(sums + 4, high);
    (void)memcpy(steps, factors, 4 * sizeof *steps);
    (void)memcpy(steps + 4, factors + apart, 4 * sizeof *steps);
    for (int32_t i = 0; i < 8; i++) {
        results[i] = tinyort_requantize(&s->rows, sums[i], steps[i]); /* by vectors */
    }
    (void)memcpy(y, results, 4);
    (void)memcpy(y + apart, results + 4, 4);
}
#endif /* __aarch64__ */

/* Four channels. */
static void tinyort_depthwise_four(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                   const int8_t *taps, const int32_t *bias, const float *factors, int8_t *y) {
    const tinyort_bytes_shape own = s->rows; /* stores to y cannot change it, so it stays in registers */
    const int32_t channels = own.filters, flip = own.x_flip, width = s->window.at.kernel_w;
    int32_t a = bias[0], b = bias[1], c = bias[2], d = bias[3];
    (void)flip;
    for (int32_t kh = s->window.at.kernel_h; kh > 0; kh--) {
        const int8_t *x = from;
        for (int32_t kw = width; kw > 0; kw--) {
            a += (int8_t)tinyort_flipped(x[0], flip) * taps[0];
            b += (int8_t)tinyort_flipped(x[1], flip) * taps[1];
            c += (int8_t)tinyort_flipped(x[2], flip) * taps[2];
            d += (int8_t)tinyort_flipped(x[3], flip) * taps[3];
            x += column;
            taps += channels;
        }
        from += row;
    }
    y[0] = tinyort_requantize(&own, a, factors[0]);
    y[1] = tinyort_requantize(&own, b, factors[1]);
    y[2] = tinyort_requantize(&own, c, factors[2]);
    y[3] = tinyort_requantize(&own, d, factors[3]);
}

static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const int32_t channels = s->rows.filters;
    int32_t c = 0;
#if defined(__aarch64__)
    for (; (c + 8) <= channels; c += 8) {
        tinyort_depthwise_eight(s, from + c, row, column, w + c, 4, bias + c, factors + c, y + c);
    }
    if ((channels >= 4) && (c < channels)) { /* some channels once more: no output is written over this window */
        c = (channels < 8) ? 0 : (channels - 8);
        tinyort_depthwise_eight(s, from + c, row, column, w + c, (channels < 8) ? (channels - 4) : 4, bias + c,
                                factors + c, y + c);
    }
    if (channels >= 4) {
        return;
    }
#endif /* __aarch64__ */
    for (; (channels >= 4) && (c < channels); c += 4) {
        if ((c + 4) > channels) {
            c = channels - 4; /* some channels once more: no output is written over this window */
        }
        tinyort_depthwise_four(s, from + c, row, column, w + c, bias + c, factors + c, y + c);
    }
    for (; c < channels; c++) {
        int32_t sum = bias[c];
        const int8_t *taps = w + c, *line = from + c;
        for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++) {
            const int8_t *x = line;
            for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++) {
                sum += (int8_t)tinyort_flipped(*x, s->rows.x_flip) * *taps;
                x += column;
                taps += channels;
            }
            line += row;
        }
        y[c] = tinyort_requantize(&s->rows, sum, factors[c]);
    }
}

#endif
