/* place.cu - ReverseSequence, TensorScatter and EyeLike. A thread takes output elements in a grid stride and finds
 * the source of each. Read first: place.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/place.h"

/* ---- kernels ---- */

template <class T> static __global__ void reversal(const gpu_reversal r, const T *x, T *y) {
    for (size_t i = grid_first(); i < r.count; i += grid_stride()) {
        const size_t inner = i % r.inner, rest = i / r.inner, size = (size_t)(r.batch_first ? r.times : r.batches);
        const int64_t low = (int64_t)(rest % size), high = (int64_t)(rest / size);
        const int64_t batch = r.batch_first ? high : low, time = r.batch_first ? low : high;
        const int64_t length = r.lengths[batch];
        if (length < 0 || length > r.times) {
            report_fault(r.status, r.node, GPU_FAULT_RANGE, length, (size_t)batch, r.times);
            continue;
        }
        const int64_t from = time < length ? length - 1 - time : time;
        y[i] = x[(size_t)(r.batch_first ? batch * r.times + from : from * r.batches + batch) * r.inner + inner];
    }
}

/* Returns the position of the update of a line of the cache; -1: it is invalid, and reported. */
static __device__ __forceinline__ int64_t first_of(const gpu_cache &c, uint64_t line) {
    const int64_t batch = (int64_t)divide(&line, c.lines, c.count), first = c.first ? c.first[batch] : 0,
                  length = (int64_t)c.length.value, max = c.circular ? INT64_MAX : length - (int64_t)c.fresh.value;
    if (first >= 0 && first <= max) return c.circular ? first % length : first;
    report_fault(c.status, c.node, GPU_FAULT_RANGE, first, (size_t)batch, max);
    return -1;
}

template <class T> static __global__ void cache(const gpu_cache c, const T *past, const T *update, T *present) {
    for (size_t i = grid_first(); i < c.count; i += grid_stride()) {
        uint64_t inner = i, at = divide(&inner, c.inner, c.count);
        const uint64_t outer = divide(&at, c.length, c.count);
        const int64_t first = first_of(c, outer);
        int64_t k = first < 0 ? -1 : (int64_t)at - first;
        if (c.circular && k < 0 && first >= 0) k += (int64_t)c.length.value;
        present[i] = k >= 0 && k < (int64_t)c.fresh.value
                         ? update[(outer * c.fresh.value + (uint64_t)k) * c.inner.value + inner]
                         : past[i];
    }
}

/* The same where the cache is the past: a thread takes elements of the update. */
template <class T> static __global__ void extend(const gpu_cache c, size_t count, const T *update, T *present) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        uint64_t inner = i, k = divide(&inner, c.inner, c.count);
        const uint64_t outer = divide(&k, c.fresh, c.count), length = c.length.value;
        const int64_t first = first_of(c, outer);
        if (first < 0) continue;
        const uint64_t at = (uint64_t)first + k;
        present[(outer * length + (at < length ? at : at - length)) * c.inner.value + inner] = update[i];
    }
}

template <class T> static __global__ void eye(const gpu_eye e, T *y) {
    for (size_t i = grid_first(); i < e.count; i += grid_stride()) {
        const int64_t row = (int64_t)(i / (size_t)e.columns), column = (int64_t)(i % (size_t)e.columns);
        y[i] = (T)(column - row == e.diagonal ? e.one : e.zero);
    }
}

template <class T> static __global__ void complement(size_t count, const T *x, T *y) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) y[i] = (T)~x[i];
}

/* ---- launchers ---- */

cudaError_t gpu_run_reversal(gpu_stream stream, int element_bytes, const gpu_reversal *r, const void *x, void *y) {
    if (!r->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(reversal<T>, grid_blocks(r->count), GRID_THREADS, 0, stream, *r, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_reversal(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(reversal<decltype(zero)>); });
}

cudaError_t gpu_run_cache(gpu_stream stream, int element_bytes, const gpu_cache *c, const void *past,
                          const void *update, void *present) {
    if (!c->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        const size_t count = c->count / c->length.value * c->fresh.value;
        if (past != present)
            return launch(cache<T>, grid_blocks(c->count), GRID_THREADS, 0, stream, *c, (const T *)past,
                          (const T *)update, (T *)present);
        if (!count) return cudaSuccess;
        return launch(extend<T>, grid_blocks(count), GRID_THREADS, 0, stream, *c, count, (const T *)update,
                      (T *)present);
    });
}

cudaError_t gpu_load_cache(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) {
        typedef decltype(zero) T;
        const cudaError_t code = load_kernel(cache<T>);
        return code == cudaSuccess ? load_kernel(extend<T>) : code;
    });
}

cudaError_t gpu_run_eye(gpu_stream stream, int element_bytes, const gpu_eye *e, void *y) {
    if (!e->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(eye<T>, grid_blocks(e->count), GRID_THREADS, 0, stream, *e, (T *)y);
    });
}

cudaError_t gpu_load_eye(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(eye<decltype(zero)>); });
}

cudaError_t gpu_run_complement(gpu_stream stream, int element_bytes, size_t count, const void *x, void *y) {
    if (!count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(complement<T>, grid_blocks(count), GRID_THREADS, 0, stream, count, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_complement(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load_kernel(complement<decltype(zero)>); });
}
