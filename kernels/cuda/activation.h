/* activation.h - formulas of activations in float or double, for operators (unary.cu) and for epilogues of products
 * and convolutions (epilogue.h). For .cu files, after gpu.h. NaN stays NaN.
 *
 * In float a division, an exponential and tanh of CUDA's library cost 10 to 30 instructions and a branch to a rare
 * case, for the last bit of results that take part in sums of thousands. These formulas are built of ex2 and rcp, one
 * instruction each, and polynomials: their error is below 1e-6 of the result, or of 1 (tests/cudasim). */
#ifndef TORT_KERNELS_CUDA_ACTIVATION_H
#define TORT_KERNELS_CUDA_ACTIVATION_H

/* ---- functions that both types have ---- */

static __device__ __forceinline__ float divided(float a, float b) { /* |b| at most 2^126, or infinite */
    return __fdividef(a, b);
}
static __device__ __forceinline__ double divided(double a, double b) {
    return a / b;
}
static __device__ __forceinline__ float exponential(float x) {
    return exp2_approximate(x * 1.44269504f);
}
static __device__ __forceinline__ double exponential(double x) {
    return exp(x);
}

/* tanh: near 0 an odd polynomial (relative error 1.3e-7 up to 0.625), as 1 - 2 / (1 + e^2x) would cancel there. */
static __device__ __forceinline__ float hyperbolic_tangent(float x) {
    const float size = fabsf(x), square = x * x;
    const float far = 1.0f - divided(2.0f, 1.0f + exponential(2.0f * size));
    float near = 0.015195203f;
    near = near * square - 0.051947793f;
    near = near * square + 0.133081729f;
    near = near * square - 0.333323411f;
    return size < 0.625f ? x + x * square * near : copysignf(far, x);
}
static __device__ __forceinline__ double hyperbolic_tangent(double x) {
    return tanh(x);
}

/* e^x - 1: near 0 a polynomial (relative error 3.2e-8 up to 0.4), for the same reason. */
static __device__ __forceinline__ float exponential_less_1(float x) {
    float near = 0.0013880394f;
    near = near * x + 0.0083775317f;
    near = near * x + 0.0416676124f;
    near = near * x + 0.1666644861f;
    near = near * x + 0.4999999564f;
    return fabsf(x) < 0.4f ? x + x * x * near : exponential(x) - 1.0f;
}
static __device__ __forceinline__ double exponential_less_1(double x) {
    return expm1(x);
}

/* log(1 + x) for x from 0 to 1: 2 artanh(s), s = x / (2 + x), by an odd polynomial (relative error 1.7e-7). */
static __device__ __forceinline__ float logarithm_of_1_and(float x) {
    const float s = divided(x, 2.0f + x), square = s * s;
    float sum = 0.34226292f;
    sum = sum * square + 0.39589428f;
    sum = sum * square + 0.66676004f;
    sum = sum * square + 1.9999997f;
    return s * sum;
}
static __device__ __forceinline__ double logarithm_of_1_and(double x) {
    return log1p(x);
}

/* The normal distribution: the probability of a number below x. Its tail is e^(-x^2/2) P(t), t = 1 / (1 + 0.59 z), z =
 * |x| / sqrt(2), the form of Abramowitz and Stegun 7.1.26; P is of degree 8, its relative error 2.2e-7. */
static __device__ __forceinline__ float normal(float x) {
    const float t = divided(1.0f, 1.0f + 0.417193f * fabsf(x));
    float tail = -0.043485017f;
    tail = tail * t + 0.20170037f;
    tail = tail * t - 0.33167359f;
    tail = tail * t + 0.16578106f;
    tail = tail * t + 0.028756793f;
    tail = tail * t + 0.14696336f;
    tail = tail * t + 0.16548148f;
    tail = tail * t + 0.16647555f;
    tail *= t * exp2_approximate(x * x * -0.72134752f);
    return x < 0.0f ? tail : 1.0f - tail;
}
static __device__ __forceinline__ double normal(double x) {
    return 0.5 * erfc(x * -0.70710678118654752);
}

/* ---- activations ---- */

template <class C> static __device__ __forceinline__ C clipped(C x, C low, C high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
template <class C> static __device__ __forceinline__ C relu(C x) {
    return x < (C)0 ? (C)0 : x;
}
template <class C> static __device__ __forceinline__ C leaky_relu(C x, C alpha) {
    return x < (C)0 ? alpha * x : x;
}
template <class C> static __device__ __forceinline__ C sigmoid(C x) {
    return divided((C)1, (C)1 + exponential(-x));
}
template <class C> static __device__ __forceinline__ C swish(C x, C alpha) {
    return divided(x, (C)1 + exponential(-alpha * x));
}
template <class C> static __device__ __forceinline__ C hard_sigmoid(C x, C alpha, C beta) {
    return clipped(alpha * x + beta, (C)0, (C)1);
}
template <class C> static __device__ __forceinline__ C hard_swish(C x) {
    return x * clipped(x * (C)0.16666666666666667 + (C)0.5, (C)0, (C)1);
}
template <class C> static __device__ __forceinline__ C gelu(C x) {
    return x * normal(x);
}
template <class C> static __device__ __forceinline__ C gelu_tanh(C x) {
    return swish(x, (C)1.59576912160573071 * ((C)1 + (C)0.044715 * x * x)); /* (1 + tanh(u)) / 2 is sigmoid(2u) */
}
/* Elu is scaled_elu(x, alpha, 1, 1), Selu scaled_elu(x, alpha, 1, gamma), Celu scaled_elu(x, alpha, 1 / alpha, 1). */
template <class C> static __device__ __forceinline__ C scaled_elu(C x, C alpha, C slope, C gamma) {
    return gamma * (x < (C)0 ? alpha * exponential_less_1(x * slope) : x);
}
template <class C> static __device__ __forceinline__ C softplus(C x) {
    return relu(x) + logarithm_of_1_and(exponential(-fabs(x)));
}
template <class C> static __device__ __forceinline__ C softsign(C x) {
    x = clipped(x, (C)-0x1p100, (C)0x1p100); /* beyond, the quotient is 1 */
    return divided(x, (C)1 + fabs(x));
}

#endif
