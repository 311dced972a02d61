/* pool_any.cu - pools over any number of spatial axes, as ops/pool.c defines them: a thread takes an output and
 * walks the part of its window that lies in the input; a block takes a plane of a global pool. Read first:
 * pool_any.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/pool_any.h"

/* ---- what is taken in ---- */

/* Type of the arithmetic. 8-bit integers have only maxima, which are exact in float. */
template <class T> struct real_of { typedef float type; };
template <> struct real_of<double> { typedef double type; };

/* NaN exceeds every number, and stays. */
template <class C> static __device__ __forceinline__ bool exceeds(C value, C best) {
    return value > best || (value != value && best == best);
}

template <class C> static __device__ __forceinline__ C power(C x, C p) {
    x = fabs(x);
    return p == 1 ? x : p == 2 ? x * x : pow(x, p);
}

template <class C> static __device__ __forceinline__ C root(C sum, C p) {
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, (C)1 / p);
}

/* ---- windows ---- */

/* Part of a window along an axis: kernel positions from .. to-1 lie in the input; position 0 lies at input `start`. */
struct reach {
    int64_t start, from, to;
};

/* Kernel positions k < kernel with low <= start + k * step < high. */
static __device__ __forceinline__ reach reach_of(int64_t start, int64_t step, int64_t kernel, int64_t low,
                                                 int64_t high) {
    const int64_t from = start < low ? (low - start + step - 1) / step : 0;
    const int64_t to = start < high ? (high - start + step - 1) / step : 0;
    return {start, from, to < kernel ? to : kernel};
}

/* One axis' factor of the divisor of an average. */
static __device__ double divisor_of(const tort_pool_params &p, int d, int64_t start) {
    const tort_sliding &w = p.window;
    const int64_t low = p.count_include_pad ? -w.begin[d] : 0, more = p.count_include_pad ? w.end[d] : 0;
    const reach r = reach_of(start, w.dilations[d], w.kernel[d], low, w.input[d] + more);
    return r.to > r.from ? (double)(r.to - r.from) : 0;
}

/* The value of MaxPool's output Indices for position `at` of a plane. */
static __device__ int64_t index_of(const gpu_any_pool &g, size_t plane, int64_t at) {
    const tort_sliding &w = g.params.window;
    if (at < 0) return -1;
    int64_t index = at, stride = 1;
    for (int d = 0; g.params.column_major && d < w.axes; d++) stride *= w.input[d];
    if (g.params.column_major) index = 0;
    for (int d = w.axes - 1; g.params.column_major && d >= 0; d--) {
        stride /= w.input[d];
        index += at % w.input[d] * stride;
        at /= w.input[d];
    }
    return (int64_t)(plane * g.plane) + index;
}

/* Computes the reach of output i of a plane along each axis, and the divisor of an average. False: the window lies
 * outside the input. */
static __device__ bool look(const gpu_any_pool &g, size_t i, reach *reaches, double *divisor) {
    const tort_sliding &w = g.params.window;
    bool sees = true;
    *divisor = 1;
    for (int d = w.axes - 1; d >= 0; d--) {
        const int64_t start = (int64_t)(i % (size_t)w.output[d]) * w.strides[d] - w.begin[d];
        i /= (size_t)w.output[d];
        reaches[d] = reach_of(start, w.dilations[d], w.kernel[d], 0, w.input[d]);
        sees = sees && reaches[d].from < reaches[d].to;
        if (g.params.kind == TORT_POOL_AVERAGE) *divisor *= divisor_of(g.params, d, start);
    }
    return sees;
}

/* Advances `at` to the window's next row (all axes but the last). False: there is none. */
static __device__ bool next_row(const tort_sliding &w, const reach *reaches, int64_t *at) {
    for (int d = w.axes - 2; d >= 0; d--) {
        if (++at[d] < reaches[d].to) return true;
        at[d] = reaches[d].from;
    }
    return false;
}

