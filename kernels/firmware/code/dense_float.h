/* dense_float.h - y = alpha * x * w + beta * c + z, between two bounds: rows of x with eight filters at a time. w has
 * filters in fours, whose weights take turns. */
#ifndef TORT_FIRMWARE_CODE_DENSE_FLOAT_H
#define TORT_FIRMWARE_CODE_DENSE_FLOAT_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/floats_shape.h"

/* sums: those of the four filters at u, then those at v. */
static void tinyort_dense_sums(const float *x, const float *u, const float *v, int32_t depth, float *sums) {
    tinyort_four a = tinyort_zeros, b = a;
    int32_t k = depth;
    for (; k >= 4; k -= 4, x += 4, u += 16, v += 16) {
        tinyort_multiply_add(a, tinyort_load_four(u), x[0]);
        tinyort_multiply_add(b, tinyort_load_four(v), x[0]);
        tinyort_multiply_add(a, tinyort_load_four(u + 4), x[1]);
        tinyort_multiply_add(b, tinyort_load_four(v + 4), x[1]);
        tinyort_multiply_add(a, tinyort_load_four(u + 8), x[2]);
        tinyort_multiply_add(b, tinyort_load_four(v + 8), x[2]);
        tinyort_multiply_add(a, tinyort_load_four(u + 12), x[3]);
        tinyort_multiply_add(b, tinyort_load_four(v + 12), x[3]);
    }
    for (; k > 0; k--, x++, u += 4, v += 4) {
        tinyort_multiply_add(a, tinyort_load_four(u), *x);
        tinyort_multiply_add(b, tinyort_load_four(v), *x);
    }
    tinyort_store_four(sums, a);
    tinyort_store_four(sums + 4, b);
}

static void tinyort_dense_float(const tinyort_dense_float_shape *s, const float *x, const float *w, const float *c,
                                const float *z, float *y, float alpha, float beta, float low, float high) {
    float sums[8];
    for (int32_t i = 0, at = 0; i < s->rows; i++, x += s->row)
        for (int32_t j = 0; j < s->filters; j++, at++) {
            const float *four = w + j * s->depth; /* the same twice, where there is no further one */
            if (j % 8 == 0) tinyort_dense_sums(x, four, four + (j + 4 < s->filters ? 4 * s->depth : 0), s->depth, sums);
            float sum = alpha * sums[j % 8];
            if (c) {
                const float added = beta * c[i * s->c_row + j * s->c_column];
                sum += added;
            }
            y[at] = tinyort_clamp(z ? sum + z[at] : sum, low, high);
        }
}

#endif
