/* clip.cu - elements within bounds, which are read on the device: they may be values of the graph. Where the low bound
 * is above the high one, the result is the high one; NaN stays. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/cast.h"
#include "kernels/cuda/pack.h"

/* ---- kernel ---- */

/* C is what T is compared in: float for half. */
template <int size, class T, class C>
static __device__ __forceinline__ void clip_range(const T *x, T *y, size_t first, size_t end, C low, C high) {
    for (size_t i = first + grid_first() * size; i < end; i += grid_stride() * size) {
        pack<T, size> value = load_pack<size>(x + i);
#pragma unroll
        for (int k = 0; k < size; k++) {
            const C at = (C)value.at[k];
            value.at[k] = (T)(at < low ? (low > high ? high : low) : at > high ? high : at);
        }
        store_pack(y + i, value);
    }
}

template <class T, class C>
static __global__ void clip(const T *x, T *y, size_t packed, size_t count, const T *low_data, const T *high_data, C low,
                            C high) {
    if (low_data) low = (C)*low_data;
    if (high_data) high = (C)*high_data;
    clip_range<pack_size<T>::VALUE>(x, y, 0, packed, low, high);
    clip_range<1>(x, y, packed, count, low, high);
}

/* ---- launchers ---- */

template <class T, class C>
static cudaError_t run(gpu_stream stream, const void *x, void *y, size_t count, const void *low_data,
                       const void *high_data, C low, C high) {
    const size_t packed = packed_count<pack_size<T>::VALUE>(count, (const T *)x, (T *)y);
    return launch(clip<T, C>, pack_blocks<pack_size<T>::VALUE>(count, packed), GRID_THREADS, 0, stream, (const T *)x,
                  (T *)y, packed, count, (const T *)low_data, (const T *)high_data, low, high);
}

cudaError_t gpu_run_clip(gpu_stream stream, gpu_number type, const void *x, void *y, size_t count, const void *low_data,
                         const void *high_data, float low, float high) {
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
