/* qlinear.cuh - bytes with a scale and a zero point in kernels. For .cu files, after gpu.h. Read first: qlinear.h. */
#ifndef TORT_KERNELS_CUDA_QLINEAR_CUH
#define TORT_KERNELS_CUDA_QLINEAR_CUH

#include "kernels/cuda/element.h"
#include "kernels/cuda/qlinear.h"

struct linear {
    float scale, zero;
};

template <class T> static __device__ __forceinline__ linear linear_of(const gpu_linear &from) {
    return {*from.scale, from.zero ? (float)*(const T *)from.zero : 0.0f};
}

/* Returns x rounded to even plus the zero point, saturated; NaN is the lowest byte. */
template <class T> static __device__ __forceinline__ T byte_of(float x, float zero) {
    constexpr float low = (T)-1 < (T)0 ? -128.0f : 0.0f;
    return (T)(rounded_within(x, low - zero, low + 255.0f - zero) + (uint32_t)(int)zero);
}

#endif
