/* rows.c - inner loops that make one row of outputs from rows of inputs: depthwise convolutions, pools, and the product
 * of a row with a matrix.
 *
 * Four vectors are made at a time, so that a weight is broadcast once for all of them and additions overlap. */
#include "kernels/cpu/simd/vector.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define BLOCK 4

INLINE void sum_vectors(float *out, int vectors, const float *source, const int64_t *offsets, const float *weights,
                        int64_t count, float bias) {
    vector acc[BLOCK];
    for (int v = 0; v < vectors; v++) acc[v] = broadcast(bias);
    for (int64_t j = 0; j < count; j++) {
        const vector weight = broadcast(weights ? weights[j] : 1);
        for (int v = 0; v < vectors; v++) acc[v] += weight * load(source + offsets[j] + v * WIDTH);
    }
    for (int v = 0; v < vectors; v++) store(out + v * WIDTH, acc[v]);
}

void SIMD(tort_simd_weighted_sum)(float *out, int64_t width, const float *source, const int64_t *offsets,
                                  const float *weights, int64_t count, float bias) {
    int64_t x = 0;
    for (; x + BLOCK * WIDTH <= width; x += BLOCK * WIDTH)
        sum_vectors(out + x, BLOCK, source + x, offsets, weights, count, bias);
    for (; x + WIDTH <= width; x += WIDTH) sum_vectors(out + x, 1, source + x, offsets, weights, count, bias);
    if (x == width) return;
    float last[WIDTH];
    sum_vectors(last, 1, source + x, offsets, weights, count, bias);
    memcpy(out + x, last, (size_t)(width - x) * sizeof(float));
}

INLINE void max_vectors(float *out, int vectors, const float *source, const int64_t *offsets, int64_t count) {
    vector best[BLOCK];
    for (int v = 0; v < vectors; v++) best[v] = load(source + offsets[0] + v * WIDTH);
    for (int64_t j = 1; j < count; j++)
        for (int v = 0; v < vectors; v++) best[v] = larger(best[v], load(source + offsets[j] + v * WIDTH));
    for (int v = 0; v < vectors; v++) store(out + v * WIDTH, best[v]);
}

void SIMD(tort_simd_maximum)(float *out, int64_t width, const float *source, const int64_t *offsets, int64_t count) {
    int64_t x = 0;
    for (; x + BLOCK * WIDTH <= width; x += BLOCK * WIDTH) max_vectors(out + x, BLOCK, source + x, offsets, count);
    for (; x + WIDTH <= width; x += WIDTH) max_vectors(out + x, 1, source + x, offsets, count);
    if (x == width) return;
    float last[WIDTH];
    max_vectors(last, 1, source + x, offsets, count);
    memcpy(out + x, last, (size_t)(width - x) * sizeof(float));
}

INLINE void product_vectors(float *y, int vectors, const float *a, int64_t k, const float *b, int64_t b_stride,
                            const float *bias) {
    vector acc[BLOCK];
    for (int v = 0; v < vectors; v++) acc[v] = bias ? load(bias + v * WIDTH) : broadcast(0);
    for (int64_t j = 0; j < k; j++) {
        const vector factor = broadcast(a[j]);
        for (int v = 0; v < vectors; v++) acc[v] += factor * load(b + j * b_stride + v * WIDTH);
    }
    for (int v = 0; v < vectors; v++) store(y + v * WIDTH, acc[v]);
}

void SIMD(tort_simd_row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                                 const float *column_bias) {
    int64_t x = 0;
    for (; x + BLOCK * WIDTH <= n; x += BLOCK * WIDTH)
        product_vectors(y + x, BLOCK, a, k, b + x, b_stride, column_bias ? column_bias + x : NULL);
    for (; x + WIDTH <= n; x += WIDTH)
        product_vectors(y + x, 1, a, k, b + x, b_stride, column_bias ? column_bias + x : NULL);
    for (; x < n; x++) {
        float sum = column_bias ? column_bias[x] : 0;
        for (int64_t j = 0; j < k; j++) sum += a[j] * b[j * b_stride + x];
        y[x] = sum;
    }
}
