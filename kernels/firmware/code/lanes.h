/* lanes.h - two numbers of 16 bits in a word, as the DSP extension of Armv7E-M and Armv8-M computes with them: by its
 * instructions where the compiler has them, else by plain C of the same meaning.
 *
 * Bytes are widened in the order (0, 2), (1, 3), as SXTB16 does it; both factors of a sum of products are, so the
 * order does not matter. */
#ifndef TORT_FIRMWARE_CODE_LANES_H
#define TORT_FIRMWARE_CODE_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define tinyort_even(word) ((uint32_t)__sxtb16((int8x4_t)(word)))
#define tinyort_multiply(a, b, sum) __smlad((int16x2_t)(a), (int16x2_t)(b), sum)
#define tinyort_multiply_low(a, b, sum) __smlabb((int32_t)(a), (int32_t)(b), sum)
#define tinyort_multiply_high(a, b, sum) __smlatt((int32_t)(a), (int32_t)(b), sum)
#else
#define tinyort_even(word) tinyort_widen(word)
#define tinyort_multiply(a, b, sum) ((sum) + tinyort_low(a) * tinyort_low(b) + tinyort_high(a) * tinyort_high(b))
#define tinyort_multiply_low(a, b, sum) ((sum) + tinyort_low(a) * tinyort_low(b))
#define tinyort_multiply_high(a, b, sum) ((sum) + tinyort_high(a) * tinyort_high(b))
#define tinyort_low(word) ((int32_t)(int16_t)((word)&0xffffu))
#define tinyort_high(word) ((int32_t)(int16_t)((word) >> 16))
#define tinyort_byte(word, at) ((uint32_t)(int32_t)(int8_t)((word) >> (at)&0xffu) & 0xffffu)
#define tinyort_widen(word) (tinyort_byte(word, 0) | tinyort_byte(word, 16) << 16)
#endif /* __ARM_FEATURE_SIMD32 */

/* Bytes 1 and 3 of a word: GCC makes two instructions of SXTB16 with a rotation, where the processor has one. */
static uint32_t tinyort_odd(uint32_t word) {
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    uint32_t wide;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(wide) : "r"(word));
    return wide;
#else
    return tinyort_even(word >> 8);
#endif /* __ARM_FEATURE_SIMD32 */
}

/* Four bytes at any address. */
static uint32_t tinyort_load(const int8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

#endif
