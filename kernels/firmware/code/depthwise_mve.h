/* depthwise_mve.h - a convolution over bytes with a filter for each channel, channels last, for a processor with
 * M-profile vectors: sixteen channels at a time; up to eight that are left take a vector of eight, of which lanes that
 * have no channel are neither read nor written. w is (kernel_h, kernel_w, 16) of each sixteen, (kernel_h, kernel_w, 8)
 * of eight, with zeros behind the last channel.
 *
 * Products of bytes fit 16 bits. Multiplying and widening separate lanes by their number, and narrowing puts them back,
 * so biases and factors have each sixteen in the order 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15, and eight in the order
 * 0 2 4 6, 1 3 5 7. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_MVE_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_MVE_H

#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

#if defined(__ARM_FEATURE_MVE) && !defined(TINYORT_WIDE)
/* Eight sums, scaled, as integers of 16 bits: those of `low` in the even lanes, those of `high` in the odd ones. */
static int16x8_t tinyort_narrow(int32x4_t low, int32x4_t high, const float *factors, int32_t zero) {
    const int32x4_t bottom = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(low), vldrwq_f32(factors)));
    const int32x4_t top = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(high), vldrwq_f32(factors + 4)));
    return vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), bottom), top), (int16_t)zero);
}

/* Up to sixteen channels, or eight; `whole`, which callers know: all of them. */
static inline void tinyort_depthwise_sixteen(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row,
                                             int32_t column, const int8_t *w, const int32_t *bias, const float *factors,
                                             int8_t *y, int32_t count, const int32_t whole) {
    const mve_pred16_t lanes = vctp8q((uint32_t)count);
    int32x4_t y0 = vldrwq_s32(bias), y1 = vldrwq_s32(bias + 4), y2 = vldrwq_s32(bias + 8), y3 = vldrwq_s32(bias + 12);
    const int32_t width = s->window.at.kernel_w;
    for (int32_t kh = s->window.at.kernel_h; kh > 0; kh--) {
        const int8_t *x = from;
        for (int32_t kw = width; kw > 0; kw--) {
            int8x16_t value = whole ? vldrbq_s8(x) : vldrbq_z_s8(x, lanes);
            const int8x16_t weight = vldrbq_s8(w);
            if (tinyort_flips(s->rows.x_flip) != 0) {
                value = veorq_s8(value, vdupq_n_s8(-128));
            }
            const int16x8_t even = vmullbq_int_s8(value, weight), odd = vmulltq_int_s8(value, weight);
            y0 = vaddq_s32(y0, vmovlbq_s16(even));
            y1 = vaddq_s32(y1, vmovltq_s16(even));
            y2 = vaddq_s32(y2, vmovlbq_s16(odd));
            y3 = vaddq_s32(y3, vmovltq_s16(odd));
            x += column;
            w += 16;
        }
        from += row;
    }
    const int16x8_t even = tinyort_narrow(y0, y1, factors, s->rows.zero);
    const int16x8_t odd = tinyort_narrow(y2, y3, factors + 8, s->rows.zero);
    int8x16_t bytes = vqmovntq_s16(vqmovnbq_s16(vuninitializedq_s8(), even), odd);
    if (tinyort_flips(s->rows.flip) != 0) {
        bytes = veorq_s8(bytes, vdupq_n_s8(-128));
    }
    if (whole != 0) {
        vstrbq_s8(y, bytes);
    } else {
        vstrbq_p_s8(y, bytes, lanes);
    }
}

static inline void tinyort_depthwise_eight(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row,
                                           int32_t column, const int8_t *w, const int32_t *bias, const float *factors,
                                           int8_t *y, int32_t count, const int32_t whole) {
    const mve_pred16_t lanes = vctp16q((uint32_t)count);
    int32x4_t even = vldrwq_s32(bias), odd = vldrwq_s32(bias + 4);
    const int32_t width = s->window.at.kernel_w;
    for (int32_t kh = s->window.at.kernel_h; kh > 0; kh--) {
        const int8_t *x = from;
        for (int32_t kw = width; kw > 0; kw--) {
            int16x8_t value = whole ? vldrbq_s16(x) : vldrbq_z_s16(x, lanes);
            if (tinyort_flips(s->rows.x_flip) != 0) {
                value = vsubq_n_s16(vandq_s16(value, vdupq_n_s16(255)), 128);
            }
            const int16x8_t product = vmulq_s16(value, vldrbq_s16(w));
            even = vaddq_s32(even, vmovlbq_s16(product));
            odd = vaddq_s32(odd, vmovltq_s16(product));
            x += column;
            w += 8;
        }
        from += row;
    }
    int16x8_t both = tinyort_narrow(even, odd, factors, s->rows.zero);
    both = vminq_s16(vmaxq_s16(both, vdupq_n_s16(-128)), vdupq_n_s16(127));
    if (tinyort_flips(s->rows.flip) != 0) {
        both = veorq_s16(both, vdupq_n_s16(0x80));
    }
    if (whole != 0) {
        vstrbq_s16(y, both);
    } else {
        vstrbq_p_s16(y, both, lanes);
    }
}
#else
static void tinyort_depthwise_lanes(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y,
                                    int32_t lanes, int32_t count) {
    for (int32_t c = 0; c < count; c++) {
        const int32_t at = (lanes == 8) ? ((c / 2) + (c % 2 * 4)) : ((c % 2 * 8) + (c / 2 % 2 * 4) + (c / 4));
        const int8_t *tap = w + c;
        int32_t sum = bias[at];
        for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++) {
            for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++) {
                sum += (int8_t)tinyort_flipped(from[(kh * row) + (kw * column) + c], s->rows.x_flip) * *tap;
                tap += lanes;
            }
        }
        y[c] = tinyort_requantize(&s->rows, sum, factors[at]);
    }
}
#define tinyort_depthwise_sixteen(s, from, row, column, w, bias, factors, y, count, whole)                             \
    tinyort_depthwise_lanes(s, from, row, column, w, bias, factors, y, 16, count)
#define tinyort_depthwise_eight(s, from, row, column, w, bias, factors, y, count, whole)                               \
    tinyort_depthwise_lanes(s, from, row, column, w, bias, factors, y, 8, count)
#endif /* __ARM_FEATURE_MVE */

/* One output pixel: `from` is the first tap, whose rows are `row` bytes apart and pixels `column`. */
static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const int32_t taps = s->window.at.kernel_h * s->window.at.kernel_w, channels = s->rows.filters;
    int32_t c = 0;
    for (; (c + 16) <= channels; c += 16) {
        tinyort_depthwise_sixteen(s, from + c, row, column, w + (c * taps), bias + c, factors + c, y + c, 16, 1);
    }
    const int32_t left = channels - c;
    if (left > 8) {
        tinyort_depthwise_sixteen(s, from + c, row, column, w + (c * taps), bias + c, factors + c, y + c, left, 0);
    } else if (left == 8) {
        tinyort_depthwise_eight(s, from + c, row, column, w + (c * taps), bias + c, factors + c, y + c, 8, 1);
    } else if (left > 0) {
        tinyort_depthwise_eight(s, from + c, row, column, w + (c * taps), bias + c, factors + c, y + c, left, 0);
    }
}

#endif
