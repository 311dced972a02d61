/* rows_mve.h - the products of two columns of bytes with all filters, for a processor with M-profile vectors: `depth`
 * is a multiple of 16. See rows_plain.h. */
#ifndef TORT_FIRMWARE_CODE_ROWS_MVE_H
#define TORT_FIRMWARE_CODE_ROWS_MVE_H

#include "kernels/firmware/code/column_mve.h"

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    (void)s, (void)room, (void)column;
    return from;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t vectors = own.depth / 16;
    int32_t m = 0;
    for (; m + 4 <= own.filters; m += 4, bias += 4, factors += 4, w += 4 * own.depth) {
        int32_t y0 = bias[0], y1 = bias[1], y2 = bias[2], y3 = bias[3], z0 = y0, z1 = y1, z2 = y2, z3 = y3;
        /* Two filters at a time: sums have to be in even registers, of which there are too few for all. */
        const int8_t *p = (const int8_t *)a, *q = (const int8_t *)b, *at = w;
        for (int32_t k = vectors; k > 0; k--, at += 64, p += 16, q += 16) {
            const tinyort_vector u = tinyort_vector_load(p), v = tinyort_vector_load(q);
            y0 = tinyort_vector_multiply(y0, u, tinyort_vector_load(at));
            z0 = tinyort_vector_multiply(z0, v, tinyort_vector_load(at));
            y1 = tinyort_vector_multiply(y1, u, tinyort_vector_load(at + 16));
            z1 = tinyort_vector_multiply(z1, v, tinyort_vector_load(at + 16));
        }
        p = (const int8_t *)a, q = (const int8_t *)b, at = w + 32;
        for (int32_t k = vectors; k > 0; k--, at += 64, p += 16, q += 16) {
            const tinyort_vector u = tinyort_vector_load(p), v = tinyort_vector_load(q);
            y2 = tinyort_vector_multiply(y2, u, tinyort_vector_load(at));
            z2 = tinyort_vector_multiply(z2, v, tinyort_vector_load(at));
            y3 = tinyort_vector_multiply(y3, u, tinyort_vector_load(at + 16));
            z3 = tinyort_vector_multiply(z3, v, tinyort_vector_load(at + 16));
        }
        tinyort_requantize_four(&own, y0, y1, y2, y3, factors, y + m);
        tinyort_requantize_four(&own, z0, z1, z2, z3, factors, z + m);
    }
    if (m == own.filters) return;
    own.filters -= m;
    tinyort_multiply_column(&own, (const int8_t *)a, w, bias, factors, y + m);
    tinyort_multiply_column(&own, (const int8_t *)b, w, bias, factors, z + m);
}

#endif
