/* binary.cu - functions of two tensors with broadcasting. half is computed in float and rounded once; integers wrap,
 * and what is divided by 0 is 0, as in ops/arithmetic.c.
 *
 * Memory-bound: elements go in packs where rows allow. Read first: binary.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/binary.h"
#include "kernels/cuda/pack.h"

/* ---- functions: what an element is computed in, and what becomes of it ---- */

template <class T> struct computed { typedef T type; };
template <> struct computed<half> { typedef float type; };

template <class T> static __device__ __forceinline__ T divide(T a, T b) {
    if (b == (T)0) return (T)0;
    return b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b); /* the least integer divided by -1 overflows */
}
static __device__ __forceinline__ float divide(float a, float b) {
    return a / b;
}

template <class T> static __device__ __forceinline__ T remainder_of(T a, T b) {
    return b == (T)0 || b == (T)-1 ? (T)0 : (T)(a % b);
}
static __device__ __forceinline__ float remainder_of(float a, float b) {
    return fmodf(a, b);
}

/* A zero has the sign of b too; NaN stays. */
template <class T> static __device__ __forceinline__ T modulo(T a, T b) {
    const T rest = remainder_of(a, b);
    if (rest == (T)0) return b < (T)0 ? -(T)0 : (T)0;
    return (rest < (T)0) != (b < (T)0) ? (T)(rest + b) : rest;
}

/* Unsigned arithmetic of 64 bits wraps in every narrower width too. */
template <int function, class T> static __device__ __forceinline__ T integers(T a, T b) {
    switch (function) {
    case GPU_ADD: return (T)((uint64_t)a + (uint64_t)b);
    case GPU_SUB: return (T)((uint64_t)a - (uint64_t)b);
    default: return (T)((uint64_t)a * (uint64_t)b);
    }
}
template <int function> static __device__ __forceinline__ float integers(float a, float b) {
    return function == GPU_ADD ? a + b : function == GPU_SUB ? a - b : a * b;
}

/* x != x is NaN, which Max and Min let through. */
template <int function, class T> static __device__ __forceinline__ T apply(T a, T b) {
    switch (function) {
    case GPU_DIV: return divide(a, b);
    case GPU_MAX: return b > a || b != b ? b : a;
    case GPU_MIN: return b < a || b != b ? b : a;
    case GPU_POW: return (T)powf((float)a, (float)b);
    case GPU_PRELU: return a < (T)0 ? (T)(a * b) : a;
    case GPU_REMAINDER: return remainder_of(a, b);
    case GPU_MODULO: return modulo(a, b);
    default: return integers<function>(a, b);
    }
}

template <int function, class T> static __device__ __forceinline__ uint8_t compare(T a, T b) {
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

/* What becomes of a pair of elements: the kind of function is a type, so that one kernel serves all. */
template <int function, class T> struct arithmetic {
    typedef T result;
    typedef typename computed<T>::type C;
    static __device__ __forceinline__ T of(T a, T b) {
        return (T)apply<function>((C)a, (C)b);
    }
};

template <int function, class T> struct comparison {
    typedef uint8_t result;
    typedef typename computed<T>::type C;
    static __device__ __forceinline__ uint8_t of(T a, T b) {
        return compare<function>((C)a, (C)b);
    }
};

template <int function, class T> struct bitwise {
    typedef T result;
    static __device__ __forceinline__ T of(T a, T b) {
        return function == GPU_BIT_AND ? a & b : function == GPU_BIT_OR ? a | b : a ^ b;
    }
};

template <int size, class F, class T>
static __device__ __forceinline__ void binary_range(const gpu_loop &loop, const T *a, const T *b, typename F::result *y,
                                                    size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        int64_t at[2];
        loop_offsets(loop, i, at);
        const pack<T, size> left = load_operand<size>(loop, 0, a, at[0]), right = load_operand<size>(loop, 1, b, at[1]);
        pack<typename F::result, size> value;
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = F::of(left.at[k], right.at[k]);
        store_pack(y + i, value);
    }
}

