/* code.cuh - elements of any type by a gpu_code, which tells how they are stored: integers of up to 32 bits, floats of
 * 32 bits and of up to 16. For .cu files, directly after gpu.h. */
#ifndef TORT_KERNELS_CUDA_CODE_CUH
#define TORT_KERNELS_CUDA_CODE_CUH

#define SMALL_FLOAT_FUNCTION static __device__ inline
#include "kernels/cuda/quantize.h"

static __device__ __forceinline__ uint32_t code_at(const gpu_code &code, const void *data, uint64_t i) {
    const uint8_t *bytes = (const uint8_t *)data;
    switch (code.bits) {
    case 32: return ((const uint32_t *)data)[i];
    case 16: return ((const uint16_t *)data)[i];
    case 8: return bytes[i];
    default: break;
    }
    const uint64_t bit = i * (uint64_t)code.bits;
    const int shift = (int)(bit % 8);
    uint32_t word = bytes[bit / 8];
    if (shift + code.bits > 8) word |= (uint32_t)bytes[bit / 8 + 1] << 8; /* of 6 bits */
    return word >> shift & ((1u << code.bits) - 1);
}

/* An integer of up to 32 bits. */
static __device__ __forceinline__ int integer_at(const gpu_code &code, const void *data, uint64_t i) {
    const uint32_t bits = code_at(code, data, i), sign = code.is_signed ? 1u << (code.bits - 1) : 0;
    return (int)((bits ^ sign) - sign);
}

static __device__ float number_at(const gpu_code &code, const void *data, uint64_t i) {
    switch (code.kind) {
    case GPU_CODE_INTEGER: return (float)integer_at(code, data, i);
    case GPU_CODE_FLOAT: return ((const float *)data)[i];
    case GPU_CODE_E8M0: return decode_e8m0(code_at(code, data, i));
    default: return decode(&code.format, code_at(code, data, i));
    }
}

/* Elements that fill whole bytes: 2 of 4 bits, 4 of 2 or 6; one of 8 or 16. */
static __host__ __device__ __forceinline__ unsigned elements_in_bytes(int bits) {
    return bits % 8 == 0 ? 1 : bits == 4 ? 2 : 4;
}

/* Writes `count` codes from element `first` on, which begins a byte: a thread writes whole bytes. code_of(i) makes code
 * number i. */
template <class Use>
static __device__ __forceinline__ void store_codes(int bits, void *data, size_t first, unsigned count,
                                                   const Use &code_of) {
    const unsigned bytes = (count * (unsigned)bits + 7) / 8;
    uint8_t *to = (uint8_t *)data + first * (unsigned)bits / 8;
    uint32_t word = 0;
    for (unsigned k = 0; k < count; k++) word |= (uint32_t)code_of(first + k) << (k * (unsigned)bits);
    for (unsigned b = 0; b < bytes; b++) to[b] = (uint8_t)(word >> (8 * b));
}

#endif
