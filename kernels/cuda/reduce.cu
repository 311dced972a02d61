/* reduce.cu - reductions over any axes. Floats add in float with the lost low bits carried along (Kahan, 1965), so that
 * long sums stay within single rounding; integers in 64 bits that wrap.
 *
 * Two forms. Rows: a block for each output, whose threads go over neighbouring elements and join by shuffles. Columns,
 * where the last dimension is kept: 32 neighbouring outputs a block, over which 8 rows of threads sum. Read first:
 * reduce.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/reduce.h"

#define COLUMNS 32
#define SLICES 8

/* ---- what is done with an element ---- */

template <class T> struct accumulator {
    typedef int64_t type;
    static constexpr int64_t lowest = sizeof(T) == 4 ? (int64_t)INT32_MIN : INT64_MIN;
    static constexpr int64_t highest = sizeof(T) == 4 ? (int64_t)INT32_MAX : INT64_MAX;
};
template <> struct accumulator<float> {
    typedef float type;
    static constexpr float lowest = -INFINITY, highest = INFINITY;
};
template <> struct accumulator<half> : accumulator<float> {};

template <int kind, class T> static __device__ __forceinline__ typename accumulator<T>::type identity() {
    typedef typename accumulator<T>::type A;
    return kind == GPU_REDUCE_MAX    ? (A)accumulator<T>::lowest
           : kind == GPU_REDUCE_MIN  ? (A)accumulator<T>::highest
           : kind == GPU_REDUCE_PROD ? (A)1
                                     : (A)0;
}

template <int kind> static __device__ __forceinline__ float element(float x, float shift) {
    switch (kind) {
    case GPU_REDUCE_L1: return fabsf(x);
    case GPU_REDUCE_L2:
    case GPU_REDUCE_SUM_SQUARE: return x * x;
    case GPU_REDUCE_LOG_SUM_EXP: return expf(x - shift);
    default: return x;
    }
}
template <int kind> static __device__ __forceinline__ int64_t element(int64_t x, int64_t) {
    return x;
}

/* Maxima and minima let NaN through: x != x. */
template <int kind> struct join {
    static __device__ __forceinline__ float of(float a, float b) {
        switch (kind) {
        case GPU_REDUCE_MAX: return a >= b || a != a ? a : b;
        case GPU_REDUCE_MIN: return a <= b || a != a ? a : b;
        case GPU_REDUCE_PROD: return a * b;
        default: return a + b;
        }
    }
    static __device__ __forceinline__ int64_t of(int64_t a, int64_t b) {
        switch (kind) {
        case GPU_REDUCE_MAX: return a >= b ? a : b;
        case GPU_REDUCE_MIN: return a <= b ? a : b;
        case GPU_REDUCE_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
        default: return (int64_t)((uint64_t)a + (uint64_t)b);
        }
    }
};

/* total takes in x; `lost` is what earlier additions rounded away. */
template <int kind> static __device__ __forceinline__ void take(float &total, float &lost, float x) {
    if constexpr (kind == GPU_REDUCE_MAX || kind == GPU_REDUCE_MIN || kind == GPU_REDUCE_PROD) {
        total = join<kind>::of(total, x);
    } else {
        const float addend = x - lost, sum = total + addend;
        lost = (sum - total) - addend;
        if (lost != lost) lost = 0.0f; /* infinities have no rounding error */
        total = sum;
    }
}
template <int kind> static __device__ __forceinline__ void take(int64_t &total, int64_t &, int64_t x) {
    total = join<kind>::of(total, x);
}

template <int kind> static __device__ __forceinline__ float finish(float total, float shift, size_t count) {
    switch (kind) {
    case GPU_REDUCE_MEAN: return total / (float)count;
    case GPU_REDUCE_L2: return sqrtf(total);
    case GPU_REDUCE_LOG_SUM: return logf(total);
    case GPU_REDUCE_LOG_SUM_EXP: return logf(total) + shift;
    default: return total;
    }
}
template <int kind> static __device__ __forceinline__ int64_t finish(int64_t total, int64_t, size_t count) {
    return kind == GPU_REDUCE_MEAN && count ? total / (int64_t)count : total;
}

/* A thread's share of an output: elements first, first + step, ... of the reduced ones. */
template <int kind, class T>
static __device__ __forceinline__ typename accumulator<T>::type
share(const gpu_loop &reduced, const T *x, size_t first, size_t step, typename accumulator<T>::type shift) {
    typedef typename accumulator<T>::type A;
    A total = identity<kind, T>(), lost = 0;
    for (size_t j = first; j < reduced.count; j += step) {
        int64_t at[1];
        loop_offsets(reduced, j, at);
        take<kind>(total, lost, element<kind>((A)x[at[0]], shift));
    }
    return total;
}

/* The largest element is taken off before exp, but an infinity is not. */
static __device__ __forceinline__ float shift_of(float largest) {
    return largest - largest == 0.0f ? largest : 0.0f;
}

/* ---- kernels ---- */

