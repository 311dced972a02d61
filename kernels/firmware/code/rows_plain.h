/* rows_plain.h - the products of two columns of bytes with all filters, for any processor.
 *
 * Filters are taken in pairs; two columns share each load of a weight.
 * Sums are scalars, as compilers spill arrays of them; with NEON, eight products are added up in pairs (SMULL, SADALP),
 * which is exact, as all sums of bytes are. */
#ifndef TORT_FIRMWARE_CODE_ROWS_PLAIN_H
#define TORT_FIRMWARE_CODE_ROWS_PLAIN_H

#include "kernels/firmware/code/column_plain.h"
#include "kernels/firmware/code/requantize.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif /* __aarch64__ */

/* The four products of two bytes of columns and two weights. */
#define tinyort_add_four(p, q, u, v) (y0 += (p) * (u), y1 += (p) * (v), z0 += (q) * (u), z1 += (q) * (v))

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    const int32_t depth = s->depth;
    const int8_t *from = (const int8_t *)a, *other = (const int8_t *)b;
    for (int32_t m = 0; m < own.filters; m += 2) {
        int32_t y0 = bias[m], y1 = bias[m + 1], z0 = y0, z1 = y1, k = 0;
#if defined(__aarch64__)
        int32x4_t sums[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
        for (; (k + 8) <= depth; k += 8) {
            const int8x8_t p = vld1_s8(from + k), q = vld1_s8(other + k), u = vld1_s8(w + k),
                           v = vld1_s8(w + depth + k);
            sums[0] = vpadalq_s16(sums[0], vmull_s8(p, u));
            sums[1] = vpadalq_s16(sums[1], vmull_s8(p, v));
            sums[2] = vpadalq_s16(sums[2], vmull_s8(q, u));
            sums[3] = vpadalq_s16(sums[3], vmull_s8(q, v));
        }
        y0 += vaddvq_s32(sums[0]);
        y1 += vaddvq_s32(sums[1]);
        z0 += vaddvq_s32(sums[2]);
        z1 += vaddvq_s32(sums[3]);
#endif /* __aarch64__ */
        for (; (k + 4) <= depth; k += 4) {
            tinyort_add_four(from[k], other[k], w[k], w[depth + k]);
            tinyort_add_four(from[k + 1], other[k + 1], w[k + 1], w[depth + k + 1]);
            tinyort_add_four(from[k + 2], other[k + 2], w[k + 2], w[depth + k + 2]);
            tinyort_add_four(from[k + 3], other[k + 3], w[k + 3], w[depth + k + 3]);
        }
        for (; k < depth; k++) {
            tinyort_add_four(from[k], other[k], w[k], w[depth + k]);
        }
        z[m] = tinyort_requantize(&own, z0,
                                  factors[m]); /* before y: the caller passes y for z if there is no second filter */
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if ((m + 1) == own.filters) {
            break;
        }
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
        w += 2 * depth;
    }
}

#endif
