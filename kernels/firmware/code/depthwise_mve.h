/* depthwise_mve.h - a convolution over bytes with a filter for each channel, channels last, for a processor with
 * M-profile vectors: eight channels at a time, whose number is a multiple of 8. w is (channels / 8, kernel_h, kernel_w,
 * 8).
 *
 * Products of bytes fit 16 bits; widening them separates even channels from odd ones, so biases and factors have each
 * eight in the order 0, 2, 4, 6, 1, 3, 5, 7. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_MVE_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_MVE_H

#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

#if defined(__ARM_FEATURE_MVE) && !defined(TINYORT_WIDE)
static void tinyort_depthwise_eight(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    int32x4_t even = vldrwq_s32(bias), odd = vldrwq_s32(bias + 4);
    for (int32_t kh = s->window.kernel_h; kh > 0; kh--, from += row) {
        const int8_t *x = from;
        for (int32_t kw = s->window.kernel_w; kw > 0; kw--, x += column, w += 8) {
            int16x8_t value = vldrbq_s16(x);
            if (tinyort_flips(s->rows.x_flip)) value = vsubq_n_s16(vandq_s16(value, vdupq_n_s16(255)), 128);
            const int16x8_t product = vmulq_s16(value, vldrbq_s16(w));
            even = vaddq_s32(even, vmovlbq_s16(product));
            odd = vaddq_s32(odd, vmovltq_s16(product));
        }
    }
    const float32x4_t low = vmulq_f32(vcvtq_f32_s32(even), vldrwq_f32(factors));
    const float32x4_t high = vmulq_f32(vcvtq_f32_s32(odd), vldrwq_f32(factors + 4));
    int16x8_t both = vqmovnbq_s32(vdupq_n_s16(0), vcvtnq_s32_f32(low));
    both = vqaddq_n_s16(vqmovntq_s32(both, vcvtnq_s32_f32(high)), (int16_t)s->rows.zero);
    both = vminq_s16(vmaxq_s16(both, vdupq_n_s16(-128)), vdupq_n_s16(127));
    if (tinyort_flips(s->rows.flip)) both = veorq_s16(both, vdupq_n_s16(0x80));
    vstrbq_s16(y, both);
}
#else
static void tinyort_depthwise_eight(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    for (int32_t c = 0; c < 8; c++) {
        const int32_t at = c / 2 + c % 2 * 4;
        const int8_t *tap = w + c;
        int32_t sum = bias[at];
        for (int32_t kh = 0; kh < s->window.kernel_h; kh++)
            for (int32_t kw = 0; kw < s->window.kernel_w; kw++, tap += 8)
                sum += (int8_t)tinyort_flipped(from[kh * row + kw * column + c], s->rows.x_flip) * *tap;
        y[c] = tinyort_requantize(&s->rows, sum, factors[at]);
    }
}
#endif /* __ARM_FEATURE_MVE */

/* One output pixel: `from` is the first tap, whose rows are `row` bytes apart and pixels `column`. */
static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const int32_t taps = s->window.kernel_h * s->window.kernel_w * 8;
    for (int32_t c = 0; c < s->rows.filters; c += 8, w += taps)
        tinyort_depthwise_eight(s, from + c, row, column, w, bias + c, factors + c, y + c);
}

#endif
