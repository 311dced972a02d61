/* cast.cu - converts element types as ops/cast.c defines: floats become integers by truncation, saturating at int64,
 * NaN becomes 0; narrower integers keep the low bits; a bool is `x != 0`. Pairs of types that networks use have a
 * kernel each; for the others, one kernel per target takes any source. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/pack.h"

/* ---- kernel ---- */

/* A byte of 0 or 1: a type of its own, so that conversions differ from those of uint8. */
struct boolean {
    uint8_t value;
};

/* Loads an element as float or int64, from which any type is stored. */
static __device__ __forceinline__ float load(float x) {
    return x;
}
static __device__ __forceinline__ float load(half x) {
    return (float)x;
}
static __device__ __forceinline__ float load(bfloat16 x) {
    return (float)x;
}
static __device__ __forceinline__ int64_t load(boolean x) {
    return x.value != 0;
}
template <class T> static __device__ __forceinline__ int64_t load(T x) {
    return (int64_t)x;
}

template <class To> struct store {
    static __device__ __forceinline__ To from(float x) {
        return (To)truncated((double)x);
    }
    static __device__ __forceinline__ To from(int64_t x) {
        return (To)x;
    }
};
template <> struct store<float> {
    template <class T> static __device__ __forceinline__ float from(T x) {
        return (float)x;
    }
};
template <> struct store<half> {
    template <class T> static __device__ __forceinline__ half from(T x) {
        return (half)(float)x;
    }
};
template <> struct store<bfloat16> {
    template <class T> static __device__ __forceinline__ bfloat16 from(T x) {
        return (bfloat16)(float)x;
    }
};
template <> struct store<boolean> {
    template <class T> static __device__ __forceinline__ boolean from(T x) {
        boolean result = {(uint8_t)(x != (T)0)};
        return result;
    }
};

template <int size, class From, class To>
static __device__ __forceinline__ void cast_range(const From *x, To *y, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        const pack<From, size> value = load_pack<size>(x + i);
        pack<To, size> result;
#pragma unroll
        for (int k = 0; k < size; k++) result.at[k] = store<To>::from(load(value.at[k]));
        store_pack(y + i, result);
    }
}

template <class From, class To> static __global__ void cast(const From *x, To *y, size_t packed, size_t count) {
    cast_range<pack_size<From, To>::VALUE>(x, y, 0, packed);
    cast_range<1>(x, y, packed, count);
}

static __device__ __forceinline__ void convert(const any_number &x, boolean *to) {
    to->value = x.real != 0.0;
}

template <class To> static __global__ void cast_any(gpu_number from, const void *x, To *y, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) convert(any_number_at(from, x, i), y + i);
}

/* ---- launchers ---- */

typedef struct cast_row {
    cudaError_t (*run)(gpu_stream, const void *, void *, size_t);
    cudaError_t (*load)();
} cast_row;

template <class From, class To> static cudaError_t run(gpu_stream stream, const void *x, void *y, size_t count) {
    constexpr int size = pack_size<From, To>::VALUE;
    const size_t packed = packed_count<size>(count, (const From *)x, (To *)y);
    return launch(cast<From, To>, pack_blocks<size>(count, packed), GRID_THREADS, 0, stream, (const From *)x, (To *)y,
                  packed, count);
}
template <class From, class To> static cudaError_t load_cast() {
    return load_kernel(cast<From, To>);
}

#define ENTRY(from, to)                                                                                                \
    { run<from, to>, load_cast<from, to> }
#define FROM(from)                                                                                                     \
    {                                                                                                                  \
        ENTRY(from, float), ENTRY(from, half), ENTRY(from, bfloat16), ENTRY(from, int32_t), ENTRY(from, int64_t),      \
            ENTRY(from, int8_t), ENTRY(from, uint8_t), ENTRY(from, boolean)                                            \
    }
enum { FREQUENT = 8 };

static const cast_row rows[FREQUENT][FREQUENT] = {
    FROM(float), FROM(half), FROM(bfloat16), FROM(int32_t), FROM(int64_t), FROM(int8_t), FROM(uint8_t), FROM(boolean),
};

/* Returns the index of a type in rows; FREQUENT: none. */
static int place_of(gpu_number type) {
    static const gpu_number types[FREQUENT] = {GPU_NUMBER_FLOAT, GPU_NUMBER_HALF, GPU_NUMBER_BFLOAT16, GPU_NUMBER_INT32,
                                               GPU_NUMBER_INT64, GPU_NUMBER_INT8, GPU_NUMBER_UINT8,    GPU_NUMBER_BOOL};
    int place = 0;
    while (place < FREQUENT && types[place] != type) place++;
    return place;
}

static const cast_row *row_of(gpu_number from, gpu_number to) {
    return place_of(from) < FREQUENT && place_of(to) < FREQUENT ? &rows[place_of(from)][place_of(to)] : nullptr;
}

template <class Use> static cudaError_t for_target(gpu_number type, Use use) {
    return type == GPU_NUMBER_BOOL ? use(boolean()) : for_number(type, use);
}

cudaError_t gpu_run_cast(gpu_stream stream, gpu_number from, gpu_number to, const void *x, void *y, size_t count) {
    if (!count) return cudaSuccess;
    if (row_of(from, to)) return row_of(from, to)->run(stream, x, y, count);
    return for_target(to, [=](auto zero) {
        typedef decltype(zero) To;
        return launch(cast_any<To>, grid_blocks(count), GRID_THREADS, 0, stream, from, x, (To *)y, count);
    });
}

cudaError_t gpu_load_cast(gpu_number from, gpu_number to) {
    if (row_of(from, to)) return row_of(from, to)->load();
    return for_target(to, [](auto zero) { return load_kernel(cast_any<decltype(zero)>); });
}
