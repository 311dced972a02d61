/* activation.h - activations that stand alone (unary.cu) and that end a product or a convolution (epilogue.h): a
 * formula for each. For .cu files, after gpu.h. NaN stays NaN. */
#ifndef TORT_KERNELS_CUDA_ACTIVATION_H
#define TORT_KERNELS_CUDA_ACTIVATION_H

static __device__ __forceinline__ float clipped(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
static __device__ __forceinline__ float relu(float x) {
    return x < 0.0f ? 0.0f : x;
}
static __device__ __forceinline__ float leaky_relu(float x, float alpha) {
    return x < 0.0f ? alpha * x : x;
}
static __device__ __forceinline__ float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}
static __device__ __forceinline__ float swish(float x, float alpha) {
    return x / (1.0f + expf(-alpha * x));
}
static __device__ __forceinline__ float hard_sigmoid(float x, float alpha, float beta) {
    return clipped(alpha * x + beta, 0.0f, 1.0f);
}
static __device__ __forceinline__ float hard_swish(float x) {
    return x * clipped(x / 6.0f + 0.5f, 0.0f, 1.0f);
}
static __device__ __forceinline__ float gelu(float x) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}
static __device__ __forceinline__ float gelu_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
static __device__ __forceinline__ float elu(float x, float alpha) {
    return x < 0.0f ? alpha * expm1f(x) : x;
}
static __device__ __forceinline__ float selu(float x, float alpha, float gamma) {
    return gamma * elu(x, alpha);
}
static __device__ __forceinline__ float celu(float x, float alpha) {
    return x < 0.0f ? alpha * expm1f(x / alpha) : x;
}
static __device__ __forceinline__ float softplus(float x) {
    return x > 0.0f ? x + log1pf(expf(-x)) : log1pf(expf(x));
}
static __device__ __forceinline__ float softsign(float x) {
    return x / (1.0f + fabsf(x));
}

#endif
