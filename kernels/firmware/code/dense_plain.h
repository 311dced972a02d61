/* dense_plain.h - the products of one row of `length` bytes with all filters, for any processor: four filters share
 * each load of the row. See dense_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DENSE_PLAIN_H
#define TORT_FIRMWARE_CODE_DENSE_PLAIN_H

#include "kernels/firmware/code/requantize.h"

static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, int32_t length, const int8_t *w,
                              const int32_t *bias, const float *factors, void *room, int8_t *y) {
    const tinyort_bytes_shape own = *s;
    const int32_t depth = own.depth, flip = s->x_flip;
    (void)room, (void)flip;
    for (int32_t m = 0; m < own.filters; m += 4, w += 4 * depth) {
        int32_t y0 = bias[m], y1 = bias[m + 1], y2 = bias[m + 2], y3 = bias[m + 3];
        for (int32_t k = 0; k < length; k++) {
            const int32_t value = (int8_t)tinyort_flipped(x[k], flip);
            y0 += value * w[k];
            y1 += value * w[depth + k];
            y2 += value * w[2 * depth + k];
            y3 += value * w[3 * depth + k];
        }
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if (m + 1 < own.filters) y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
        if (m + 2 < own.filters) y[m + 2] = tinyort_requantize(&own, y2, factors[m + 2]);
        if (m + 3 < own.filters) y[m + 3] = tinyort_requantize(&own, y3, factors[m + 3]);
    }
}

#endif
