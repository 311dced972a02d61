/* depthwise.cu - convolutions whose every channel is a group: a filter reads one plane.
 *
 * A block takes a band of output rows. The input rows under it are contiguous, so they are copied to shared memory
 * at once, without padding; then each thread makes outputs from them, and skips positions outside of the plane. So a
 * plane is read once, except for rows that two bands share. Read first: conv.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/conv.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/product.cuh"

/* Bands of a plane; sizes in elements. */
typedef struct gpu_band {
    int rows;           /* of output */
    int64_t bands;      /* of a plane */
    size_t tile, total; /* maximum of input elements under a band; bands of all planes */
} gpu_band;

/* ---- kernels ---- */

/* Clamps a band's first or last row of input. */
static __device__ __forceinline__ int clamp_row(int64_t row, int64_t rows) {
    return (int)(row < 0 ? 0 : row > rows ? rows : row);
}

/* Copies `count` contiguous elements to shared memory, whose start is aligned to a pack. */
template <class T> static __device__ __forceinline__ void fetch(T *to, const T *from, unsigned count) {
    enum { PACK = pack_size<T>::VALUE };
    const unsigned packed = (uintptr_t)from % (sizeof(T) * PACK) == 0 ? count / PACK : 0;
    for (unsigned i = threadIdx.x; i < packed; i += blockDim.x)
        store_pack<PACK>(to + i * PACK, load_pack<PACK>(from + i * PACK));
    for (unsigned i = packed * PACK + threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

/* Returns the sum of a window over the rows in `tile`, which begin at row `first` of the plane. */
template <class T>
static __device__ __forceinline__ typename computed<T>::type window_sum(const gpu_window &g, const T *tile, int first,
                                                                        const typename computed<T>::type *weights,
                                                                        int out_h, int out_w) {
    typedef typename computed<T>::type C;
    const int stride_h = (int)g.stride_h, pad_h = (int)g.pad_h, in_h = (int)g.in_h, in_w = (int)g.in_w;
    const int top = out_h * stride_h - pad_h, left = out_w * (int)g.stride_w - (int)g.pad_w;
    C sum = 0;
    for (int row = 0; row < (int)g.kernel_h; row++) {
        const int h = top + row * (int)g.dilation_h;
        const T *line = tile + (h - first) * in_w;
        if (h < 0 || h >= in_h) continue;
        for (int column = 0; column < (int)g.kernel_w; column++) {
            const int w = left + column * (int)g.dilation_w;
            if (w >= 0 && w < in_w) sum += (C)line[w] * weights[row * (int)g.kernel_w + column];
        }
    }
    return sum;
}

template <class T>
static __global__ void conv_depthwise_bands(gpu_conv p, gpu_band band, const T *x, const T *w, const T *bias,
                                            const T *residual, T *y) {
    typedef typename computed<T>::type C;
    const gpu_window &g = p.window;
    T *const tile = dynamic_shared<T>();
    const unsigned taps = (unsigned)(g.kernel_h * g.kernel_w), out_w = (unsigned)g.out_w;
    C *const weights = (C *)(tile + band.tile);
    for (size_t i = blockIdx.x; i < band.total; i += gridDim.x) {
        const int64_t plane = (int64_t)i / band.bands, top = (int64_t)i % band.bands * band.rows;
        const int64_t filters = p.group * p.filters, filter = plane % filters, image = plane / filters;
        const int rows = (int)(g.out_h - top < band.rows ? g.out_h - top : band.rows);
        const int first = clamp_row(top * g.stride_h - g.pad_h, g.in_h);
        const int end =
            clamp_row((top + rows - 1) * g.stride_h - g.pad_h + (g.kernel_h - 1) * g.dilation_h + 1, g.in_h);
        const T *input = x + (image * p.group + filter / p.filters) * g.in_h * g.in_w;
        __syncthreads(); /* the previous band is done */
        if (first < end) fetch(tile, input + first * g.in_w, (unsigned)(end - first) * (unsigned)g.in_w);
        for (unsigned k = threadIdx.x; k < taps; k += blockDim.x) weights[k] = (C)w[filter * taps + k];
        __syncthreads();
        const C more = bias ? (C)bias[filter] : (C)0;
        const int64_t at = (plane * g.out_h + top) * g.out_w;
        for (unsigned k = threadIdx.x; k < (unsigned)rows * out_w; k += blockDim.x) {
            const unsigned row = k / out_w;
            const C sum = window_sum(g, tile, first, weights, (int)top + (int)row, (int)(k - row * out_w));
            y[at + k] = finish(p.epilogue, residual, at + k, more + sum);
        }
    }
}

/* Makes an output per thread: used if not even the rows under one output row fit shared memory. */
template <class T>
static __global__ void conv_depthwise(gpu_conv p, const T *x, const T *w, const T *bias, const T *residual, T *y,
                                      size_t count) {
    typedef typename computed<T>::type C;
    const gpu_window &g = p.window;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t out_w = (int64_t)i % g.out_w, out_h = (int64_t)i / g.out_w % g.out_h;
        const int64_t plane = (int64_t)i / (g.out_w * g.out_h), filters = p.group * p.filters;
        const int64_t filter = plane % filters, image = plane / filters;
        const T *input = x + (image * p.group + filter / p.filters) * g.in_h * g.in_w;
        const T *weight = w + filter * g.kernel_h * g.kernel_w;
        C sum = bias ? (C)bias[filter] : (C)0;
        for (int64_t row = 0; row < g.kernel_h; row++) {
            const int64_t h = out_h * g.stride_h - g.pad_h + row * g.dilation_h;
            if (h < 0 || h >= g.in_h) continue;
            for (int64_t column = 0; column < g.kernel_w; column++) {
                const int64_t at = out_w * g.stride_w - g.pad_w + column * g.dilation_w;
                if (at < 0 || at >= g.in_w) continue;
                sum += (C)input[h * g.in_w + at] * (C)weight[row * g.kernel_w + column];
            }
        }
        y[i] = finish(p.epilogue, residual, (int64_t)i, sum);
    }
}

/* ---- launchers ---- */

enum {
    OUTPUTS = 768,      /* outputs of a block, about: three per thread */
    SHARED = 48 * 1024, /* bytes, available without allow_dynamic_shared */
    HALO = 4,           /* a band reads at most a quarter more rows than its height */
    LARGEST = 1 << 28   /* sums of a few such sizes fit an int */
};

/* Returns the rows of input under `rows` rows of output. */
static int64_t rows_under(const gpu_window *g, int64_t rows) {
    const int64_t under = (rows - 1) * g->stride_h + (g->kernel_h - 1) * g->dilation_h + 1;
    return under < g->in_h ? under : g->in_h;
}

/* Returns the bytes of shared memory for a band; at most a whole plane's. */
template <class T> static size_t shared_bytes(const gpu_conv *p, int64_t rows, size_t *tile) {
    const gpu_window *g = &p->window;
    enum { PACK = pack_size<T>::VALUE };
    *tile = ((size_t)(rows_under(g, rows) * g->in_w) + PACK - 1) / PACK * PACK;
    return *tile * sizeof(T) + (size_t)(g->kernel_h * g->kernel_w) * sizeof(typename computed<T>::type);
}

/* True if every coordinate fits an int. */
static bool counts_in_ints(const gpu_window *g) {
    const int64_t sizes[] = {g->in_h * g->in_w,
                             g->kernel_h * g->kernel_w,
                             g->kernel_h * g->dilation_h,
                             g->kernel_w * g->dilation_w,
                             g->stride_h,
                             g->stride_w,
                             g->pad_h,
                             g->pad_w};
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) all = all && sizes[i] >= 0 && sizes[i] < LARGEST;
    return all;
}

