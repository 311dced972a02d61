/* pool.cu - windows of maxima and averages: one thread an output; global pools: one block a plane. Read first: pool.c.
 */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/pool.h"

/* ---- kernels ---- */

/* NaN wins, as in the plain loop. */
static __device__ float larger(float a, float b) {
    return a > b || a != a ? a : b;
}

template <class T> static __global__ void pool(gpu_pool p, const T *x, T *y, size_t count) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const int64_t out_w = (int64_t)i % p.out_w, out_h = (int64_t)i / p.out_w % p.out_h;
        const T *plane = x + (int64_t)i / (p.out_w * p.out_h) * p.in_h * p.in_w;
        const int64_t first_h = out_h * p.stride_h - p.pad_h, first_w = out_w * p.stride_w - p.pad_w;
        float best = -INFINITY, sum = 0.0f;
        int64_t seen = 0, padded = 0;
        for (int64_t row = 0; row < p.kernel_h; row++) {
            const int64_t h = first_h + row * p.dilation_h;
            for (int64_t column = 0; column < p.kernel_w; column++) {
                const int64_t w = first_w + column * p.dilation_w;
                padded += h < p.in_h + p.pad_h_end && w < p.in_w + p.pad_w_end;
                if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
                const float value = (float)plane[h * p.in_w + w];
                best = larger(value, best);
                sum += value;
                seen++;
            }
        }
        y[i] = (T)(p.maximum ? best : sum / (float)(p.count_include_pad ? padded : seen));
    }
}

enum { GLOBAL_THREADS = 128 };

template <class T> static __global__ void global_pool(bool maximum, int64_t pixels, const T *x, T *y) {
    __shared__ float partial[GLOBAL_THREADS];
    const T *plane = x + (int64_t)blockIdx.x * pixels;
    float value = maximum ? -INFINITY : 0.0f;
    for (int64_t i = threadIdx.x; i < pixels; i += GLOBAL_THREADS)
        value = maximum ? larger((float)plane[i], value) : value + (float)plane[i];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half_count = GLOBAL_THREADS / 2; half_count > 0; half_count /= 2) {
        if (threadIdx.x < half_count) {
            const float other = partial[threadIdx.x + half_count];
            partial[threadIdx.x] = maximum ? larger(other, partial[threadIdx.x]) : partial[threadIdx.x] + other;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (T)(maximum ? partial[0] : partial[0] / (float)pixels);
}

/* ---- launchers ---- */

#define THREADS 256
#define MOST_BLOCKS 65535

template <class T> static cudaError_t run(cudaStream_t stream, const gpu_pool *p, const void *x, void *y) {
    const size_t count = (size_t)(p->planes * p->out_h * p->out_w), blocks = (count + THREADS - 1) / THREADS;
    if (!count) return cudaSuccess;
    return launch(pool<T>, (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), THREADS, 0, stream, *p,
                  (const T *)x, (T *)y, count);
}

cudaError_t gpu_run_pool(cudaStream_t stream, gpu_type type, const gpu_pool *p, const void *x, void *y) {
    return type == GPU_HALF ? run<half>(stream, p, x, y) : run<float>(stream, p, x, y);
}

cudaError_t gpu_run_global_pool(cudaStream_t stream, gpu_type type, bool maximum, int64_t planes, int64_t pixels,
                                const void *x, void *y) {
    if (!planes) return cudaSuccess;
    if (planes > INT32_MAX) return cudaErrorInvalidValue;
    if (type == GPU_HALF)
        return launch(global_pool<half>, (unsigned)planes, GLOBAL_THREADS, 0, stream, maximum, pixels, (const half *)x,
                      (half *)y);
    return launch(global_pool<float>, (unsigned)planes, GLOBAL_THREADS, 0, stream, maximum, pixels, (const float *)x,
                  (float *)y);
}
