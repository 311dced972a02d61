/* norm_axis.cu - normalizations along an axis, over neighbouring channels and over groups of any axes. A block takes
 * a line whose elements are contiguous, a thread any other. Read first: norm_axis.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/norm_axis.h"

/* ---- lines ---- */

/* Candidate for the first maximum. NaN loses to every later element, except that a NaN at index 0 stays, as in a
 * loop that starts with max = x[0] and takes x[i] > max. */
template <class C> struct largest {
    C value;
    uint64_t index; /* UINT64_MAX: none yet */
};

template <class C> static __device__ __forceinline__ largest<C> larger(const largest<C> &a, const largest<C> &b) {
    if (a.index == UINT64_MAX || b.index == UINT64_MAX) return a.index == UINT64_MAX ? b : a;
    const largest<C> &first = a.index < b.index ? a : b, &second = a.index < b.index ? b : a;
    return second.value > first.value || (first.index && first.value != first.value) ? second : first;
}

/* Returns the block's maximum to every thread. */
template <class C> static __device__ largest<C> block_largest(largest<C> mine, largest<C> *shared) {
    for (int offset = 16; offset; offset >>= 1) {
        const largest<C> other = {__shfl_xor_sync(~0u, mine.value, offset), __shfl_xor_sync(~0u, mine.index, offset)};
        mine = larger(mine, other);
    }
    __syncthreads(); /* reads of the previous call are over */
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = shared[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++) mine = larger(mine, shared[i]);
    return mine;
}

/* The divisor of a line: its norm, or 1 if that is 0. */
template <class T, class C, bool has_block>
static __device__ __forceinline__ C norm_of(const gpu_lines &l, const T *x, size_t first, size_t step, C *shared) {
    C sum = 0;
    for (size_t i = first; i < l.length; i += step) {
        const C value = (C)x[i * l.inner];
        sum += l.function == GPU_LINE_L1 ? fabs(value) : value * value;
    }
    if (has_block) sum = block_join<join_sum>(sum, shared);
    if (l.function == GPU_LINE_L2) sum = sqrt(sum);
    return sum == 0 ? (C)1 : sum;
}

template <class T, bool has_block> static __global__ void normalize_lines(const gpu_lines l) {
    typedef typename computed<T>::type C;
    __shared__ C sums[BLOCK_MAX_WARPS];
    __shared__ largest<C> places[BLOCK_MAX_WARPS];
    const size_t first = has_block ? threadIdx.x : 0, step = has_block ? blockDim.x : 1;
    const size_t stride = has_block ? gridDim.x : grid_stride();
    for (size_t line = has_block ? blockIdx.x : grid_first(); line < l.outer * l.inner; line += stride) {
        const size_t base = line / l.inner * l.length * l.inner + line % l.inner;
        const T *x = (const T *)l.x + base;
        T *y = (T *)l.y + base;
        if (l.function == GPU_LINE_HARDMAX) {
            largest<C> found = {0, UINT64_MAX};
            for (size_t i = first; i < l.length; i += step) found = larger(found, largest<C>{(C)x[i * l.inner], i});
            if (has_block) found = block_largest(found, places);
            for (size_t i = first; i < l.length; i += step) y[i * l.inner] = (T)(i == found.index ? (C)1 : (C)0);
        } else {
            const C norm = norm_of<T, C, has_block>(l, x, first, step, sums);
            for (size_t i = first; i < l.length; i += step) y[i * l.inner] = (T)((C)x[i * l.inner] / norm);
        }
    }
}

/* ---- LRN ---- */

template <class T> static __global__ void lrn(const tort_lrn_params p, size_t count, const T *x, T *y) {
    typedef typename computed<T>::type C;
    const size_t inner = (size_t)p.inner;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t c = (int64_t)(i / inner % (size_t)p.channels);
        const int64_t low = c > p.before ? c - p.before : 0;
        const int64_t high = p.channels - 1 - c > p.after ? c + p.after : p.channels - 1;
        const T *at = x + i - (size_t)(c - low) * inner;
        C sum = 0;
        for (int64_t k = low; k <= high; k++, at += inner) sum += (C)*at * (C)*at;
        y[i] = (T)((C)x[i] / pow((C)p.bias + (C)(p.alpha / (double)p.size) * sum, (C)p.beta));
    }
}

