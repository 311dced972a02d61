/* matmul_bytes.h - `batches` products of two matrices of bytes that both change from run to run, (m, k) and (k, n),
 * with steps between rows and columns, zero points, and a factor for the sums. flips are 0x80 for uint8. */
#ifndef TORT_FIRMWARE_CODE_MATMUL_BYTES_H
#define TORT_FIRMWARE_CODE_MATMUL_BYTES_H

#include "kernels/firmware/code/requantize.h"

static void tinyort_matmul_bytes(const tinyort_matmul_bytes_shape *s, const void *a, const void *b, void *y,
                                 float factor) {
    const int32_t n = s->rows.filters, depth = s->rows.depth;
    int8_t *to = (int8_t *)y;
    for (int32_t batch = 0; batch < s->batches; batch++) {
        for (int32_t i = 0; i < s->m; i++) {
            const int8_t *row = (const int8_t *)a + (batch * s->a_batch) + (i * s->a_row);
            for (int32_t j = 0; j < n; j++) {
                const int8_t *column = (const int8_t *)b + (batch * s->b_batch) + (j * s->b_column);
                int32_t sum = 0;
                for (int32_t k = 0; k < depth; k++) {
                    sum += ((int8_t)(row[k * s->a_column] ^ s->rows.x_flip) - s->a_zero) *
                           ((int8_t)(column[k * s->b_row] ^ s->b_flip) - s->b_zero);
                }
                *to++ = tinyort_requantize(&s->rows, sum, factor);
            }
        }
    }
}

#endif
