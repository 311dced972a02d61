/* functions.h - functions of single numbers, for maps, pairs, reductions and cells. A compiled model holds those that
 * it calls: the build makes a string of each (functions.inc), so a function begins with `static TYPE NAME(` and ends
 * with the first line that begins with a brace; what it calls stands before it.
 *
 * Errors are against the exact value in units of the last place (ulp). NaN stays NaN, infinities give the limit. A
 * product has a statement of its own, so that a compiler that contracts within expressions makes no FMA of it. */
#ifndef TORT_FIRMWARE_CODE_FUNCTIONS_H
#define TORT_FIRMWARE_CODE_FUNCTIONS_H

#include "kernels/firmware/code/exp.h"
#include "kernels/firmware/code/exp_below.h"
#include "kernels/firmware/code/log.h"
#include "kernels/firmware/code/row_softmax.h"

#include <float.h>

/* e^x - 1, within 5 ulp: without cancellation near 0. */
static float tinyort_expm1(float x) {
    static const float c[] = {0.001394121425f, 0.008363235074f, 0.04166637413f, 0.166665766464f, 0.500000002709f};
    if (!(fabsf(x) < 0.3466f)) {
        return tinyort_exp(x) - 1.0f;
    }
    float result = tinyort_polynomial(x, c, 5) * x;
    result *= x;
    return result + x;
}

/* Within 2 ulp: a polynomial near 0, elsewhere 1 - 2 / (1 + e^2|x|). */
static inline float tinyort_tanh(float x) {
    if (fabsf(x) < 0.625f) {
        const float square = x * x;
        float result = -0.005717036561f * square;
        result = (result + 0.020650579003f) * square;
        result = (result - 0.053743495261f) * square;
        result = (result + 0.133314912485f) * square;
        result = (result - 0.333332839236f) * square;
        result *= x;
        return x + result;
    }
    const float e = tinyort_exp_below(-2.0f * fabsf(x)), twice = 2.0f * e;
    return copysignf(1.0f - (twice / (1.0f + e)), x);
}

/* 1 / (1 + e^-x), within 3 ulp: e^-|x| cannot overflow. 0 stands for subnormal results. */
static inline float tinyort_sigmoid(float x) {
    const float e = tinyort_exp_below(-fabsf(x));
    return ((x < 0.0f) ? e : 1.0f) / (1.0f + e);
}

/* Within 2 ulp: a polynomial below 0.9, above it 1 - e^-q with a polynomial q. */
static float tinyort_erf(float x) {
    static const float small[] = {8.538839154237e-05f, -8.181927283233e-04f, 5.204436025964e-03f, -2.686075281138e-02f,
                                  1.128371972308e-01f, -3.761263531039e-01f, 0.128379166802f};
    static const float large[] = {2.090955558809e-05f, -4.323030050855e-04f, 4.160526992430e-03f, -2.509149677714e-02f,
                                  1.082366193264e-01f, 6.333866465686e-01f,  1.129495159055f,     -1.705520293085e-04f};
    const float size = (fabsf(x) > 4.0f) ? 4.0f : fabsf(x);
    if (size < 0.9f) {
        const float square = x * x, result = tinyort_polynomial(square, small, 7) * x;
        return x + result;
    }
    return copysignf(1.0f - tinyort_exp_below(-tinyort_polynomial(size, large, 8)), x);
}

/* log(1 + e^x), within 3 ulp: max(x, 0) + log(u) with u = 1 + e^-|x|, whose rounding error is added back. 0
 * stands for subnormal results. */
static float tinyort_softplus(float x) {
    const float e = tinyort_exp_below(-fabsf(x)), u = 1.0f + e;
    return ((x > 0.0f) ? x : 0.0f) + (tinyort_log(u) + ((e - (u - 1.0f)) / u));
}

static float tinyort_softsign(float x) {
    return ((x == INFINITY) || (x == -INFINITY)) ? copysignf(1.0f, x) : (x / (1.0f + fabsf(x)));
}

/* x tanh(softplus(x)) = x (n^2 + 2n) / (n^2 + 2n + 2) with n = e^x; from 20 on it is x. */
static float tinyort_mish(float x) {
    const float n = tinyort_exp((x < 20.0f) ? x : 20.0f), above = n * (n + 2.0f);
    return x * (above / (above + 2.0f));
}

static float tinyort_gelu(float x) {
    const float scaled = x * 0.70710678f, half = 0.5f * x;
    return half * (1.0f + tinyort_erf(scaled));
}

static float tinyort_gelu_tanh(float x) {
    const float square = x * x, cube = square * x, added = 0.044715f * cube, scaled = 0.79788456f * (x + added);
    const float half = 0.5f * x;
    return half * (1.0f + tinyort_tanh(scaled));
}

