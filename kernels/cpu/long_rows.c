/* long_rows.c - the loops of simd/normalize.c over rows of any length: a long one in parts, between which a run may
 * end. Sums are over sums of parts, so a long row's last bits are not those of the whole loop. */
#include "kernels/cpu/pieces.h"

#include <math.h>

enum { PART = 1 << 20 }; /* elements; a fraction of a millisecond */

/* For parts of a row of n elements; false: the row or the run is over. */
static bool next_part(const tort_call *call, int64_t n, int64_t *at, int64_t *count) {
    *at += *count;
    *count = tort_min(PART, n - *at);
    return *count > 0 && tort_row_goes_on(call->watch, *at);
}

float tort_row_sum(const tort_call *call, const tort_simd *simd, const float *x, int64_t n, float shift, bool squared) {
    if (n <= PART) return simd->row_sum(x, n, shift, squared);
    double sum = 0;
    for (int64_t at = 0, count = 0; next_part(call, n, &at, &count);)
        sum += (double)simd->row_sum(x + at, count, shift, squared);
    return (float)sum;
}

void tort_shift_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n, float mean,
                    float factor, float bias) {
    for (int64_t at = 0, count = 0; next_part(call, n, &at, &count);)
        simd->shift_row(x + at, y + at, count, mean, factor, bias);
}

static float max_of(const tort_call *call, const tort_simd *simd, const float *x, int64_t n) {
    float max = -INFINITY;
    for (int64_t at = 0, count = 0; next_part(call, n, &at, &count);) {
        const float part = simd->row_max(x + at, count);
        if (part > max) max = part;
    }
    return max;
}

/* y = e^(x - max); returns the sum. */
static float exponentials(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n,
                          float max) {
    double sum = 0;
    for (int64_t at = 0, count = 0; next_part(call, n, &at, &count);)
        sum += (double)simd->exp_row(x + at, y + at, count, max);
    return (float)sum;
}

void tort_softmax_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n) {
    if (n <= PART) {
        simd->softmax_row(x, y, n);
        return;
    }
    const float sum = exponentials(call, simd, x, y, n, max_of(call, simd, x, n));
    tort_shift_row(call, simd, y, y, n, 0, 1 / sum, 0);
}

void tort_log_softmax_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n) {
    if (n <= PART) {
        simd->log_softmax_row(x, y, n);
        return;
    }
    const float max = max_of(call, simd, x, n), log_sum = logf(exponentials(call, simd, x, y, n, max));
    tort_shift_row(call, simd, x, y, n, max, 1, -log_sum);
}

void tort_normalize_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n,
                        float epsilon, bool centered, const float *scale, const float *bias, bool one_scale) {
    if (n <= PART) {
        simd->normalize_row(x, y, n, epsilon, centered, scale, bias, one_scale);
        return;
    }
    const float size = (float)n, mean = centered ? tort_row_sum(call, simd, x, n, 0, false) / size : 0;
    const float factor = 1 / sqrtf(tort_row_sum(call, simd, x, n, mean, true) / size + epsilon);
    if (one_scale) {
        tort_shift_row(call, simd, x, y, n, mean, factor * scale[0], bias ? bias[0] : 0);
        return;
    }
    for (int64_t i = 0; i < n && tort_row_goes_on(call->watch, i); i++)
        y[i] = (x[i] - mean) * factor * scale[i] + (bias ? bias[i] : 0);
}
