/* dense_mve.h - the products of one row of `length` bytes with all filters, for a processor with M-profile vectors. A
 * row that is not of whole vectors, or is of uint8, is copied into `room`. See dense_dsp.h. */
#ifndef TORT_FIRMWARE_CODE_DENSE_MVE_H
#define TORT_FIRMWARE_CODE_DENSE_MVE_H

#include "kernels/firmware/code/column_mve.h"

static void tinyort_dense_row(const tinyort_bytes_shape *s, const int8_t *x, const int8_t *w, const int32_t *bias,
                              const float *factors, void *room, int8_t *y) {
    const int32_t copies = tinyort_flips(s->x_flip) || s->depth != s->length;
    int8_t *copy = (int8_t *)room;
    for (int32_t k = 0; copies && k < s->depth; k++)
        copy[k] = (int8_t)(k < s->length ? tinyort_flipped(x[k], s->x_flip) : 0);
    tinyort_multiply_column(s, copies ? copy : x, w, bias, factors, y);
}

#endif
