/* qlinear.cu - com.microsoft's operators on bytes with a scale and a zero point, which are read on the device.
 *
 * Every byte is that of the plain loop: floats are multiplied and added in its order, each result rounded, never two in
 * one FMA. Memory-bound: bytes move in packs of 16 where rows allow. Read first: qlinear.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/qlinear.cuh"

/* ---- two tensors ---- */

/* Functions of two bytes, made from the scales and zero points of A, B and C. */
template <class T> struct linear_addition {
    linear_sum sum;
    __device__ __forceinline__ linear_addition(const linear &from_a, const linear &from_b, const linear &to)
        : sum(from_a, from_b, to) {}
    __device__ __forceinline__ T of(T left, T right) const {
        return byte_of<T>(sum.of((float)left, (float)right), 0.0f);
    }
};

template <class T> struct linear_product {
    float a_zero, b_zero, zero, factor;
    __device__ __forceinline__ linear_product(const linear &from_a, const linear &from_b, const linear &to) {
        a_zero = from_a.zero;
        b_zero = from_b.zero;
        zero = to.zero;
        factor = __fdiv_rn(__fmul_rn(from_a.scale, from_b.scale), to.scale);
    }
    __device__ __forceinline__ T of(T left, T right) const {
        return byte_of<T>(__fmul_rn(__fmul_rn((float)left - a_zero, (float)right - b_zero), factor), zero);
    }
};

template <int size, class Function, class T>
static __device__ __forceinline__ void binary_range(const Function &function, const gpu_loop &loop, const T *a,
                                                    const T *b, T *y, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        int64_t at[2];
        loop_offsets(loop, i, at);
        const pack<T, size> left = load_operand<size>(loop, 0, a, at[0]), right = load_operand<size>(loop, 1, b, at[1]);
        pack<T, size> value;
#pragma unroll
        for (int k = 0; k < size; k++) value.at[k] = function.of(left.at[k], right.at[k]);
        store_pack(y + i, value);
    }
}

template <template <class> class Function, class T>
static __global__ void linear_binary(const gpu_linear_pair numbers, const gpu_loop loop, size_t packed, const T *a,
                                     const T *b, T *y) {
    after_previous();
    const Function<T> function(linear_of<T>(numbers.a), linear_of<T>(numbers.b), linear_of<T>(numbers.c));
    binary_range<pack_size<T>::VALUE>(function, loop, a, b, y, 0, packed);
    binary_range<1>(function, loop, a, b, y, packed, loop.count);
}

/* ---- tables ---- */

enum { BYTES = 256 };

/* Returns the byte that `byte` becomes. */
template <int FUNCTION, class T>
static __device__ __forceinline__ uint8_t mapped(const gpu_byte_map &map, unsigned byte) {
    if constexpr (FUNCTION == GPU_BYTE_TABLE) {
        return map.table[byte];
    } else {
        const linear from = linear_of<T>(map.from), to = linear_of<T>(map.to);
        float x = __fmul_rn((float)(T)byte - from.zero, from.scale);
        if constexpr (FUNCTION == GPU_BYTE_SIGMOID)
            x = __fdiv_rn(1.0f, __fadd_rn(1.0f, expf(-x)));
        else if (!(x >= 0.0f))
            x = __fmul_rn(map.alpha, x);
        return (uint8_t)byte_of<T>(__fdiv_rn(x, to.scale), to.zero);
    }
}

/* The byte of another scale and zero point. */
template <class T> static __device__ __forceinline__ uint8_t converted(const linear &from, const linear &to, T byte) {
    if (from.scale == to.scale && from.zero == to.zero) return (uint8_t)byte;
    return (uint8_t)byte_of<T>(__fdiv_rn(__fmul_rn((float)byte - from.zero, from.scale), to.scale), to.zero);
}

template <class T>
static __device__ __forceinline__ void fill_conversion(const gpu_linear &from, const gpu_linear &to, uint8_t *table) {
    const linear a = linear_of<T>(from), b = linear_of<T>(to);
    for (unsigned i = threadIdx.x; i < BYTES; i += blockDim.x) table[i] = converted<T>(a, b, (T)i);
}

template <int size>
static __device__ __forceinline__ void map_pack(const uint8_t *table, const uint8_t *x, uint8_t *y) {
    pack<uint8_t, size> value = load_pack<size>(x);
#pragma unroll
    for (int k = 0; k < size; k++) value.at[k] = table[value.at[k]];
    store_pack(y, value);
}