template <class T> static __global__ void pool_windows(const gpu_any_pool g, double lowest) {
    typedef typename real_of<T>::type C;
    const tort_pool_params &p = g.params;
    const tort_sliding &w = p.window;
    const int last = w.axes - 1;
    for (size_t i = grid_first(); i < g.count; i += grid_stride()) {
        const size_t plane = i / g.output_plane;
        const T *x = (const T *)g.x + plane * g.plane;
        reach reaches[TORT_MAX_SPATIAL];
        int64_t at[TORT_MAX_SPATIAL], best = -1;
        double divisor;
        C sum = p.kind == TORT_POOL_MAX ? (C)lowest : (C)0;
        bool sees = look(g, i % g.output_plane, reaches, &divisor);
        for (int d = 0; d < w.axes; d++) at[d] = reaches[d].from;
        while (sees) {
            int64_t row = 0;
            for (int d = 0; d < last; d++) row = row * w.input[d] + reaches[d].start + at[d] * w.dilations[d];
            row = row * w.input[last] + reaches[last].start;
            for (int64_t k = reaches[last].from; k < reaches[last].to; k++) {
                const int64_t from = row + k * w.dilations[last];
                const C value = (C)x[from];
                if (p.kind == TORT_POOL_AVERAGE) {
                    sum += value;
                } else if (p.kind == TORT_POOL_LP) {
                    sum += power(value, (C)p.p);
                } else if (best < 0 || exceeds(value, sum)) {
                    sum = value;
                    best = from;
                }
            }
            sees = next_row(w, reaches, at);
        }
        if (p.kind == TORT_POOL_AVERAGE) sum = divisor > 0 ? sum / (C)divisor : (C)0;
        if (p.kind == TORT_POOL_LP) sum = root(sum, (C)p.p);
        ((T *)g.y)[i] = (T)sum;
        if (g.indices) g.indices[i] = index_of(g, plane, best);
    }
}

/* ---- planes ---- */

/* GlobalLpPool; global maxima and averages are in pool.cu. */
template <class T> static __global__ void pool_planes(const gpu_any_pool g) {
    typedef typename real_of<T>::type C;
    __shared__ C shared[BLOCK_MAX_WARPS];
    const C p = (C)g.params.p;
    for (size_t plane = blockIdx.x; plane < g.count; plane += gridDim.x) {
        const T *x = (const T *)g.x + plane * g.plane;
        C sum = 0;
        for (size_t i = threadIdx.x; i < g.plane; i += blockDim.x) sum += power((C)x[i], p);
        sum = block_join<join_sum>(sum, shared);
        if (threadIdx.x == 0) ((T *)g.y)[plane] = (T)root(sum, p);
    }
}

/* ---- launchers ---- */

typedef struct pool_row {
    cudaError_t (*run)(gpu_stream, const gpu_any_pool *, double);
    cudaError_t (*load)();
    double lowest; /* initial value of a maximum */
} pool_row;

template <class T> static cudaError_t run(gpu_stream stream, const gpu_any_pool *g, double lowest) {
    if (g->params.global) return launch(pool_planes<T>, grid_extent(g->count), block_threads(g->plane), 0, stream, *g);
    return launch(pool_windows<T>, grid_blocks(g->count), GRID_THREADS, 0, stream, *g, lowest);
}

template <class T> static cudaError_t load() {
    const cudaError_t code = load_kernel(pool_windows<T>);
    return code == cudaSuccess ? load_kernel(pool_planes<T>) : code;
}

/* Indexed by gpu_type, then int8 and uint8. */
static const pool_row pool_rows[GPU_POOL_TYPES] = {
    {run<float>, load<float>, -INFINITY},       {run<half>, load<half>, -INFINITY},
    {run<bfloat16>, load<bfloat16>, -INFINITY}, {run<double>, load<double>, -INFINITY},
    {run<int8_t>, load<int8_t>, INT8_MIN},      {run<uint8_t>, load<uint8_t>, 0},
};

cudaError_t gpu_run_any_pool(gpu_stream stream, int type, const gpu_any_pool *g) {
    return g->count ? pool_rows[type].run(stream, g, pool_rows[type].lowest) : cudaSuccess;
}
cudaError_t gpu_load_any_pool(int type) {
    return pool_rows[type].load();
}
