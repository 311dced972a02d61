/* generate.cu - Range, OneHot and Trilu. Each thread takes output elements a grid stride apart. Read first:
 * generate.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/any_number.h"
#include "kernels/cuda/generate.h"
#include "kernels/cuda/grid.h"

/* ---- kernels ---- */

/* Returns element i of a Range. Floats are computed in double; integers wrap. */
static __device__ __forceinline__ any_number number_at(const gpu_range &r, size_t i, bool is_real) {
    return is_real ? any_real(r.real_start + (double)i * r.real_step)
                   : any_integer((int64_t)((uint64_t)r.start + (uint64_t)i * (uint64_t)r.step));
}

template <class T> static __global__ void range(const gpu_range r, T *output, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride())
        convert(number_at(r, i, (T)0.5f != (T)0.0f), &output[i]);
}

/* Converts any number to an index: a float is truncated; INT64_MIN stands for numbers beyond every depth. */
static __device__ __forceinline__ int64_t index_of(const any_number &x) {
    if (x.kind == any_number::UNSIGNED && x.integer < 0) return INT64_MIN;
    if (x.kind != any_number::REAL) return x.integer;
    if (x.real != x.real) return 0;
    return fabs(x.real) < 9223372036854775808.0 ? (int64_t)x.real : INT64_MIN;
}

template <class T>
static __global__ void one_hot(const gpu_one_hot h, gpu_number type, const void *indices, const T *values, T *output) {
    for (size_t i = grid_first(); i < h.count; i += grid_stride()) {
        const size_t inner = i % h.inner, rest = i / h.inner;
        const int64_t at = (int64_t)(rest % (size_t)h.depth);
        const int64_t hot = index_of(any_number_at(type, indices, rest / (size_t)h.depth * h.inner + inner));
        output[i] = values[hot == at || hot == at - h.depth ? 1 : 0];
    }
}

template <class T> static __global__ void triangle(const gpu_triangle t, const T *x, T *y) {
    for (size_t i = grid_first(); i < t.count; i += grid_stride()) {
        const int64_t column = (int64_t)(i % (size_t)t.columns);
        const int64_t row = (int64_t)(i / (size_t)t.columns % (size_t)t.rows);
        const int64_t distance = column - row;
        y[i] = (t.upper ? distance >= t.diagonal : distance <= t.diagonal) ? x[i] : (T)0;
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_range(gpu_stream stream, const gpu_range *r, void *output, size_t count) {
    return launch(range<T>, grid_blocks(count), GRID_THREADS, 0, stream, *r, (T *)output, count);
}

cudaError_t gpu_run_range(gpu_stream stream, gpu_number type, const gpu_range *r, void *output, size_t count) {
    if (!count) return cudaSuccess;
    return for_number(type, [=](auto zero) { return run_range<decltype(zero)>(stream, r, output, count); });
}

cudaError_t gpu_load_range(gpu_number type) {
    return for_number(type, [](auto zero) { return load_kernel(range<decltype(zero)>); });
}

cudaError_t gpu_run_one_hot(gpu_stream stream, gpu_number type, int element_bytes, const gpu_one_hot *h,
                            const void *indices, const void *values, void *output) {
    if (!h->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(one_hot<T>, grid_blocks(h->count), GRID_THREADS, 0, stream, *h, type, indices, (const T *)values,
                      (T *)output);
    });
}

cudaError_t gpu_load_one_hot(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(one_hot<decltype(zero)>); });
}

cudaError_t gpu_run_triangle(gpu_stream stream, int element_bytes, const gpu_triangle *t, const void *x, void *y) {
    if (!t->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(triangle<T>, grid_blocks(t->count), GRID_THREADS, 0, stream, *t, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_triangle(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(triangle<decltype(zero)>); });
}
