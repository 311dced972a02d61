/* rows_mve.h - the products of two columns of bytes with all filters, for a processor with M-profile vectors (MVE, also
 * called Helium): `depth` is a multiple of 16. See rows_plain.h. */
#ifndef TORT_FIRMWARE_CODE_ROWS_MVE_H
#define TORT_FIRMWARE_CODE_ROWS_MVE_H

#include "kernels/firmware/code/requantize.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
typedef int8x16_t tinyort_vector;
#define tinyort_vector_load(from) vldrbq_s8(from)
#define tinyort_vector_multiply(sum, a, b) vmladavaq_s8(sum, a, b)
#else
typedef const int8_t *tinyort_vector;
#define tinyort_vector_load(from) (from)
#define tinyort_vector_multiply(sum, a, b) tinyort_sum_of_products(sum, a, b)
static int32_t tinyort_sum_of_products(int32_t sum, const int8_t *a, const int8_t *b) {
    for (int32_t i = 0; i < 16; i++) sum += a[i] * b[i];
    return sum;
}
#endif /* __ARM_FEATURE_MVE */

static const void *tinyort_column(const tinyort_bytes_shape *s, const int8_t *from, void *room, int32_t column) {
    (void)s, (void)room, (void)column;
    return from;
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const int32_t depth = s->depth;
    for (int32_t m = 0; m < s->filters; m += 2, w += depth) {
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
        y[m] = tinyort_requantize(s, y0, factors[m]);
        z[m] = tinyort_requantize(s, z0, factors[m]);
        if (m + 1 == s->filters) break;
        y[m + 1] = tinyort_requantize(s, y1, factors[m + 1]);
        z[m + 1] = tinyort_requantize(s, z1, factors[m + 1]);
    }
}

#endif
