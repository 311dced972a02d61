/* where.cu - out = condition ? x : y with broadcasting, for elements of any type, by size. Read first: where.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/where.h"

/* ---- kernel ---- */

template <int size, class T>
static __device__ __forceinline__ void where_range(const gpu_loop &loop, const uint8_t *condition, const T *x,
                                                   const T *y, T *out, size_t first, size_t end) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        int64_t at[3];
        loop_offsets(loop, i, at);
        const pack<uint8_t, size> chosen = load_operand<size>(loop, 0, condition, at[0]);
        pack<T, size> left = load_operand<size>(loop, 1, x, at[1]), right = load_operand<size>(loop, 2, y, at[2]);
#pragma unroll
        for (int k = 0; k < size; k++) left.at[k] = chosen.at[k] ? left.at[k] : right.at[k];
        store_pack(out + i, left);
    }
}

template <class T>
static __global__ void where(const gpu_loop loop, size_t packed, const uint8_t *condition, const T *x, const T *y,
                             T *out) {
    where_range<pack_size<T>::VALUE>(loop, condition, x, y, out, 0, packed);
    where_range<1>(loop, condition, x, y, out, packed, loop.count);
}

/* ---- launchers ---- */

template <class T>
static cudaError_t run(gpu_stream stream, const gpu_loop *loop, const void *condition, const void *x, const void *y,
                       void *out) {
    constexpr int size = pack_size<T>::VALUE;
    size_t packed = rows_packed<size>(loop, (T *)out);
    if (packed && !(operand_packable<size>(loop, 0, (const uint8_t *)condition) &&
                    operand_packable<size>(loop, 1, (const T *)x) && operand_packable<size>(loop, 2, (const T *)y)))
        packed = 0;
    return launch(where<T>, pack_blocks<size>(loop->count, packed), GRID_THREADS, 0, stream, *loop, packed,
                  (const uint8_t *)condition, (const T *)x, (const T *)y, (T *)out);
}

cudaError_t gpu_run_where(gpu_stream stream, int element_bytes, const gpu_loop *loop, const void *condition,
                          const void *x, const void *y, void *out) {
    if (!loop->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) { return run<decltype(zero)>(stream, loop, condition, x, y, out); });
}

cudaError_t gpu_load_where(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(where<decltype(zero)>); });
}
