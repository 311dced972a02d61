/* depthwise_dsp.h - a convolution over bytes with a filter for each channel, channels last, for a processor with the
 * DSP extension: four channels at a time, whose number is a multiple of 4. w is (channels / 4, kernel_h, kernel_w, 4).
 */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"

/* One output pixel: `from` is the first tap, whose rows are `row` bytes apart and pixels `column`. */
static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const tinyort_bytes_shape own = s->rows; /* stores to y cannot change it, so it stays in registers */
    const int32_t height = s->window.at.kernel_h, width = s->window.at.kernel_w;
    const int8_t *end = from + own.filters;
    const uint32_t flip = (uint32_t)own.x_flip;
    (void)flip;
    for (; from < end; from += 4, bias += 4, factors += 4, y += 4) {
        int32_t y0 = bias[0], y1 = bias[1], y2 = bias[2], y3 = bias[3];
        const int8_t *line = from;
        if (width == 3 && !tinyort_flips(flip))
            for (int32_t kh = height; kh > 0; kh--, line += row) TINYORT_THREE_TAPS(w, line, column, y0, y1, y2, y3)
        else
            for (int32_t kh = height; kh > 0; kh--, line += row) {
                const int8_t *x = line;
                for (int32_t kw = width; kw > 0; kw--, x += column) TINYORT_TAP(w, x, y0, y1, y2, y3)
            }
        y[0] = tinyort_requantize(&own, y0, factors[0]);
        y[1] = tinyort_requantize(&own, y1, factors[1]);
        y[2] = tinyort_requantize(&own, y2, factors[2]);
        y[3] = tinyort_requantize(&own, y3, factors[3]);
    }
}

#endif
