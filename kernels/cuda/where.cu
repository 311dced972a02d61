/* where.cu - out = condition ? x : y with broadcasting, for elements of any type by their size. Read first: where.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/where.h"

/* ---- kernel ---- */

template <class T>
static __global__ void where(const gpu_loop loop, const uint8_t *condition, const T *x, const T *y, T *out) {
    for (size_t i = grid_first(); i < loop.count; i += grid_stride()) {
        int64_t at[3];
        loop_offsets(loop, i, at);
        out[i] = condition[at[0]] ? x[at[1]] : y[at[2]];
    }
}

/* ---- launchers ---- */

template <class T>
static cudaError_t run(cudaStream_t stream, const gpu_loop *loop, const void *condition, const void *x, const void *y,
                       void *out) {
    return launch(where<T>, grid_blocks(loop->count), GRID_THREADS, 0, stream, *loop, (const uint8_t *)condition,
                  (const T *)x, (const T *)y, (T *)out);
}

cudaError_t gpu_run_where(cudaStream_t stream, size_t element_bytes, const gpu_loop *loop, const void *condition,
                          const void *x, const void *y, void *out) {
    if (!loop->count) return cudaSuccess;
    switch (element_bytes) {
    case 1: return run<uint8_t>(stream, loop, condition, x, y, out);
    case 2: return run<uint16_t>(stream, loop, condition, x, y, out);
    case 4: return run<uint32_t>(stream, loop, condition, x, y, out);
    default: return run<uint64_t>(stream, loop, condition, x, y, out);
    }
}

cudaError_t gpu_load_where(size_t element_bytes) {
    switch (element_bytes) {
    case 1: return load_kernel(where<uint8_t>);
    case 2: return load_kernel(where<uint16_t>);
    case 4: return load_kernel(where<uint32_t>);
    default: return load_kernel(where<uint64_t>);
    }
}
