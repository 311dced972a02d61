/* gather.cu - elements and slices by index. Each thread takes output elements a grid stride apart, so neighbours
 * write neighbours; slices of whole 16-byte packs move in packs. Read first: gather.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/pack.h"

/* ---- kernels ---- */

/* Sizes of slices: data is [outer, size, inner], output is [outer, indices, inner], with count elements. */
struct slices {
    size_t count;
    int64_t size;
    gpu_divisor indices, inner;
};

/* T is an element, or a pack of 16 bytes. */
template <class T, class I>
static __global__ void gather(const slices s, int32_t node, const T *data, const I *indices, T *output,
                              gpu_status *status) {
    for (size_t i = grid_first(); i < s.count; i += grid_stride()) {
        uint64_t inner = i, place = divide(&inner, s.inner, s.count);
        const uint64_t outer = divide(&place, s.indices, s.count);
        int64_t index;
        if (!read_index(indices, place, s.size, node, status, &index)) continue;
        store_vector(output + i,
                     load_vector(data + (outer * (uint64_t)s.size + (uint64_t)index) * s.inner.value + inner));
    }
}

template <class T, class I>
static __global__ void gather_elements(const gpu_elements e, int32_t node, const T *data, const I *indices, T *output,
                                       gpu_status *status) {
    for (size_t i = grid_first(); i < e.loop.count; i += grid_stride()) {
        int64_t at[1], index;
        loop_offsets(e.loop, i, at);
        if (read_index(indices, i, e.size, node, status, &index)) output[i] = data[at[0] + index * e.step];
    }
}

/* Gathers by tuples: data is [batch, indexed axes ..., inner], indices are [batch, tuples, tuple_length]. */
template <class T>
static __global__ void gather_nd(const tort_gather_nd_params g, const slices s, int32_t node, const T *data,
                                 const int64_t *indices, T *output, gpu_status *status) {
    for (size_t i = grid_first(); i < s.count; i += grid_stride()) {
        uint64_t inner = i, rest = divide(&inner, s.inner, s.count);
        const uint64_t tuple = rest, batch = divide(&rest, s.indices, s.count);
        int64_t from = (int64_t)batch * g.batch_stride + (int64_t)inner;
        bool good = true;
        for (int k = 0; good && k < g.tuple_length; k++) {
            int64_t index;
            good = read_index(indices, tuple * (size_t)g.tuple_length + (size_t)k, g.sizes[k], node, status, &index);
            if (good) from += index * g.strides[k];
        }
        if (good) output[i] = data[from];
    }
}

/* ---- launchers ---- */

typedef pack<uint32_t, 4> bytes16;

/* True if slices consist of whole, aligned packs of 16 bytes. */
static bool takes_packs(const gpu_indexing *call, const tort_gather_params *g) {
    const uintptr_t places = (uintptr_t)call->data | (uintptr_t)call->output;
    return (uint64_t)g->inner * (uint64_t)call->element_bytes % sizeof(bytes16) == 0 && places % sizeof(bytes16) == 0;
}

static slices slices_of(size_t count, int64_t size, int64_t indices, int64_t inner) {
    return {count, size, gpu_divisor_of(indices, count), gpu_divisor_of(inner, count)};
}

template <class T, class I>
static cudaError_t run_slices(gpu_stream stream, const gpu_indexing *call, const slices &s) {
    return launch(gather<T, I>, grid_blocks(s.count), GRID_THREADS, 0, stream, s, call->node, (const T *)call->data,
                  (const I *)call->indices, (T *)call->output, (gpu_status *)call->status);
}

template <class T, class I>
static cudaError_t run(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *g, size_t count) {
    const size_t elements = sizeof(bytes16) / (size_t)call->element_bytes;
    if (!takes_packs(call, g))
        return run_slices<T, I>(stream, call, slices_of(count, g->size, g->index_count, g->inner));
    return run_slices<bytes16, I>(stream, call,
                                  slices_of(count / elements, g->size, g->index_count, g->inner / (int64_t)elements));
}

template <class T, class I> static cudaError_t load(gpu_gather_kind kind) {
    switch (kind) {
    case GPU_GATHER: {
        const cudaError_t code = load_kernel(gather<bytes16, I>);
        return code == cudaSuccess ? load_kernel(gather<T, I>) : code;
    }
    case GPU_GATHER_ELEMENTS: return load_kernel(gather_elements<T, I>);
    default: return load_kernel(gather_nd<T>);
    }
}

/* Calls use(T(), I()) for the types of an element and of an index. */
template <class Use> static cudaError_t for_indexed(int32_t element_bytes, int32_t index_bytes, Use use) {
    return for_bytes(element_bytes,
                     [=](auto zero) { return index_bytes == 8 ? use(zero, int64_t()) : use(zero, int32_t()); });
}

cudaError_t gpu_run_gather(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *g) {
    const size_t count = (size_t)g->outer * (size_t)g->index_count * (size_t)g->inner;
    if (!count) return cudaSuccess;
    return for_indexed(call->element_bytes, call->index_bytes, [=](auto zero, auto index) {
        return run<decltype(zero), decltype(index)>(stream, call, g, count);
    });
}

cudaError_t gpu_run_gather_elements(gpu_stream stream, const gpu_indexing *call, const gpu_elements *e) {
    if (!e->loop.count) return cudaSuccess;
    return for_indexed(call->element_bytes, call->index_bytes, [=](auto zero, auto index) {
        typedef decltype(zero) T;
        typedef decltype(index) I;
        return launch(gather_elements<T, I>, grid_blocks(e->loop.count), GRID_THREADS, 0, stream, *e, call->node,
                      (const T *)call->data, (const I *)call->indices, (T *)call->output, (gpu_status *)call->status);
    });
}

cudaError_t gpu_run_gather_nd(gpu_stream stream, const gpu_indexing *call, const tort_gather_nd_params *g) {
    const size_t count = (size_t)g->batch * (size_t)g->tuples * (size_t)g->inner;
    if (!count) return cudaSuccess;
    return for_bytes(call->element_bytes, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(gather_nd<T>, grid_blocks(count), GRID_THREADS, 0, stream, *g,
                      slices_of(count, 0, g->tuples, g->inner), call->node, (const T *)call->data,
                      (const int64_t *)call->indices, (T *)call->output, (gpu_status *)call->status);
    });
}

cudaError_t gpu_load_gather(gpu_gather_kind kind, int32_t element_bytes, int32_t index_bytes) {
    return for_indexed(element_bytes, index_bytes,
                       [=](auto zero, auto index) { return load<decltype(zero), decltype(index)>(kind); });
}
