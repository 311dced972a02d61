/* gemm.h - y = alpha * a * b + beta * c + z, between two bounds, for `groups` times `batches` matrices y of (m, n).
 *
 * Every operand but y and z, which are row-major, has a step in elements from row to row and from column to column; 0
 * repeats it. A product has a statement of its own, so that a compiler that contracts within expressions makes no FMA
 * of it. */
#ifndef TORT_FIRMWARE_CODE_GEMM_H
#define TORT_FIRMWARE_CODE_GEMM_H

#include "kernels/firmware/code/clamp.h"

typedef struct tinyort_gemm_shape {
    int32_t groups, batches, m, n, k, a_group, a_batch, a_row, a_column, b_group, b_batch, b_row, b_column, c_row,
        c_column;
} tinyort_gemm_shape;

static void tinyort_gemm(const tinyort_gemm_shape *s, const float *a, const float *b, const float *c, const float *z,
                         float *y, float alpha, float beta, float low, float high) {
    int32_t at = 0;
    for (int32_t batch = 0; batch < s->groups * s->batches; batch++)
        for (int32_t i = 0; i < s->m; i++)
            for (int32_t j = 0; j < s->n; j++, at++) {
                const int32_t group = batch / s->batches, in_group = batch % s->batches;
                const float *row = a + group * s->a_group + in_group * s->a_batch + i * s->a_row;
                const float *column = b + group * s->b_group + in_group * s->b_batch + j * s->b_column;
                float sum = 0.0f;
                for (int32_t k = 0; k < s->k; k++) {
                    const float product = row[k * s->a_column] * column[k * s->b_row];
                    sum += product;
                }
                sum *= alpha;
                if (c) {
                    const float added = beta * c[i * s->c_row + j * s->c_column];
                    sum += added;
                }
                if (z) sum += z[at];
                y[at] = tinyort_clamp(sum, low, high);
            }
}

#endif