static float tinyort_hard_swish(float x) {
    const float scaled = x * (1.0f / 6.0f);
    const float gate = scaled + 0.5f;
    return x * ((gate < 0.0f) ? 0.0f : (gate > 1.0f) ? 1.0f : gate);
}

static float tinyort_relu(float x) {
    return (x < 0.0f) ? 0.0f : x;
}

static float tinyort_neg(float x) {
    return -x;
}

static float tinyort_abs(float x) {
    return fabsf(x);
}

static float tinyort_reciprocal(float x) {
    return 1.0f / x;
}

static float tinyort_sqrt(float x) {
    return sqrtf(x);
}

static float tinyort_floor(float x) {
    return floorf(x);
}

static float tinyort_ceil(float x) {
    return ceilf(x);
}

/* To the nearest whole number, to the even one of two: from 2^23 on all numbers are whole. */
static float tinyort_round(float x) {
    if (!(fabsf(x) < 8388608.0f)) {
        return x;
    }
    const float down = floorf(x), rest = x - down;
    const int32_t up = (rest > 0.5f) || ((rest == 0.5f) && (((int32_t)down % 2) != 0));
    return copysignf(up ? (down + 1.0f) : down, x);
}

static float tinyort_sign(float x) {
    return (x > 0.0f) ? 1.0f : (x < 0.0f) ? -1.0f : x;
}

/* The sine of x + quarters * pi / 2, within 1 ulp for |x| up to 100000; further away by the error of the remainder, and
 * NaN from 2^30 on. */
static float tinyort_wave(float x, int32_t quarters) {
    if (!(fabsf(x) < 1073741824.0f)) {
        return NAN;
    }
    const double wide = (double)x, turns = wide * 0.63661977236758138;
    const double n = floor(turns + 0.5);
    const double high = n * 1.5707963267341256, low = n * 6.0771005065061922e-11;
    const double r = (wide - high) - low, z = r * r;
    const int32_t quadrant = (int32_t)((int64_t)n & 3) + quarters;
    static const double sine[] = {1.6059043836821613e-10, -2.505210838544172e-8, 2.7557319223985893e-6,
                                  -1.9841269841269841e-4, 8.3333333333333332e-3, -0.16666666666666666,
                                  1.0000000000000000};
    static const double cosine[] = {2.08767569878681e-9,    -2.7557319223985888e-7, 2.4801587301587302e-5,
                                    -1.3888888888888889e-3, 4.1666666666666664e-2,  -0.50000000000000000,
                                    1.0000000000000000};
    const double *c = (quadrant & 1) ? cosine : sine;
    double sum = c[0];
    for (int32_t i = 1; i < 7; i++) {
        const double product = sum * z;
        sum = product + c[i];
    }
    if (!(quadrant & 1)) {
        sum *= r;
    }
    return (float)((quadrant & 2) ? -sum : sum);
}

static float tinyort_sin(float x) {
    return tinyort_wave(x, 0);
}

static float tinyort_cos(float x) {
    return tinyort_wave(x, 1);
}

static float tinyort_tan(float x) {
    return tinyort_wave(x, 0) / tinyort_wave(x, 1);
}

