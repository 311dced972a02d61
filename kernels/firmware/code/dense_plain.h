/* dense_plain.h - the products of one row of `length` bytes with all filters, for any processor: four filters share
 * each load of the row. See dense_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DENSE_PLAIN_H
#define TORT_FIRMWARE_CODE_DENSE_PLAIN_H

#include "kernels/firmware/code/requantize_few.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif /* __aarch64__ */

static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, const int8_t *w, const int32_t *bias,
                              const float *factors, void *room, int8_t *y) {
    const tinyort_bytes_shape own = *s;
    const int32_t depth = own.depth, length = own.length, flip = s->x_flip;
    (void)room;
    (void)flip;
    for (int32_t m = 0; m < own.filters; m += 4) {
        int32_t y0 = bias[m], y1 = bias[m + 1], y2 = bias[m + 2], y3 = bias[m + 3], k = 0;
#if defined(__aarch64__)
        int32x4_t sums[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
        for (; (k + 8) <= length; k += 8) {
            int8x8_t value = vld1_s8(x + k);
            if (tinyort_flips(flip) != 0) {
                value = veor_s8(value, vdup_n_s8(-128));
            }
            sums[0] = vpadalq_s16(sums[0], vmull_s8(value, vld1_s8(w + k)));
            sums[1] = vpadalq_s16(sums[1], vmull_s8(value, vld1_s8(w + depth + k)));
            sums[2] = vpadalq_s16(sums[2], vmull_s8(value, vld1_s8(w + 2 * depth + k)));
            sums[3] = vpadalq_s16(sums[3], vmull_s8(value, vld1_s8(w + 3 * depth + k)));
        }
        y0 += vaddvq_s32(sums[0]);
        y1 += vaddvq_s32(sums[1]);
        y2 += vaddvq_s32(sums[2]);
        y3 += vaddvq_s32(sums[3]);
#endif /* __aarch64__ */
        for (; k < length; k++) {
            const int32_t value = (int8_t)tinyort_flipped(x[k], flip);
            y0 += value * w[k];
            y1 += value * w[depth + k];
            y2 += value * w[(2 * depth) + k];
            y3 += value * w[(3 * depth) + k];
        }
        tinyort_requantize_few(&own, y0, y1, y2, y3, factors, m, y);
        w += 4 * depth;
    }
}

#endif
