/* transpose_bytes.h - `batch` matrices of bytes of (rows, columns) become (columns, rows). */
#ifndef TORT_FIRMWARE_CODE_TRANSPOSE_BYTES_H
#define TORT_FIRMWARE_CODE_TRANSPOSE_BYTES_H

#include <stdint.h>

typedef struct tinyort_transpose_bytes_shape {
    int32_t batch, rows, columns;
} tinyort_transpose_bytes_shape;

static void tinyort_transpose_bytes(const tinyort_transpose_bytes_shape *s, const void *x, void *y) {
    const int32_t rows = s->rows, columns = s->columns;
    const int8_t *from = (const int8_t *)x;
    int8_t *image = (int8_t *)y;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t row = 0; row < rows; row++) {
            int8_t *to = image + row;
            for (int32_t column = columns; column > 0; column--) {
                *to = *from++;
                to += rows;
            }
        }
        image += rows * columns;
    }
}

#endif
