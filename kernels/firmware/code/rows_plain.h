/* rows_plain.h - the products of two columns of bytes with all filters, for any processor.
 *
 * tinyort_column gives a column as it is. tinyort_rows takes filters in pairs; two columns share each load of a weight.
 * Sums are scalars, as compilers spill arrays of them. */
#ifndef TORT_FIRMWARE_CODE_ROWS_PLAIN_H
#define TORT_FIRMWARE_CODE_ROWS_PLAIN_H

#include "kernels/firmware/code/requantize.h"

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    (void)s, (void)room, (void)column;
    return from;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t depth = s->depth;
    const int8_t *from = (const int8_t *)a, *other = (const int8_t *)b;
    for (int32_t m = 0; m < own.filters; m += 2, w += 2 * depth) {
        int32_t y0 = bias[m], y1 = bias[m + 1], z0 = y0, z1 = y1;
        for (int32_t k = 0; k < depth; k++) {
            const int32_t p = from[k], q = other[k], u = w[k], v = w[depth + k];
            y0 += p * u;
            y1 += p * v;
            z0 += q * u;
            z1 += q * v;
        }
        z[m] = tinyort_requantize(&own, z0, factors[m]); /* z may be y, which then is right */
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if (m + 1 == own.filters) break;
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
    }
}

#endif
