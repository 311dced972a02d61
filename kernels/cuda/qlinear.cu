/* qlinear.cu - com.microsoft's operators on bytes with a scale and a zero point, which are read on the device.
 *
 * Every byte is that of the plain loop: floats are multiplied and added in its order, each result rounded, never two in
 * one FMA. Memory-bound: bytes move in packs of 16 where rows allow. Read first: qlinear.c, pack.h. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/qlinear.h"

/* ---- numbers ---- */

struct linear {
    float scale, zero;
};

template <class T> static __device__ __forceinline__ linear linear_of(const gpu_linear &from) {
    return {*from.scale, from.zero ? (float)*(const T *)from.zero : 0.0f};
}

/* Returns x rounded to even plus the zero point, saturated; NaN is the lowest byte. Adding 1.5 * 2^23 rounds to an
 * integer, which is then in the lowest bits. */
template <class T> static __device__ __forceinline__ T byte_of(float x, float zero) {
    constexpr float low = (T)-1 < (T)0 ? -128.0f : 0.0f;
    const float within = fminf(fmaxf(x, low - zero), low + 255.0f - zero);
    return (T)(__float_as_int(__fadd_rn(within, 0x1.8p23f)) + (int)zero);
}

/* ---- two tensors ---- */

/* Functions of two bytes, made from the scales and zero points of A, B and C. */
template <class T> struct linear_sum {
    float a, b, fixed;
    __device__ __forceinline__ linear_sum(const linear &from_a, const linear &from_b, const linear &to) {
        a = __fdiv_rn(from_a.scale, to.scale);
        b = __fdiv_rn(from_b.scale, to.scale);
        fixed = __fsub_rn(to.zero, __fadd_rn(__fmul_rn(a, from_a.zero), __fmul_rn(b, from_b.zero)));
    }
    __device__ __forceinline__ T of(T left, T right) const {
        return byte_of<T>(__fadd_rn(__fmul_rn((float)left, a), __fadd_rn(__fmul_rn((float)right, b), fixed)), 0.0f);
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

/* ---- launchers ---- */

/* Calls use(T()) for the type of the bytes. */
template <class Use> static cudaError_t for_byte(bool is_signed, Use use) {
    return is_signed ? use(int8_t()) : use(uint8_t());
}

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
            return run_binary<linear_sum, T>(stream, loop, numbers, (const T *)a, (const T *)b, (T *)y);
        return run_binary<linear_product, T>(stream, loop, numbers, (const T *)a, (const T *)b, (T *)y);
    });
}

cudaError_t gpu_load_linear_binary(gpu_linear_binary function, bool is_signed) {
    return for_byte(is_signed, [=](auto zero) {
        typedef decltype(zero) T;
        return function == GPU_LINEAR_ADD ? load_kernel(linear_binary<linear_sum, T>)
                                          : load_kernel(linear_binary<linear_product, T>);
    });
}
