/* power.cu - Pow of types other than one float type for both; the result has the base's type. An integer to an
 * integer power is exact and wraps; a negative power gives 0, except for bases 1 and -1. Other pairs are computed in
 * double, and truncated if the base is an integer. Same as ops/pow.c. Read first: binary.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/binary.h"
#include "kernels/cuda/grid.h"

/* ---- kernel ---- */

static __device__ int64_t power_of_integer(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
        if (left & 1) result *= factor;
        factor *= factor;
    }
    return (int64_t)result;
}

static __device__ __forceinline__ any_number power_of(const any_number &base, const any_number &exponent) {
    if (base.kind == any_number::REAL || exponent.kind == any_number::REAL)
        return any_real(pow(base.real, exponent.real));
    return any_integer(power_of_integer(base.integer, exponent.integer));
}

template <class T>
static __global__ void power(const gpu_loop loop, gpu_number base, gpu_number exponent, const void *a, const void *b,
                             T *y) {
    for (size_t i = grid_first(); i < loop.count; i += grid_stride()) {
        int64_t at[2];
        loop_offsets(loop, i, at);
        convert(power_of(any_number_at(base, a, (size_t)at[0]), any_number_at(exponent, b, (size_t)at[1])), y + i);
    }
}

/* ---- launchers ---- */

cudaError_t gpu_run_power(gpu_stream stream, gpu_number base, gpu_number exponent, const gpu_loop *loop, const void *a,
                          const void *b, void *y) {
    if (!loop->count) return cudaSuccess;
    return for_number(base, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(power<T>, grid_blocks(loop->count), GRID_THREADS, 0, stream, *loop, base, exponent, a, b, (T *)y);
    });
}

cudaError_t gpu_load_power(gpu_number base) {
    return for_number(base, [](auto zero) { return load_kernel(power<decltype(zero)>); });
}
