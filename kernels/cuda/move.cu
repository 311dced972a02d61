/* move.cu - data movement: boxes between strided layouts, and filling. Elements are moved by size, whatever
 * they mean. Memory-bound: neighbouring threads write neighbouring elements. Read first: move.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/move.h"

/* ---- kernels ---- */

template <class T> static __global__ void copy_box(T *dst, const T *src, gpu_box box, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        size_t rest = i;
        int64_t to = 0, from = 0;
        for (int k = box.rank - 1; k > 0; k--) {
            const size_t dim = (size_t)box.dims[k], at = rest % dim;
            rest /= dim;
            to += (int64_t)at * box.dst_strides[k];
            from += (int64_t)at * box.src_strides[k];
        }
        dst[to + (int64_t)rest * box.dst_strides[0]] = src[from + (int64_t)rest * box.src_strides[0]];
    }
}

template <class T> static __global__ void fill(T *dst, size_t count, T value) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) dst[i] = value;
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_box(gpu_stream stream, void *dst, const void *src, const gpu_box *box) {
    size_t count = 1;
    for (int k = 0; k < box->rank; k++) count *= (size_t)box->dims[k];
    return launch(copy_box<T>, grid_blocks(count), GRID_THREADS, 0, stream, (T *)dst, (const T *)src, *box, count);
}

cudaError_t gpu_copy_box(gpu_stream stream, int element_bytes, void *dst, const void *src, const gpu_box *box) {
    switch (element_bytes) {
    case 1: return run_box<uint8_t>(stream, dst, src, box);
    case 2: return run_box<uint16_t>(stream, dst, src, box);
    case 4: return run_box<uint32_t>(stream, dst, src, box);
    default: return run_box<uint64_t>(stream, dst, src, box);
    }
}

cudaError_t gpu_load_copy_box(int element_bytes) {
    switch (element_bytes) {
    case 1: return load_kernel(copy_box<uint8_t>);
    case 2: return load_kernel(copy_box<uint16_t>);
    case 4: return load_kernel(copy_box<uint32_t>);
    default: return load_kernel(copy_box<uint64_t>);
    }
}

template <class T> static cudaError_t run_fill(gpu_stream stream, void *dst, size_t count, const void *value) {
    if (!count) return cudaSuccess;
    return launch(fill<T>, grid_blocks(count), GRID_THREADS, 0, stream, (T *)dst, count, *(const T *)value);
}

cudaError_t gpu_fill(gpu_stream stream, int element_bytes, void *dst, size_t count, const void *value) {
    switch (element_bytes) {
    case 1: return run_fill<uint8_t>(stream, dst, count, value);
    case 2: return run_fill<uint16_t>(stream, dst, count, value);
    case 4: return run_fill<uint32_t>(stream, dst, count, value);
    default: return run_fill<uint64_t>(stream, dst, count, value);
    }
}

cudaError_t gpu_load_fill(int element_bytes) {
    switch (element_bytes) {
    case 1: return load_kernel(fill<uint8_t>);
    case 2: return load_kernel(fill<uint16_t>);
    case 4: return load_kernel(fill<uint32_t>);
    default: return load_kernel(fill<uint64_t>);
    }
}
