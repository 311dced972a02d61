/* unary.cu - elementwise functions of one tensor. 16-bit floats are computed in float and rounded once.
 *
 * Memory-bound, hence packs. Read first: unary.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/unary.h"

/* ---- kernel ---- */

/* x tanh(log(1 + e^x)) = x (n^2 + 2n) / (n^2 + 2n + 2) with n = e^x; x is limited to 20 in n, where the quotient is
 * 1 and n^2 does not overflow yet. */
template <class C> static __device__ __forceinline__ C mish(C x) {
    const C n = exp(x < (C)20 ? x : (C)20), above = n * (n + (C)2);
    return x * (above / (above + (C)2));
}

/* Real functions in C = float or double. F: known (one function, at compile time) or int (any, at run time). */
template <class F, class C> static __device__ __forceinline__ C real(F function, C x, C alpha, C beta) {
    switch (function) {
    case GPU_ACOS: return acos(x);
    case GPU_ACOSH: return acosh(x);
    case GPU_ASIN: return asin(x);
    case GPU_ASINH: return asinh(x);
    case GPU_ATAN: return atan(x);
    case GPU_ATANH: return atanh(x);
    case GPU_CEIL: return ceil(x);
    case GPU_CELU: return scaled_elu(x, alpha, (C)1 / alpha, (C)1);
    case GPU_COS: return cos(x);
    case GPU_COSH: return cosh(x);
    case GPU_ELU: return scaled_elu(x, alpha, (C)1, (C)1);
    case GPU_ERF: return erf(x);
    case GPU_EXP: return exp(x);
    case GPU_FLOOR: return floor(x);
    case GPU_GELU: return gelu(x);
    case GPU_GELU_TANH: return gelu_tanh(x);
    case GPU_HARD_SIGMOID: return hard_sigmoid(x, alpha, beta);
    case GPU_HARD_SWISH: return hard_swish(x);
    case GPU_LEAKY_RELU: return leaky_relu(x, alpha);
    case GPU_LOG: return log(x);
    case GPU_MISH: return mish(x);
    case GPU_RECIPROCAL: return (C)1 / x;
    case GPU_ROUND: return rint(x); /* ties to even */
    case GPU_SELU: return scaled_elu(x, alpha, (C)1, beta);
    case GPU_SHRINK: return x < -alpha ? x + beta : x > alpha ? x - beta : (C)0;
    case GPU_SIGMOID: return sigmoid(x);
    case GPU_SIN: return sin(x);
    case GPU_SINH: return sinh(x);
    case GPU_SOFTPLUS: return softplus(x);
    case GPU_SOFTSIGN: return softsign(x);
    case GPU_SQRT: return sqrt(x);
    case GPU_SWISH: return swish(x, alpha);
    case GPU_TAN: return tan(x);
    case GPU_TANH: return hyperbolic_tangent(x);
    case GPU_THRESHOLDED_RELU: return x > alpha ? x : (C)0;
    case GPU_ABS: return fabs(x);
    case GPU_NEG: return -x;
    case GPU_RELU: return relu(x);
    default: return x > (C)0 ? (C)1 : x < (C)0 ? (C)-1 : x; /* GPU_SIGN */
    }
}

/* Integer functions; the negative of the least integer wraps to itself. */
template <class F, class T> static __device__ __forceinline__ T integer(F function, T x) {
    const T negative = (T)(0 - (uint64_t)x);
    switch (function) {
    case GPU_ABS: return is_negative(x) ? negative : x;
    case GPU_NEG: return negative;
    case GPU_RELU: return is_negative(x) ? (T)0 : x;
    default: return is_negative(x) ? (T)-1 : (T)(x != (T)0);
    }
}

template <class F> static __device__ __forceinline__ float apply(F function, float x, float alpha, float beta) {
    return real(function, x, alpha, beta);
}
template <class F> static __device__ __forceinline__ double apply(F function, double x, float alpha, float beta) {
    return real(function, x, (double)alpha, (double)beta);
}
template <class F, class T> static __device__ __forceinline__ T apply(F function, T x, float, float) {
    return integer(function, x);
}

/* Elements per step; 1 if the function is chosen at run time, so that its large switch is instantiated once. */
template <class F, class T> struct unary_size : pack_size<T> {};
template <class T> struct unary_size<int, T> {
    enum { VALUE = 1 };
};

template <int size, class F, class T>
static __device__ __forceinline__ void unary_range(F function, const T *x, T *y, size_t first, size_t end, float alpha,
                                                   float beta) {
    typedef typename computed<T>::type C;
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        pack<T, size> value = load_pack<size>(x + i);
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = (T)apply(function, (C)value.at[k], alpha, beta);
        store_pack(y + i, value);
    }
}

template <class F, class T>
static __global__ void unary(F function, const T *x, T *y, size_t packed, size_t count, float alpha, float beta) {
    after_previous();
    unary_range<unary_size<F, T>::VALUE>(function, x, y, 0, packed, alpha, beta);
    unary_range<1>(function, x, y, packed, count, alpha, beta);
}

