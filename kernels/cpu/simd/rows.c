/* rows.c - inner loops that make one row of outputs from rows of inputs: depthwise convolutions, pools, and the
 * product of a row with a matrix or a transposed matrix.
 *
 * Four vectors are made at a time, so that a weight is broadcast once for all of them and additions overlap. */
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#define BLOCK 4

INLINE void sum_vectors(float *out, int vectors, const float *source, const tort_weighted *sum) {
    const vector low = broadcast(sum->bounds.low), high = broadcast(sum->bounds.high);
    vector acc[BLOCK];
    for (int v = 0; v < vectors; v++) acc[v] = broadcast(sum->bias);
    for (int64_t j = 0; j < sum->count; j++) {
        const vector weight = broadcast(sum->weights ? sum->weights[j] : 1);
        for (int v = 0; v < vectors; v++) acc[v] += weight * load(source + sum->offsets[j] + v * WIDTH);
    }
    for (int v = 0; v < vectors; v++) store(out + v * WIDTH, clamp(acc[v], low, high));
}

void SIMD(tort_simd_weighted_sum)(float *out, int64_t width, const float *source, const tort_weighted *weighted) {
    const tort_weighted sum = *weighted; /* a copy, which no store to `out` can change, so it may stay in registers */
    int64_t x = 0;
    for (; x + BLOCK * WIDTH <= width; x += BLOCK * WIDTH) sum_vectors(out + x, BLOCK, source + x, &sum);
    for (; x + WIDTH <= width; x += WIDTH) sum_vectors(out + x, 1, source + x, &sum);
    if (x == width) return;
    float last[WIDTH];
    sum_vectors(last, 1, source + x, &sum);
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

/* Adds to y the sum of `steps` rows of B, each times its element of a. */
INLINE void add_rows(float *restrict y, int64_t n, const float *a, int steps, const float *restrict b,
                     int64_t b_stride) {
    int64_t x = 0;
    for (; x + WIDTH <= n; x += WIDTH) {
        vector sum = load(y + x);
        for (int j = 0; j < steps; j++) sum += broadcast(a[j]) * load(b + j * b_stride + x);
        store(y + x, sum);
    }
    for (; x < n; x++)
        for (int j = 0; j < steps; j++) y[x] += a[j] * b[j * b_stride + x];
}

/* Reads B once, four rows at a time; y stays in the cache. */
void SIMD(tort_simd_row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                                 const float *column_bias) {
    if (!column_bias)
        memset(y, 0, (size_t)n * sizeof(float));
    else if (column_bias != y)
        memcpy(y, column_bias, (size_t)n * sizeof(float));
    int64_t j = 0;
    for (; j + BLOCK <= k; j += BLOCK) add_rows(y, n, a + j, BLOCK, b + j * b_stride, b_stride);
    for (; j < k; j++) add_rows(y, n, a + j, 1, b + j * b_stride, b_stride);
}

/* Computes the products of a with `rows` rows of B: each vector of a is loaded once for all of them. */
INLINE void dot_rows(float *y, int rows, const float *a, int64_t k, const float *b, int64_t b_stride, float scale) {
    vector sums[BLOCK] = {{0}};
    int64_t i = 0;
    for (; i + WIDTH <= k; i += WIDTH) {
        const vector left = load(a + i);
        for (int r = 0; r < rows; r++) sums[r] += left * load(b + r * b_stride + i);
    }
    for (int r = 0; r < rows; r++) {
        float sum = 0, rest = 0;
        for (int lane = 0; lane < WIDTH; lane++) sum += sums[r][lane];
        for (int64_t j = i; j < k; j++) rest += a[j] * b[r * b_stride + j];
        y[r] = scale * (sum + rest);
    }
}

void SIMD(tort_simd_row_dots)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                              float scale) {
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK) dot_rows(y + j, BLOCK, a, k, b + j * b_stride, b_stride, scale);
    for (; j < n; j++) dot_rows(y + j, 1, a, k, b + j * b_stride, b_stride, scale);
}
