/* strided.c - the exponentials and the extremes of up to TORT_COLUMNS neighbouring columns of floats, row after row.
 *
 * Columns beyond the last whole vector are copied to a vector of their own, and nothing beyond `count` is written. Read
 * next:
 * ../strided.c. */
#include "kernels/cpu/simd/intrinsics.h"

#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

/* A NaN may be lost here: the sum of its column becomes NaN anyway. */
void SIMD(tort_simd_columns_max)(float *max, const float *x, int64_t stride, int64_t rows, int64_t count) {
    for (int64_t i = 0; i < count; i += WIDTH) {
        vector best = load(max + i);
        for (int64_t row = 0; row < rows; row++)
            best = clamp(load_some(x + row * stride + i, count - i), best, broadcast(INFINITY));
        store(max + i, best);
    }
}

/* y = e^(x - max), added to sum; whole vectors. */
INLINE void exp_lanes(const float *max, float *sum, const float *x, float *y, int64_t count) {
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {
        const float value = tort_exp_downf(x[i] - max[i]);
        y[i] = value;
        sum[i] += value;
    }
}

void SIMD(tort_simd_columns_exp)(const float *max, float *sum, const float *x, float *y, int64_t stride, int64_t rows,
                                 int64_t count) {
    const int64_t whole = count / WIDTH * WIDTH, left = count - whole;
    for (; rows > 0; rows--, x += stride, y += stride) {
        exp_lanes(max, sum, x, y, whole);
        if (!left) continue;
        float last[WIDTH] = {0};
        memcpy(last, x + whole, (size_t)left * sizeof *last);
        exp_lanes(max + whole, sum + whole, last, last, WIDTH);
        memcpy(y + whole, last, (size_t)left * sizeof *last);
    }
}

void SIMD(tort_simd_columns_arg)(float *best, int32_t *index, const float *x, int64_t stride, int64_t rows,
                                 int64_t count, float sign) {
    typedef mask loose_mask __attribute__((aligned(4), may_alias));
    for (int64_t i = 0; i < count; i += WIDTH) {
        vector top = load(best + i);
        mask at = *(const loose_mask *)(index + i);
        for (int64_t row = 0; row < rows; row++) {
            const vector value = broadcast(sign) * load_some(x + row * stride + i, count - i);
            const mask better = (value > top) | ((value != value) & (top == top));
            top = (vector)((better & (mask)value) | (~better & (mask)top));
            at = (better & (int32_t)row) | (~better & at);
        }
        store(best + i, top);
        *(loose_mask *)(index + i) = at;
    }
}

/* Sums of `wides` vectors of columns stay in registers: in memory, a row would wait for the store of the one before. */
INLINE void sum_columns(double *sums, const float *x, float *y, int64_t stride, int64_t rows, int wides) {
    doubles so_far[4];
    for (int w = 0; w < wides; w++) so_far[w] = *(const loose_doubles *)(sums + w * DOUBLES);
    for (; rows > 0; rows--, x += stride, y += stride)
        for (int w = 0; w < wides; w++) {
            so_far[w] += widened(x + w * DOUBLES);
            store_narrowed(y + w * DOUBLES, so_far[w]);
        }
    for (int w = 0; w < wides; w++) *(loose_doubles *)(sums + w * DOUBLES) = so_far[w];
}

void SIMD(tort_simd_columns_sum)(double *sums, const float *x, float *y, int64_t stride, int64_t rows, int64_t count) {
    int64_t i = 0;
    for (; i + 4 * DOUBLES <= count; i += 4 * DOUBLES) sum_columns(sums + i, x + i, y + i, stride, rows, 4);
    for (; i + DOUBLES <= count; i += DOUBLES) sum_columns(sums + i, x + i, y + i, stride, rows, 1);
    for (; i < count; i++)
        for (int64_t row = 0; row < rows; row++) y[row * stride + i] = (float)(sums[i] += (double)x[row * stride + i]);
}

INLINE bool any(mask m) {
    int32_t all = 0;
    for (int i = 0; i < WIDTH; i++) all |= m[i];
    return all != 0;
}

INLINE vector larger_or_any(vector a, vector b) {
    return clamp(a, b, broadcast(INFINITY));
}

/* Finds the largest of sign * x, for a row of a vector and more; false: there is a NaN. */
INLINE bool extreme_of(const float *x, int64_t count, float sign, float *extreme) {
    enum { VECTORS = 4 };
    vector top[VECTORS];
    mask nan = {0};
    float lanes[WIDTH];
    int64_t i = 0;
    for (int v = 0; v < VECTORS; v++) top[v] = broadcast(-INFINITY);
    for (; i + VECTORS * WIDTH <= count; i += VECTORS * WIDTH)
        for (int v = 0; v < VECTORS; v++) {
            const vector value = broadcast(sign) * load(x + i + v * WIDTH);
            nan |= value != value;
            top[v] = larger_or_any(value, top[v]);
        }
    for (; i < count; i += WIDTH) { /* the last one overlaps those before */
        const vector value = broadcast(sign) * load(x + (i + WIDTH <= count ? i : count - WIDTH));
        nan |= value != value;
        top[1] = larger_or_any(value, top[1]);
    }
    store(lanes, larger_or_any(larger_or_any(top[0], top[1]), larger_or_any(top[2], top[3])));
    *extreme = lanes[0];
    for (int lane = 1; lane < WIDTH; lane++) *extreme = lanes[lane] > *extreme ? lanes[lane] : *extreme;
    return !any(nan);
}

/* The first NaN, or else the first element that equals the extreme. */
int64_t SIMD(tort_simd_row_arg)(const float *x, int64_t count, float sign) {
    enum { BLOCK = 64 * WIDTH };
    float extreme = sign * x[0];
    int64_t i = 0;
    if (count < WIDTH) {
        for (int64_t k = 1; k < count; k++)
            if (x[i] == x[i] && (x[k] != x[k] || sign * x[k] > sign * x[i])) i = k;
        return i;
    }
    if (!extreme_of(x, count, sign, &extreme)) {
        while (x[i] == x[i]) i++;
        return i;
    }
    for (; i + BLOCK <= count; i += BLOCK) {
        mask found = {0};
        for (int v = 0; v < BLOCK / WIDTH; v++)
            found |= broadcast(sign) * load(x + i + v * WIDTH) == broadcast(extreme);
        if (any(found)) break;
    }
    while (sign * x[i] != extreme) i++;
    return i;
}