/* The logarithm, wide: x = 2^n m, log m = 2 (s + s^3 / 3 + ...) with s = (m - 1) / (m + 1). x is not subnormal. */
static double tinyort_wide_log(double x) {
    if (!(x > 0.0)) {
        return (x == 0.0) ? -INFINITY : NAN;
    }
    if (x == INFINITY) {
        return x;
    }
    uint64_t bits;
    (void)memcpy(&bits, &x, sizeof bits);
    bits += 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
    const double n = (double)((int32_t)(bits >> 52) - 1023);
    bits = (bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu;
    double m;
    (void)memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = 1.0 / 17.0;
    for (int32_t k = 15; k > 0; k -= 2) {
        const double product = sum * z;
        sum = product + (1.0 / k);
    }
    sum *= s;
    const double whole = n * 0.69314718055994531;
    return whole + (2.0 * sum);
}

/* e^x, wide; INFINITY and 0 where a float is. */
static double tinyort_wide_exp(double x) {
    if (!(x < 104.0)) {
        return (x != x) ? x : INFINITY;
    }
    if (x < -104.0) {
        return 0.0;
    }
    const double turns = x * 1.4426950408889634;
    const double n = floor(turns + 0.5), whole = n * 0.69314718055994531;
    const double r = x - whole;
    double sum = 1.0;
    for (int32_t k = 11; k > 0; k--) {
        const double product = sum * r / k;
        sum = product + 1.0;
    }
    for (int32_t i = (int32_t)n; i > 0; i--) {
        sum *= 2.0;
    }
    for (int32_t i = (int32_t)n; i < 0; i++) {
        sum *= 0.5;
    }
    return sum;
}

/* The arc tangent of x >= 0, wide: in (0, pi / 8) s - s^3 / 3 + ..., to which the angles of 1 / x and of
 * (x - 1) / (x + 1) lead. */
static double tinyort_wide_atan(double x) {
    const double y = (x > 1.0) ? (1.0 / x) : x, s = (y > 0.41421356237309503) ? ((y - 1.0) / (y + 1.0)) : y, z = s * s;
    double sum = 1.0 / 25.0;
    for (int32_t k = 23; k > 0; k -= 2) {
        const double product = sum * z;
        sum = (1.0 / k) - product;
    }
    sum *= s;
    const double angle = (s != y) ? (sum + 0.78539816339744831) : sum;
    return (x > 1.0) ? (1.5707963267948966 - angle) : angle;
}

/* The next eight are within 1 ulp. Near 0 the wide difference has too few bits, and x is the result. */
static float tinyort_sinh(float x) {
    const double e = tinyort_wide_exp((double)x);
    return (fabsf(x) < 2e-4f) ? x : (float)(0.5 * (e - (1.0 / e)));
}

static float tinyort_cosh(float x) {
    const double e = tinyort_wide_exp((double)x);
    return (float)(0.5 * (e + (1.0 / e)));
}

static float tinyort_asinh(float x) {
    const double size = fabs((double)x), square = size * size;
    return (fabsf(x) < 2e-4f) ? x : copysignf((float)tinyort_wide_log(size + sqrt(square + 1.0)), x);
}

static float tinyort_acosh(float x) {
    const double wide = (double)x, square = wide * wide;
    return (x < 1.0f) ? NAN : (float)tinyort_wide_log(wide + sqrt(square - 1.0));
}

static float tinyort_atanh(float x) {
    const double wide = (double)x;
    return (fabsf(x) < 2e-4f) ? x : (float)(0.5 * tinyort_wide_log((1.0 + wide) / (1.0 - wide)));
}

static float tinyort_atan(float x) {
    return copysignf((float)tinyort_wide_atan(fabs((double)x)), x);
}

static float tinyort_asin(float x) {
    const double size = fabs((double)x), square = size * size;
    return copysignf((float)tinyort_wide_atan(size / sqrt(1.0 - square)), x);
}

static float tinyort_acos(float x) {
    const double size = fabs((double)x), square = size * size;
    if (!(size <= 1.0)) {
        return NAN;
    }
    const double angle = tinyort_wide_atan(size / sqrt(1.0 - square));
    return (float)(1.5707963267948966 - ((x < 0.0f) ? -angle : angle));
}

/* HardSigmoid of a recurrent cell. */
static float tinyort_hard_sigmoid_gate(float x) {
    const float scaled = 0.2f * x;
    const float gate = scaled + 0.5f;
    return (gate < 0.0f) ? 0.0f : (gate > 1.0f) ? 1.0f : gate;
}

/* ---- with two numbers -------------------------------------------------------------------------------------------- */

static float tinyort_hard_sigmoid(float x, float alpha, float beta) {
    const float scaled = alpha * x;
    const float gate = scaled + beta;
    return (gate < 0.0f) ? 0.0f : (gate > 1.0f) ? 1.0f : gate;
}

static float tinyort_leaky_relu(float x, float alpha, float beta) {
    (void)beta;
    return (x < 0.0f) ? (alpha * x) : x;
}

static float tinyort_elu(float x, float alpha, float beta) {
    (void)beta;
    return (x < 0.0f) ? (alpha * tinyort_expm1(x)) : x;
}

static float tinyort_selu(float x, float alpha, float beta) {
    const float value = (x <= 0.0f) ? (alpha * tinyort_expm1(x)) : x;
    return beta * value;
}

static float tinyort_celu(float x, float alpha, float beta) {
    (void)beta;
    return (x < 0.0f) ? (alpha * tinyort_expm1(x / alpha)) : x;
}

static float tinyort_thresholded_relu(float x, float alpha, float beta) {
    (void)beta;
    return (x > alpha) ? x : 0.0f;
}

static float tinyort_swish(float x, float alpha, float beta) {
    const float scaled = alpha * x;
    (void)beta;
    return x * tinyort_sigmoid(scaled);
}

static float tinyort_shrink(float x, float alpha, float beta) {
    return (x < -alpha) ? (x + beta) : (x > alpha) ? (x - beta) : 0.0f;
}

static float tinyort_scale(float x, float alpha, float beta) {
    return (x / alpha) + beta;
}

/* ---- of two floats ----------------------------------------------------------------------------------------------- */

static float tinyort_add(float a, float b) {
    return a + b;
}

static float tinyort_multiply(float a, float b) {
    return a * b;
}

static float tinyort_max(float a, float b) {
    return ((a > b) || (a != a)) ? a : b;
}

static float tinyort_min(float a, float b) {
    return ((a < b) || (a != a)) ? a : b;
}

static float tinyort_add_abs(float sum, float x) {
    return sum + fabsf(x);
}

static float tinyort_add_square(float sum, float x) {
    const float square = x * x;
    return sum + square;
}

/* log(e^a + e^b) */
static float tinyort_add_exp(float a, float b) {
    const float most = ((a > b) || (a != a)) ? a : b;
    return ((a == b) && (fabsf(a) == INFINITY)) ? a : (most + tinyort_log(1.0f + tinyort_exp_below(-fabsf(a - b))));
}

static float tinyort_prelu(float a, float b) {
    return (a < 0.0f) ? (a * b) : a;
}

/* The remainder with the sign of a. */
static float tinyort_fmod(float a, float b) {
    return fmodf(a, b);
}

/* The remainder with the sign of b. */
static float tinyort_mod(float a, float b) {
    const float rest = fmodf(a, b);
    if (rest == 0.0f) {
        return copysignf(0.0f, b);
    }
    return ((rest < 0.0f) != (b < 0.0f)) ? (rest + b) : rest;
}

/* One operand, a; the infinities below likewise. */
static float tinyort_is_nan(float a, float b) {
    (void)b;
    return (a != a) ? 1.0f : 0.0f;
}

static float tinyort_is_positive_infinity(float a, float b) {
    (void)b;
    return (a > 3.40282347e38f) ? 1.0f : 0.0f;
}

static float tinyort_is_negative_infinity(float a, float b) {
    (void)b;
    return (a < -3.40282347e38f) ? 1.0f : 0.0f;
}

static float tinyort_is_infinity(float a, float b) {
    (void)b;
    return ((a > 3.40282347e38f) || (a < -3.40282347e38f)) ? 1.0f : 0.0f;
}

static float tinyort_equal(float a, float b) {
    return (a == b) ? 1.0f : 0.0f;
}

static float tinyort_less(float a, float b) {
    return (a < b) ? 1.0f : 0.0f;
}

static float tinyort_less_or_equal(float a, float b) {
    return (a <= b) ? 1.0f : 0.0f;
}

static float tinyort_greater(float a, float b) {
    return (a > b) ? 1.0f : 0.0f;
}

static float tinyort_greater_or_equal(float a, float b) {
    return (a >= b) ? 1.0f : 0.0f;
}

/* Powers of one operation or two; the root is that of pow, which has no -0 and an infinity of -infinity. */
static float tinyort_square(float x) {
    return x * x;
}

static float tinyort_cube(float x) {
    return x * x * x;
}

static float tinyort_root(float x) {
    return (x == -INFINITY) ? INFINITY : sqrtf(x + 0.0f);
}

/* a^b as IEEE 754 has it, within 1 ulp; within 1.5 for 3. A constant b of 2, 3, 0.5 or -1 has a function of its own, of
 * the same bits. */
static float tinyort_pow(float a, float b) {
    if ((b == 0.0f) || (a == 1.0f)) {
        return 1.0f;
    }
    if ((a != a) || (b != b)) {
        return a + b;
    }
    const float size = fabsf(a), half = b * 0.5f;
    const int32_t whole = floorf(b) == b, odd = whole && (fabsf(b) < 16777216.0f) && (floorf(half) != half);
    float result;
    if ((b == INFINITY) || (b == -INFINITY)) {
        result = (size == 1.0f) ? 1.0f : ((size > 1.0f) == (b > 0.0f)) ? INFINITY : 0.0f;
    } else if ((size == 0.0f) || (size == INFINITY)) {
        result = ((size == 0.0f) == (b > 0.0f)) ? 0.0f : INFINITY;
    } else if ((a < 0.0f) && !whole) {
        return NAN;
    } else if ((b == 2.0f) || (b == 3.0f)) {
        result = (b == 2.0f) ? (size * size) : (size * size * size);
    } else if ((b == 0.5f) || (b == -1.0f)) {
        result = (b == 0.5f) ? sqrtf(size) : (1.0f / size);
    } else {
        result = (float)tinyort_wide_exp(tinyort_wide_log((double)size) * (double)b);
    }
    return odd ? copysignf(result, a) : result;
}

/* Transforms of a row of scores, of ai.onnx.ml. */
static void tinyort_post_logistic(float *scores, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        const float value = 1.0f / (1.0f + tinyort_exp_below(-fabsf(scores[i])));
        scores[i] = scores[i] < 0.0f ? 1.0f - value : value;
    }
}

static void tinyort_post_softmax(float *scores, int32_t count) {
    tinyort_row_softmax(scores, count, 0);
}

static void tinyort_post_softmax_zero(float *scores, int32_t count) {
    tinyort_row_softmax(scores, count, 1);
}

#endif
