/* pool.cu - window pools (max, average) by tiles, or with one thread per output, and global pools with a warp or a
 * block for a few planes. Read first: pool.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/pool.h"

/* ---- kernels ---- */

/* NaN wins, as in ops/pool.c. */
template <class C> static __device__ __forceinline__ C larger(C a, C b) {
    return a > b || a != a ? a : b;
}

/* Type for comparing and adding elements; bytes are exact in float. */
template <class T> struct pooled {
    typedef typename computed<T>::type type;
    static __device__ __forceinline__ type lowest() {
        return -(type)INFINITY;
    }
};
template <> struct pooled<int8_t> {
    typedef float type;
    static __device__ __forceinline__ float lowest() {
        return -128.0f;
    }
};
template <> struct pooled<uint8_t> {
    typedef float type;
    static __device__ __forceinline__ float lowest() {
        return 0.0f;
    }
};

template <class T> static __global__ void pool(gpu_pool p, const T *x, T *y, size_t count) {
    typedef typename pooled<T>::type C;
    const gpu_window &g = p.window;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t out_w = (int64_t)i % g.out_w, out_h = (int64_t)i / g.out_w % g.out_h;
        const T *plane = x + (int64_t)i / (g.out_w * g.out_h) * g.in_h * g.in_w;
        const int64_t first_h = out_h * g.stride_h - g.pad_h, first_w = out_w * g.stride_w - g.pad_w;
        C best = pooled<T>::lowest(), sum = 0;
        const int64_t row_from = first_at(-first_h, g.dilation_h, g.kernel_h);
        const int64_t row_to = first_at(g.in_h - first_h, g.dilation_h, g.kernel_h);
        const int64_t column_from = first_at(-first_w, g.dilation_w, g.kernel_w);
        const int64_t column_to = first_at(g.in_w - first_w, g.dilation_w, g.kernel_w);
        for (int64_t row = row_from; row < row_to && column_from < column_to; row++)
            for (int64_t column = column_from; column < column_to; column++) {
                const int64_t h = first_h + row * g.dilation_h, w = first_w + column * g.dilation_w;
                const C value = (C)plane[h * g.in_w + w];
                best = larger(value, best);
                sum += value;
            }
        int64_t counted = (row_to - row_from) * (column_to - column_from);
        if (p.count_include_pad) counted = counted_positions(g, first_h, first_w);
        y[i] = (T)(p.maximum ? best : counted ? sum / (C)counted : (C)0);
    }
}

/* The positions of the window at `first` that see the axis. */
static __device__ __forceinline__ span positions_at(int first, int64_t in, int64_t dilation, int64_t kernel) {
    const int from = first_at(-first, (int)dilation, (int)kernel);
    return {from, first_at((int)in - first, (int)dilation, (int)kernel) - from};
}
/* The elements of the axis that the windows of a tile span. */
static __device__ __forceinline__ span seen_by(span out, int64_t in, int64_t stride, int64_t pad, int64_t reach) {
    const int first = out.first * (int)stride - (int)pad, behind = first + (out.count - 1) * (int)stride + (int)reach;
    const int from = first < 0 ? 0 : first, to = behind < (int)in ? behind : (int)in;
    return {from, to - from};
}

/* The same of a window of SIDE x SIDE neighbours, all of which see the image. */
template <int SIDE, class T> static __device__ __forceinline__ T square_of(bool maximum, const T *from, int pitch) {
    typedef typename pooled<T>::type C;
    C values[SIDE * SIDE], all;
#pragma unroll
    for (int i = 0; i < SIDE * SIDE; i++) values[i] = (C)from[i / SIDE * pitch + i % SIDE];
    all = values[0];
    if (maximum) {
#pragma unroll
        for (int i = 1; i < SIDE * SIDE; i++) all = larger(values[i], all);
        return (T)all;
    }
#pragma unroll
    for (int i = 1; i < SIDE * SIDE; i++) all += values[i];
    return (T)(all / (C)(SIDE * SIDE));
}

