/* matmul_integer.h - products of two matrices of bytes, (m, k) and (k, n), each less its zero point, as sums of 32 bits
 * that wrap. Steps are between rows and columns, and between the zero points of rows of a and of columns of b: 0 where
 * all have one. Zero points may be NULL. `rank` axes of batches have steps of their own. flips are 0x80 for uint8. */
#ifndef TORT_FIRMWARE_CODE_MATMUL_INTEGER_H
#define TORT_FIRMWARE_CODE_MATMUL_INTEGER_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/offset.h"

typedef struct tinyort_matmul_integer_shape {
    int32_t a_flip, b_flip, batches, m, n, k, a_row, a_column, b_row, b_column, a_zero, b_zero;
    int32_t rank, dims[TINYORT_AXES], as[TINYORT_AXES], bs[TINYORT_AXES];
} tinyort_matmul_integer_shape;

static void tinyort_matmul_integer(const tinyort_matmul_integer_shape *s, const void *a, const void *b,
                                   const void *a_zero, const void *b_zero, int32_t *y) {
    const uint8_t *as = (const uint8_t *)a_zero, *bs = (const uint8_t *)b_zero;
    for (int32_t row = 0; row < (s->batches * s->m); row++) {
        const int32_t batch = row / s->m, i = row % s->m;
        const uint8_t *from = (const uint8_t *)a + tinyort_offset(batch, s->rank, s->dims, s->as) + (i * s->a_row);
        const uint8_t *filters = (const uint8_t *)b + tinyort_offset(batch, s->rank, s->dims, s->bs);
        const int32_t left = as ? (int8_t)(as[i * s->a_zero] ^ s->a_flip) : (int8_t)s->a_flip;
        for (int32_t j = 0; j < s->n; j++) {
            const int32_t right = bs ? (int8_t)(bs[j * s->b_zero] ^ s->b_flip) : (int8_t)s->b_flip;
            uint32_t sum = 0;
            for (int32_t k = 0; k < s->k; k++) {
                sum += (uint32_t)(((int8_t)(from[k * s->a_column] ^ s->a_flip) - left) *
                                  ((int8_t)(filters[(k * s->b_row) + (j * s->b_column)] ^ s->b_flip) - right));
            }
            *y++ = (int32_t)sum;
        }
    }
}

#endif
