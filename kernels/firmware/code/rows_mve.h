/* rows_mve.h - the products of two columns of bytes with all filters, for a processor with M-profile vectors: `depth`
 * is a multiple of 16. See rows_plain.h. */
#ifndef TORT_FIRMWARE_CODE_ROWS_MVE_H
#define TORT_FIRMWARE_CODE_ROWS_MVE_H

#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    (void)s, (void)room, (void)column;
    return from;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t depth = s->depth;
    for (int32_t m = 0; m < own.filters; m += 2, w += depth) {
        const int8_t *p = (const int8_t *)a, *q = (const int8_t *)b;
        int32_t y0 = bias[m], y1 = bias[m + 1], z0 = y0, z1 = y1;
        for (const int8_t *end = w + depth; w < end; w += 16, p += 16, q += 16) {
            const tinyort_vector u = tinyort_vector_load(w), v = tinyort_vector_load(w + depth);
            const tinyort_vector s0 = tinyort_vector_load(p), s1 = tinyort_vector_load(q);
            y0 = tinyort_vector_multiply(y0, s0, u);
            y1 = tinyort_vector_multiply(y1, s0, v);
            z0 = tinyort_vector_multiply(z0, s1, u);
            z1 = tinyort_vector_multiply(z1, s1, v);
        }
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        z[m] = tinyort_requantize(&own, z0, factors[m]);
        if (m + 1 == own.filters) break;
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
    }
}

#endif