template <int FUNCTION, class T>
static __global__ void byte_map(const gpu_byte_map map, size_t packed, size_t count, const uint8_t *x, uint8_t *y) {
    enum { PACK = pack_size<uint8_t>::VALUE };
    __shared__ uint8_t table[BYTES];
    after_previous();
    for (unsigned i = threadIdx.x; i < BYTES; i += blockDim.x) table[i] = mapped<FUNCTION, T>(map, i);
    __syncthreads();
    for (size_t i = grid_first() * PACK; i < packed; i += grid_stride() * PACK) map_pack<PACK>(table, x + i, y + i);
    for (size_t i = packed + grid_first(); i < count; i += grid_stride()) y[i] = table[x[i]];
}

template <int size>
static __device__ __forceinline__ void concat_part(const gpu_linear_part &part, const uint8_t *table, int64_t row,
                                                   uint8_t *y) {
    for (size_t i = grid_first() * size; i < part.count; i += grid_stride() * size) {
        uint64_t within = i;
        const uint64_t outer = divide(&within, part.run, part.count);
        map_pack<size>(table, (const uint8_t *)part.x + i, y + (int64_t)outer * row + part.start + (int64_t)within);
    }
}

template <class T> static __global__ void linear_concat(const gpu_linear_concat concat, uint8_t *y) {
    __shared__ uint8_t table[BYTES];
    const gpu_linear_part &part = concat.part[blockIdx.y];
    fill_conversion<T>(part.from, concat.to, table);
    __syncthreads();
    if (part.packed)
        concat_part<pack_size<uint8_t>::VALUE>(part, table, concat.row, y);
    else
        concat_part<1>(part, table, concat.row, y);
}

template <int size>
static __device__ __forceinline__ void where_range(const gpu_loop &loop, const uint8_t (&tables)[2][BYTES],
                                                   const uint8_t *condition, const uint8_t *x, const uint8_t *y,
                                                   uint8_t *z, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        int64_t at[3];
        loop_offsets(loop, i, at);
        const pack<uint8_t, size> chosen = load_operand<size>(loop, 0, condition, at[0]);
        pack<uint8_t, size> left = load_operand<size>(loop, 1, x, at[1]), right = load_operand<size>(loop, 2, y, at[2]);
#pragma unroll
        for (int k = 0; k < size; k++) left.at[k] = chosen.at[k] ? tables[0][left.at[k]] : tables[1][right.at[k]];
        store_pack(z + i, left);
    }
}

template <class T>
static __global__ void linear_where(const gpu_linear_pair numbers, const gpu_loop loop, size_t packed,
                                    const uint8_t *condition, const uint8_t *x, const uint8_t *y, uint8_t *z) {
    __shared__ uint8_t tables[2][BYTES];
    fill_conversion<T>(numbers.a, numbers.c, tables[0]);
    fill_conversion<T>(numbers.b, numbers.c, tables[1]);
    __syncthreads();
    where_range<pack_size<uint8_t>::VALUE>(loop, tables, condition, x, y, z, 0, packed);
    where_range<1>(loop, tables, condition, x, y, z, packed, loop.count);
}

/* ---- launchers ---- */

template <template <class> class Function, class T>
static cudaError_t run_binary(gpu_stream stream, const gpu_loop *loop, const gpu_linear_pair *numbers, const T *a,
                              const T *b, T *y) {
    constexpr int size = pack_size<T>::VALUE;
    size_t packed = rows_packed<size>(loop, y);
    if (packed && !(operand_packable<size>(loop, 0, a) && operand_packable<size>(loop, 1, b))) packed = 0;
    return launch_overlapping(linear_binary<Function, T>, pack_blocks<size>(loop->count, packed), GRID_THREADS, 0,
                              stream, *numbers, *loop, packed, a, b, y);
}

cudaError_t gpu_run_linear_binary(gpu_stream stream, gpu_linear_binary function, bool is_signed, const gpu_loop *loop,
                                  const gpu_linear_pair *numbers, const void *a, const void *b, void *y) {
    if (!loop->count) return cudaSuccess;
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        if (function == GPU_LINEAR_ADD)
            return run_binary<linear_addition, T>(stream, loop, numbers, (const T *)a, (const T *)b, (T *)y);
        return run_binary<linear_product, T>(stream, loop, numbers, (const T *)a, (const T *)b, (T *)y);
    });
}

