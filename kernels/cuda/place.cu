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
static __device__ __forceinline__ int64_t first_of(const gpu_cache &c, size_t line) {
    const int64_t batch = (int64_t)(line / (size_t)c.lines), first = c.first ? c.first[batch] : 0,
                  max = c.circular ? INT64_MAX : c.length - c.fresh;
    if (first >= 0 && first <= max) return c.circular ? first % c.length : first;
    report_fault(c.status, c.node, GPU_FAULT_RANGE, first, (size_t)batch, max);
    return -1;
}

template <class T> static __global__ void cache(const gpu_cache c, const T *past, const T *update, T *present) {
    for (size_t i = grid_first(); i < c.count; i += grid_stride()) {
        const size_t inner = i % c.inner, rest = i / c.inner, outer = rest / (size_t)c.length;
        const int64_t first = first_of(c, outer);
        int64_t k = first < 0 ? -1 : (int64_t)(rest % (size_t)c.length) - first;
        if (c.circular && k < 0 && first >= 0) k += c.length;
        present[i] = k >= 0 && k < c.fresh ? update[(outer * (size_t)c.fresh + (size_t)k) * c.inner + inner] : past[i];
    }
}

/* The same where the cache is the past: a thread takes elements of the update. */
template <class T> static __global__ void extend(const gpu_cache c, size_t count, const T *update, T *present) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t inner = i % c.inner, rest = i / c.inner, outer = rest / (size_t)c.fresh;
        const int64_t first = first_of(c, outer), at = first + (int64_t)(rest % (size_t)c.fresh);
        if (first >= 0)
            present[(outer * (size_t)c.length + (size_t)(at < c.length ? at : at - c.length)) * c.inner + inner] =
                update[i];
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
        const size_t count = c->count / (size_t)c->length * (size_t)c->fresh;
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
