/* pool.cu - windows of maxima and averages: one thread an output; global pools: one block a plane. Read first: pool.c.
 */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/block.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/pool.h"

/* ---- kernels ---- */

/* NaN wins, as in the plain loop. */
static __device__ float larger(float a, float b) {
    return a > b || a != a ? a : b;
}

/* Smallest n >= 0 with n * step >= distance, but at most `most`. */
static __device__ __forceinline__ int64_t first_at(int64_t distance, int64_t step, int64_t most) {
    const int64_t n = distance <= 0 ? 0 : step == 1 ? distance : (distance + step - 1) / step;
    return n < most ? n : most;
}

/* What a window sees of the padding is counted and not walked: it may be larger than any image. */
template <class T> static __global__ void pool(gpu_pool p, const T *x, T *y, size_t count) {
    const gpu_window &g = p.window;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const int64_t out_w = (int64_t)i % g.out_w, out_h = (int64_t)i / g.out_w % g.out_h;
        const T *plane = x + (int64_t)i / (g.out_w * g.out_h) * g.in_h * g.in_w;
        const int64_t first_h = out_h * g.stride_h - g.pad_h, first_w = out_w * g.stride_w - g.pad_w;
        float best = -INFINITY, sum = 0.0f;
        const int64_t row_from = first_at(-first_h, g.dilation_h, g.kernel_h);
        const int64_t row_to = first_at(g.in_h - first_h, g.dilation_h, g.kernel_h);
        const int64_t column_from = first_at(-first_w, g.dilation_w, g.kernel_w);
        const int64_t column_to = first_at(g.in_w - first_w, g.dilation_w, g.kernel_w);
        for (int64_t row = row_from; row < row_to && column_from < column_to; row++)
            for (int64_t column = column_from; column < column_to; column++) {
                const int64_t h = first_h + row * g.dilation_h, w = first_w + column * g.dilation_w;
                const float value = (float)plane[h * g.in_w + w];
                best = larger(value, best);
                sum += value;
            }
        int64_t counted = (row_to - row_from) * (column_to - column_from);
        if (p.count_include_pad)
            counted = first_at(g.in_h + g.pad_h_end - first_h, g.dilation_h, g.kernel_h) *
                      first_at(g.in_w + g.pad_w_end - first_w, g.dilation_w, g.kernel_w);
        y[i] = (T)(p.maximum ? best : counted ? sum / (float)counted : 0.0f);
    }
}

struct join_larger {
    static __device__ __forceinline__ float of(float a, float b) {
        return larger(a, b);
    }
};

template <class T> static __global__ void global_pool(bool maximum, size_t planes, size_t pixels, const T *x, T *y) {
    __shared__ float shared[BLOCK_MOST_WARPS];
    for (size_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
        const T *from = x + plane * pixels;
        float value = maximum ? -INFINITY : 0.0f;
        for (size_t i = threadIdx.x; i < pixels; i += blockDim.x)
            value = maximum ? larger((float)from[i], value) : value + (float)from[i];
        value = maximum ? block_join<join_larger>(value, shared) : block_join<join_sum>(value, shared);
        if (threadIdx.x == 0) y[plane] = (T)(maximum ? value : value / (float)pixels);
    }
}

/* ---- launchers ---- */

template <class T> static cudaError_t run(gpu_stream stream, const gpu_pool *p, const void *x, void *y) {
    const size_t count = (size_t)(p->planes * p->window.out_h * p->window.out_w);
    if (!count) return cudaSuccess;
    return launch(pool<T>, grid_blocks(count), GRID_THREADS, 0, stream, *p, (const T *)x, (T *)y, count);
}

cudaError_t gpu_run_pool(gpu_stream stream, gpu_type type, const gpu_pool *p, const void *x, void *y) {
    return type == GPU_HALF ? run<half>(stream, p, x, y) : run<float>(stream, p, x, y);
}

template <class T>
static cudaError_t run_global(gpu_stream stream, bool maximum, size_t planes, size_t pixels, const void *x, void *y) {
    return launch(global_pool<T>, grid_extent(planes), block_threads(pixels), 0, stream, maximum, planes, pixels,
                  (const T *)x, (T *)y);
}

cudaError_t gpu_run_global_pool(gpu_stream stream, gpu_type type, bool maximum, size_t planes, size_t pixels,
                                const void *x, void *y) {
    if (!planes) return cudaSuccess;
    return type == GPU_HALF ? run_global<half>(stream, maximum, planes, pixels, x, y)
                            : run_global<float>(stream, maximum, planes, pixels, x, y);
}

cudaError_t gpu_load_pool(gpu_type type) {
    return type == GPU_HALF ? load_kernel(pool<half>) : load_kernel(pool<float>);
}

cudaError_t gpu_load_global_pool(gpu_type type) {
    return type == GPU_HALF ? load_kernel(global_pool<half>) : load_kernel(global_pool<float>);
}