/* ---- MeanVarianceNormalization ---- */

/* Offset of element i of the kept dimensions, or of the reduced ones. */
static __device__ size_t place_of(const tort_reduce_params &p, bool reduced, size_t i) {
    size_t place = 0;
    for (int d = p.rank - 1; d >= 0; d--) {
        if (p.reduced[d] != reduced) continue;
        place += i % (size_t)p.dims[d] * (size_t)p.strides[d];
        i /= (size_t)p.dims[d];
    }
    return place;
}

/* Two sweeps for the statistics, because E[x^2] - E[x]^2 would cancel digits. */
template <class T> static __global__ void mean_variance(const tort_reduce_params p, const T *from, T *to) {
    typedef typename computed<T>::type C;
    __shared__ C shared[BLOCK_MAX_WARPS];
    const size_t size = (size_t)p.reduced_count;
    for (size_t group = blockIdx.x; group < (size_t)p.kept_count; group += gridDim.x) {
        const size_t base = place_of(p, false, group);
        C mean = 0, squares = 0;
        for (size_t i = threadIdx.x; i < size; i += blockDim.x) mean += (C)from[base + place_of(p, true, i)];
        mean = block_join<join_sum>(mean, shared) / (C)size;
        for (size_t i = threadIdx.x; i < size; i += blockDim.x) {
            const C distance = (C)from[base + place_of(p, true, i)] - mean;
            squares += distance * distance;
        }
        const C deviation = sqrt(block_join<join_sum>(squares, shared) / (C)size) + (C)1e-9;
        for (size_t i = threadIdx.x; i < size; i += blockDim.x) {
            const size_t at = base + place_of(p, true, i);
            to[at] = (T)(((C)from[at] - mean) / deviation);
        }
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run_lines(gpu_stream stream, const gpu_lines *l) {
    const size_t lines = l->outer * l->inner;
    if (l->inner > 1) return launch(normalize_lines<T, false>, grid_blocks(lines), GRID_THREADS, 0, stream, *l);
    return launch(normalize_lines<T, true>, grid_extent(lines), block_threads(l->length), 0, stream, *l);
}
template <class T> static cudaError_t load_lines() {
    const cudaError_t code = load_kernel(normalize_lines<T, false>);
    return code == cudaSuccess ? load_kernel(normalize_lines<T, true>) : code;
}

cudaError_t gpu_run_lines(gpu_stream stream, gpu_type type, const gpu_lines *lines) {
    if (!lines->outer || !lines->length || !lines->inner) return cudaSuccess;
    return for_real(type, [=](auto zero) { return run_lines<decltype(zero)>(stream, lines); });
}

cudaError_t gpu_load_lines(gpu_type type) {
    return for_real(type, [](auto zero) { return load_lines<decltype(zero)>(); });
}

cudaError_t gpu_run_lrn(gpu_stream stream, gpu_type type, const tort_lrn_params *p, const void *x, void *y) {
    const size_t count = (size_t)(p->batch * p->channels * p->inner);
    if (!count) return cudaSuccess;
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(lrn<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, count, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_lrn(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(lrn<decltype(zero)>); });
}

cudaError_t gpu_run_mean_variance(gpu_stream stream, gpu_type type, const tort_reduce_params *p, const void *x,
                                  void *y) {
    return for_real(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(mean_variance<T>, grid_extent((size_t)p->kept_count), block_threads((size_t)p->reduced_count), 0,
                      stream, *p, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_mean_variance(gpu_type type) {
    return for_real(type, [](auto zero) { return load_kernel(mean_variance<decltype(zero)>); });
}
