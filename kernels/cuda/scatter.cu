/* scatter.cu - updates by index, with results that do not depend on the order of threads. Replacing: a first pass
 * finds the last update of each slice, a second writes only that one. Combining: a thread applies, one after the
 * other, all updates that may hit the same element, so float sums equal those of the CPU; this is slow when few
 * threads have many updates each. Read first: scatter.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/scatter.h"

/* ---- where an update goes: the first element of its slice; -1: nowhere, its index is out of range ---- */

template <class I> struct by_element {
    gpu_elements e;
    const I *indices;
    int32_t node;
    gpu_status *status;

    __device__ __forceinline__ int64_t target(size_t update) const {
        int64_t at[1], index;
        if (!read_index(indices, update, e.size, node, status, &index)) return -1;
        loop_offsets(e.loop, update, at);
        return at[0] + index * e.step;
    }
};

struct by_tuple {
    tort_gather_nd_params nd;
    const int64_t *indices;
    int32_t node;
    gpu_status *status;

    __device__ __forceinline__ int64_t target(size_t update) const {
        int64_t to = 0;
        for (int k = 0; k < nd.tuple_length; k++) {
            const size_t place = update * (size_t)nd.tuple_length + (size_t)k;
            int64_t index;
            if (!read_index(indices, place, nd.sizes[k], node, status, &index)) return -1;
            to += index * nd.strides[k];
        }
        return to;
    }
};

/* Either kind, chosen at run time: fewer instantiations for rare types. */
struct anywhere {
    bool tuples, narrow;
    by_tuple tuple;
    by_element<int32_t> element32;
    by_element<int64_t> element64;

    __device__ __forceinline__ int64_t target(size_t update) const {
        return tuples ? tuple.target(update) : narrow ? element32.target(update) : element64.target(update);
    }
};

/* ---- kernels ---- */

/* last[slice] = 1 + the greatest number of an update of that slice; 0: none. */
template <class Where>
static __global__ void scatter_note_last(const Where where, size_t count, size_t inner, unsigned long long *last) {
    for (size_t u = grid_first(); u < count; u += grid_stride()) {
        const int64_t to = where.target(u);
        if (to >= 0) atomicMax(&last[(size_t)to / inner], (unsigned long long)u + 1);
    }
}

template <class Where, class T>
static __global__ void scatter_replace(const Where where, size_t count, size_t inner, const unsigned long long *last,
                                       const T *updates, T *output) {
    for (size_t i = grid_first(); i < count * inner; i += grid_stride()) {
        const size_t u = i / inner;
        const int64_t to = where.target(u);
        if (to >= 0 && last[(size_t)to / inner] == u + 1) output[(size_t)to + i % inner] = updates[i];
    }
}

/* 16-bit floats are combined in float and rounded after each update. */
template <class C> static __device__ __forceinline__ C combined_reals(tort_scatter_reduction reduction, C a, C b) {
    switch (reduction) {
    case TORT_SCATTER_ADD: return a + b;
    case TORT_SCATTER_MUL: return a * b;
    case TORT_SCATTER_MAX: return a >= b || a != a ? a : b; /* NaN wins */
    default: return a <= b || a != a ? a : b;
    }
}
static __device__ __forceinline__ float combined(tort_scatter_reduction reduction, float a, float b) {
    return combined_reals(reduction, a, b);
}
static __device__ __forceinline__ double combined(tort_scatter_reduction reduction, double a, double b) {
    return combined_reals(reduction, a, b);
}
template <class T> static __device__ __forceinline__ T combined(tort_scatter_reduction reduction, T a, T b) {
    switch (reduction) { /* unsigned arithmetic wraps */
    case TORT_SCATTER_ADD: return (T)((uint64_t)a + (uint64_t)b);
    case TORT_SCATTER_MUL: return (T)((uint64_t)a * (uint64_t)b);
    case TORT_SCATTER_MAX: return a >= b ? a : b;
    default: return a <= b ? a : b;
    }
}

/* The updates' elements as [lanes, length, tail]: a thread goes along one `length`, in order. */
template <class Where, class T>
static __global__ void scatter_combine(const Where where, tort_scatter_reduction reduction, size_t threads,
                                       size_t length, size_t tail, size_t inner, const T *updates, T *output) {
    typedef typename computed<T>::type C;
    for (size_t t = grid_first(); t < threads; t += grid_stride())
        for (size_t j = 0; j < length; j++) {
            const size_t i = (t / tail * length + j) * tail + t % tail;
            const int64_t to = where.target(i / inner);
            if (to < 0) continue;
            T *place = output + to + i % inner;
            *place = (T)combined(reduction, (C)*place, (C)updates[i]);
        }
}

