/* dense_dsp.h - the products of one row of `length` bytes with all filters, for a processor with the DSP extension.
 *
 * The row is widened into `room`, 2 * depth bytes; filters come in fours whose words of four weights take turns, so
 * that a step of the loop does 16 multiplications. depth: `length` rounded up to words, weights beyond it are 0. */
#ifndef TORT_FIRMWARE_CODE_DENSE_DSP_H
#define TORT_FIRMWARE_CODE_DENSE_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/requantize_few.h"

static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, const int8_t *w, const int32_t *bias,
                              const float *factors, void *room, int8_t *y) {
    const tinyort_bytes_shape own = *s;
    const uint32_t flip = (uint32_t)s->x_flip;
    const int32_t length = s->length;
    (void)flip;
    uint32_t *wide = (uint32_t *)room;
    for (int32_t k = 0; k < length; k += 4) {
        int8_t last[4] = {0};
        for (int32_t i = 0; ((k + 4) > length) && (i < (length - k)); i++) {
            last[i] = x[k + i];
        }
        const uint32_t word = tinyort_flipped(tinyort_word(((k + 4) > length) ? last : (x + k)), flip);
        *wide++ = tinyort_even(word);
        *wide++ = tinyort_odd(word);
    }
    for (int32_t m = 0; m < own.filters; m += 4) {
        int32_t y0 = bias[m], y1 = bias[m + 1], y2 = bias[m + 2], y3 = bias[m + 3];
        const uint32_t *p = (const uint32_t *)room;
        const int8_t *end = w + (4 * own.depth);
        for (; (end - w) >= 32;) {
            TINYORT_ONE_BY_FOUR(w, p, y0, y1, y2, y3);
            TINYORT_ONE_BY_FOUR(w, p, y0, y1, y2, y3);
        }
        while (w < end) {
            TINYORT_ONE_BY_FOUR(w, p, y0, y1, y2, y3);
        }
        tinyort_requantize_few(&own, y0, y1, y2, y3, factors, m, y);
    }
}

#endif
