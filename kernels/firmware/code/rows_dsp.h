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
        const uint32_t word = tinyort_flipped(tinyort_load(from), flip);
        to[0] = tinyort_even(word);
        to[2] = tinyort_odd(word);
    }
    return room;
}

/* Four bytes of two columns times those of two filters. A macro, as sums are scalars. */
#define TINYORT_FOUR(w, x)                                                                                             \
    {                                                                                                                  \
        const uint32_t u = tinyort_load(w), v = tinyort_load((w) + 4);                                                 \
        const uint32_t u0 = tinyort_even(u), u1 = tinyort_odd(u), v0 = tinyort_even(v), v1 = tinyort_odd(v);           \
        y0 = tinyort_multiply((x)[0], u0, y0);                                                                         \
        z0 = tinyort_multiply((x)[1], u0, z0);                                                                         \
        y1 = tinyort_multiply((x)[0], v0, y1);                                                                         \
        z1 = tinyort_multiply((x)[1], v0, z1);                                                                         \
        y0 = tinyort_multiply((x)[2], u1, y0);                                                                         \
        z0 = tinyort_multiply((x)[3], u1, z0);                                                                         \
        y1 = tinyort_multiply((x)[2], v1, y1);                                                                         \
        z1 = tinyort_multiply((x)[3], v1, z1);                                                                         \
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
        for (; w + 8 < end; w += 16, x += 8) {
            TINYORT_FOUR(w, x)
            TINYORT_FOUR(w + 8, x + 4)
        }
        if (w < end) {
            TINYORT_FOUR(w, x)
            w += 8;
        }
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        z[m] = tinyort_requantize(&own, z0, factors[m]);
        if (m + 1 == own.filters) break;
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
    }
}

#endif
