/* normalize.c - Softmax and LayerNormalization of rows. Read next: ../rows.c. */
#include "kernels/cpu/simd/exp.h"

#include "ops/vector_math.h"

#include <string.h>

#define CHAINS 4 /* independent sums, so that additions overlap */

typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Adds up all lanes, by quads: lane by lane, each addition would wait for the one before. */
INLINE float lanes_sum(const vector acc[CHAINS]) {
    float lanes[WIDTH];
    store(lanes, (acc[0] + acc[1]) + (acc[2] + acc[3]));
    quad sum = *(const quad *)lanes;
    for (int i = 4; i < WIDTH; i += 4) sum += *(const quad *)(lanes + i);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Returns the sum of x - shift, or of its square. */
static inline float row_sum(const float *x, int64_t count, float shift, bool squared) {
    vector acc[CHAINS] = {{0}};
    int64_t i = 0;
    for (; i + CHAINS * WIDTH <= count; i += CHAINS * WIDTH)
        for (int c = 0; c < CHAINS; c++) {
            const vector value = load(x + i + c * WIDTH) - broadcast(shift);
            acc[c] += squared ? value * value : value;
        }
    float rest = 0;
    for (; i < count; i++) rest += squared ? (x[i] - shift) * (x[i] - shift) : x[i] - shift;
    return lanes_sum(acc) + rest;
}

/* Returns the larger of each lane. If one is NaN the result is either: the sum of the row becomes NaN anyway. */
INLINE vector of_both(vector a, vector b) {
    return clamp(b, a, broadcast(INFINITY));
}

INLINE float larger_float(float a, float b) {
    return a > b ? a : b;
}

float SIMD(tort_simd_row_max)(const float *x, int64_t count) {
    vector most[CHAINS];
    float lanes[WIDTH], best = x[0];
    int64_t i = 0;
    if (count >= WIDTH) {
        for (int c = 0; c < CHAINS; c++) most[c] = load(x);
        for (; i + CHAINS * WIDTH <= count; i += CHAINS * WIDTH)
            for (int c = 0; c < CHAINS; c++) most[c] = of_both(most[c], load(x + i + c * WIDTH));
        for (; i + WIDTH <= count; i += WIDTH) most[0] = of_both(most[0], load(x + i));
        most[1] = of_both(most[1], load(x + count - WIDTH));
        store(lanes, of_both(of_both(most[0], most[1]), of_both(most[2], most[3])));
        for (int lane = 4; lane < WIDTH; lane++) lanes[lane % 4] = larger_float(lanes[lane % 4], lanes[lane]);
        return larger_float(larger_float(lanes[0], lanes[1]), larger_float(lanes[2], lanes[3]));
    }
    for (; i < count; i++) best = larger_float(best, x[i]);
    return best;
}

float SIMD(tort_simd_exp_row)(const float *x, float *y, int64_t count, float max) {
    vector acc[CHAINS] = {{0}};
    int64_t i = 0;
    for (; i + CHAINS * WIDTH <= count; i += CHAINS * WIDTH)
        for (int c = 0; c < CHAINS; c++) {
            const vector value = exp_below_one(load(x + i + c * WIDTH) - max);
            store(y + i + c * WIDTH, value);
            acc[c] += value;
        }
    for (; i + WIDTH <= count; i += WIDTH) {
        const vector value = exp_below_one(load(x + i) - max);
        store(y + i, value);
        acc[0] += value;
    }
    if (i < count) {
        float rest[WIDTH];
        for (int lane = 0; lane < WIDTH; lane++) rest[lane] = i + lane < count ? x[i + lane] : -INFINITY;
        store(rest, exp_below_one(load(rest) - max));
        acc[1] += load(rest);
        memcpy(y + i, rest, (size_t)(count - i) * sizeof(float));
    }
    return lanes_sum(acc);
}

void SIMD(tort_simd_softmax_row)(const float *x, float *y, int64_t count) {
    if (count == 0) return;
    const float scale = 1 / SIMD(tort_simd_exp_row)(x, y, count, SIMD(tort_simd_row_max)(x, count));
    /* Pragmas here and below assert that y is x or does not overlap it. */
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] *= scale;
}

void SIMD(tort_simd_log_softmax_row)(const float *restrict x, float *restrict y, int64_t count) {
    if (count == 0) return;
    const float max = SIMD(tort_simd_row_max)(x, count);
    for (int64_t i = 0; i < count; i++) y[i] = tort_expf(x[i] - max);
    const float log_sum = logf(row_sum(y, count, 0, false));
    for (int64_t i = 0; i < count; i++) y[i] = x[i] - max - log_sum;
}

void SIMD(tort_simd_normalize_row)(const float *x, float *y, int64_t count, float epsilon, bool centered,
                                   const float *restrict scale, const float *restrict bias, bool one_scale) {
    const float mean = centered ? row_sum(x, count, 0, false) / (float)count : 0;
    const float factor = 1 / sqrtf(row_sum(x, count, mean, true) / (float)count + epsilon);
    if (one_scale) {
        const float product = factor * scale[0], sum = bias ? bias[0] : 0;
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean) * product + sum;
    } else if (bias) {
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
    } else {
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean) * factor * scale[i];
    }
}

float SIMD(tort_simd_row_sum)(const float *x, int64_t count, float shift, bool squared) {
    return row_sum(x, count, shift, squared);
}

void SIMD(tort_simd_shift_row)(const float *x, float *y, int64_t count, float mean, float factor, float bias) {
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean) * factor + bias;
}

void SIMD(tort_simd_shift_columns)(const float *x, float *y, int64_t count, const float *restrict mean,
                                   const float *restrict factor, const float *restrict bias) {
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = (x[i] - mean[i]) * factor[i] + bias[i];
}