/* Maximum or average of a window, whose first position that sees the image is at `from`. */
template <class T>
static __device__ __forceinline__ T window_of(const gpu_pool &p, const T *from, int pitch, span rows, span columns,
                                              int first_h, int first_w) {
    typedef typename pooled<T>::type C;
    const int step_h = (int)p.window.dilation_h * pitch, step_w = (int)p.window.dilation_w;
    const bool square = rows.count == columns.count && step_h == pitch && step_w == 1;
    if (square && rows.count == 3 && p.window.kernel_h * p.window.kernel_w == 9)
        return square_of<3>(p.maximum, from, pitch);
    if (square && rows.count == 2 && p.window.kernel_h * p.window.kernel_w == 4)
        return square_of<2>(p.maximum, from, pitch);
    C best = pooled<T>::lowest(), sum = 0;
    for (int row = 0; row < rows.count; row++)
        for (int column = 0; column < columns.count; column++) {
            const C value = (C)from[row * step_h + column * step_w];
            best = larger(value, best);
            sum += value;
        }
    int64_t counted = (int64_t)rows.count * columns.count;
    if (p.count_include_pad) counted = counted_positions(p.window, first_h, first_w);
    return (T)(p.maximum ? best : counted ? sum / (C)counted : (C)0);
}

template <class T> static __global__ void pool_tiles(const gpu_pool p, plane_parts parts, const T *x, T *y) {
    T *tile = dynamic_shared<T>();
    const gpu_window &g = p.window;
    const int dilation_h = (int)g.dilation_h, dilation_w = (int)g.dilation_w, lane = (int)threadIdx.x;
    const int64_t reach_h = (g.kernel_h - 1) * dilation_h + 1, reach_w = (g.kernel_w - 1) * dilation_w + 1;
    for (unsigned i = blockIdx.x; i < parts.total; i += gridDim.x) {
        const span out_h = part_of((int)g.out_h, p.tiles.rows, i / parts.across);
        const span out_w = part_of((int)g.out_w, p.tiles.columns, i % parts.across);
        const span in_h = seen_by(out_h, g.in_h, g.stride_h, g.pad_h, reach_h);
        const span in_w = seen_by(out_w, g.in_w, g.stride_w, g.pad_w, reach_w);
        const int first_w = (out_w.first + lane) * (int)g.stride_w - (int)g.pad_w;
        const span columns = positions_at(first_w, g.in_w, dilation_w, g.kernel_w);
        for (int64_t plane = blockIdx.y; plane < p.planes; plane += gridDim.y) {
            copy_part(tile, x + plane * g.in_h * g.in_w, (int)g.in_w, in_h, in_w);
            __syncthreads();
            T *to = y + (plane * g.out_h + out_h.first) * g.out_w + out_w.first + lane;
            for (int h = (int)threadIdx.y; h < out_h.count && lane < out_w.count; h += (int)blockDim.y) {
                const int first_h = (out_h.first + h) * (int)g.stride_h - (int)g.pad_h;
                const span rows = positions_at(first_h, g.in_h, dilation_h, g.kernel_h);
                const int row = first_h + rows.first * dilation_h - in_h.first;
                const int column = first_w + columns.first * dilation_w - in_w.first;
                to[h * g.out_w] =
                    window_of(p, tile + row * in_w.count + column, in_w.count, rows, columns, first_h, first_w);
            }
            __syncthreads();
        }
    }
}

struct join_larger {
    template <class C> static __device__ __forceinline__ C of(C a, C b) {
        return larger(a, b);
    }
};

/* Each line of threads along x takes PLANES planes at a time, so that small ones keep several loads under way. */
template <int PLANES, class T>
static __global__ void global_pool(bool maximum, size_t planes, size_t pixels, const T *x, T *y) {
    typedef typename pooled<T>::type C;
    __shared__ C shared[BLOCK_MAX_WARPS];
    const size_t line = (size_t)blockIdx.x * blockDim.y + threadIdx.y, lines = (size_t)gridDim.x * blockDim.y;
    for (size_t first = line * PLANES; first < planes; first += lines * PLANES) {
        const T *from = x + first * pixels;
        C values[PLANES];
        for (int k = 0; k < PLANES; k++) values[k] = maximum ? pooled<T>::lowest() : (C)0;
        for (size_t i = threadIdx.x; i < pixels; i += blockDim.x)
#pragma unroll
            for (int k = 0; k < PLANES; k++) {
                const C value = first + k < planes ? (C)from[k * pixels + i] : values[k];
                values[k] = maximum ? larger(value, values[k]) : values[k] + value;
            }
#pragma unroll
        for (int k = 0; k < PLANES; k++) {
            const C value =
                maximum ? block_join<join_larger>(values[k], shared) : block_join<join_sum>(values[k], shared);
            if (threadIdx.x == 0 && first + k < planes) y[first + k] = (T)(maximum ? value : value / (C)pixels);
        }
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_pool *p, const void *x, void *y) {
    const size_t count = (size_t)(p->planes * p->window.out_h * p->window.out_w);
    if (!count) return cudaSuccess;
    if (p->tiled) {
        const plane_parts parts = plane_parts_of(&p->tiles, (int)p->window.out_h, (int)p->window.out_w);
        return launch(pool_tiles<T>, plane_grid(parts, p->planes), plane_block(&p->tiles),
                      tile_elements(&p->tiles) * sizeof(T), stream, *p, parts, (const T *)x, (T *)y);
    }
    return launch(pool<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, (const T *)x, (T *)y, count);
}

/* Calls use(T()) for the types of a pool. */
template <class Use> static cudaError_t for_pooled(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_HALF: return use(half());
    case GPU_NUMBER_BFLOAT16: return use(bfloat16());
    case GPU_NUMBER_DOUBLE: return use(double());
    case GPU_NUMBER_INT8: return use(int8_t());
    case GPU_NUMBER_UINT8: return use(uint8_t());
    default: return use(float());
    }
}

