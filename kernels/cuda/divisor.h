/* divisor.h - division by numbers that stay the same during a launch: a multiplication and a shift, as a GPU has no
 * instruction that divides integers (Granlund and Montgomery 1994, "Division by Invariant Integers using
 * Multiplication"). Plain C, and a function for .cu files, after gpu.h. */
#ifndef TORT_KERNELS_CUDA_DIVISOR_H
#define TORT_KERNELS_CUDA_DIVISOR_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_NARROW_MAX INT32_MAX /* largest number that is divided in 32 bits; others are divided in 64, up to 2^63 */

/* n / value is (n * multiplier / 2^bits + n) / 2^shift, for n up to GPU_NARROW_MAX with bits = 32, beyond with 64. */
typedef struct gpu_divisor {
    uint64_t value, multiplier;
    int32_t shift;
} gpu_divisor;

/* Divisor of numbers up to `max`. The multiplier is 2^bits * (2^shift - value) / value + 1 with the least shift for
 * which 2^shift >= value. A value of 0, of an empty dimension, gives a divisor that is not used. */
static inline gpu_divisor gpu_divisor_of(int64_t value, uint64_t max) {
    const int bits = max <= GPU_NARROW_MAX ? 32 : 64;
    gpu_divisor divisor = {(uint64_t)value, 0, 0};
    while ((uint64_t)1 << divisor.shift < divisor.value && divisor.shift < 63) divisor.shift++;
    uint64_t rest = ((uint64_t)1 << divisor.shift) - divisor.value;
    for (int i = 0; i < bits; i++) {
        rest *= 2;
        divisor.multiplier = divisor.multiplier * 2 + (rest >= divisor.value);
        if (rest >= divisor.value) rest -= divisor.value;
    }
    divisor.multiplier++;
    return divisor;
}

#ifdef __cplusplus
/* Returns the quotient, and leaves the remainder in `number`; max: as for gpu_divisor_of. */
static __device__ __forceinline__ uint64_t divide(uint64_t *number, const gpu_divisor &by, uint64_t max) {
    const uint64_t whole = *number;
    uint64_t quotient;
    if (max <= GPU_NARROW_MAX) {
        const uint32_t low = (uint32_t)whole;
        quotient = (__umulhi(low, (uint32_t)by.multiplier) + low) >> by.shift;
        *number = low - (uint32_t)quotient * (uint32_t)by.value;
    } else {
        quotient = (__umul64hi(whole, by.multiplier) + whole) >> by.shift;
        *number = whole - quotient * by.value;
    }
    return quotient;
}
#endif

#endif
