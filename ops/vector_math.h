/* vector_math.h - exp, log, tanh, erf, sin, cos, tan, atan and functions derived from them for float, without branches
 * or calls, so that compilers vectorize plain loops over them. For ops/ and kernels/; double goes through the C
 * library.
 *
 * The polynomials are fitted by weighted least squares, iterated towards the smallest maximum, and evaluated by
 * Horner's rule. Errors are against the exact value, in units of the last place (ulp), measured over all floats. NaN
 * stays NaN, infinities give the limit, subnormal results are right too. */
#ifndef TORT_OPS_VECTOR_MATH_H
#define TORT_OPS_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Forces inlining: a call in a loop would prevent vectorization. */
#define TORT_INLINE static inline __attribute__((always_inline))

TORT_INLINE float tort_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
TORT_INLINE uint32_t tort_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* e^x - 1 for |x| <= ln 2 / 2. */
TORT_INLINE float tort_exp_nearf(float x) {
    float p = 0.001394121425f;
    p = p * x + 0.008363235074f;
    p = p * x + 0.04166637413f;
    p = p * x + 0.166665766464f;
    p = p * x + 0.500000002709f;
    return (p * x) * x + x;
}

/* e^x, within 1.5 ulp: x = n ln 2 + r, |r| <= ln 2 / 2. */
TORT_INLINE float tort_expf(float x) {
    x = x > 89.0f ? 89.0f : x; /* overflows; comparisons this way round let NaN pass */
    x = x < -104.0f ? -104.0f : x;
    const float round = 0x1.8p23f; /* adding it leaves the nearest integer in the lowest bits */
    float shifted = x * 0x1.715476p0f + round, n = shifted - round;
    float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; /* the first product is exact */
    float p = tort_exp_nearf(r) + 1.0f;
    /* 2^n in two factors, so that neither leaves the normal range. */
    int32_t power = (int32_t)(tort_bits_of_float(shifted) - tort_bits_of_float(round)), half = power >> 1;
    float first = tort_float_of_bits((uint32_t)(half + 127) << 23);
    float second = tort_float_of_bits((uint32_t)(power - half + 127) << 23);
    return p * first * second;
}

/* e^x for x <= 0, within 1.5 ulp; subnormal results, below x = -87.336, are 0, so that 2^n is a single factor. */
TORT_INLINE float tort_exp_downf(float x) {
    const float round = 0x1.8p23f; /* as in tort_expf */
    float shifted = x * 0x1.715476p0f + round, n = shifted - round;
    float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float p = tort_exp_nearf(r) + 1.0f;
    float power = tort_float_of_bits((tort_bits_of_float(shifted) << 23) + 0x3f800000u);
    return x < -87.33654f ? 0.0f : p * power;
}

/* e^x - 1, within 5 ulp: without cancellation near 0. */
TORT_INLINE float tort_expm1f(float x) {
    float small = tort_exp_nearf(x);
    return fabsf(x) < 0.3466f ? small : tort_expf(x) - 1.0f;
}