cudaError_t gpu_load_linear_binary(gpu_linear_binary function, bool is_signed) {
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        return function == GPU_LINEAR_ADD ? load_kernel(linear_binary<linear_addition, T>)
                                          : load_kernel(linear_binary<linear_product, T>);
    });
}

/* Calls use(function, T()) for a function as a constant. */
template <class Use> static cudaError_t for_map(gpu_byte_function function, bool is_signed, Use use) {
    return for_byte(is_signed, [=](auto zero) {
        if (function == GPU_BYTE_LEAKY_RELU) return use(known<GPU_BYTE_LEAKY_RELU>(), zero);
        if (function == GPU_BYTE_SIGMOID) return use(known<GPU_BYTE_SIGMOID>(), zero);
        return use(known<GPU_BYTE_TABLE>(), uint8_t());
    });
}

cudaError_t gpu_run_byte_map(gpu_stream stream, gpu_byte_function function, bool is_signed, const gpu_byte_map *map,
                             size_t count, const void *x, void *y) {
    constexpr int size = pack_size<uint8_t>::VALUE;
    if (!count) return cudaSuccess;
    const size_t packed = packed_count<size>(count, (const uint8_t *)x, (uint8_t *)y);
    return for_map(function, is_signed, [=](auto constant, auto zero) {
        return launch_overlapping(byte_map<(int)decltype(constant)(), decltype(zero)>, pack_blocks<size>(count, packed),
                                  GRID_THREADS, 0, stream, *map, packed, count, (const uint8_t *)x, (uint8_t *)y);
    });
}

cudaError_t gpu_load_byte_map(gpu_byte_function function, bool is_signed) {
    return for_map(function, is_signed, [](auto constant, auto zero) {
        return load_kernel(byte_map<(int)decltype(constant)(), decltype(zero)>);
    });
}

cudaError_t gpu_run_linear_concat(gpu_stream stream, bool is_signed, gpu_linear_concat *concat, void *y) {
    constexpr int size = pack_size<uint8_t>::VALUE;
    unsigned blocks = 0;
    for (int32_t i = 0; i < concat->parts; i++) {
        gpu_linear_part &part = concat->part[i];
        part.packed = pack_aligned<size>((const uint8_t *)part.x) && pack_aligned<size>((uint8_t *)y) &&
                      concat->row % size == 0 && part.start % size == 0 && part.run.value % size == 0;
        blocks = max(blocks, pack_blocks<size>(part.count, part.packed ? part.count : 0));
    }
    if (!blocks) return cudaSuccess;
    return for_byte(is_signed, [=](auto zero) {
        return launch(linear_concat<decltype(zero)>, dim3(blocks, (unsigned)concat->parts), GRID_THREADS, 0, stream,
                      *concat, (uint8_t *)y);
    });
}

cudaError_t gpu_load_linear_concat(bool is_signed) {
    return for_byte(is_signed, [](auto zero) { return load_kernel(linear_concat<decltype(zero)>); });
}

cudaError_t gpu_run_linear_where(gpu_stream stream, bool is_signed, const gpu_loop *loop,
                                 const gpu_linear_pair *numbers, const void *condition, const void *x, const void *y,
                                 void *z) {
    constexpr int size = pack_size<uint8_t>::VALUE;
    const uint8_t *operands[] = {(const uint8_t *)condition, (const uint8_t *)x, (const uint8_t *)y};
    size_t packed = rows_packed<size>(loop, (uint8_t *)z);
    if (!loop->count) return cudaSuccess;
    for (int k = 0; packed && k < 3; k++)
        if (!operand_packable<size>(loop, k, operands[k])) packed = 0;
    return for_byte(is_signed, [=](auto zero) {
        return launch(linear_where<decltype(zero)>, pack_blocks<size>(loop->count, packed), GRID_THREADS, 0, stream,
                      *numbers, *loop, packed, (const uint8_t *)condition, (const uint8_t *)x, (const uint8_t *)y,
                      (uint8_t *)z);
    });
}

cudaError_t gpu_load_linear_where(bool is_signed) {
    return for_byte(is_signed, [](auto zero) { return load_kernel(linear_where<decltype(zero)>); });
}