cudaError_t gpu_run_pool(gpu_stream stream, gpu_number type, const gpu_pool *p, const void *x, void *y) {
    return for_pooled(type, [=](auto zero) { return run<decltype(zero)>(stream, p, x, y); });
}

enum { SMALL_PLANES = 4 }; /* at a time, of planes that a warp pools */

template <class T>
static cudaError_t run_global(gpu_stream stream, bool maximum, size_t planes, size_t pixels, const void *x, void *y) {
    const unsigned threads = block_threads(pixels / 8);
    if (threads > 32)
        return launch(global_pool<1, T>, grid_extent(planes), threads, 0, stream, maximum, planes, pixels, (const T *)x,
                      (T *)y);
    const size_t blocks = (planes + SMALL_PLANES * BLOCK_MAX_WARPS - 1) / (SMALL_PLANES * BLOCK_MAX_WARPS);
    return launch(global_pool<SMALL_PLANES, T>, grid_extent(blocks), dim3(32, BLOCK_MAX_WARPS), 0, stream, maximum,
                  planes, pixels, (const T *)x, (T *)y);
}

cudaError_t gpu_run_global_pool(gpu_stream stream, gpu_type type, bool maximum, size_t planes, size_t pixels,
                                const void *x, void *y) {
    if (!planes) return cudaSuccess;
    return for_real(type, [=](auto zero) { return run_global<decltype(zero)>(stream, maximum, planes, pixels, x, y); });
}

cudaError_t gpu_load_pool(gpu_number type) {
    return for_pooled(type, [](auto zero) {
        const cudaError_t code = load_kernel(pool_tiles<decltype(zero)>);
        return code == cudaSuccess ? load_kernel(pool<decltype(zero)>) : code;
    });
}

cudaError_t gpu_load_global_pool(gpu_type type) {
    return for_real(type, [](auto zero) {
        const cudaError_t code = load_kernel(global_pool<1, decltype(zero)>);
        return code == cudaSuccess ? load_kernel(global_pool<SMALL_PLANES, decltype(zero)>) : code;
    });
}

/* ---- with channels last: a thread makes 8 channels of a pixel ---- */

template <class T> static __global__ void pool_nhwc(gpu_pool p, unsigned pieces, const T *x, T *y, size_t count) {
    enum { PIECE = GPU_NHWC_PIECE };
    const gpu_window &g = p.window;
    const int64_t channels = (int64_t)pieces * PIECE;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t row = i / pieces, channel = (i - row * pieces) * PIECE, line = row / (size_t)g.out_w;
        const int64_t out_w = (int64_t)(row - line * (size_t)g.out_w), image = (int64_t)(line / (size_t)g.out_h);
        const int64_t out_h = (int64_t)line - image * g.out_h;
        const int64_t first_h = out_h * g.stride_h - g.pad_h, first_w = out_w * g.stride_w - g.pad_w;
        const int64_t row_from = first_at(-first_h, g.dilation_h, g.kernel_h);
        const int64_t row_to = first_at(g.in_h - first_h, g.dilation_h, g.kernel_h);
        const int64_t column_from = first_at(-first_w, g.dilation_w, g.kernel_w);
        const int64_t column_to = first_at(g.in_w - first_w, g.dilation_w, g.kernel_w);
        const int64_t below = g.dilation_h * g.in_w * channels, beside = g.dilation_w * channels;
        const T *from = x + ((image * g.in_h + first_h) * g.in_w + first_w) * channels + (int64_t)channel +
                        row_from * below + column_from * beside;
        float values[PIECE];
#pragma unroll
        for (int j = 0; j < PIECE; j++) values[j] = p.maximum ? pooled<T>::lowest() : 0.0f;
        for (int h = (int)(row_to - row_from); h > 0; h--, from += below) {
            const T *at = from;
            for (int w = (int)(column_to - column_from); w > 0; w--, at += beside) {
                const pack<T, PIECE> eight = load_pack<PIECE>(at);
                if (p.maximum)
#pragma unroll
                    for (int j = 0; j < PIECE; j++) values[j] = larger((float)eight.at[j], values[j]);
                else
#pragma unroll
                    for (int j = 0; j < PIECE; j++) values[j] += (float)eight.at[j];
            }
        }
        const int64_t counted = p.count_include_pad ? counted_positions(g, first_h, first_w)
                                                    : (row_to - row_from) * (column_to - column_from);
        pack<T, PIECE> result;
#pragma unroll
        for (int j = 0; j < PIECE; j++)
            result.at[j] = (T)(p.maximum ? values[j] : counted ? values[j] / (float)counted : 0.0f);
        store_pack<PIECE>(y + row * (size_t)channels + channel, result);
    }
}