/* Natural logarithm, within 2 ulp: x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). */
TORT_INLINE float tort_logf(float x) {
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x; /* subnormals */
    uint32_t bits = tort_bits_of_float(scaled) - 0x3f3504f3u;
    float n = (float)((int32_t)bits >> 23) - (x < 0x1p-126f ? 23.0f : 0.0f);
    float f = tort_float_of_bits((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0.078595458674f;
    p = p * f + 0.12881622396f;
    p = p * f - 0.131287676328f;
    p = p * f + 0.141811961135f;
    p = p * f - 0.166245531444f;
    p = p * f + 0.200022860841f;
    p = p * f - 0.25000810428f;
    p = p * f + 0.333333167275f;
    float square = f * f;
    float result = (n * 0x1.7f7d1cp-20f + (p * f - 0.5f) * square) + f + n * 0x1.62e4p-1f;
    result = x == INFINITY ? x : result;
    result = x == 0.0f ? -INFINITY : result;
    return x >= 0.0f ? result : NAN;
}

/* log(1 + x), within 3 ulp: the rounding error of 1 + x is added back. */
TORT_INLINE float tort_log1pf(float x) {
    float u = 1.0f + x;
    float correction = (x - (u - 1.0f)) / u;
    return tort_logf(u) + (u > 0.0f && u < INFINITY ? correction : 0.0f);
}

/* log(1 + e^x), within 3 ulp: max(x, 0) + log(1 + e^-|x|), which cannot overflow. */
TORT_INLINE float tort_softplusf(float x) {
    float e = tort_expf(-fabsf(x)), u = 1.0f + e;
    return (x > 0.0f ? x : 0.0f) + (tort_logf(u) + (e - (u - 1.0f)) / u);
}

/* Tanh, within 2 ulp. */
TORT_INLINE float tort_tanhf(float x) {
    float a = fabsf(x), z = x * x;
    float p = -0.005717036561f;
    p = p * z + 0.020650579003f;
    p = p * z - 0.053743495261f;
    p = p * z + 0.133314912485f;
    p = p * z - 0.333332839236f;
    float small = x + x * z * p;
    float e = tort_exp_downf(-2.0f * a), large = 1.0f - 2.0f * e / (1.0f + e);
    return a < 0.625f ? small : copysignf(large, x);
}

/* 1 / (1 + e^-x), within 3 ulp; 0 below -87.336. e^-|x| cannot overflow. */
TORT_INLINE float tort_sigmoidf(float x) {
    float e = tort_exp_downf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* x tanh(log(1 + e^x)) = x (n^2 + 2n) / (n^2 + 2n + 2) with n = e^x; from x = 20 on the factor is 1, and n^2 must not
 * overflow. */
TORT_INLINE float tort_mishf(float x) {
    float n = tort_expf(x < 20.0f ? x : 20.0f), above = n * (n + 2.0f);
    return x * (above / (above + 2.0f));
}

/* Erf, within 2 ulp: a polynomial below 0.9; above it 1 - e^-q, where the polynomial q is -log(erfc). */
TORT_INLINE float tort_erff(float x) {
    float a = fabsf(x), z = x * x;
    float p = 8.538839154237e-05f;
    p = p * z - 8.181927283233e-04f;
    p = p * z + 5.204436025964e-03f;
    p = p * z - 2.686075281138e-02f;
    p = p * z + 1.128371972308e-01f;
    p = p * z - 3.761263531039e-01f;
    p = p * z + 0.128379166802f;
    float small = x + x * p;
    a = a > 4.0f ? 4.0f : a;
    float q = 2.090955558809e-05f;
    q = q * a - 4.323030050855e-04f;
    q = q * a + 4.160526992430e-03f;
    q = q * a - 2.509149677714e-02f;
    q = q * a + 1.082366193264e-01f;
    q = q * a + 6.333866465686e-01f;
    q = q * a + 1.129495159055f;
    q = q * a - 1.705520293085e-04f;
    float large = 1.0f - tort_exp_downf(-q);
    return a < 0.9f ? small : copysignf(large, x);
}

/* Sine and cosine of r and the quarter turns that were taken off: x = turns * pi / 2 + r, |r| <= pi / 4. Taken off in
 * double: 33 bits of pi / 2, whose products with up to 2^20 turns are exact, and then the rest. */
typedef struct tort_turned {
    float sine, cosine;
    uint32_t turns; /* modulo 2^32 */
} tort_turned;
#define TORT_TURNS_LIMIT 1e6f /* of |x|: beyond it r has too few bits, and the C library is to be asked */

TORT_INLINE tort_turned tort_turnedf(float x) {
    const double round = 0x1.8p52; /* as in tort_expf */
    double wide = (double)x, shifted = wide * 0x1.45f306dc9c883p-1 + round, turns = shifted - round;
    float r = (float)((wide - turns * 0x1.921fb544p0) - turns * 0x1.0b4611a626331p-34), z = r * r;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    float p = -0.000195152172747f;
    p = p * z + 0.00833216028532f;
    p = p * z - 0.166666546022f;
    float q = 2.44330817316e-05f;
    q = q * z - 0.00138873156077f;
    q = q * z + 0.04166664567f;
    return (tort_turned){p * z * r + r, q * z * z - 0.5f * z + 1.0f, (uint32_t)bits};
}

/* Sine and cosine within 2 ulp, and tangent within 4, for |x| <= TORT_TURNS_LIMIT. */
TORT_INLINE float tort_sinf(float x) {
    tort_turned t = tort_turnedf(x);
    float value = t.turns & 1 ? t.cosine : t.sine;
    return tort_float_of_bits(tort_bits_of_float(value) ^ (t.turns & 2) << 30);
}

TORT_INLINE float tort_cosf(float x) {
    tort_turned t = tort_turnedf(x);
    float value = t.turns & 1 ? t.sine : t.cosine;
    return tort_float_of_bits(tort_bits_of_float(value) ^ ((t.turns + 1) & 2) << 30);
}

TORT_INLINE float tort_tanf(float x) {
    tort_turned t = tort_turnedf(x);
    float above = t.turns & 1 ? -t.cosine : t.sine, below = t.turns & 1 ? t.sine : t.cosine;
    return above / below;
}

/* Arc tangent, within 3 ulp: atan(a) = atan(b) + atan((a - b) / (1 + a b)) with b = 0, 1 or infinity, so that the
 * polynomial is asked for no more than tan(pi / 8). */
TORT_INLINE float tort_atanf(float x) {
    float a = fabsf(x);
    float above = a > 2.4142135f ? -1.0f : a > 0.41421356f ? a - 1.0f : a;
    float below = a > 2.4142135f ? a : a > 0.41421356f ? a + 1.0f : 1.0f;
    float base = a > 2.4142135f ? 1.57079633f : a > 0.41421356f ? 0.785398163f : 0.0f;
    float t = above / below, z = t * t;
    float p = -0.0607591154809f;
    p = p * z + 0.105929446695f;
    p = p * z - 0.142434220443f;
    p = p * z + 0.199984659872f;
    p = p * z - 0.33333315105f;
    return copysignf(base + (p * z * t + t), x);
}

#endif
