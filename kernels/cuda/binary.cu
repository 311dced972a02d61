/* binary.cu - functions of two tensors with broadcasting. 16-bit floats are computed in float and rounded once;
 * integers wrap, and integer division by 0 gives 0, as in ops/arithmetic.c.
 *
 * Memory-bound: elements move in packs where rows allow. Read first: binary.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/binary.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"

/* ---- functions of what elements are computed in ---- */

/* True for -1 of a signed type: the lowest integer divided by it would overflow. */
template <class T> static __device__ __forceinline__ bool is_minus_one(T x) {
    return (T)-1 < (T)0 && x == (T)-1;
}

template <class T> static __device__ __forceinline__ T divide(T a, T b) {
    if (b == (T)0) return (T)0;
    return is_minus_one(b) ? (T)(0 - (uint64_t)a) : (T)(a / b);
}
static __device__ __forceinline__ float divide(float a, float b) {
    return a / b;
}
static __device__ __forceinline__ double divide(double a, double b) {
    return a / b;
}

template <class T> static __device__ __forceinline__ T remainder_of(T a, T b) {
    return b == (T)0 || is_minus_one(b) ? (T)0 : (T)(a % b);
}
static __device__ __forceinline__ float remainder_of(float a, float b) {
    return fmodf(a, b);
}
static __device__ __forceinline__ double remainder_of(double a, double b) {
    return fmod(a, b);
}

/* The result has the sign of b, also a zero; NaN stays. */
template <class T> static __device__ __forceinline__ T modulo(T a, T b) {
    const T rest = remainder_of(a, b);
    if (rest == (T)0) return is_negative(b) ? (T) - (T)0 : (T)0;
    return is_negative(rest) != is_negative(b) ? (T)(rest + b) : rest;
}

/* 64-bit unsigned arithmetic, truncated, wraps correctly in every narrower type. F: known (a constant), or int. */
template <class F, class T> static __device__ __forceinline__ T basic(F function, T a, T b) {
    switch (function) {
    case GPU_ADD: return (T)((uint64_t)a + (uint64_t)b);
    case GPU_SUB: return (T)((uint64_t)a - (uint64_t)b);
    case GPU_BIT_AND: return (T)(a & b);
    case GPU_BIT_OR: return (T)(a | b);
    case GPU_BIT_XOR: return (T)(a ^ b);
    case GPU_SHIFT_LEFT: return (uint64_t)b < 8 * sizeof(T) ? (T)((uint64_t)a << (uint64_t)b) : (T)0;
    case GPU_SHIFT_RIGHT: return (uint64_t)b < 8 * sizeof(T) ? (T)(a >> (int)b) : is_negative(a) ? (T)-1 : (T)0;
    default: return (T)((uint64_t)a * (uint64_t)b);
    }
}
template <class F> static __device__ __forceinline__ float basic(F function, float a, float b) {
    return function == GPU_ADD ? a + b : function == GPU_SUB ? a - b : function == GPU_POW ? powf(a, b) : a * b;
}
template <class F> static __device__ __forceinline__ double basic(F function, double a, double b) {
    return function == GPU_ADD ? a + b : function == GPU_SUB ? a - b : function == GPU_POW ? pow(a, b) : a * b;
}

/* x != x is NaN, which Max and Min propagate. */
template <class F, class T> static __device__ __forceinline__ T apply(F function, T a, T b) {
    switch (function) {
    case GPU_DIV: return divide(a, b);
    case GPU_MAX: return b > a || b != b ? b : a;
    case GPU_MIN: return b < a || b != b ? b : a;
    case GPU_PRELU: return is_negative(a) ? basic(known<GPU_MUL>(), a, b) : a;
    case GPU_REMAINDER: return remainder_of(a, b);
    case GPU_MODULO: return modulo(a, b);
    default: return basic(function, a, b);
    }
}

template <class F, class T> static __device__ __forceinline__ uint8_t compare(F function, T a, T b) {
    switch (function) {
    case GPU_EQUAL: return a == b;
    case GPU_LESS: return a < b;
    case GPU_LESS_OR_EQUAL: return a <= b;
    case GPU_AND: return a && b;
    case GPU_OR: return a || b;
    default: return a != b; /* GPU_XOR */
    }
}

/* ---- kernels ---- */

/* The kind of function as a type with `of(a, b)`, so that one kernel template serves all. */
template <class F, class T> struct arithmetic {
    typedef T result;
    typedef typename computed<T>::type C;
    F function;
    __device__ __forceinline__ T of(T a, T b) const {
        return (T)apply(function, (C)a, (C)b);
    }
};

template <class F, class T> struct comparison {
    typedef uint8_t result;
    typedef typename computed<T>::type C;
    F function;
    __device__ __forceinline__ uint8_t of(T a, T b) const {
        return compare(function, (C)a, (C)b);
    }
};

template <int size, class Kind, class T>
static __device__ __forceinline__ void binary_range(const Kind &kind, const gpu_loop &loop, const T *a, const T *b,
                                                    typename Kind::result *y, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        int64_t at[2];
        loop_offsets(loop, i, at);
        const pack<T, size> left = load_operand<size>(loop, 0, a, at[0]), right = load_operand<size>(loop, 1, b, at[1]);
        pack<typename Kind::result, size> value;
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = kind.of(left.at[k], right.at[k]);
        store_pack(y + i, value);
    }
}

