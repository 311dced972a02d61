/* depthwise_dsp.h - a convolution over bytes with a filter for each channel, channels last, for a processor with the
 * DSP extension: four channels at a time. w is (kernel_h, kernel_w, channels), the number of channels a multiple of 4.
 */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/requantize.h"

/* A macro, as sums are scalars: a function would have to return four. */
#define TINYORT_TAP(x, w)                                                                                              \
    {                                                                                                                  \
        const uint32_t u = tinyort_flipped(tinyort_load(x), flip), v = tinyort_load(w);                                \
        const uint32_t u0 = tinyort_even(u), u1 = tinyort_odd(u), v0 = tinyort_even(v), v1 = tinyort_odd(v);           \
        y0 = tinyort_multiply_low(u0, v0, y0);                                                                         \
        y1 = tinyort_multiply_low(u1, v1, y1);                                                                         \
        y2 = tinyort_multiply_high(u0, v0, y2);                                                                        \
        y3 = tinyort_multiply_high(u1, v1, y3);                                                                        \
    }

/* One output pixel: `from` is the first tap, whose rows are `row` bytes apart and pixels `column`. */
static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const tinyort_bytes_shape own = s->rows; /* stores to y cannot change it, so it stays in registers */
    const int32_t channels = own.filters, height = s->window.kernel_h, width = s->window.kernel_w;
    const uint32_t flip = (uint32_t)own.x_flip;
    (void)flip;
    for (int32_t c = 0; c < channels; c += 4) {
        int32_t y0 = bias[c], y1 = bias[c + 1], y2 = bias[c + 2], y3 = bias[c + 3];
        const int8_t *taps = w + c, *line = from + c;
        for (int32_t kh = 0; kh < height; kh++, line += row) {
            const int8_t *x = line;
            int32_t kw = 0;
            for (; kw + 3 <= width; kw += 3, x += 3 * column, taps += 3 * channels) {
                TINYORT_TAP(x, taps)
                TINYORT_TAP(x + column, taps + channels)
                TINYORT_TAP(x + 2 * column, taps + 2 * channels)
            }
            for (; kw < width; kw++, x += column, taps += channels) TINYORT_TAP(x, taps)
        }
        y[c] = tinyort_requantize(&own, y0, factors[c]);
        y[c + 1] = tinyort_requantize(&own, y1, factors[c + 1]);
        y[c + 2] = tinyort_requantize(&own, y2, factors[c + 2]);
        y[c + 3] = tinyort_requantize(&own, y3, factors[c + 3]);
    }
}

#endif
