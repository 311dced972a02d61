/* small_float.h - CUDA's half and bfloat16 for a host compiler: storage, conversions, arithmetic, intrinsics.
 *
 * Every operation is done in float or double and rounded once to nearest even, as the GPU's instructions do. Names
 * are those of cuda_fp16.h and cuda_bf16.h; add missing ones to the lists at the end. The default constructors are
 * trivial, since __shared__ arrays of these types cannot have initialization code. */
#ifndef CUDASIM_SMALL_FLOAT_H
#define CUDASIM_SMALL_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "kernels/cudasim/vector_types.h"

namespace cudasim {

/* Rounds to the nearest number with these mantissa and exponent bits, ties to even. Overflow gives infinity, and any
 * NaN the positive quiet NaN with all bits set, as the GPU's conversions do. */
static inline uint16_t round_to_small_float(double value, int mantissa_bits, int exponent_bits) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 63 << 15);
    const uint16_t infinity = (uint16_t)(((1u << exponent_bits) - 1u) << mantissa_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (value != value) return 0x7fff;
    if (exponent == 1024) return (uint16_t)(sign | infinity);
    if (exponent == -1023) return sign; /* zero, or far below the least small float */

    const uint64_t significand = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    const bool normal = exponent >= 1 - bias;
    const int shift = 52 - mantissa_bits + (normal ? 0 : 1 - bias - exponent);
    if (shift > 54) return sign;
    uint64_t kept = significand >> shift;
    const uint64_t rest = significand & ((1ull << shift) - 1), tie = 1ull << (shift - 1);
    if (rest > tie || (rest == tie && (kept & 1))) kept++;
    /* A carry out of the mantissa increments the exponent, as rounding up should. */
    const uint64_t encoded = normal ? ((uint64_t)(exponent + bias - 1) << mantissa_bits) + kept : kept;
    return (uint16_t)(sign | (encoded < infinity ? encoded : infinity));
}

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct HalfFormat {
    static uint16_t encode(double value) {
        return round_to_small_float(value, 10, 5);
    }
    static float decode(uint16_t bits) {
        const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023u;
        if (exponent == 31) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
        if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
        return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    }
};

struct BFloat16Format {
    static uint16_t encode(double value) {
        return round_to_small_float(value, 7, 8);
    }
    static float decode(uint16_t bits) {
        return float_of_bits((uint32_t)bits << 16);
    }
};

template <class Format> struct alignas(2) SmallFloat {
    uint16_t bits;

    SmallFloat() = default;
    template <class Number, class = std::enable_if_t<std::is_arithmetic<Number>::value>>
    SmallFloat(Number value) : bits(Format::encode((double)value)) {}
    operator float() const {
        return Format::decode(bits);
    }
    static SmallFloat from_bits(uint16_t bits) {
        SmallFloat result;
        result.bits = bits;
        return result;
    }
    SmallFloat operator-() const {
        return from_bits((uint16_t)(bits ^ 0x8000));
    }
#define CUDASIM_ARITHMETIC(op)                                                                                         \
    friend SmallFloat operator op(SmallFloat a, SmallFloat b) {                                                        \
        return SmallFloat((float)a op(float) b);                                                                       \
    }                                                                                                                  \
    SmallFloat &operator op##=(SmallFloat b) {                                                                         \
        return *this = *this op b;                                                                                     \
    }
    CUDASIM_ARITHMETIC(+)
    CUDASIM_ARITHMETIC(-)
    CUDASIM_ARITHMETIC(*)
    CUDASIM_ARITHMETIC(/)
#undef CUDASIM_ARITHMETIC
#define CUDASIM_COMPARISON(op)                                                                                         \
    friend bool operator op(SmallFloat a, SmallFloat b) {                                                              \
        return (float)a op(float) b;                                                                                   \
    }
    CUDASIM_COMPARISON(==)
    CUDASIM_COMPARISON(!=) CUDASIM_COMPARISON(<) CUDASIM_COMPARISON(<=) CUDASIM_COMPARISON(>) CUDASIM_COMPARISON(>=)
#undef CUDASIM_COMPARISON
};

template <class T> struct alignas(4) SmallFloat2 {
    T x, y;
    SmallFloat2() = default;
    SmallFloat2(T x_, T y_) : x(x_), y(y_) {}
};

} // namespace cudasim

typedef cudasim::SmallFloat<cudasim::HalfFormat> __half, half;
typedef cudasim::SmallFloat2<__half> __half2, half2;
typedef cudasim::SmallFloat<cudasim::BFloat16Format> __nv_bfloat16, nv_bfloat16;
typedef cudasim::SmallFloat2<__nv_bfloat16> __nv_bfloat162, nv_bfloat162;

/* Intrinsics whose names contain the type. */
#define CUDASIM_CONVERSIONS(T, T2, name)                                                                               \
    static inline T __float2##name(float a) {                                                                          \
        return T(a);                                                                                                   \
    }                                                                                                                  \
    static inline T __float2##name##_rn(float a) {                                                                     \
        return T(a);                                                                                                   \
    }                                                                                                                  \
    static inline T __double2##name(double a) {                                                                        \
        return T(a);                                                                                                   \
    }                                                                                                                  \
    static inline float __##name##2float(T a) {                                                                        \
        return (float)a;                                                                                               \
    }                                                                                                                  \
    static inline float2 __##name##22float2(T2 a) {                                                                    \
        return make_float2((float)a.x, (float)a.y);                                                                    \
    }                                                                                                                  \
    static inline T2 __float22##name##2_rn(float2 a) {                                                                 \
        return T2(T(a.x), T(a.y));                                                                                     \
    }                                                                                                                  \
    static inline T2 __floats2##name##2_rn(float a, float b) {                                                         \
        return T2(T(a), T(b));                                                                                         \
    }                                                                                                                  \
    static inline T2 __float2##name##2_rn(float a) {                                                                   \
        return T2(T(a), T(a));                                                                                         \
    }                                                                                                                  \
    static inline unsigned short __##name##_as_ushort(T a) {                                                           \
        return a.bits;                                                                                                 \
    }                                                                                                                  \
    static inline T __ushort_as_##name(unsigned short bits) {                                                          \
        return T::from_bits(bits);                                                                                     \
    }

