/* cumulative.cu - prefix sums and products along an axis. A warp walks along a line, scans 32 elements at a time by
 * shuffles (Hillis and Steele, "Data Parallel Algorithms", 1986), and carries the total on. Floats accumulate in
 * double, as on cpu; integers in 64 bits that wrap. Read first: cumulative.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/cumulative.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"

#define WARPS 8

template <class T> struct accumulator { typedef uint64_t type; };
template <> struct accumulator<float> { typedef double type; };
template <> struct accumulator<half> { typedef double type; };
template <> struct accumulator<bfloat16> { typedef double type; };
template <> struct accumulator<double> { typedef double type; };

template <class A> static __device__ __forceinline__ A join(bool product, A a, A b) {
    return product ? a * b : a + b;
}

/* ---- kernel ---- */

template <class T> static __global__ void cumulative(const gpu_cumulative c, const T *x, T *y) {
    typedef typename accumulator<T>::type A;
    const A identity = c.product ? (A)1 : (A)0;
    const unsigned lane = threadIdx.x % 32;
    const size_t lines = c.outer * c.inner, step = (size_t)gridDim.x * WARPS;
    for (size_t line = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; line < lines; line += step) {
        const size_t first = line / c.inner * c.length * c.inner + line % c.inner;
        A total = identity; /* total of all elements before these 32 */
        for (size_t done = 0; done < c.length; done += 32) {
            const size_t k = done + lane;
            const size_t at = first + (c.reverse ? c.length - 1 - k : k) * c.inner;
            A value = k < c.length ? number_as<A>(x[at]) : identity;
            for (unsigned distance = 1; distance < 32; distance *= 2) {
                const A before = __shfl_up_sync(~0u, value, distance);
                if (lane >= distance) value = join(c.product, before, value);
            }
            const A all = __shfl_sync(~0u, value, 31), before = __shfl_up_sync(~0u, value, 1);
            if (c.exclusive) value = lane ? before : identity;
            if (k < c.length) y[at] = number_as<T>(join(c.product, total, value));
            total = join(c.product, total, all);
        }
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_cumulative *c, const void *x, void *y) {
    const unsigned grid = grid_extent((c->outer * c->inner + WARPS - 1) / WARPS);
    return launch(cumulative<T>, grid, 32 * WARPS, 0, stream, *c, (const T *)x, (T *)y);
}

cudaError_t gpu_run_cumulative(gpu_stream stream, gpu_number type, const gpu_cumulative *c, const void *x, void *y) {
    if (!c->outer || !c->length || !c->inner) return cudaSuccess;
    return for_number(type, [=](auto zero) { return run<decltype(zero)>(stream, c, x, y); });
}

cudaError_t gpu_load_cumulative(gpu_number type) {
    return for_number(type, [](auto zero) { return load_kernel(cumulative<decltype(zero)>); });
}
