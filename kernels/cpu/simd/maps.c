/* maps.c - elementwise functions: the activations of epilogue.h, and others.
 *
 * The formulas are in ops/vector_math.h; compilers vectorize these loops for the instruction set that this file is
 * compiled for. Read next: ../map.c. */
#include "kernels/cpu/simd/exp.h"

#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

static inline float clip(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* Both values are computed before one is chosen: arithmetic behind a condition could keep compilers from vectorizing
 * the loop. */
static inline float choose(bool condition, float yes, float no) {
    return condition ? yes : no;
}

/* Defines a loop over whole vectors. The pragma asserts that y is x or does not overlap it. */
typedef void map_loop(float alpha, float beta, const float *x, float *y, int64_t vectors);
#define MAP(name, expression)                                                                                          \
    static void name(float alpha, float beta, const float *x_row, float *y_row, int64_t vectors) {                     \
        (void)alpha, (void)beta;                                                                                       \
        _Pragma("omp simd") for (int64_t i = 0; i < vectors * WIDTH; i++) {                                            \
            const float x = x_row[i];                                                                                  \
            y_row[i] = expression;                                                                                     \
        }                                                                                                              \
    }
MAP(map_relu, clip(x, 0, INFINITY))
MAP(map_leaky_relu, choose(x < 0, alpha *x, x))
MAP(map_clip, clip(x, alpha, beta))
MAP(map_sigmoid, tort_sigmoidf(x))
MAP(map_silu, x *tort_sigmoidf(x))
MAP(map_hard_sigmoid, clip(alpha *x + beta, 0, 1))
MAP(map_hard_swish, x *clip(x *(1.0f / 6) + 0.5f, 0, 1))
MAP(map_gelu, 0.5f * x * (1.0f + tort_erff(x * 0.70710678118654752f)))
MAP(map_gelu_tanh, 0.5f * x * (1.0f + tort_tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x))))
MAP(map_elu, choose(x < 0, alpha *tort_expm1f(x), x))
MAP(map_selu, beta *choose(x < 0, alpha *tort_expm1f(x), x))
MAP(map_celu, choose(x < 0, alpha *tort_expm1f(x / alpha), x))
MAP(map_softplus, tort_softplusf(x))
MAP(map_softsign, x / (1 + fabsf(x)))
MAP(map_thresholded_relu, choose(x > alpha, x, 0))
MAP(map_erf, tort_erff(x))
MAP(map_tanh, tort_tanhf(x))
MAP(map_swish, x *tort_sigmoidf(alpha *x))
MAP(map_abs, fabsf(x))
MAP(map_neg, -x)
MAP(map_floor, floorf(x))
MAP(map_ceil, ceilf(x))
MAP(map_round, rintf(x))
MAP(map_sqrt, sqrtf(x))
MAP(map_reciprocal, 1.0f / x)
MAP(map_log, tort_logf(x))
MAP(map_mish, tort_mishf(x))
MAP(map_atan, tort_atanf(x))
MAP(map_sign, choose(x > 0, 1, choose(x < 0, -1, x)))
MAP(near_sin, tort_sinf(x))
MAP(near_cos, tort_cosf(x))
MAP(near_tan, tort_tanf(x))

#if X86 == 512
static void map_exp(float alpha, float beta, const float *x, float *y, int64_t vectors) {
    (void)alpha, (void)beta;
    for (int64_t i = 0; i < vectors * WIDTH; i += WIDTH) store(y + i, exp_any(load(x + i)));
}
#else
MAP(map_exp, tort_expf(x))
#endif

/* Blocks with an element beyond TORT_TURNS_LIMIT go through the C library, whole. */
INLINE void turns(map_loop near, float (*far)(float), const float *x, float *y, int64_t vectors) {
    enum { BLOCK = 256 };
    for (int64_t at = 0, some; at < vectors * WIDTH; at += some) {
        int32_t beyond = 0;
        some = vectors * WIDTH - at < BLOCK ? vectors * WIDTH - at : BLOCK;
        for (int64_t i = at; i < at + some; i++) beyond |= fabsf(x[i]) > TORT_TURNS_LIMIT;
        if (!beyond)
            near(0, 0, x + at, y + at, some / WIDTH);
        else
            for (int64_t i = at; i < at + some; i++) y[i] = far(x[i]);
    }
}

