/* element.h - element types in kernels: what an element is computed in, and a launcher's choice of its kernel by type.
 * For .cu files, after gpu.h.
 *
 * Of a function and a type that networks live on, the compiler makes a kernel each (known); all functions of a seldom
 * type are one kernel, which is told its function by an argument (int). So neither code nor compile time multiplies. */
#ifndef TORT_KERNELS_CUDA_ELEMENT_H
#define TORT_KERNELS_CUDA_ELEMENT_H

#include "kernels/cuda/claims.h"
#include "kernels/cuda/number.h"

typedef __nv_bfloat16 bfloat16;

/* What an element is computed in: 16-bit floats in float, which is rounded once. */
template <class T> struct computed { typedef T type; };
template <> struct computed<half> { typedef float type; };
template <> struct computed<bfloat16> { typedef float type; };

/* A number in another type; 16-bit floats convert from and to float only. */
template <class To, class From> static __device__ __forceinline__ To number_as(From x) {
    return (To)(typename computed<To>::type)(typename computed<From>::type)x;
}

/* An unsigned number is not, and comparing it with 0 would be remarked on. */
template <class T> static __device__ __forceinline__ bool is_negative(T x) {
    if constexpr ((T)-1 < (T)0)
        return x < (T)0;
    else
        return (void)x, false;
}

/* A value that the compiler knows, where an int would be one that it does not. */
template <int VALUE> struct known {
    __host__ __device__ constexpr operator int() const {
        return VALUE;
    }
};

/* use(T()) for the type: a zero that tells its type. */
template <class Use> static inline cudaError_t for_real(gpu_type type, Use use) {
    switch (type) {
    case GPU_HALF: return use(half());
    case GPU_BFLOAT16: return use(bfloat16());
    case GPU_DOUBLE: return use(double());
    default: return use(float());
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

/* Those that are neither float nor of 16 bits with an exponent: double and integers. */
template <class Use> static inline cudaError_t for_seldom(gpu_number type, Use use) {
    return type == GPU_NUMBER_DOUBLE ? use(double()) : for_integer(type, use);
}

/* All but bool. */
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
