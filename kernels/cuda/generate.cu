/* generate.cu - Range, OneHot and Trilu. A thread takes a stride of output elements. Read first: generate.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/generate.h"
#include "kernels/cuda/grid.h"

/* ---- kernels ---- */

/* Floats are computed in double; integers wrap. */
static __device__ __forceinline__ void number_at(const gpu_range &r, size_t i, float *to) {
    *to = (float)(r.real_start + (double)i * r.real_step);
}
static __device__ __forceinline__ void number_at(const gpu_range &r, size_t i, half *to) {
    *to = (half)(float)(r.real_start + (double)i * r.real_step);
}
template <class T> static __device__ __forceinline__ void number_at(const gpu_range &r, size_t i, T *to) {
    *to = (T)((uint64_t)r.start + (uint64_t)i * (uint64_t)r.step);
}

template <class T> static __global__ void range(const gpu_range r, T *output, size_t count) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) number_at(r, i, &output[i]);
}

/* An index may be any number: a float is cut to its integer; INT64_MIN stands for what no depth reaches. */
static __device__ __forceinline__ int64_t index_of(int64_t x) {
    return x;
}
static __device__ __forceinline__ int64_t index_of(int32_t x) {
    return x;
}
static __device__ __forceinline__ int64_t index_of(float x) {
    if (x != x) return 0;
    return fabsf(x) < 9223372036854775808.0f ? (int64_t)x : INT64_MIN;
}
static __device__ __forceinline__ int64_t index_of(half x) {
    return index_of((float)x);
}

template <class T, class I>
static __global__ void one_hot(const gpu_one_hot h, const I *indices, const T *values, T *output) {
    for (size_t i = grid_first(); i < h.count; i += grid_stride()) {
        const size_t inner = i % h.inner, rest = i / h.inner;
        const int64_t at = (int64_t)(rest % (size_t)h.depth);
        const int64_t hot = index_of(indices[rest / (size_t)h.depth * h.inner + inner]);
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
    switch (type) {
    case GPU_NUMBER_FLOAT: return run_range<float>(stream, r, output, count);
    case GPU_NUMBER_HALF: return run_range<half>(stream, r, output, count);
    case GPU_NUMBER_INT32: return run_range<int32_t>(stream, r, output, count);
    default: return run_range<int64_t>(stream, r, output, count);
    }
}

cudaError_t gpu_load_range(gpu_number type) {
    switch (type) {
    case GPU_NUMBER_FLOAT: return load_kernel(range<float>);
    case GPU_NUMBER_HALF: return load_kernel(range<half>);
    case GPU_NUMBER_INT32: return load_kernel(range<int32_t>);
    default: return load_kernel(range<int64_t>);
    }
}

typedef struct one_hot_row {
    cudaError_t (*run)(gpu_stream, const gpu_one_hot *, const void *, const void *, void *);
    cudaError_t (*load)();
} one_hot_row;

template <class T, class I>
static cudaError_t run_one_hot(gpu_stream stream, const gpu_one_hot *h, const void *indices, const void *values,
                               void *output) {
    return launch(one_hot<T, I>, grid_blocks(h->count), GRID_THREADS, 0, stream, *h, (const I *)indices,
                  (const T *)values, (T *)output);
}
template <class T, class I> static cudaError_t load_one_hot() {
    return load_kernel(one_hot<T, I>);
}

#define ENTRY(T, I)                                                                                                    \
    { run_one_hot<T, I>, load_one_hot<T, I> }
#define INDICES(I)                                                                                                     \
    { ENTRY(uint8_t, I), ENTRY(uint16_t, I), ENTRY(uint32_t, I), ENTRY(uint64_t, I) }

/* By the type of the indices, in the order of gpu_number, and the bytes of an element: 1, 2, 4, 8. */
static const one_hot_row one_hot_rows[GPU_NUMBER_INT64 + 1][4] = {INDICES(float), INDICES(half), INDICES(int32_t),
                                                                  INDICES(int64_t)};

static const one_hot_row *one_hot_row_of(gpu_number type, int element_bytes) {
    return &one_hot_rows[type][element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3];
}

cudaError_t gpu_run_one_hot(gpu_stream stream, gpu_number type, int element_bytes, const gpu_one_hot *h,
                            const void *indices, const void *values, void *output) {
    if (!h->count) return cudaSuccess;
    return one_hot_row_of(type, element_bytes)->run(stream, h, indices, values, output);
}

cudaError_t gpu_load_one_hot(gpu_number type, int element_bytes) {
    return one_hot_row_of(type, element_bytes)->load();
}

template <class T> static cudaError_t run_triangle(gpu_stream stream, const gpu_triangle *t, const void *x, void *y) {
    return launch(triangle<T>, grid_blocks(t->count), GRID_THREADS, 0, stream, *t, (const T *)x, (T *)y);
}

cudaError_t gpu_run_triangle(gpu_stream stream, int element_bytes, const gpu_triangle *t, const void *x, void *y) {
    if (!t->count) return cudaSuccess;
    switch (element_bytes) {
    case 1: return run_triangle<uint8_t>(stream, t, x, y);
    case 2: return run_triangle<uint16_t>(stream, t, x, y);
    case 4: return run_triangle<uint32_t>(stream, t, x, y);
    default: return run_triangle<uint64_t>(stream, t, x, y);
    }
}

cudaError_t gpu_load_triangle(int element_bytes) {
    switch (element_bytes) {
    case 1: return load_kernel(triangle<uint8_t>);
    case 2: return load_kernel(triangle<uint16_t>);
    case 4: return load_kernel(triangle<uint32_t>);
    default: return load_kernel(triangle<uint64_t>);
    }
}
