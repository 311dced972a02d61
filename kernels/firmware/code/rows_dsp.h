/* rows_dsp.h - the products of two columns of bytes with all filters, for a processor with the DSP extension.
 *
 * tinyort_column widens column 0 or 1, `depth` bytes, a multiple of 4, into `room`: 4 * depth bytes for both, whose
 * words take turns, so that one pointer walks both. tinyort_rows takes filters in pairs whose words of four weights
 * take turns: a step of the loop does 16 multiplications. Sums are scalars, as compilers spill arrays of them. */
#ifndef TORT_FIRMWARE_CODE_ROWS_DSP_H
#define TORT_FIRMWARE_CODE_ROWS_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/requantize_two.h"

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
    const int32_t most = step & -32;
    for (int32_t left = own.filters; left > 0; left -= 2, bias += 2, factors += 2, y += 2, z += 2) {
        const float f0 = factors[0], f1 = factors[1];
        int32_t y0 = bias[0], y1 = bias[1], z0 = y0, z1 = y1;
        const uint32_t *x = (const uint32_t *)a;
        const int8_t *fast = w + most, *end = w + step;
        (void)fast;
        TINYORT_TWO_BY_TWO(fast, end, w, x, y0, y1, z0, z1)
        if (left == 1) {
            z[0] = tinyort_requantize(&own, z0, f0); /* where z is y, the value of y stays */
            y[0] = tinyort_requantize(&own, y0, f0);
            break;
        }
        tinyort_requantize_two(&own, z0, z1, f0, f1, z, z + 1);
        tinyort_requantize_two(&own, y0, y1, f0, f1, y, y + 1);
    }
}

#endif