/* Chooses the bands of a plane; 0 rows: none fits. */
template <class T> static gpu_band choose_band(const gpu_conv *p) {
    const gpu_window *g = &p->window;
    gpu_band band = {0, 0, 0, 0};
    const int64_t extent = (g->kernel_h - 1) * g->dilation_h + 1;
    if (!counts_in_ints(g)) return band;
    int64_t rows = (OUTPUTS + g->out_w - 1) / g->out_w;
    const int64_t least = HALO * (extent - g->stride_h) / g->stride_h;
    if (rows < least) rows = least;
    if (rows > g->out_h) rows = g->out_h;
    while (rows > 0 && shared_bytes<T>(p, rows, &band.tile) > SHARED) rows /= 2;
    if (!rows) return band;
    band.rows = (int)rows;
    band.bands = (g->out_h + rows - 1) / rows;
    band.total = (size_t)(p->batch * p->group * p->filters * band.bands);
    return band;
}

template <class T> static cudaError_t run_depthwise(gpu_stream stream, const gpu_conv *p, const gpu_conv_operands *o) {
    const size_t count = (size_t)(p->batch * p->group * p->filters * p->window.out_h * p->window.out_w);
    if (!count) return cudaSuccess;
    const gpu_band band = choose_band<T>(p);
    size_t tile;
    if (band.rows)
        return launch(conv_depthwise_bands<T>, grid_extent(band.total),
                      block_threads((size_t)band.rows * (size_t)p->window.out_w), shared_bytes<T>(p, band.rows, &tile),
                      stream, *p, band, (const T *)o->x, (const T *)o->w, (const T *)o->bias, (const T *)o->residual,
                      (T *)o->y);
    return launch(conv_depthwise<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, (const T *)o->x, (const T *)o->w,
                  (const T *)o->bias, (const T *)o->residual, (T *)o->y, count);
}

cudaError_t gpu_run_conv_depthwise(gpu_stream stream, gpu_type type, const gpu_conv *p, const gpu_conv_operands *o) {
    return for_real(type, [=](auto zero) { return run_depthwise<decltype(zero)>(stream, p, o); });
}

template <class T> static cudaError_t load_depthwise() {
    const cudaError_t code = load_kernel(conv_depthwise_bands<T>);
    return code == cudaSuccess ? load_kernel(conv_depthwise<T>) : code;
}

cudaError_t gpu_load_conv_depthwise(gpu_type type) {
    return for_real(type, [](auto zero) { return load_depthwise<decltype(zero)>(); });
}
