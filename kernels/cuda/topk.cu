/* topk.cu - the first k elements along an axis, in order. Elements are mapped to integer keys; each of k passes over
 * the axis finds the first element after the previous one, so nothing is stored between passes.
 * Cost: k * length comparisons per line. That is fast for the small k of networks, and slow for sorting a long axis.
 *
 * Two forms: a block takes a line whose elements are contiguous, a thread any other. Read first: topk.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/topk.h"

/* ---- order ---- */

/* An element with its key; the greater key comes first. index -1: none. */
struct entry {
    uint64_t key;
    int64_t index;
};

/* Maps a float to an integer of the same order; +0 and -0 are equal. */
static __device__ __forceinline__ uint64_t key_of(const gpu_topk &t, float x) {
    if (x != x) return t.nan_first ? UINT64_MAX : 0;
    const uint32_t bits = __float_as_uint(x + 0.0f);
    const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return 1 + (uint64_t)(t.largest ? ordered : ~ordered);
}
static __device__ __forceinline__ uint64_t key_of(const gpu_topk &t, half x) {
    return key_of(t, (float)x);
}
static __device__ __forceinline__ uint64_t key_of(const gpu_topk &t, bfloat16 x) {
    return key_of(t, (float)x);
}
/* Numbers never get the keys 0 and UINT64_MAX: in this mapping, those belong to bit patterns of NaN. */
static __device__ __forceinline__ uint64_t key_of(const gpu_topk &t, double x) {
    if (x != x) return t.nan_first ? UINT64_MAX : 0;
    const uint64_t bits = (uint64_t)__double_as_longlong(x + 0.0);
    const uint64_t ordered = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
    return t.largest ? ordered : ~ordered;
}
template <class T> static __device__ __forceinline__ uint64_t key_of(const gpu_topk &t, T x) {
    const uint64_t ordered = (T)-1 < (T)0 ? (uint64_t)(int64_t)x ^ (uint64_t)1 << 63 : (uint64_t)x;
    return t.largest ? ordered : ~ordered;
}

static __device__ __forceinline__ bool is_before(const gpu_topk &t, const entry &a, const entry &b) {
    if (a.index < 0 || b.index < 0) return b.index < 0 && a.index >= 0;
    if (a.key != b.key) return a.key > b.key;
    return t.last ? a.index > b.index : a.index < b.index;
}

/* The first entry after `found` (index -1: the first of all) among elements first, first + step, ... of a line. */
template <class T>
static __device__ __forceinline__ entry next_of(const gpu_topk &t, const T *line, size_t first, size_t step,
                                                const entry &found) {
    entry best = {0, -1};
    for (size_t i = first; i < t.length; i += step) {
        const entry candidate = {key_of(t, line[i * t.inner]), (int64_t)i};
        if ((found.index < 0 || is_before(t, found, candidate)) && is_before(t, candidate, best)) best = candidate;
    }
    return best;
}

/* ---- kernels ---- */

template <class T>
static __device__ __forceinline__ void store(const gpu_topk &t, const T *line, size_t to, const entry &found) {
    if (t.values) ((T *)t.values)[to] = line[(size_t)found.index * t.inner];
    if (t.indices) t.indices[to] = found.index;
}

/* Returns the first of all threads' entries to every thread. */
static __device__ entry first_of_block(const gpu_topk &t, entry mine, entry *shared) {
    for (int offset = 16; offset; offset >>= 1) {
        const entry other = {__shfl_xor_sync(~0u, mine.key, offset), __shfl_xor_sync(~0u, mine.index, offset)};
        if (is_before(t, other, mine)) mine = other;
    }
    __syncthreads(); /* reads of the previous call are over */
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    entry best = shared[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++)
        if (is_before(t, shared[i], best)) best = shared[i];
    return best;
}

template <class T> static __global__ void topk_rows(const gpu_topk t) {
    __shared__ entry shared[BLOCK_MAX_WARPS];
    for (size_t row = blockIdx.x; row < t.outer * t.inner; row += gridDim.x) {
        const T *line = (const T *)t.x + row / t.inner * t.length * t.inner + row % t.inner;
        entry found = {0, -1};
        for (size_t j = 0; j < t.k; j++) {
            found = first_of_block(t, next_of(t, line, threadIdx.x, blockDim.x, found), shared);
            if (threadIdx.x == 0) store(t, line, (row / t.inner * t.k + j) * t.inner + row % t.inner, found);
        }
    }
}

template <class T> static __global__ void topk_columns(const gpu_topk t) {
    for (size_t column = grid_first(); column < t.outer * t.inner; column += grid_stride()) {
        const size_t outer = column / t.inner, inner = column % t.inner;
        const T *line = (const T *)t.x + outer * t.length * t.inner + inner;
        entry found = {0, -1};
        for (size_t j = 0; j < t.k; j++) {
            found = next_of(t, line, 0, 1, found);
            store(t, line, (outer * t.k + j) * t.inner + inner, found);
        }
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_topk *t) {
    const size_t lines = t->outer * t->inner;
    if (t->inner > 1) return launch(topk_columns<T>, grid_blocks(lines), GRID_THREADS, 0, stream, *t);
    return launch(topk_rows<T>, grid_extent(lines), block_threads(t->length), 0, stream, *t);
}

template <class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(topk_rows<T>);
    return code == cudaSuccess ? load_kernel(topk_columns<T>) : code;
}

cudaError_t gpu_run_topk(gpu_stream stream, gpu_number type, const gpu_topk *t) {
    if (!t->outer || !t->inner || !t->k) return cudaSuccess;
    return for_number(type, [=](auto zero) { return run<decltype(zero)>(stream, t); });
}

cudaError_t gpu_load_topk(gpu_number type) {
    return for_number(type, [](auto zero) { return load<decltype(zero)>(); });
}
