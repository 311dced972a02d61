/* resize_bytes.h - resizes two axes of bytes (outer, height, width, inner) to (outer, out_h, out_w, inner) by tables,
 * as resize.h does: weights of columns are whole numbers in 2^-22, those of rows, which have the factor of the scales,
 * in 2^-24. `copies`: each output is one input. */
#ifndef TORT_FIRMWARE_CODE_RESIZE_BYTES_H
#define TORT_FIRMWARE_CODE_RESIZE_BYTES_H

#include "kernels/firmware/code/whole.h"

#include <string.h>

typedef struct tinyort_resize_bytes_shape {
    int32_t outer, height, width, inner, out_h, out_w, taps_h, taps_w, copies, x_flip, x_zero, flip, zero;
} tinyort_resize_bytes_shape;

/* The sum of the elements at `from` that output `row`, `column` takes in. */
static int64_t tinyort_resize_sum(const tinyort_resize_bytes_shape *s, const int8_t *from, int32_t row, int32_t column,
                                  const int32_t *rows, const int32_t *row_weights, const int32_t *columns,
                                  const int32_t *column_weights) {
    int64_t sum = 0;
    for (int32_t j = row * s->taps_h; j < ((row + 1) * s->taps_h); j++) {
        const int8_t *line = from + (rows[j] * s->width * s->inner);
        int32_t part = 0;
        for (int32_t k = column * s->taps_w; k < ((column + 1) * s->taps_w); k++) {
            part += ((int8_t)(line[columns[k] * s->inner] ^ s->x_flip) - s->x_zero) * column_weights[k];
        }
        sum += (int64_t)part * row_weights[j];
    }
    return sum;
}

static void tinyort_resize_bytes(const tinyort_resize_bytes_shape *s, const void *x, const int32_t *rows,
                                 const int32_t *row_weights, const int32_t *columns, const int32_t *column_weights,
                                 void *y) {
    const int8_t *from = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    for (int32_t outer = 0; outer < s->outer; outer++) {
        for (int32_t row = 0; row < s->out_h; row++) {
            for (int32_t column = 0; column < s->out_w; column++) {
                if (s->copies != 0) {
                    (void)memcpy(to, from + (((rows[row] * s->width) + columns[column]) * s->inner), (size_t)s->inner);
                }
                for (int32_t i = 0; (i < s->inner) && !s->copies; i++) {
                    to[i] = tinyort_whole(
                        tinyort_resize_sum(s, from + i, row, column, rows, row_weights, columns, column_weights), 46,
                        s->zero, s->flip);
                }
                to += s->inner;
            }
        }
        from += s->height * s->width * s->inner;
    }
}

#endif
