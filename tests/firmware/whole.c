/* whole.c - the headers that compute without floats against those with floats: the same results for random sums and
 * factors, half of them made to lie near the middle between two bytes; for all pairs of bytes at random scales and
 * those that meet in the middle; for averages and softmaxes. Prints how many results differ, and ends with 1 if any
 * does. */
#define tinyort_requantize requantize_float
#define tinyort_combine combine_float
#define tinyort_pair_bytes pair_float
#define tinyort_softmax_bytes softmax_float
#define tinyort_average_factor factor_float
#include "kernels/firmware/code/average_factor.h"
#include "kernels/firmware/code/pair_bytes.h"
#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/softmax_bytes.h"
#undef tinyort_requantize
#undef tinyort_combine
#undef tinyort_pair_bytes
#undef tinyort_softmax_bytes
#undef tinyort_average_factor
#include "kernels/firmware/code/average_factor_whole.h"
#include "kernels/firmware/code/pair_bytes_whole.h"
#include "kernels/firmware/code/requantize_whole.h"
#include "kernels/firmware/code/softmax_bytes_whole.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUMS = 20000000, SCALES = 200, AVERAGES = 2000000, ROWS = 20000 };

static uint64_t state = 88172645463325252u;

/* Xorshift: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 2003. */
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double uniform(double low, double high) {
    return low + (high - low) * (double)(next() >> 11) / 9007199254740992.0;
}

/* A factor that brings the sum to the middle between two bytes, or any. */
static float factor_for(int32_t sum, bool middle) {
    if (!middle || !sum) return (float)ldexp(uniform(0.5, 1), (int)(next() % 28) - 26);
    const double want = (double)(int32_t)(next() % 256) - 128 + 0.5;
    float factor = (float)fabs(want / sum);
    for (uint64_t steps = next() % 3; steps > 0; steps--) factor = nextafterf(factor, next() % 2 ? 0.0f : 1e9f);
    return factor;
}

static int64_t count_sums(void) {
    int64_t differ = 0;
    for (int32_t i = 0; i < SUMS; i++) {
        const int32_t sum = (int32_t)(next() >> 32) >> next() % 30;
        const float factor = factor_for(sum, i % 2);
        tinyort_bytes_shape s = {.zero = (int32_t)(next() % 256) - 128, .flip = next() % 2 ? 0x80 : 0};
        s.wide = labs(sum) >= 1 << 24 || fabs((double)sum * (double)factor) >= 0x1p21;
        differ += requantize_float(&s, sum, factor) != tinyort_requantize(&s, sum, factor);
    }
    return differ;
}

/* All pairs of bytes. */
static int64_t count_pairs(int32_t multiplies, int32_t flip, float f0, float f1, float f2) {
    const double reach =
        multiplies ? 383.0 * 383 * fabs((double)f2) : 255 * (fabs((double)f0) + fabs((double)f1)) + fabs((double)f2);
    static uint8_t a[65536], b[65536], y[65536], z[65536];
    const tinyort_pair_bytes_shape s = {.multiplies = multiplies,
                                        .flip = flip,
                                        .zero = multiplies ? 3 : 0,
                                        .far = reach >= 0x1p21,
                                        .d0 = 1,
                                        .d1 = 1,
                                        .d2 = 1,
                                        .d3 = 65536,
                                        .a3 = 1,
                                        .b3 = 1};
    int64_t differ = 0;
    for (int32_t i = 0; i < 65536; i++) {
        a[i] = (uint8_t)(i / 256);
        b[i] = (uint8_t)i;
    }
    pair_float(&s, a, b, y, f0, f1, f2);
    tinyort_pair_bytes(&s, a, b, z, f0, f1, f2);
    for (int32_t i = 0; i < 65536; i++) differ += y[i] != z[i];
    return differ;
}

static int64_t count_all_pairs(void) {
    static const float halves[] = {0.5f, 1.0f, 0.25f, 1.5f, 0.75f, 2.0f, 0.125f, 4.0f};
    int64_t differ = 0;
    for (int32_t i = 0; i < SCALES; i++) {
        const float a = i % 4 ? (float)ldexp(uniform(0.5, 1), (int)(next() % 8) - 5) : halves[next() % 8];
        const float size = i % 4 ? (float)ldexp(uniform(0.5, 1), (int)(next() % 8) - 5) : halves[next() % 8];
        const float b = i % 5 ? size : -size; /* of a difference */
        const float zeros[2] = {(float)(next() % 256), (float)(next() % 256)};
        const int32_t flip = i % 2 ? 0x80 : 0;
        const float fixed = (float)(next() % 256) - (a * zeros[0] + b * zeros[1]);
        differ += count_pairs(0, flip, a, b, fixed);
        differ += count_pairs(1, flip, zeros[0] - (flip ? 0 : 128), zeros[1] - (flip ? 0 : 128), a / 32);
    }
    differ += count_pairs(0, 0, 3000.0f, 0.001f, 0.0f) + count_pairs(0, 0, 1e-6f, 1.0f, -7.0f);
    return differ;
}

static int64_t count_averages(void) {
    int64_t differ = 0;
    for (int32_t i = 0; i < AVERAGES; i++) {
        const float x = (float)ldexp(uniform(0.5, 1), (int)(next() % 20) - 16), y = (float)ldexp(uniform(0.5, 1), -6);
        const int32_t count = (int32_t)(next() % 4096);
        const float own = factor_float(x, y, count), other = tinyort_average_factor(x, y, count);
        differ += memcmp(&own, &other, sizeof own) != 0;
    }
    return differ;
}

static int64_t count_softmaxes(void) {
    uint32_t powers[256];
    int64_t differ = 0;
    for (int32_t i = 0; i < ROWS; i++) {
        const double step = uniform(0.005, 0.3);
        const float scale = i % 3 == 0 ? 1.0f / 256 : i % 3 == 1 ? 1.0f / 255 : (float)uniform(0.001, 0.01);
        const tinyort_softmax_bytes_shape s = {
            .outer = 1, .length = (int32_t)(1 + next() % 40), .inner = 1, .flip = 0, .zero = 0, .low = 0, .high = 255};
        uint8_t x[40], y[40], z[40];
        for (int32_t k = 0; k < 256; k++) powers[k] = (uint32_t)rint(4294967295.0 * exp(step * (k - 255)));
        for (int32_t k = 0; k < s.length; k++) x[k] = (uint8_t)next();
        softmax_float(&s, x, powers, y, scale);
        tinyort_softmax_bytes(&s, x, powers, z, scale);
        for (int32_t k = 0; k < s.length; k++) differ += y[k] != z[k];
    }
    return differ;
}

int main(void) {
    const int64_t sums = count_sums(), pairs = count_all_pairs(), averages = count_averages(), rows = count_softmaxes();
    printf("whole numbers differ from floats in %lld sums, %lld pairs, %lld averages, %lld softmaxes\n",
           (long long)sums, (long long)pairs, (long long)averages, (long long)rows);
    return sums || pairs || averages || rows;
}
