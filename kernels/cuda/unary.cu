/* unary.cu - functions of one tensor, element by element. half is computed in float and rounded once.
 *
 * Memory-bound: elements go in packs. Read first: unary.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/unary.h"

/* ---- kernel ---- */

/* x tanh(log(1 + e^x)) = x (n^2 + 2n) / (n^2 + 2n + 2) with n = e^x, which is done before n^2 overflows. */
static __device__ __forceinline__ float mish(float x) {
    const float n = expf(x < 20.0f ? x : 20.0f), above = n * (n + 2.0f);
    return x * (above / (above + 2.0f));
}

template <int function> static __device__ __forceinline__ float apply(float x, float alpha, float beta) {
    switch (function) {
    case GPU_ACOS: return acosf(x);
    case GPU_ACOSH: return acoshf(x);
    case GPU_ASIN: return asinf(x);
    case GPU_ASINH: return asinhf(x);
    case GPU_ATAN: return atanf(x);
    case GPU_ATANH: return atanhf(x);
    case GPU_CEIL: return ceilf(x);
    case GPU_CELU: return celu(x, alpha);
    case GPU_COS: return cosf(x);
    case GPU_COSH: return coshf(x);
    case GPU_ELU: return elu(x, alpha);
    case GPU_ERF: return erff(x);
    case GPU_EXP: return expf(x);
    case GPU_FLOOR: return floorf(x);
    case GPU_GELU: return gelu(x);
    case GPU_GELU_TANH: return gelu_tanh(x);
    case GPU_HARD_SIGMOID: return hard_sigmoid(x, alpha, beta);
    case GPU_HARD_SWISH: return hard_swish(x);
    case GPU_LEAKY_RELU: return leaky_relu(x, alpha);
    case GPU_LOG: return logf(x);
    case GPU_MISH: return mish(x);
    case GPU_RECIPROCAL: return 1.0f / x;
    case GPU_ROUND: return rintf(x); /* to nearest even */
    case GPU_SELU: return selu(x, alpha, beta);
    case GPU_SHRINK: return x < -alpha ? x + beta : x > alpha ? x - beta : 0.0f;
    case GPU_SIGMOID: return sigmoid(x);
    case GPU_SIN: return sinf(x);
    case GPU_SINH: return sinhf(x);
    case GPU_SOFTPLUS: return softplus(x);
    case GPU_SOFTSIGN: return softsign(x);
    case GPU_SQRT: return sqrtf(x);
    case GPU_SWISH: return swish(x, alpha);
    case GPU_TAN: return tanf(x);
    case GPU_TANH: return tanhf(x);
    case GPU_THRESHOLDED_RELU: return x > alpha ? x : 0.0f;
    case GPU_ABS: return fabsf(x);
    case GPU_NEG: return -x;
    case GPU_RELU: return relu(x);
    default: return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; /* GPU_SIGN */
    }
}

/* The negative of the least integer is itself. */
template <int function> static __device__ __forceinline__ int64_t apply(int64_t x, float, float) {
    const int64_t negative = (int64_t)(0 - (uint64_t)x);
    switch (function) {
    case GPU_ABS: return x < 0 ? negative : x;
    case GPU_NEG: return negative;
    case GPU_RELU: return x < 0 ? 0 : x;
    default: return (x > 0) - (x < 0);
    }
}

/* What an element is computed in. */
template <class T> struct computed { typedef int64_t type; };
template <> struct computed<float> { typedef float type; };
template <> struct computed<half> { typedef float type; };

template <int function, int size, class T>
static __device__ __forceinline__ void unary_range(const T *x, T *y, size_t first, size_t end, float alpha,
                                                   float beta) {
    typedef typename computed<T>::type C;
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        pack<T, size> value = load_pack<size>(x + i);
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = (T)apply<function>((C)value.at[k], alpha, beta);
        store_pack(y + i, value);
    }
}

template <int function, class T>
static __global__ void unary(const T *x, T *y, size_t packed, size_t count, float alpha, float beta) {
    unary_range<function, pack_size<T>::VALUE>(x, y, 0, packed, alpha, beta);
    unary_range<function, 1>(x, y, packed, count, alpha, beta);
}

static __device__ __forceinline__ bool holds(gpu_predicate predicate, float x) {
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
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = holds(predicate, (float)x[i]);
}

/* ---- launchers ---- */

template <int function, class T>
static cudaError_t run(gpu_stream stream, const void *x, void *y, size_t count, float alpha, float beta) {
    if (!count) return cudaSuccess;
    const size_t packed = packed_count<pack_size<T>::VALUE>(count, (const T *)x, (T *)y);
    return launch(unary<function, T>, pack_blocks<pack_size<T>::VALUE>(count, packed), GRID_THREADS, 0, stream,
                  (const T *)x, (T *)y, packed, count, alpha, beta);
}

/* One row a function and type; the compiler makes a kernel of each. */
typedef struct unary_row {
    cudaError_t (*run)(gpu_stream, const void *, void *, size_t, float, float);
    cudaError_t (*load)();
} unary_row;

template <int function, class T> static cudaError_t load() {
    return load_kernel(unary<function, T>);
}

#define ENTRY(function, type)                                                                                          \
    { run<function, type>, load<function, type> }
#define FLOATS(function)                                                                                               \
    { ENTRY(function, float), ENTRY(function, half) }
#define NUMBERS(function)                                                                                              \
    { ENTRY(function, float), ENTRY(function, half), ENTRY(function, int32_t), ENTRY(function, int64_t) }

/* In the order of gpu_unary and gpu_number; claims keep to those that are there. */
static const unary_row rows[GPU_UNARY_COUNT][GPU_NUMBER_INT64 + 1] = {
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
    NUMBERS(GPU_ABS),
    NUMBERS(GPU_NEG),
    NUMBERS(GPU_RELU),
    NUMBERS(GPU_SIGN),
};

cudaError_t gpu_run_unary(gpu_stream stream, gpu_unary function, gpu_number type, const void *x, void *y, size_t count,
                          float alpha, float beta) {
    return rows[function][type].run(stream, x, y, count, alpha, beta);
}

cudaError_t gpu_load_unary(gpu_unary function, gpu_number type) {
    return rows[function][type].load();
}

cudaError_t gpu_run_predicate(gpu_stream stream, gpu_predicate predicate, gpu_type type, const void *x, void *y,
                              size_t count) {
    if (!count) return cudaSuccess;
    if (type == GPU_HALF)
        return launch(unary_predicate<half>, grid_blocks(count), GRID_THREADS, 0, stream, predicate, (const half *)x,
                      (uint8_t *)y, count);
    return launch(unary_predicate<float>, grid_blocks(count), GRID_THREADS, 0, stream, predicate, (const float *)x,
                  (uint8_t *)y, count);
}

cudaError_t gpu_load_predicate(gpu_type type) {
    return type == GPU_HALF ? load_kernel(unary_predicate<half>) : load_kernel(unary_predicate<float>);
}
