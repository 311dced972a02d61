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

/* QLinearAdd, in the plain loop's order of roundings: C is a * A + (b * B + fixed), rounded to even. */
struct linear_sum {
    float a, b, fixed;
    __device__ __forceinline__ linear_sum() {}
    __device__ __forceinline__ linear_sum(const linear &from_a, const linear &from_b, const linear &to) {
        a = __fdiv_rn(from_a.scale, to.scale);
        b = __fdiv_rn(from_b.scale, to.scale);
        fixed = __fsub_rn(to.zero, __fadd_rn(__fmul_rn(a, from_a.zero), __fmul_rn(b, from_b.zero)));
    }
    __device__ __forceinline__ float of(float left, float right) const {
        return __fadd_rn(__fmul_rn(left, a), __fadd_rn(__fmul_rn(right, b), fixed));
    }
};

/* Returns x rounded to even plus the zero point, saturated; NaN is the lowest byte. */
template <class T> static __device__ __forceinline__ T byte_of(float x, float zero) {
    constexpr float low = (T)-1 < (T)0 ? -128.0f : 0.0f;
    return (T)(rounded_within(x, low - zero, low + 255.0f - zero) + (uint32_t)(int)zero);
}

#endif
