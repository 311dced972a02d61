/* dense_mve.h - the products of one row of `length` bytes with all filters, for a processor with M-profile vectors. A
 * row that is not of whole vectors, or is of uint8, is copied into `room`. See dense_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DENSE_MVE_H
#define TORT_FIRMWARE_CODE_DENSE_MVE_H

#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, int32_t length, const int8_t *w,
                              const int32_t *bias, const float *factors, void *room, int8_t *y) {
    const tinyort_bytes_shape own = *s;
    const int32_t depth = own.depth;
    int8_t *copy = (int8_t *)room;
    for (int32_t k = 0; (s->x_flip || depth != length) && k < depth; k++)
        copy[k] = (int8_t)(k < length ? x[k] ^ s->x_flip : 0);
    if (s->x_flip || depth != length) x = copy;
    for (int32_t m = 0; m < own.filters; m += 4, w += 3 * depth) {
        int32_t y0 = bias[m], y1 = bias[m + 1], y2 = bias[m + 2], y3 = bias[m + 3];
        const int8_t *p = x;
        for (const int8_t *end = w + depth; w < end; w += 16, p += 16) {
            const tinyort_vector value = tinyort_vector_load(p);
            y0 = tinyort_vector_multiply(y0, value, tinyort_vector_load(w));
            y1 = tinyort_vector_multiply(y1, value, tinyort_vector_load(w + depth));
            y2 = tinyort_vector_multiply(y2, value, tinyort_vector_load(w + 2 * depth));
            y3 = tinyort_vector_multiply(y3, value, tinyort_vector_load(w + 3 * depth));
        }
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if (m + 1 < own.filters) y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
        if (m + 2 < own.filters) y[m + 2] = tinyort_requantize(&own, y2, factors[m + 2]);
        if (m + 3 < own.filters) y[m + 3] = tinyort_requantize(&own, y3, factors[m + 3]);
    }
}

#endif