template <class Kind, class T>
static __global__ void binary(const Kind kind, const gpu_loop loop, size_t packed, const T *a, const T *b,
                              typename Kind::result *y) {
    after_previous();
    binary_range<pack_size<T>::VALUE>(kind, loop, a, b, y, 0, packed);
    binary_range<1>(kind, loop, a, b, y, packed, loop.count);
}

static __global__ void negation(const uint8_t *x, uint8_t *y, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = !x[i];
}

/* ---- launchers ---- */

template <class Kind, class T>
static cudaError_t run(gpu_stream stream, Kind kind, const gpu_loop *loop, const void *a, const void *b, void *y) {
    typedef typename Kind::result Y;
    constexpr int size = pack_size<T>::VALUE;
    size_t packed = rows_packed<size>(loop, (Y *)y);
    if (packed && !(operand_packable<size>(loop, 0, (const T *)a) && operand_packable<size>(loop, 1, (const T *)b)))
        packed = 0;
    return launch_overlapping(binary<Kind, T>, pack_blocks<size>(loop->count, packed), GRID_THREADS, 0, stream, kind,
                              *loop, packed, (const T *)a, (const T *)b, (Y *)y);
}

typedef struct binary_row {
    cudaError_t (*run)(gpu_stream, const gpu_loop *, const void *, const void *, void *);
    cudaError_t (*load)();
} binary_row;

template <class Kind, class T>
static cudaError_t run_known(gpu_stream stream, const gpu_loop *loop, const void *a, const void *b, void *y) {
    return run<Kind, T>(stream, {}, loop, a, b, y);
}
template <class Kind, class T> static cudaError_t load_known() {
    return load_kernel(binary<Kind, T>);
}

#define ENTRY(kind, function, type)                                                                                    \
    { run_known<kind<known<function>, type>, type>, load_known<kind<known<function>, type>, type> }
#define FLOATS(kind, function)                                                                                         \
    ENTRY(kind, function, float), ENTRY(kind, function, half), ENTRY(kind, function, bfloat16)
#define NUMBERS(kind, function)                                                                                        \
    FLOATS(kind, function), {}, ENTRY(kind, function, int32_t), ENTRY(kind, function, int64_t)

/* Kernels in the order of gpu_binary and gpu_number. Missing ones use the kernel of all functions for their type, if
 * gpu_has_binary. */
static const binary_row rows[GPU_BINARY_COUNT][GPU_NUMBER_COUNT] = {
    {NUMBERS(arithmetic, GPU_ADD)},
    {NUMBERS(arithmetic, GPU_SUB)},
    {NUMBERS(arithmetic, GPU_MUL)},
    {NUMBERS(arithmetic, GPU_DIV)},
    {NUMBERS(arithmetic, GPU_MAX)},
    {NUMBERS(arithmetic, GPU_MIN)},
    {FLOATS(arithmetic, GPU_POW)},
    {FLOATS(arithmetic, GPU_PRELU)},
    {FLOATS(arithmetic, GPU_REMAINDER)},
    {FLOATS(arithmetic, GPU_MODULO)},
    {},
    {},
    {},
    {},
    {},
    {NUMBERS(comparison, GPU_EQUAL)},
    {NUMBERS(comparison, GPU_LESS)},
    {NUMBERS(comparison, GPU_LESS_OR_EQUAL)},
};

/* Calls use(T()) for the other types; a bool is a byte of 0 or 1. */
template <class Use> static cudaError_t for_other(gpu_number type, Use use) {
    return type == GPU_NUMBER_BOOL ? use(uint8_t()) : for_seldom(type, use);
}

cudaError_t gpu_run_binary(gpu_stream stream, gpu_binary function, gpu_number type, const gpu_loop *loop, const void *a,
                           const void *b, void *y) {
    if (!loop->count) return cudaSuccess;
    if (rows[function][type].run) return rows[function][type].run(stream, loop, a, b, y);
    return for_other(type, [=](auto zero) {
        typedef decltype(zero) T;
        if (function >= GPU_EQUAL) return run<comparison<int, T>, T>(stream, {function}, loop, a, b, y);
        return run<arithmetic<int, T>, T>(stream, {function}, loop, a, b, y);
    });
}

cudaError_t gpu_load_binary(gpu_binary function, gpu_number type) {
    if (rows[function][type].load) return rows[function][type].load();
    return for_other(type, [=](auto zero) {
        typedef decltype(zero) T;
        return function >= GPU_EQUAL ? load_kernel(binary<comparison<int, T>, T>)
                                     : load_kernel(binary<arithmetic<int, T>, T>);
    });
}

cudaError_t gpu_run_not(gpu_stream stream, const void *x, void *y, size_t count) {
    if (!count) return cudaSuccess;
    return launch(negation, grid_blocks(count), GRID_THREADS, 0, stream, (const uint8_t *)x, (uint8_t *)y, count);
}

cudaError_t gpu_load_not() {
    return load_kernel(negation);
}
