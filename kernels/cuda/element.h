/* element.h - element types in kernels: the type in which an element is computed, and a launcher's choice of its
 * kernel by type. For .cu files, after gpu.h.
 *
 * A function and a type that networks commonly use get a kernel of their own, compiled with the function as a
 * constant (known); all functions of a rare type share one kernel, which gets the function as an argument (int). So
 * neither code size nor compile time multiplies. */
#ifndef TORT_KERNELS_CUDA_ELEMENT_H
#define TORT_KERNELS_CUDA_ELEMENT_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

typedef __nv_bfloat16 bfloat16;

/* Type in which an element is computed: float for 16-bit floats, rounded once at the end. */
template <class T> struct computed { typedef T type; };
template <> struct computed<half> { typedef float type; };
template <> struct computed<bfloat16> { typedef float type; };

/* Converts a number to another type; 16-bit floats convert only from and to float. */
template <class To, class From> static __device__ __forceinline__ To number_as(From x) {
    return (To)(typename computed<To>::type)(typename computed<From>::type)x;
}

/* True if x is negative. For unsigned types a comparison with 0 would be a compiler warning. */
template <class T> static __device__ __forceinline__ bool is_negative(T x) {
    if constexpr ((T)-1 < (T)0)
        return x < (T)0;
    else
        return (void)x, false;
}

/* A constant as a type: where a parameter may be known or int, the compiler knows its value. */
template <int VALUE> struct known {
    __host__ __device__ constexpr operator int() const {
        return VALUE;
    }
};

/* Calls use(T()) for the type: the zero passes the type. */
template <class Use> static inline cudaError_t for_real(gpu_type type, Use use) {
    switch (type) {
    case GPU_HALF: return use(half());
    case GPU_BFLOAT16: return use(bfloat16());
    case GPU_DOUBLE: return use(double());
    default: return use(float());
    }
}

/* Element types of images with channels last (nhwc.h). */
template <class Use> static inline auto for_image(gpu_type type, Use use) {
    switch (type) {
    case GPU_HALF: return use(half());
    case GPU_BFLOAT16: return use(bfloat16());
    default: return use(float());
    }
}

/* The same, and bytes, for what chooses among elements or moves them. */
template <class Use> static inline cudaError_t for_moved_image(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_HALF: return use(half());
    case GPU_NUMBER_BFLOAT16: return use(bfloat16());
    case GPU_NUMBER_INT8: return use(int8_t());
    case GPU_NUMBER_UINT8: return use(uint8_t());
    default: return use(float());
    }
}

/* Calls use(T()) for bytes. */
template <class Use> static inline cudaError_t for_byte(bool is_signed, Use use) {
    return is_signed ? use(int8_t()) : use(uint8_t());
}

/* Returns x within bounds below 2^22, rounded half to even, modulo 2^32; NaN is the lower bound. Adding 1.5 * 2^23
 * rounds to an integer, which the lowest bits of the sum then hold. */
static __device__ __forceinline__ uint32_t rounded_within(float x, float low, float high) {
    return __float_as_uint(__fadd_rn(fminf(fmaxf(x, low), high), 0x1.8p23f));
}

/* Elements of 1, 2, 4 or 8 bytes that are only moved, whatever their type: T is unsigned. */
template <class Use> static inline cudaError_t for_bytes(int bytes, Use use) {
    switch (bytes) {
    case 1: return use(uint8_t());
    case 2: return use(uint16_t());
    case 4: return use(uint32_t());
    default: return use(uint64_t());
    }
}

template <class Use> static inline cudaError_t for_integer(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_INT32: return use(int32_t());
    case GPU_NUMBER_INT8: return use(int8_t());
    case GPU_NUMBER_INT16: return use(int16_t());
    case GPU_NUMBER_UINT8: return use(uint8_t());
    case GPU_NUMBER_UINT16: return use(uint16_t());
    case GPU_NUMBER_UINT32: return use(uint32_t());
    case GPU_NUMBER_UINT64: return use(uint64_t());
    default: return use(int64_t());
    }
}

/* Rare types: double and integers. */
template <class Use> static inline cudaError_t for_seldom(gpu_number type, Use use) {
    return type == GPU_NUMBER_DOUBLE ? use(double()) : for_integer(type, use);
}

/* All types but bool. */
template <class Use> static inline cudaError_t for_number(gpu_number type, Use use) {
    switch (type) {
    case GPU_NUMBER_FLOAT: return use(float());
    case GPU_NUMBER_HALF: return use(half());
    case GPU_NUMBER_BFLOAT16: return use(bfloat16());
    case GPU_NUMBER_DOUBLE: return use(double());
    default: return for_integer(type, use);
    }
}

#endif
