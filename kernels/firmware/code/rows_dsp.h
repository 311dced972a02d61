/* rows_dsp.h - the products of two columns of bytes with all filters, for a processor with the DSP extension.
 *
 * tinyort_column widens column 0 or 1, `depth` bytes, a multiple of 4, into `room`: 4 * depth bytes for both, whose
 * words take turns, so that one pointer walks both. tinyort_rows takes filters in pairs whose words of four weights
 * take turns: a step of the loop does 16 multiplications. Sums are scalars, as compilers spill arrays of them. */
#ifndef TORT_FIRMWARE_CODE_ROWS_DSP_H
#define TORT_FIRMWARE_CODE_ROWS_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/requantize.h"

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    const uint32_t flip = (uint32_t)s->x_flip;
    (void)flip;
    uint32_t *to = (uint32_t *)room + column;
    for (const int8_t *end = from + s->depth; from < end; from += 4, to += 4) {
        const uint32_t word = tinyort_flipped(tinyort_word(from), flip);
        to[0] = tinyort_even(word);
        to[2] = tinyort_odd(word);
    }
    return room;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t step = 2 * s->depth;
    (void)b;
    for (int32_t m = 0; m < own.filters; m += 2) {
        int32_t y0 = bias[m], y1 = bias[m + 1], z0 = y0, z1 = y1;
        const uint32_t *x = (const uint32_t *)a;
        const int8_t *end = w + step;
        for (; end - w >= 32;) {
            TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1);
            TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1);
            TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1);
            TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1);
        }
        while (w < end) TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1);
        z[m] = tinyort_requantize(&own, z0, factors[m]); /* where z is y, the value of y stays */
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if (m + 1 == own.filters) break;
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
    }
}

#endif