/* ---- launchers ---- */

template <class Where, class T>
static cudaError_t run_replace(gpu_stream stream, const gpu_scatter *s, const Where &where, void *output) {
    cudaError_t code = cudaMemsetAsync(s->last, 0, s->slices * sizeof *s->last, stream.handle);
    if (code == cudaSuccess)
        code = launch(scatter_note_last<Where>, grid_blocks(s->count), GRID_THREADS, 0, stream, where, s->count,
                      s->inner, s->last);
    if (code != cudaSuccess) return code;
    return launch(scatter_replace<Where, T>, grid_blocks(s->count * s->inner), GRID_THREADS, 0, stream, where, s->count,
                  s->inner, s->last, (const T *)s->updates, (T *)output);
}

template <class Where, class T>
static cudaError_t run_combine(gpu_stream stream, const gpu_scatter *s, const Where &where, void *output) {
    const size_t threads = s->count * s->inner / s->length;
    return launch(scatter_combine<Where, T>, grid_blocks(threads), GRID_THREADS, 0, stream, where, s->reduction,
                  threads, s->length, s->tail, s->inner, (const T *)s->updates, (T *)output);
}

template <class Where>
static cudaError_t run(gpu_stream stream, const gpu_scatter *s, int32_t element_bytes, const Where &where,
                       void *output) {
    if (s->reduction == TORT_SCATTER_REPLACE)
        return for_bytes(element_bytes,
                         [=](auto zero) { return run_replace<Where, decltype(zero)>(stream, s, where, output); });
    return s->type == GPU_NUMBER_HALF ? run_combine<Where, half>(stream, s, where, output)
                                      : run_combine<Where, float>(stream, s, where, output);
}

template <class Where> static cudaError_t load(const gpu_scatter *s, int32_t element_bytes) {
    if (s->reduction == TORT_SCATTER_REPLACE) {
        const cudaError_t code = load_kernel(scatter_note_last<Where>);
        if (code != cudaSuccess) return code;
        return for_bytes(element_bytes, [](auto zero) { return load_kernel(scatter_replace<Where, decltype(zero)>); });
    }
    return s->type == GPU_NUMBER_HALF ? load_kernel(scatter_combine<Where, half>)
                                      : load_kernel(scatter_combine<Where, float>);
}

template <class I> static cudaError_t run_elements(gpu_stream stream, const gpu_indexing *call, const gpu_scatter *s) {
    const by_element<I> where = {s->elements, (const I *)call->indices, call->node, (gpu_status *)call->status};
    return run(stream, s, call->element_bytes, where, call->output);
}

/* True if updates of rarer types are combined: they share one kernel per type (struct anywhere). */
static bool goes_anywhere(const gpu_scatter *s) {
    return s->reduction != TORT_SCATTER_REPLACE && s->type > GPU_NUMBER_HALF;
}

cudaError_t gpu_run_scatter(gpu_stream stream, const gpu_indexing *call, const gpu_scatter *s) {
    if (goes_anywhere(s)) {
        gpu_status *const status = (gpu_status *)call->status;
        const anywhere where = {s->tuples,
                                call->index_bytes == 4,
                                {s->nd, (const int64_t *)call->indices, call->node, status},
                                {s->elements, (const int32_t *)call->indices, call->node, status},
                                {s->elements, (const int64_t *)call->indices, call->node, status}};
        return for_number(
            s->type, [=](auto zero) { return run_combine<anywhere, decltype(zero)>(stream, s, where, call->output); });
    }
    if (s->tuples) {
        const by_tuple where = {s->nd, (const int64_t *)call->indices, call->node, (gpu_status *)call->status};
        return run(stream, s, call->element_bytes, where, call->output);
    }
    return call->index_bytes == 4 ? run_elements<int32_t>(stream, call, s) : run_elements<int64_t>(stream, call, s);
}

cudaError_t gpu_load_scatter(const gpu_indexing *call, const gpu_scatter *s) {
    if (goes_anywhere(s))
        return for_number(s->type, [](auto zero) { return load_kernel(scatter_combine<anywhere, decltype(zero)>); });
    if (s->tuples) return load<by_tuple>(s, call->element_bytes);
    return call->index_bytes == 4 ? load<by_element<int32_t>>(s, call->element_bytes)
                                  : load<by_element<int64_t>>(s, call->element_bytes);
}