template <int kind, class T>
static __global__ void reduce_rows(const gpu_loop kept, const gpu_loop reduced, const T *x, T *y) {
    typedef typename accumulator<T>::type A;
    __shared__ A shared[BLOCK_MOST_WARPS];
    for (size_t i = blockIdx.x; i < kept.count; i += gridDim.x) {
        int64_t at[1];
        loop_offsets(kept, i, at);
        A shift = 0;
        if constexpr (kind == GPU_REDUCE_LOG_SUM_EXP) {
            shift = share<GPU_REDUCE_MAX>(reduced, x + at[0], threadIdx.x, blockDim.x, shift);
            shift = shift_of(block_join<join<GPU_REDUCE_MAX>>(shift, shared));
        }
        A total = share<kind>(reduced, x + at[0], threadIdx.x, blockDim.x, shift);
        total = block_join<join<kind>>(total, shared);
        if (threadIdx.x == 0) y[i] = (T)finish<kind>(total, shift, reduced.count);
    }
}

/* The join over a block's rows of threads, for each column. */
template <int kind, class A> static __device__ __forceinline__ A join_slices(A value, A (&shared)[SLICES][COLUMNS]) {
    __syncthreads(); /* the last call's reads are over */
    shared[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    value = shared[0][threadIdx.x];
    for (int k = 1; k < SLICES; k++) value = join<kind>::of(value, shared[k][threadIdx.x]);
    return value;
}

template <int kind, class T>
static __global__ void reduce_columns(const gpu_loop kept, const gpu_loop reduced, const T *x, T *y) {
    typedef typename accumulator<T>::type A;
    __shared__ A shared[SLICES][COLUMNS];
    for (size_t first = (size_t)blockIdx.x * COLUMNS; first < kept.count; first += (size_t)gridDim.x * COLUMNS) {
        const size_t i = first + threadIdx.x;
        const bool there = i < kept.count;
        int64_t at[1] = {0};
        if (there) loop_offsets(kept, i, at);
        A shift = 0, total = identity<kind, T>();
        if constexpr (kind == GPU_REDUCE_LOG_SUM_EXP) {
            if (there) shift = share<GPU_REDUCE_MAX>(reduced, x + at[0], threadIdx.y, SLICES, shift);
            shift = shift_of(join_slices<GPU_REDUCE_MAX>(shift, shared));
        }
        if (there) total = share<kind>(reduced, x + at[0], threadIdx.y, SLICES, shift);
        total = join_slices<kind>(total, shared);
        if (there && threadIdx.y == 0) y[i] = (T)finish<kind>(total, shift, reduced.count);
    }
}

/* ---- launchers ---- */

template <int kind, class T>
static cudaError_t run(gpu_stream stream, const gpu_reduce *reduce, const void *x, void *y) {
    const gpu_loop &kept = reduce->kept, &reduced = reduce->reduced;
    const unsigned grid = grid_extent(reduce->columns ? (kept.count + COLUMNS - 1) / COLUMNS : kept.count);
    if (reduce->columns)
        return launch(reduce_columns<kind, T>, grid, dim3(COLUMNS, SLICES), 0, stream, kept, reduced, (const T *)x,
                      (T *)y);
    return launch(reduce_rows<kind, T>, grid, block_threads(reduced.count), 0, stream, kept, reduced, (const T *)x,
                  (T *)y);
}

template <int kind, class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(reduce_rows<kind, T>);
    return code == cudaSuccess ? load_kernel(reduce_columns<kind, T>) : code;
}

typedef struct reduce_row {
    cudaError_t (*run)(gpu_stream, const gpu_reduce *, const void *, void *);
    cudaError_t (*load)();
} reduce_row;

#define ENTRY(kind, type)                                                                                              \
    { run<kind, type>, load<kind, type> }
#define FLOATS(kind) ENTRY(kind, float), ENTRY(kind, half)
#define NUMBERS(kind) FLOATS(kind), ENTRY(kind, int32_t), ENTRY(kind, int64_t)

/* In the order of gpu_reduction and gpu_number; claims keep to those that are there. */
static const reduce_row table[GPU_REDUCTION_COUNT][GPU_NUMBER_INT64 + 1] = {
    {NUMBERS(GPU_REDUCE_SUM)},       {NUMBERS(GPU_REDUCE_MEAN)},   {NUMBERS(GPU_REDUCE_MAX)},
    {NUMBERS(GPU_REDUCE_MIN)},       {NUMBERS(GPU_REDUCE_PROD)},   {FLOATS(GPU_REDUCE_L1)},
    {FLOATS(GPU_REDUCE_L2)},         {FLOATS(GPU_REDUCE_LOG_SUM)}, {FLOATS(GPU_REDUCE_LOG_SUM_EXP)},
    {FLOATS(GPU_REDUCE_SUM_SQUARE)},
};

cudaError_t gpu_run_reduce(gpu_stream stream, gpu_reduction kind, gpu_number type, const gpu_reduce *reduce,
                           const void *x, void *y) {
    return reduce->kept.count ? table[kind][type].run(stream, reduce, x, y) : cudaSuccess;
}

cudaError_t gpu_load_reduce(gpu_reduction kind, gpu_number type) {
    return table[kind][type].load();
}