static void map_sin(float alpha, float beta, const float *x, float *y, int64_t vectors) {
    (void)alpha, (void)beta;
    turns(near_sin, sinf, x, y, vectors);
}
static void map_cos(float alpha, float beta, const float *x, float *y, int64_t vectors) {
    (void)alpha, (void)beta;
    turns(near_cos, cosf, x, y, vectors);
}
static void map_tan(float alpha, float beta, const float *x, float *y, int64_t vectors) {
    (void)alpha, (void)beta;
    turns(near_tan, tanf, x, y, vectors);
}

static void map_none(float alpha, float beta, const float *x, float *y, int64_t vectors) {
    (void)alpha, (void)beta;
    if (x != y) memcpy(y, x, (size_t)(vectors * WIDTH) * sizeof(float));
}

static map_loop *const maps[TORT_MAP_COUNT] = {
    [TORT_ACTIVATION_NONE] = map_none,
    [TORT_ACTIVATION_RELU] = map_relu,
    [TORT_ACTIVATION_LEAKY_RELU] = map_leaky_relu,
    [TORT_ACTIVATION_CLIP] = map_clip,
    [TORT_ACTIVATION_SIGMOID] = map_sigmoid,
    [TORT_ACTIVATION_SILU] = map_silu,
    [TORT_ACTIVATION_HARD_SIGMOID] = map_hard_sigmoid,
    [TORT_ACTIVATION_HARD_SWISH] = map_hard_swish,
    [TORT_ACTIVATION_GELU] = map_gelu,
    [TORT_ACTIVATION_GELU_TANH] = map_gelu_tanh,
    [TORT_ACTIVATION_TANH] = map_tanh,
    [TORT_ACTIVATION_ELU] = map_elu,
    [TORT_ACTIVATION_SELU] = map_selu,
    [TORT_ACTIVATION_CELU] = map_celu,
    [TORT_ACTIVATION_SOFTPLUS] = map_softplus,
    [TORT_ACTIVATION_SOFTSIGN] = map_softsign,
    [TORT_ACTIVATION_THRESHOLDED_RELU] = map_thresholded_relu,
    [TORT_MAP_EXP] = map_exp,
    [TORT_MAP_ERF] = map_erf,
    [TORT_MAP_SWISH] = map_swish,
    [TORT_MAP_ABS] = map_abs,
    [TORT_MAP_NEG] = map_neg,
    [TORT_MAP_FLOOR] = map_floor,
    [TORT_MAP_CEIL] = map_ceil,
    [TORT_MAP_ROUND] = map_round,
    [TORT_MAP_SQRT] = map_sqrt,
    [TORT_MAP_RECIPROCAL] = map_reciprocal,
    [TORT_MAP_LOG] = map_log,
    [TORT_MAP_MISH] = map_mish,
    [TORT_MAP_SIN] = map_sin,
    [TORT_MAP_COS] = map_cos,
    [TORT_MAP_TAN] = map_tan,
    [TORT_MAP_ATAN] = map_atan,
    [TORT_MAP_SIGN] = map_sign,
};

/* The remainder is copied to a vector of its own and goes through the same loop, so results do not depend on an
 * element's position. */
void SIMD(tort_simd_map)(int32_t kind, float alpha, float beta, const float *x, float *y, int64_t count) {
    const int64_t left = count % WIDTH, whole = count - left;
    float last[WIDTH] = {0};
    if (whole > 0) maps[kind](alpha, beta, x, y, whole / WIDTH);
    if (left == 0) return;
    memcpy(last, x + whole, (size_t)left * sizeof *last);
    maps[kind](alpha, beta, last, last, 1);
    memcpy(y + whole, last, (size_t)left * sizeof *last);
}

void SIMD(tort_simd_flip)(const uint8_t *x, uint8_t *y, int64_t count, uint8_t bits) {
    _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = x[i] ^ bits;
}

void SIMD(tort_simd_is_nan)(const float *restrict x, uint8_t *restrict y, int64_t count) {
    for (int64_t i = 0; i < count; i++) y[i] = x[i] != x[i];
}

void SIMD(tort_simd_finish)(const tort_epilogue *epilogue, const float *restrict residual, float *restrict values,
                            int64_t count) {
    if (residual)
        for (int64_t i = 0; i < count; i++) values[i] += residual[i];
    SIMD(tort_simd_map)((int32_t)epilogue->activation, epilogue->alpha, epilogue->beta, values, values, count);
}
