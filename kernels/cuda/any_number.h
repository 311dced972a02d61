/* any_number.h - a number whose type is known only at run time: for rare pairs of types, which would otherwise need
 * a kernel each. For .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_ANY_NUMBER_H
#define TORT_KERNELS_CUDA_ANY_NUMBER_H

#include "kernels/cuda/element.h"

/* A real number, or a 64-bit integer, signed or unsigned. */
struct any_number {
    enum { REAL, SIGNED, UNSIGNED } kind;
    double real;
    int64_t integer;
};

static __device__ __forceinline__ any_number any_real(double x) {
    return {any_number::REAL, x, 0};
}
template <class T> static __device__ __forceinline__ any_number any_integer(T x) {
    return {(T)-1 < (T)0 ? any_number::SIGNED : any_number::UNSIGNED, (double)x, (int64_t)x};
}

static __device__ inline any_number any_number_at(gpu_number type, const void *data, size_t at) {
    switch (type) {
    case GPU_NUMBER_FLOAT: return any_real((double)((const float *)data)[at]);
    case GPU_NUMBER_HALF: return any_real((double)(float)((const half *)data)[at]);
    case GPU_NUMBER_BFLOAT16: return any_real((double)(float)((const bfloat16 *)data)[at]);
    case GPU_NUMBER_DOUBLE: return any_real(((const double *)data)[at]);
    case GPU_NUMBER_INT32: return any_integer(((const int32_t *)data)[at]);
    case GPU_NUMBER_INT8: return any_integer(((const int8_t *)data)[at]);
    case GPU_NUMBER_INT16: return any_integer(((const int16_t *)data)[at]);
    case GPU_NUMBER_UINT8: return any_integer(((const uint8_t *)data)[at]);
    case GPU_NUMBER_UINT16: return any_integer(((const uint16_t *)data)[at]);
    case GPU_NUMBER_UINT32: return any_integer(((const uint32_t *)data)[at]);
    case GPU_NUMBER_UINT64: return any_integer(((const uint64_t *)data)[at]);
    case GPU_NUMBER_BOOL: return any_integer((uint8_t)(((const uint8_t *)data)[at] != 0));
    default: return any_integer(((const int64_t *)data)[at]);
    }
}

/* Truncates toward zero and saturates to int64; NaN becomes 0. */
static __device__ __forceinline__ int64_t truncated(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    return x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

/* Converts to the type of *to: integers keep their low bits, reals are truncated. Rounds once, except that integers
 * above 2^24 become bfloat16 by way of float. */
template <class T> static __device__ __forceinline__ void convert(const any_number &x, T *to) {
    const bool above = sizeof(T) == 8 && (T)-1 > (T)0 && x.real >= 9223372036854775808.0;
    if (x.kind != any_number::REAL)
        *to = (T)x.integer;
    else if (above)
        *to = (T)(x.real >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x.real);
    else
        *to = (T)truncated(x.real);
}
static __device__ __forceinline__ void convert(const any_number &x, float *to) {
    *to = x.kind == any_number::REAL     ? (float)x.real
          : x.kind == any_number::SIGNED ? (float)x.integer
                                         : (float)(uint64_t)x.integer;
}
static __device__ __forceinline__ void convert(const any_number &x, double *to) {
    *to = x.real;
}
static __device__ __forceinline__ void convert(const any_number &x, half *to) {
    float small;
    convert(x, &small);
    *to = x.kind == any_number::REAL ? __double2half(x.real) : (half)small;
}
static __device__ __forceinline__ void convert(const any_number &x, bfloat16 *to) {
    float small;
    convert(x, &small);
    *to = x.kind == any_number::REAL ? __double2bfloat16(x.real) : (bfloat16)small;
}

/* Stores a real number in a type of gpu_number; a bool is its low byte. */
static __device__ inline void store_real(gpu_number type, void *y, size_t i, double value) {
    const any_number number = any_real(value);
    switch (type) {
    case GPU_NUMBER_FLOAT: return convert(number, (float *)y + i);
    case GPU_NUMBER_HALF: return convert(number, (half *)y + i);
    case GPU_NUMBER_BFLOAT16: return convert(number, (bfloat16 *)y + i);
    case GPU_NUMBER_DOUBLE: return convert(number, (double *)y + i);
    case GPU_NUMBER_INT64:
    case GPU_NUMBER_UINT64: return convert(number, (int64_t *)y + i);
    case GPU_NUMBER_INT32:
    case GPU_NUMBER_UINT32: return convert(number, (int32_t *)y + i);
    case GPU_NUMBER_INT16:
    case GPU_NUMBER_UINT16: return convert(number, (int16_t *)y + i);
    default: return convert(number, (uint8_t *)y + i);
    }
}

#endif
