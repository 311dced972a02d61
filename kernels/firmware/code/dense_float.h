/* dense_float.h - y = alpha * x * w + beta * c + z, between two bounds: rows of x with eight filters at a time. w has
 * filters in fours, whose weights take turns. */
#ifndef TORT_FIRMWARE_CODE_DENSE_FLOAT_H
#define TORT_FIRMWARE_CODE_DENSE_FLOAT_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/dense_sums.h"
#include "kernels/firmware/code/floats_shape.h"

static void tinyort_dense_float(const tinyort_dense_float_shape *s, const float *x, const float *w, const float *c,
                                const float *z, float *y, float alpha, float beta, float low, float high) {
    static const float zeros[8] = {0};
    float sums[8];
    for (int32_t i = 0; i < s->rows; i++) {
        for (int32_t j = 0; j < s->filters; j += 8) {
            const float *four = w + (j * s->depth); /* with the next four; with itself where there are no more */
            const int32_t left = s->filters - j, count = (left < 8) ? left : 8, at = (i * s->filters) + j;
            const float *added = c ? (c + (i * s->c_row) + (j * s->c_column)) : NULL;
            tinyort_dense_sums(x, four, (left > 4) ? (four + (4 * s->depth)) : four, s->depth, zeros, sums);
            for (int32_t n = 0; n < count; n++) {
                float sum = alpha * sums[n];
                if (c != NULL) {
                    const float scaled = beta * *added;
                    sum += scaled;
                    added += s->c_column;
                }
                y[at + n] = tinyort_clamp(z ? (sum + z[at + n]) : sum, low, high);
            }
        }
        x += s->row;
    }
}

#endif
