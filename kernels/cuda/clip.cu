/* clip.cu - clips elements; the bounds are read on the device, as they may be values of the graph. If low > high the
 * result is high; NaN stays. Read first: cast.c. */
#include "kernels/cuda/gpu.h"

#include "kernels/cuda/cast.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/pack.h"

/* ---- kernel ---- */

/* C is the type in which T is computed. */
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

/* Bounds of a clip without inputs: integers have none. */
template <class C> struct clip_bounds {
    C low, high;
    clip_bounds(double, double)
        : low((C)-1 < (C)0 ? (C)((uint64_t)1 << (sizeof(C) * 8 - 1)) : (C)0), high((C) ~(uint64_t)low) {}
};
template <> struct clip_bounds<float> {
    float low, high;
    clip_bounds(double low_, double high_) : low((float)low_), high((float)high_) {}
};
template <> struct clip_bounds<double> {
    double low, high;
    clip_bounds(double low_, double high_) : low(low_), high(high_) {}
};

cudaError_t gpu_run_clip(gpu_stream stream, gpu_number type, const void *x, void *y, size_t count, const void *low_data,
                         const void *high_data, double low, double high) {
    if (!count) return cudaSuccess;
    return for_number(type, [=](auto zero) {
        typedef decltype(zero) T;
        typedef typename computed<T>::type C;
        const clip_bounds<C> bounds(low, high);
        const size_t packed = packed_count<pack_size<T>::VALUE>(count, (const T *)x, (T *)y);
        return launch(clip<T, C>, pack_blocks<pack_size<T>::VALUE>(count, packed), GRID_THREADS, 0, stream,
                      (const T *)x, (T *)y, packed, count, (const T *)low_data, (const T *)high_data, bounds.low,
                      bounds.high);
    });
}

cudaError_t gpu_load_clip(gpu_number type) {
    return for_number(type, [](auto zero) {
        typedef decltype(zero) T;
        return load_kernel(clip<T, typename computed<T>::type>);
    });
}
