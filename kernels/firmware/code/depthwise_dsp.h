/* depthwise_dsp.h - a convolution over bytes with a filter for each channel, channels last, for a processor with the
 * DSP extension: four channels at a time. w is (kernel_h, kernel_w, 4) of each four; if their number is no multiple of
 * 4, the last four are those before the end. Bytes of uint8 are taken as they are. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize_two.h"

/* Less than four channels of a pixel. */
static void tinyort_depthwise_few(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                  const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    for (int32_t c = 0; c < s->rows.filters; c++) {
        const int8_t *tap = w + c;
        int32_t sum = bias[c];
        for (int32_t kh = 0; kh < s->window.at.kernel_h; kh++) {
            for (int32_t kw = 0; kw < s->window.at.kernel_w; kw++) {
                const int8_t x = from[(kh * row) + (kw * column) + c];
                sum += (tinyort_flips(s->rows.x_flip) ? (uint8_t)x : x) * *tap;
                tap += 4;
            }
        }
        y[c] = tinyort_requantize(&s->rows, sum, factors[c]);
    }
}

/* One output pixel: `from` is the first tap, whose rows are `row` bytes apart and pixels `column`. */
static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const tinyort_bytes_shape own = s->rows; /* stores to y cannot change it, so it stays in registers */
    const int32_t height = s->window.at.kernel_h, width = s->window.at.kernel_w;
    const int8_t *end = from + own.filters;
    if (own.filters < 4) {
        tinyort_depthwise_few(s, from, row, column, w, bias, factors, y);
    }
    for (; (own.filters >= 4) && (from < end); from += 4) {
        if ((end - from) < 4) { /* some channels once more: no output is written over this window */
            const int32_t back = 4 - (int32_t)(end - from);
            from -= back;
            bias -= back;
            factors -= back;
            y -= back;
        }
        int32_t y0 = bias[0], y1 = bias[1], y2 = bias[2], y3 = bias[3];
        const int8_t *line = from;
        if ((width == 3) && !tinyort_flips(own.x_flip)) {
            for (int32_t kh = height; kh > 0; kh--) {
                TINYORT_THREE_TAPS("sxtb16", 1, w, line, column, y0, y1, y2, y3)
                line += row;
            }
        } else if (width == 3) {
            for (int32_t kh = height; kh > 0; kh--) {
                TINYORT_THREE_TAPS("uxtb16", 0, w, line, column, y0, y1, y2, y3)
                line += row;
            }
        } else {
            for (int32_t kh = height; kh > 0; kh--) {
                const int8_t *x = line;
                for (int32_t kw = width; kw > 0; kw--) {
                    TINYORT_TAP(!tinyort_flips(own.x_flip), w, x, y0, y1, y2, y3)
                    x += column;
                }
                line += row;
            }
        }
        tinyort_requantize_two(&own, y0, y1, factors[0], factors[1], y, y + 1);
        tinyort_requantize_two(&own, y2, y3, factors[2], factors[3], y + 2, y + 3);
        bias += 4;
        factors += 4;
        y += 4;
    }
}

#endif
