/* gemm.h - y = alpha * a * b + beta * c + z, between two bounds, for `groups` times `batches` matrices y of (m, n), in
 * tiles of four rows and four columns.
 *
 * Every operand but y and z, which are row-major, has a step in elements from row to row and from column to column; 0
 * repeats it. */
#ifndef TORT_FIRMWARE_CODE_GEMM_H
#define TORT_FIRMWARE_CODE_GEMM_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/floats_shape.h"

/* sums: (row, column); the last row of a, or column of b, takes the place of those that are beyond it. */
static void tinyort_gemm_tile(const tinyort_gemm_shape *s, const float *a, const float *b, int32_t rows,
                              int32_t columns, float *sums) {
    const float *a1 = (rows > 1) ? (a + s->a_row) : a, *a2 = (rows > 2) ? (a1 + s->a_row) : a1;
    const float *a3 = (rows > 3) ? (a2 + s->a_row) : a2;
    const int32_t b1 = (columns > 1) ? s->b_column : 0, b2 = (columns > 2) ? (2 * b1) : b1,
                  b3 = (columns > 3) ? (3 * b1) : b2;
    const int32_t near = (columns == 4) && (b1 == 1);
    tinyort_four w = tinyort_zeros, x = w, y = w, z = w;
    for (int32_t k = 0, i = 0; k < s->k; k++) {
        const float *row = b + (k * s->b_row);
        const tinyort_four four = near ? tinyort_load_four(row) : (tinyort_four){row[0], row[b1], row[b2], row[b3]};
        tinyort_multiply_add(w, four, a[i]);
        tinyort_multiply_add(x, four, a1[i]);
        tinyort_multiply_add(y, four, a2[i]);
        tinyort_multiply_add(z, four, a3[i]);
        i += s->a_column;
    }
    tinyort_store_four(sums, w);
    tinyort_store_four(sums + 4, x);
    tinyort_store_four(sums + 8, y);
    tinyort_store_four(sums + 12, z);
}

static void tinyort_gemm(const tinyort_gemm_shape *s, const float *a, const float *b, const float *c, const float *z,
                         float *y, float alpha, float beta, float low, float high) {
    float sums[16];
    for (int32_t n = 0; n < (s->groups * s->batches); n++) {
        const float *from = a + (n / s->batches * s->a_group) + (n % s->batches * s->a_batch);
        const float *with = b + (n / s->batches * s->b_group) + (n % s->batches * s->b_batch);
        for (int32_t tile = 0; tile < s->m; tile += 4) {
            for (int32_t j = 0; j < s->n; j++) {
                const int32_t rows = ((s->m - tile) < 4) ? (s->m - tile) : 4;
                if ((j % 4) == 0) {
                    tinyort_gemm_tile(s, from + (tile * s->a_row), with + (j * s->b_column), rows,
                                      ((s->n - j) < 4) ? (s->n - j) : 4, sums);
                }
                for (int32_t i = tile; i < (tile + rows); i++) {
                    float sum = alpha * sums[((i - tile) * 4) + (j % 4)];
                    if (c != NULL) {
                        const float added = beta * c[(i * s->c_row) + (j * s->c_column)];
                        sum += added;
                    }
                    y[(i * s->n) + j] = tinyort_clamp(z ? (sum + z[(i * s->n) + j]) : sum, low, high);
                }
            }
        }
        if (z != NULL) {
            z += s->m * s->n;
        }
        y += s->m * s->n;
    }
}

#endif