CUDASIM_CONVERSIONS(__half, __half2, half)
CUDASIM_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
#undef CUDASIM_CONVERSIONS

/* Intrinsics whose names both types share. A fused multiply-add rounds once: in double, the product and sum of small
 * floats are exact, or so close that no tie changes. */
#define CUDASIM_UNARY(T, T2, intrinsic, expression)                                                                    \
    static inline T intrinsic(T small) {                                                                               \
        const float a = (float)small;                                                                                  \
        return T(expression);                                                                                          \
    }
#define CUDASIM_BINARY(T, T2, intrinsic, expression)                                                                   \
    static inline T intrinsic(T first, T second) {                                                                     \
        const float a = (float)first, b = (float)second;                                                               \
        return T(expression);                                                                                          \
    }                                                                                                                  \
    static inline T2 intrinsic##2(T2 a, T2 b) {                                                                        \
        return T2(intrinsic(a.x, b.x), intrinsic(a.y, b.y));                                                           \
    }
#define CUDASIM_COMPARE(T, T2, intrinsic, op)                                                                          \
    static inline bool intrinsic(T a, T b) {                                                                           \
        return a op b;                                                                                                 \
    }
#define CUDASIM_INTRINSICS(T, T2)                                                                                      \
    CUDASIM_UNARY(T, T2, __hneg, -a)                                                                                   \
    CUDASIM_UNARY(T, T2, __habs, fabsf(a))                                                                             \
    CUDASIM_UNARY(T, T2, hexp, expf(a))                                                                                \
    CUDASIM_UNARY(T, T2, hlog, logf(a))                                                                                \
    CUDASIM_UNARY(T, T2, hsqrt, sqrtf(a))                                                                              \
    CUDASIM_UNARY(T, T2, hrsqrt, 1.0f / sqrtf(a))                                                                      \
    CUDASIM_UNARY(T, T2, hrcp, 1.0f / a)                                                                               \
    CUDASIM_UNARY(T, T2, hfloor, floorf(a))                                                                            \
    CUDASIM_UNARY(T, T2, hceil, ceilf(a))                                                                              \
    CUDASIM_UNARY(T, T2, htrunc, truncf(a))                                                                            \
    CUDASIM_UNARY(T, T2, hrint, rintf(a))                                                                              \
    CUDASIM_BINARY(T, T2, __hadd, a + b)                                                                               \
    CUDASIM_BINARY(T, T2, __hsub, a - b)                                                                               \
    CUDASIM_BINARY(T, T2, __hmul, a *b)                                                                                \
    CUDASIM_BINARY(T, T2, __hmax, fmaxf(a, b))                                                                         \
    CUDASIM_BINARY(T, T2, __hmin, fminf(a, b))                                                                         \
    CUDASIM_COMPARE(T, T2, __heq, ==)                                                                                  \
    CUDASIM_COMPARE(T, T2, __hne, !=)                                                                                  \
    CUDASIM_COMPARE(T, T2, __hlt, <)                                                                                   \
    CUDASIM_COMPARE(T, T2, __hle, <=)                                                                                  \
    CUDASIM_COMPARE(T, T2, __hgt, >)                                                                                   \
    CUDASIM_COMPARE(T, T2, __hge, >=)                                                                                  \
    static inline T __hdiv(T a, T b) {                                                                                 \
        return a / b;                                                                                                  \
    }                                                                                                                  \
    static inline T __hfma(T a, T b, T c) {                                                                            \
        return T(fma((double)(float)a, (double)(float)b, (double)(float)c));                                           \
    }                                                                                                                  \
    static inline T2 __hfma2(T2 a, T2 b, T2 c) {                                                                       \
        return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                                       \
    }                                                                                                                  \
    static inline bool __hisnan(T a) {                                                                                 \
        return a != a;                                                                                                 \
    }                                                                                                                  \
    static inline float __low2float(T2 a) {                                                                            \
        return (float)a.x;                                                                                             \
    }                                                                                                                  \
    static inline float __high2float(T2 a) {                                                                           \
        return (float)a.y;                                                                                             \
    }

CUDASIM_INTRINSICS(__half, __half2)
CUDASIM_INTRINSICS(__nv_bfloat16, __nv_bfloat162)
#undef CUDASIM_UNARY
#undef CUDASIM_BINARY
#undef CUDASIM_COMPARE
#undef CUDASIM_INTRINSICS

static inline __half __low2half(__half2 a) {
    return a.x;
}
static inline __half __high2half(__half2 a) {
    return a.y;
}
static inline __half2 __halves2half2(__half a, __half b) {
    return __half2(a, b);
}
static inline __half2 __half2half2(__half a) {
    return __half2(a, a);
}
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) {
    return a.x;
}
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) {
    return a.y;
}
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __nv_bfloat162(a, b);
}
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) {
    return __nv_bfloat162(a, a);
}

#endif
