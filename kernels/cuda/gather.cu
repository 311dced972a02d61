/* gather.cu - elements and slices by index. Each thread takes output elements a grid stride apart, so neighbours
 * write neighbours; slices of whole 16-byte packs move in packs. Read first: gather.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/gather.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/index.h"
#include "kernels/cuda/pack.h"

/* ---- kernels ---- */

/* Divides in 32 bits where possible, as 64-bit division is slow. */
static __device__ __forceinline__ size_t divide(size_t number, size_t by, bool is_small) {
    return is_small ? (uint32_t)number / (uint32_t)by : number / by;
}

/* Gathers slices: data is [outer, size, inner], output is [outer, index_count, inner]. T is an element, or a pack of
 * 16 bytes. */
template <class T, class I>
static __global__ void gather(const tort_gather_params g, size_t count, int32_t node, const T *data, const I *indices,
                              T *output, gpu_status *status) {
    const bool is_small = count <= UINT32_MAX;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t rest = divide(i, (size_t)g.inner, is_small), inner = i - rest * (size_t)g.inner;
        const size_t outer = divide(rest, (size_t)g.index_count, is_small);
        int64_t index;
        if (!read_index(indices, rest - outer * (size_t)g.index_count, g.size, node, status, &index)) continue;
        store_vector(output + i,
                     load_vector(data + (outer * (size_t)g.size + (size_t)index) * (size_t)g.inner + inner));
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
static __global__ void gather_nd(const tort_gather_nd_params g, size_t count, int32_t node, const T *data,
                                 const int64_t *indices, T *output, gpu_status *status) {
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t tuple = i / (size_t)g.inner;
        int64_t from = (int64_t)(tuple / (size_t)g.tuples) * g.batch_stride + (int64_t)(i % (size_t)g.inner);
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

template <class I>
static cudaError_t run_packs(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *g, size_t count) {
    const size_t elements = sizeof(bytes16) / (size_t)call->element_bytes;
    tort_gather_params packs = *g;
    packs.inner /= (int64_t)elements;
    return launch(gather<bytes16, I>, grid_blocks(count / elements), GRID_THREADS, 0, stream, packs, count / elements,
                  call->node, (const bytes16 *)call->data, (const I *)call->indices, (bytes16 *)call->output,
                  (gpu_status *)call->status);
}
template <class T, class I>
static cudaError_t run(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *g, size_t count) {
    if (takes_packs(call, g)) return run_packs<I>(stream, call, g, count);
    return launch(gather<T, I>, grid_blocks(count), GRID_THREADS, 0, stream, *g, count, call->node,
                  (const T *)call->data, (const I *)call->indices, (T *)call->output, (gpu_status *)call->status);
}
template <class T, class I>
static cudaError_t run_elements(gpu_stream stream, const gpu_indexing *call, const gpu_elements *e) {
    return launch(gather_elements<T, I>, grid_blocks(e->loop.count), GRID_THREADS, 0, stream, *e, call->node,
                  (const T *)call->data, (const I *)call->indices, (T *)call->output, (gpu_status *)call->status);
}
template <class T>
static cudaError_t run_nd(gpu_stream stream, const gpu_indexing *call, const tort_gather_nd_params *g, size_t count) {
    return launch(gather_nd<T>, grid_blocks(count), GRID_THREADS, 0, stream, *g, count, call->node,
                  (const T *)call->data, (const int64_t *)call->indices, (T *)call->output, (gpu_status *)call->status);
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

typedef struct gather_row {
    cudaError_t (*gather)(gpu_stream, const gpu_indexing *, const tort_gather_params *, size_t);
    cudaError_t (*elements)(gpu_stream, const gpu_indexing *, const gpu_elements *);
    cudaError_t (*nd)(gpu_stream, const gpu_indexing *, const tort_gather_nd_params *, size_t);
    cudaError_t (*load)(gpu_gather_kind);
} gather_row;

#define ENTRY(T, I)                                                                                                    \
    { run<T, I>, run_elements<T, I>, run_nd<T>, load<T, I> }

/* By the bytes of an element (1, 2, 4, 8) and of an index (4, 8). */
static const gather_row rows[4][2] = {
    {ENTRY(uint8_t, int32_t), ENTRY(uint8_t, int64_t)},
    {ENTRY(uint16_t, int32_t), ENTRY(uint16_t, int64_t)},
    {ENTRY(uint32_t, int32_t), ENTRY(uint32_t, int64_t)},
    {ENTRY(uint64_t, int32_t), ENTRY(uint64_t, int64_t)},
};

static const gather_row *row_of(int32_t element_bytes, int32_t index_bytes) {
    const int size = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3;
    return &rows[size][index_bytes == 8];
}

cudaError_t gpu_run_gather(gpu_stream stream, const gpu_indexing *call, const tort_gather_params *g) {
    const size_t count = (size_t)g->outer * (size_t)g->index_count * (size_t)g->inner;
    return count ? row_of(call->element_bytes, call->index_bytes)->gather(stream, call, g, count) : cudaSuccess;
}

cudaError_t gpu_run_gather_elements(gpu_stream stream, const gpu_indexing *call, const gpu_elements *e) {
    return e->loop.count ? row_of(call->element_bytes, call->index_bytes)->elements(stream, call, e) : cudaSuccess;
}

cudaError_t gpu_run_gather_nd(gpu_stream stream, const gpu_indexing *call, const tort_gather_nd_params *g) {
    const size_t count = (size_t)g->batch * (size_t)g->tuples * (size_t)g->inner;
    return count ? row_of(call->element_bytes, call->index_bytes)->nd(stream, call, g, count) : cudaSuccess;
}

cudaError_t gpu_load_gather(gpu_gather_kind kind, int32_t element_bytes, int32_t index_bytes) {
    return row_of(element_bytes, index_bytes)->load(kind);
}
