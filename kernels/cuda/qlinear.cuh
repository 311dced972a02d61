/* qlinear.cuh - bytes with a scale and a zero point in kernels. For .cu files, after gpu.h. Read first: qlinear.h. */
#ifndef TORT_KERNELS_CUDA_QLINEAR_CUH
#define TORT_KERNELS_CUDA_QLINEAR_CUH

#include "kernels/cuda/qlinear.h"

struct linear {
    float scale, zero;
};

template <class T> static __device__ __forceinline__ linear linear_of(const gpu_linear &from) {
    return {*from.scale, from.zero ? (float)*(const T *)from.zero : 0.0f};
}

/* Returns x rounded to even plus the zero point, saturated; NaN is the lowest byte. Adding 1.5 * 2^23 rounds to an
 * integer, which is then in the lowest bits. */
template <class T> static __device__ __forceinline__ T byte_of(float x, float zero) {
    constexpr float low = (T)-1 < (T)0 ? -128.0f : 0.0f;
    const float within = fminf(fmaxf(x, low - zero), low + 255.0f - zero);
    return (T)(__float_as_int(__fadd_rn(within, 0x1.8p23f)) + (int)zero);
}

/* Calls use(T()) for the type of the bytes. */
template <class Use> static cudaError_t for_byte(bool is_signed, Use use) {
    return is_signed ? use(int8_t()) : use(uint8_t());
}

#endif
