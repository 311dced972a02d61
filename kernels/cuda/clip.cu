/* clip.cu - elements within bounds, which are read on the device: they may be values of the graph. Where the low bound
 * is above the high one, the result is the high one; NaN stays. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/cast.h"
#include "kernels/cuda/grid.h"

/* ---- kernel ---- */

/* C is what T is compared in: float for half. */
template <class T, class C>
static __global__ void clip(const T *x, T *y, size_t count, const T *low_data, const T *high_data, C low, C high) {
    if (low_data) low = (C)*low_data;
    if (high_data) high = (C)*high_data;
    for (size_t i = grid_first(); i < count; i += grid_stride()) {
        const C value = (C)x[i];
        y[i] = (T)(value < low ? (low > high ? high : low) : value > high ? high : value);
    }
}

/* ---- launchers ---- */

template <class T, class C>
static cudaError_t run(cudaStream_t stream, const void *x, void *y, size_t count, const void *low_data,
                       const void *high_data, C low, C high) {
    return launch(clip<T, C>, grid_blocks(count), GRID_THREADS, 0, stream, (const T *)x, (T *)y, count,
                  (const T *)low_data, (const T *)high_data, low, high);
}

cudaError_t gpu_run_clip(cudaStream_t stream, gpu_number type, const void *x, void *y, size_t count,
                         const void *low_data, const void *high_data, float low, float high) {
    if (!count) return cudaSuccess;
    switch (type) {
    case GPU_NUMBER_FLOAT: return run<float, float>(stream, x, y, count, low_data, high_data, low, high);
    case GPU_NUMBER_HALF: return run<half, float>(stream, x, y, count, low_data, high_data, low, high);
    case GPU_NUMBER_INT32: return run<int32_t, int32_t>(stream, x, y, count, low_data, high_data, INT32_MIN, INT32_MAX);
    default: return run<int64_t, int64_t>(stream, x, y, count, low_data, high_data, INT64_MIN, INT64_MAX);
    }
}

cudaError_t gpu_load_clip(gpu_number type) {
    switch (type) {
    case GPU_NUMBER_FLOAT: return load_kernel(clip<float, float>);
    case GPU_NUMBER_HALF: return load_kernel(clip<half, float>);
    case GPU_NUMBER_INT32: return load_kernel(clip<int32_t, int32_t>);
    default: return load_kernel(clip<int64_t, int64_t>);
    }
}
