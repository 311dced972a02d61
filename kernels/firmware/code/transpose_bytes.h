/* transpose_bytes.h - `batch` matrices of bytes of (rows, columns) become (columns, rows). */
#ifndef TORT_FIRMWARE_CODE_TRANSPOSE_BYTES_H
#define TORT_FIRMWARE_CODE_TRANSPOSE_BYTES_H

#include <stdint.h>

typedef struct tinyort_transpose_bytes_shape {
    int32_t batch, rows, columns;
} tinyort_transpose_bytes_shape;

static void tinyort_transpose_bytes(const tinyort_transpose_bytes_shape *s, const void *x, void *y) {
    const int8_t *from = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    for (int32_t n = 0; n < s->batch; n++, from += s->rows * s->columns)
        for (int32_t column = 0; column < s->columns; column++)
            for (int32_t row = 0; row < s->rows; row++) *to++ = from[row * s->columns + column];
}

#endif