static __device__ __forceinline__ bool holds(gpu_predicate predicate, double x) {
    switch (predicate) {
    case GPU_IS_NAN: return x != x;
    case GPU_IS_INF: return x == INFINITY || x == -INFINITY;
    case GPU_IS_MINUS_INF: return x == -INFINITY;
    case GPU_IS_PLUS_INF: return x == INFINITY;
    default: return false;
    }
}

template <class T>
static __global__ void unary_predicate(gpu_predicate predicate, const T *x, uint8_t *y, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = holds(predicate, number_as<double>(x[i]));
}

/* ---- launchers ---- */

template <class F, class T>
static cudaError_t run(gpu_stream stream, F function, const void *x, void *y, size_t count, float alpha, float beta) {
    constexpr int size = unary_size<F, T>::VALUE;
    const size_t packed = packed_count<size>(count, (const T *)x, (T *)y);
    return launch_overlapping(unary<F, T>, pack_blocks<size>(count, packed), GRID_THREADS, 0, stream, function,
                              (const T *)x, (T *)y, packed, count, alpha, beta);
}

/* One row per function; each function and type has its own kernel. */
typedef struct unary_row {
    cudaError_t (*run)(gpu_stream, const void *, void *, size_t, float, float);
    cudaError_t (*load)();
} unary_row;

template <int FUNCTION, class T>
static cudaError_t run_known(gpu_stream stream, const void *x, void *y, size_t count, float alpha, float beta) {
    return run<known<FUNCTION>, T>(stream, {}, x, y, count, alpha, beta);
}
template <int FUNCTION, class T> static cudaError_t load_known() {
    return load_kernel(unary<known<FUNCTION>, T>);
}

#define ENTRY(function, type)                                                                                          \
    { run_known<function, type>, load_known<function, type> }
#define FLOATS(function)                                                                                               \
    { ENTRY(function, float), ENTRY(function, half), ENTRY(function, bfloat16) }

/* Indexed by gpu_unary and gpu_number. */
static const unary_row rows[GPU_UNARY_COUNT][GPU_NUMBER_BFLOAT16 + 1] = {
    FLOATS(GPU_ACOS),
    FLOATS(GPU_ACOSH),
    FLOATS(GPU_ASIN),
    FLOATS(GPU_ASINH),
    FLOATS(GPU_ATAN),
    FLOATS(GPU_ATANH),
    FLOATS(GPU_CEIL),
    FLOATS(GPU_CELU),
    FLOATS(GPU_COS),
    FLOATS(GPU_COSH),
    FLOATS(GPU_ELU),
    FLOATS(GPU_ERF),
    FLOATS(GPU_EXP),
    FLOATS(GPU_FLOOR),
    FLOATS(GPU_GELU),
    FLOATS(GPU_GELU_TANH),
    FLOATS(GPU_HARD_SIGMOID),
    FLOATS(GPU_HARD_SWISH),
    FLOATS(GPU_LEAKY_RELU),
    FLOATS(GPU_LOG),
    FLOATS(GPU_MISH),
    FLOATS(GPU_RECIPROCAL),
    FLOATS(GPU_ROUND),
    FLOATS(GPU_SELU),
    FLOATS(GPU_SHRINK),
    FLOATS(GPU_SIGMOID),
    FLOATS(GPU_SIN),
    FLOATS(GPU_SINH),
    FLOATS(GPU_SOFTPLUS),
    FLOATS(GPU_SOFTSIGN),
    FLOATS(GPU_SQRT),
    FLOATS(GPU_SWISH),
    FLOATS(GPU_TAN),
    FLOATS(GPU_TANH),
    FLOATS(GPU_THRESHOLDED_RELU),
    FLOATS(GPU_ABS),
    FLOATS(GPU_NEG),
    FLOATS(GPU_RELU),
    FLOATS(GPU_SIGN),
};

cudaError_t gpu_run_unary(gpu_stream stream, gpu_unary function, gpu_number type, const void *x, void *y, size_t count,
                          float alpha, float beta) {
    if (!count) return cudaSuccess;
    if (type <= GPU_NUMBER_BFLOAT16) return rows[function][type].run(stream, x, y, count, alpha, beta);
    return for_seldom(type,
                      [=](auto zero) { return run<int, decltype(zero)>(stream, function, x, y, count, alpha, beta); });
}

cudaError_t gpu_load_unary(gpu_unary function, gpu_number type) {
    if (type <= GPU_NUMBER_BFLOAT16) return rows[function][type].load();
    return for_seldom(type, [](auto zero) { return load_kernel(unary<int, decltype(zero)>); });
}

cudaError_t gpu_run_predicate(gpu_stream stream, gpu_predicate predicate, gpu_type type, const void *x, void *y,
                              size_t count) {
    if (!count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(unary_predicate<T>, grid_blocks(count), GRID_THREADS, 0, stream, predicate, (const T *)x,
                      (uint8_t *)y, count);
    });
}

cudaError_t gpu_load_predicate(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(unary_predicate<decltype(zero)>); });
}
