/* nhwc.cu - images whose channels are last: there and back, and pooling. Read first: nhwc.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/grid.h"
#include "kernels/cuda/nhwc.h"
#include "kernels/cuda/pack.h"

/* ---- exchange of rows and columns: through shared memory, so that reads and writes are both of neighbours ---- */

enum { EXCHANGED = 32, EXCHANGE_ROWS = 8 /* of threads */ };

static __global__ void exchange(int64_t batch, int64_t rows, int64_t columns, const uint16_t *x, uint16_t *y) {
    __shared__ uint16_t tile[EXCHANGED][EXCHANGED + 2];
    const int64_t first_column = (int64_t)blockIdx.x * EXCHANGED;
    for (int64_t matrix = blockIdx.z; matrix < batch; matrix += gridDim.z) {
        const uint16_t *from = x + matrix * rows * columns;
        uint16_t *to = y + matrix * rows * columns;
        for (int64_t first_row = (int64_t)blockIdx.y * EXCHANGED; first_row < rows;
             first_row += (int64_t)gridDim.y * EXCHANGED) {
            const int64_t column = first_column + threadIdx.x, row = first_row + threadIdx.x;
            for (int i = (int)threadIdx.y; i < EXCHANGED; i += EXCHANGE_ROWS)
                if (column < columns && first_row + i < rows)
                    tile[i][threadIdx.x] = from[(first_row + i) * columns + column];
            __syncthreads();
            for (int i = (int)threadIdx.y; i < EXCHANGED; i += EXCHANGE_ROWS)
                if (row < rows && first_column + i < columns)
                    to[(first_column + i) * rows + row] = tile[threadIdx.x][i];
            __syncthreads();
        }
    }
}

cudaError_t gpu_run_exchange(gpu_stream stream, int64_t batch, int64_t rows, int64_t columns, const void *x, void *y) {
    if (!batch || !rows || !columns) return cudaSuccess;
    const dim3 grid((unsigned)((columns + EXCHANGED - 1) / EXCHANGED),
                    grid_extent((size_t)((rows + EXCHANGED - 1) / EXCHANGED)), grid_extent((size_t)batch));
    return launch(exchange, grid, dim3(EXCHANGED, EXCHANGE_ROWS), 0, stream, batch, rows, columns, (const uint16_t *)x,
                  (uint16_t *)y);
}

cudaError_t gpu_load_exchange(void) {
    return load_kernel(exchange);
}

/* ---- pools: a thread makes 8 channels of a pixel ---- */

/* NaN wins, as in the plain loop. */
static __device__ __forceinline__ float larger_of(float a, float b) {
    return a > b || a != a ? a : b;
}

/* The end of a window along an axis, as far as the padding counts. */
static __device__ __forceinline__ int64_t counted_along(int64_t first, int64_t kernel, int64_t dilation, int64_t end) {
    int64_t count = 0;
    for (int64_t i = 0; i < kernel; i++) count += first + i * dilation < end;
    return count;
}

template <class T> static __global__ void pool_nhwc(gpu_pool p, unsigned pieces, const T *x, T *y, size_t count) {
    enum { PIECE = GPU_NHWC_PIECE };
    const gpu_window &g = p.window;
    const int64_t channels = (int64_t)pieces * PIECE;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const size_t row = i / pieces, channel = (i - row * pieces) * PIECE, line = row / (size_t)g.out_w;
        const int64_t out_w = (int64_t)(row - line * (size_t)g.out_w), image = (int64_t)(line / (size_t)g.out_h);
        const int64_t out_h = (int64_t)line - image * g.out_h;
        const int64_t first_h = out_h * g.stride_h - g.pad_h, first_w = out_w * g.stride_w - g.pad_w;
        float values[PIECE];
        int64_t seen = 0;
#pragma unroll
        for (int j = 0; j < PIECE; j++) values[j] = p.maximum ? -INFINITY : 0.0f;
        for (int64_t h = 0; h < g.kernel_h; h++)
            for (int64_t w = 0; w < g.kernel_w; w++) {
                const int64_t at_h = first_h + h * g.dilation_h, at_w = first_w + w * g.dilation_w;
                if (at_h < 0 || at_h >= g.in_h || at_w < 0 || at_w >= g.in_w) continue;
                const pack<T, PIECE> eight =
                    load_pack<PIECE>(x + ((image * g.in_h + at_h) * g.in_w + at_w) * channels + (int64_t)channel);
                seen++;
#pragma unroll
                for (int j = 0; j < PIECE; j++) {
                    const float value = (float)eight.at[j];
                    values[j] = p.maximum ? larger_of(value, values[j]) : values[j] + value;
                }
            }
        if (p.count_include_pad)
            seen = counted_along(first_h, g.kernel_h, g.dilation_h, g.in_h + g.pad_h_end) *
                   counted_along(first_w, g.kernel_w, g.dilation_w, g.in_w + g.pad_w_end);
        const float share = p.maximum || !seen ? 1.0f : 1.0f / (float)seen;
        pack<T, PIECE> result;
#pragma unroll
        for (int j = 0; j < PIECE; j++) result.at[j] = (T)(values[j] * share);
        store_pack<PIECE>(y + row * (size_t)channels + channel, result);
    }
}

cudaError_t gpu_run_nhwc_pool(gpu_stream stream, const gpu_pool *p, int64_t channels, const void *x, void *y) {
    const size_t count = (size_t)(p->planes * p->window.out_h * p->window.out_w) / GPU_NHWC_PIECE;
    if (!count) return cudaSuccess;
    return launch(pool_nhwc<half>, grid_blocks(count), GRID_THREADS, 0, stream, *p,
                  (unsigned)(channels / GPU_NHWC_PIECE), (const half *)x, (half *)y, count);
}

cudaError_t gpu_load_nhwc_pool(void) {
    return load_kernel(pool_nhwc<half>);
}

/* ---- global pools: a block makes 8 pieces of 8 channels of an image; its threads share the pixels ---- */

enum { POOLED_PIECES = 8, POOLING_THREADS = 32 /* for a piece */ };

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
                values[j] = maximum ? larger_of(value, values[j]) : values[j] + value;
            }
        }
#pragma unroll
        for (int j = 0; j < PIECE; j++) shared[threadIdx.y][threadIdx.x][j] = values[j];
        __syncthreads();
        if (threadIdx.y < PIECE && piece < pieces) { /* one thread a channel adds up, in order */
            float value = shared[0][threadIdx.x][threadIdx.y];
            for (int i = 1; i < POOLING_THREADS; i++) {
                const float other = shared[i][threadIdx.x][threadIdx.y];
                value = maximum ? larger_of(other, value) : value + other;
            }
            y[(image * pieces + piece) * PIECE + threadIdx.y] = (T)(maximum ? value : value / (float)pixels);
        }
        __syncthreads();
    }
}

cudaError_t gpu_run_nhwc_global_pool(gpu_stream stream, bool maximum, int64_t batch, int64_t channels, int64_t pixels,
                                     const void *x, void *y) {
    const unsigned pieces = (unsigned)(channels / GPU_NHWC_PIECE);
    if (!batch || !pieces) return cudaSuccess;
    const dim3 grid((pieces + POOLED_PIECES - 1) / POOLED_PIECES, grid_extent((size_t)batch));
    return launch(global_pool_nhwc<half>, grid, dim3(POOLED_PIECES, POOLING_THREADS), 0, stream, maximum, batch, pieces,
                  pixels, (const half *)x, (half *)y);
}

cudaError_t gpu_load_nhwc_global_pool(void) {
    return load_kernel(global_pool_nhwc<half>);
}