template <class F, class T>
static __global__ void binary(const gpu_loop loop, size_t packed, const T *a, const T *b, typename F::result *y) {
    binary_range<pack_size<T>::VALUE, F>(loop, a, b, y, 0, packed);
    binary_range<1, F>(loop, a, b, y, packed, loop.count);
}

static __global__ void negation(const uint8_t *x, uint8_t *y, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = !x[i];
}

/* ---- launchers ---- */

template <class F, class T>
static cudaError_t run(gpu_stream stream, const gpu_loop *loop, const void *a, const void *b, void *y) {
    typedef typename F::result Y;
    constexpr int size = pack_size<T>::VALUE;
    size_t packed = rows_packed<size>(loop, (Y *)y);
    if (packed && !(operand_packable<size>(loop, 0, (const T *)a) && operand_packable<size>(loop, 1, (const T *)b)))
        packed = 0;
    return launch(binary<F, T>, pack_blocks<size>(loop->count, packed), GRID_THREADS, 0, stream, *loop, packed,
                  (const T *)a, (const T *)b, (Y *)y);
}
template <class F, class T> static cudaError_t load() {
    return load_kernel(binary<F, T>);
}

typedef struct binary_row {
    cudaError_t (*run)(gpu_stream, const gpu_loop *, const void *, const void *, void *);
    cudaError_t (*load)();
} binary_row;

#define ENTRY(kind, function, type)                                                                                    \
    { run<kind<function, type>, type>, load<kind<function, type>, type> }
#define FLOATS(kind, function) ENTRY(kind, function, float), ENTRY(kind, function, half)
#define NUMBERS(kind, function) FLOATS(kind, function), ENTRY(kind, function, int32_t), ENTRY(kind, function, int64_t)
#define INTEGERS(kind, function) {}, {}, ENTRY(kind, function, int32_t), ENTRY(kind, function, int64_t)

/* In the order of gpu_binary and gpu_number; gpu_has_binary tells which are there. A bool is a byte, 0 or 1. */
static const binary_row rows[GPU_BINARY_COUNT][GPU_NUMBER_BOOL + 1] = {
    {NUMBERS(arithmetic, GPU_ADD)},
    {NUMBERS(arithmetic, GPU_SUB)},
    {NUMBERS(arithmetic, GPU_MUL)},
    {NUMBERS(arithmetic, GPU_DIV)},
    {NUMBERS(arithmetic, GPU_MAX)},
    {NUMBERS(arithmetic, GPU_MIN)},
    {FLOATS(arithmetic, GPU_POW)},
    {FLOATS(arithmetic, GPU_PRELU)},
    {NUMBERS(arithmetic, GPU_REMAINDER)},
    {NUMBERS(arithmetic, GPU_MODULO)},
    {INTEGERS(bitwise, GPU_BIT_AND)},
    {INTEGERS(bitwise, GPU_BIT_OR)},
    {INTEGERS(bitwise, GPU_BIT_XOR)},
    {NUMBERS(comparison, GPU_EQUAL), ENTRY(comparison, GPU_EQUAL, uint8_t)},
    {NUMBERS(comparison, GPU_LESS)},
    {NUMBERS(comparison, GPU_LESS_OR_EQUAL)},
    {{}, {}, {}, {}, ENTRY(comparison, GPU_AND, uint8_t)},
    {{}, {}, {}, {}, ENTRY(comparison, GPU_OR, uint8_t)},
    {{}, {}, {}, {}, ENTRY(comparison, GPU_XOR, uint8_t)},
};

cudaError_t gpu_run_binary(gpu_stream stream, gpu_binary function, gpu_number type, const gpu_loop *loop, const void *a,
                           const void *b, void *y) {
    return loop->count ? rows[function][type].run(stream, loop, a, b, y) : cudaSuccess;
}

cudaError_t gpu_load_binary(gpu_binary function, gpu_number type) {
    return rows[function][type].load();
}

cudaError_t gpu_run_not(gpu_stream stream, const void *x, void *y, size_t count) {
    if (!count) return cudaSuccess;
    return launch(negation, grid_blocks(count), GRID_THREADS, 0, stream, (const uint8_t *)x, (uint8_t *)y, count);
}

cudaError_t gpu_load_not() {
    return load_kernel(negation);
}
