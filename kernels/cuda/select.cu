/* select.cu - indices of nonzero elements, in order (stream compaction). The tensor is divided into parts, one per
 * block: a first launch counts the nonzero elements of each part, a second writes their indices, beginning at the
 * sum of the previous parts' counts. Read first: select.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/select.h"

#define SELECT_WARPS (GRID_THREADS / 32)

/* ---- kernels ---- */

/* Elements of a part, a multiple of the block's threads. */
static __host__ __device__ __forceinline__ size_t part_of(size_t count) {
    const size_t rounds = (count + GRID_THREADS - 1) / GRID_THREADS;
    return (rounds + GPU_SELECT_PARTS - 1) / GPU_SELECT_PARTS * GRID_THREADS;
}

template <class T> static __device__ __forceinline__ bool is_selected(const gpu_selection &s, size_t i, size_t end) {
    return i < end && (((const T *)s.x)[i] & (T)s.mask) != 0;
}

template <class T> static __global__ void count_parts(const gpu_selection s) {
    __shared__ uint64_t shared[BLOCK_MAX_WARPS];
    __shared__ unsigned last;
    const size_t part = part_of(s.count), first = blockIdx.x * part;
    const size_t end = s.count - first < part ? s.count : first + part;
    uint64_t found = 0;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) found += is_selected<T>(s, i, end);
    found = block_join<join_sum>(found, shared);
    if (threadIdx.x == 0) s.counts[blockIdx.x] = found;
    if (!last_to_arrive(s.arrivals, gridDim.x, &last)) return;
    found = 0;
    for (unsigned p = threadIdx.x; p < gridDim.x; p += blockDim.x) found += s.counts[p];
    found = block_join<join_sum>(found, shared);
    if (threadIdx.x == 0) s.counts[GPU_SELECT_PARTS] = found;
}

static __device__ __forceinline__ void store_coordinates(const gpu_selection &s, size_t column, size_t i) {
    for (int d = s.rank - 1; d >= 0; d--) {
        s.output[(size_t)d * s.columns + column] = (int64_t)(i % (size_t)s.dims[d]);
        i /= (size_t)s.dims[d];
    }
}

template <class T> static __global__ void write_parts(const gpu_selection s) {
    __shared__ uint64_t shared[BLOCK_MAX_WARPS];
    __shared__ unsigned warps[SELECT_WARPS];
    const size_t part = part_of(s.count), first = blockIdx.x * part;
    const size_t end = s.count - first < part ? s.count : first + part;
    uint64_t before = 0;
    for (unsigned p = threadIdx.x; p < blockIdx.x; p += blockDim.x) before += s.counts[p];
    before = block_join<join_sum>(before, shared);
    for (size_t round = first; round < end; round += GRID_THREADS) {
        const bool selected = is_selected<T>(s, round + threadIdx.x, end);
        const unsigned votes = __ballot_sync(~0u, selected), lane = threadIdx.x % 32;
        __syncthreads(); /* reads of the previous round are over */
        if (lane == 0) warps[threadIdx.x / 32] = (unsigned)__popc(votes);
        __syncthreads();
        size_t column = before + (size_t)__popc(votes & ((1u << lane) - 1));
        for (unsigned w = 0; w < SELECT_WARPS; w++) {
            column += w < threadIdx.x / 32 ? warps[w] : 0;
            before += warps[w];
        }
        if (selected && column < s.columns) store_coordinates(s, column, round + threadIdx.x);
    }
}

/* ---- launchers ---- */

static unsigned parts_of(size_t count) {
    const size_t part = part_of(count);
    return (unsigned)((count + part - 1) / part);
}

template <class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(count_parts<T>);
    return code == cudaSuccess ? load_kernel(write_parts<T>) : code;
}

cudaError_t gpu_run_selection_count(gpu_stream stream, int element_bytes, const gpu_selection *s) {
    if (!s->count) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        return launch(count_parts<decltype(zero)>, parts_of(s->count), GRID_THREADS, 0, stream, *s);
    });
}

cudaError_t gpu_run_selection(gpu_stream stream, int element_bytes, const gpu_selection *s) {
    if (!s->count || !s->columns) return cudaSuccess;
    return for_bytes(element_bytes, [=](auto zero) {
        return launch(write_parts<decltype(zero)>, parts_of(s->count), GRID_THREADS, 0, stream, *s);
    });
}

cudaError_t gpu_load_selection(int element_bytes) {
    return for_bytes(element_bytes, [](auto zero) { return load<decltype(zero)>(); });
}
