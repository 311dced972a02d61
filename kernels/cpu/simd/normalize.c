/* normalize.c - the normalisation of rows: Softmax, LayerNormalization. Read next: ../rows.c. */
#include "kernels/cpu/simd/vector.h"

#include "ops/vector_math.h"

#define CHAINS 4 /* vectors that are added to in turn, so that additions overlap */

static inline float lanes_sum(const vector acc[CHAINS]) {
    const vector all = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    float sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += all[i];
    return sum;
}

/* Sum of (x - shift)^power, power 1 or 2. */
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

/* NaN in either is the result; no branch, since which is larger cannot be foretold. */
static inline float larger_float(float a, float b) {
    return ((a >= b) | (a != a)) ? a : b;
}

static float row_max(const float *x, int64_t count) {
    vector most[CHAINS];
    float lanes[WIDTH], best = x[0];
    int64_t i = 0;
    if (count >= CHAINS * WIDTH) {
        for (int c = 0; c < CHAINS; c++) most[c] = load(x + c * WIDTH);
        for (i = CHAINS * WIDTH; i + CHAINS * WIDTH <= count; i += CHAINS * WIDTH)
            for (int c = 0; c < CHAINS; c++) most[c] = larger(most[c], load(x + i + c * WIDTH));
        store(lanes, larger(larger(most[0], most[1]), larger(most[2], most[3])));
        for (int half = WIDTH / 2; half; half /= 2)
            for (int lane = 0; lane < half; lane++) lanes[lane] = larger_float(lanes[lane], lanes[lane + half]);
        best = lanes[0];
    }
    for (; i < count; i++) best = larger_float(best, x[i]);
    return best;
}

/* Here as below a pragma says that y is x or lies elsewhere. */
void SIMD(tort_simd_softmax_row)(const float *x, float *y, int64_t count) {
    if (count == 0) return;
    const float max = row_max(x, count);
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = tort_expf(x[i] - max);
    const float scale = 1 / row_sum(y, count, 0, false);
    for (int64_t i = 0; i < count; i++) y[i] *= scale;
}

void SIMD(tort_simd_log_softmax_row)(const float *restrict x, float *restrict y, int64_t count) {
    if (count == 0) return;
    const float max = row_max(x, count);
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
