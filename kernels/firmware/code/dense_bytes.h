/* dense_bytes.h - a matrix of bytes times filters, row by row. */
#ifndef TORT_FIRMWARE_CODE_DENSE_BYTES_H
#define TORT_FIRMWARE_CODE_DENSE_BYTES_H

#include "kernels/firmware/code/bytes_shape.h"

static void tinyort_dense_bytes(const tinyort_dense_bytes_shape *s, const void *x, const int8_t *w, const int32_t *bias,
                                const float *factors, void *room, void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        tinyort_dense_row(&s->rows, (const int8_t *)x + (i * s->rows.length), w, bias, factors, room,
                          (int8_t *)y + (i * s->rows.filters));
    }
}

#endif
