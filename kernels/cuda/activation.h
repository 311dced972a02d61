/* activation.h - formulas of activations in float or double, for operators (unary.cu) and for epilogues of products
 * and convolutions (epilogue.h). For .cu files, after gpu.h. NaN stays NaN. */
#ifndef TORT_KERNELS_CUDA_ACTIVATION_H
#define TORT_KERNELS_CUDA_ACTIVATION_H

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
    return (C)1 / ((C)1 + exp(-x));
}
template <class C> static __device__ __forceinline__ C swish(C x, C alpha) {
    return x / ((C)1 + exp(-alpha * x));
}
template <class C> static __device__ __forceinline__ C hard_sigmoid(C x, C alpha, C beta) {
    return clipped(alpha * x + beta, (C)0, (C)1);
}
template <class C> static __device__ __forceinline__ C hard_swish(C x) {
    return x * clipped(x / (C)6 + (C)0.5, (C)0, (C)1);
}
template <class C> static __device__ __forceinline__ C gelu(C x) {
    return (C)0.5 * x * ((C)1 + erf(x * (C)0.70710678118654752));
}
template <class C> static __device__ __forceinline__ C gelu_tanh(C x) {
    return (C)0.5 * x * ((C)1 + tanh((C)0.79788456080286536 * (x + (C)0.044715 * x * x * x)));
}
template <class C> static __device__ __forceinline__ C elu(C x, C alpha) {
    return x < (C)0 ? alpha * expm1(x) : x;
}
template <class C> static __device__ __forceinline__ C selu(C x, C alpha, C gamma) {
    return gamma * elu(x, alpha);
}
template <class C> static __device__ __forceinline__ C celu(C x, C alpha) {
    return x < (C)0 ? alpha * expm1(x / alpha) : x;
}
template <class C> static __device__ __forceinline__ C softplus(C x) {
    return x > (C)0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
template <class C> static __device__ __forceinline__ C softsign(C x) {
    return x / ((C)1 + fabs(x));
}

#endif
