/* cast.cu - elements into another type, as ops/cast.c defines it: floats become integers by truncation, beyond int64
 * the nearest, NaN 0; narrower integers keep the low bits; a bool is whether it is not 0. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/cast.h"
#include "kernels/cuda/pack.h"

/* ---- kernel ---- */

/* A byte that is 0 or 1; a type of its own, so that conversions to and from it differ from those of uint8. */
struct boolean {
    uint8_t value;
};

static __device__ __forceinline__ int64_t truncated(float x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0f) return INT64_MAX;
    return x <= -9223372036854775808.0f ? INT64_MIN : (int64_t)x;
}

/* Every type is either a float or an integer before it is stored. */
static __device__ __forceinline__ float load(float x) {
    return x;
}
static __device__ __forceinline__ float load(half x) {
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
        return (To)truncated(x);
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
        ENTRY(from, float), ENTRY(from, half), ENTRY(from, int32_t), ENTRY(from, int64_t), ENTRY(from, boolean),       \
            ENTRY(from, uint8_t), ENTRY(from, int8_t)                                                                  \
    }

/* In the order of gpu_number, from and to. */
static const cast_row rows[GPU_NUMBER_COUNT][GPU_NUMBER_COUNT] = {
    FROM(float), FROM(half), FROM(int32_t), FROM(int64_t), FROM(boolean), FROM(uint8_t), FROM(int8_t),
};

cudaError_t gpu_run_cast(gpu_stream stream, gpu_number from, gpu_number to, const void *x, void *y, size_t count) {
    return count ? rows[from][to].run(stream, x, y, count) : cudaSuccess;
}

cudaError_t gpu_load_cast(gpu_number from, gpu_number to) {
    return rows[from][to].load();
}