cudaError_t gpu_run_nhwc_pool(gpu_stream stream, gpu_number type, const gpu_pool *p, int64_t channels, const void *x,
                              void *y) {
    const size_t count = (size_t)(p->planes * p->window.out_h * p->window.out_w) / GPU_NHWC_PIECE;
    if (!count) return cudaSuccess;
    return for_moved_image(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(pool_nhwc<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p,
                      (unsigned)(channels / GPU_NHWC_PIECE), (const T *)x, (T *)y, count);
    });
}

cudaError_t gpu_load_nhwc_pool(gpu_number type) {
    return for_moved_image(type, [](auto zero) { return load_kernel(pool_nhwc<decltype(zero)>); });
}

/* ---- global pools: a block makes 8 pieces of 8 channels of an image; its threads share the pixels ---- */

enum { POOLED_PIECES = 8, POOLING_THREADS = 32 /* per piece */ };

template <class T>
static __global__ void global_pool_nhwc(bool maximum, int64_t batch, unsigned pieces, int64_t pixels, const T *x,
                                        T *y) {
    enum { PIECE = GPU_NHWC_PIECE };
    __shared__ float shared[POOLING_THREADS][POOLED_PIECES][PIECE + 1];
    const unsigned piece = blockIdx.x * POOLED_PIECES + threadIdx.x;
    for (int64_t image = blockIdx.y; image < batch; image += gridDim.y) {
        float values[PIECE];
#pragma unroll
        for (int j = 0; j < PIECE; j++) values[j] = maximum ? -INFINITY : 0.0f;
        for (int64_t i = threadIdx.y; i < pixels && piece < pieces; i += POOLING_THREADS) {
            const pack<T, PIECE> eight = load_pack<PIECE>(x + ((image * pixels + i) * pieces + piece) * PIECE);
#pragma unroll
            for (int j = 0; j < PIECE; j++) {
                const float value = (float)eight.at[j];
                values[j] = maximum ? larger(value, values[j]) : values[j] + value;
            }
        }
#pragma unroll
        for (int j = 0; j < PIECE; j++) shared[threadIdx.y][threadIdx.x][j] = values[j];
        __syncthreads();
        if (threadIdx.y < PIECE && piece < pieces) { /* one thread per channel joins, in a fixed order */
            float value = shared[0][threadIdx.x][threadIdx.y];
            for (int i = 1; i < POOLING_THREADS; i++) {
                const float other = shared[i][threadIdx.x][threadIdx.y];
                value = maximum ? larger(other, value) : value + other;
            }
            y[(image * pieces + piece) * PIECE + threadIdx.y] = (T)(maximum ? value : value / (float)pixels);
        }
        __syncthreads();
    }
}

cudaError_t gpu_run_nhwc_global_pool(gpu_stream stream, gpu_type type, bool maximum, int64_t batch, int64_t channels,
                                     int64_t pixels, const void *x, void *y) {
    const unsigned pieces = (unsigned)(channels / GPU_NHWC_PIECE);
    if (!batch || !pieces) return cudaSuccess;
    const dim3 grid((pieces + POOLED_PIECES - 1) / POOLED_PIECES, grid_extent((size_t)batch));
    return for_image(type, [=](auto zero) {
        typedef decltype(zero) T;
        return launch(global_pool_nhwc<T>, grid, dim3(POOLED_PIECES, POOLING_THREADS), 0, stream, maximum, batch,
                      pieces, pixels, (const T *)x, (T *)y);
    });
}

cudaError_t gpu_load_nhwc_global_pool(gpu_type type) {
    return for_image(type, [](auto zero) { return load_kernel(global_pool_nhwc<decltype(zero)>); });
}
