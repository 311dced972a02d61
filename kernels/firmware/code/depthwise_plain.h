/* depthwise_plain.h - a convolution over bytes with a filter for each channel, channels last, for any processor. w is
 * (kernel_h, kernel_w, channels). See depthwise_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_PLAIN_H

#include "kernels/firmware/code/conv_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"

static void tinyort_depthwise_pixel(const tinyort_depthwise_shape *s, const int8_t *from, int32_t row, int32_t column,
                                    const int8_t *w, const int32_t *bias, const float *factors, int8_t *y) {
    const int32_t channels = s->rows.filters;
    for (int32_t c = 0; c < channels; c++) {
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
