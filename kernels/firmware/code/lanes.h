/* lanes.h - two numbers of 16 bits in a word, as the DSP extension of Armv7E-M and Armv8-M computes with them: by its
 * instructions where the compiler has them, else by plain C of the same meaning.
 *
 * Bytes are widened in the order (0, 2), (1, 3), as SXTB16 does it; both factors of a sum of products are, so the
 * order does not matter. */
#ifndef TORT_FIRMWARE_CODE_LANES_H
#define TORT_FIRMWARE_CODE_LANES_H

#include <stdint.h>
#include <string.h>

#define tinyort_low(word) ((int32_t)(int16_t)((word)&0xffffu))
#define tinyort_high(word) ((int32_t)(int16_t)((word) >> 16))
#if defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define tinyort_even(word) ((uint32_t)__sxtb16((int8x4_t)(word)))
#define tinyort_multiply_pairs(a, b, sum) __smlad((int16x2_t)(a), (int16x2_t)(b), sum)
#else
#define tinyort_even(word) tinyort_widen(word)
#define tinyort_multiply_pairs(a, b, sum) ((sum) + tinyort_low(a) * tinyort_low(b) + tinyort_high(a) * tinyort_high(b))
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
static uint32_t tinyort_word(const int8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* ---- steps of the loops ------------------------------------------------------------------------------------------
 *
 * In the processor's own instructions, because compilers run out of registers for the plain C below, which means the
 * same. LDRD needs addresses that are multiples of 4. */
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
/* Four bytes of two filters at w times those of two columns at x; advances both. 16 products by 15 instructions. */
#define TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1)                                                                       \
    {                                                                                                                  \
        uint32_t u_, v_, p_, q_, a_, b_;                                                                               \
        __asm__("ldrd %[u], %[v], [%[ws]], #8\n\t"                                                                     \
                "ldrd %[p], %[q], [%[xs]], #8\n\t"                                                                     \
                "sxtb16 %[a], %[u]\n\t"                                                                                \
                "sxtb16 %[b], %[v]\n\t"                                                                                \
                "smlad %[s0], %[p], %[a], %[s0]\n\t"                                                                   \
                "smlad %[t0], %[q], %[a], %[t0]\n\t"                                                                   \
                "smlad %[s1], %[p], %[b], %[s1]\n\t"                                                                   \
                "smlad %[t1], %[q], %[b], %[t1]\n\t"                                                                   \
                "ldrd %[p], %[q], [%[xs]], #8\n\t"                                                                     \
                "sxtb16 %[a], %[u], ror #8\n\t"                                                                        \
                "sxtb16 %[b], %[v], ror #8\n\t"                                                                        \
                "smlad %[s0], %[p], %[a], %[s0]\n\t"                                                                   \
                "smlad %[t0], %[q], %[a], %[t0]\n\t"                                                                   \
                "smlad %[s1], %[p], %[b], %[s1]\n\t"                                                                   \
                "smlad %[t1], %[q], %[b], %[t1]"                                                                       \
                : [u] "=&r"(u_), [v] "=&r"(v_), [p] "=&r"(p_), [q] "=&r"(q_), [a] "=&r"(a_), [b] "=&r"(b_),            \
                  [ws] "+r"(w), [xs] "+r"(x), [s0] "+r"(y0), [s1] "+r"(y1), [t0] "+r"(z0), [t1] "+r"(z1)               \
                :                                                                                                      \
                : "memory");                                                                                           \
    }
/* Four bytes of four filters at w times those of one column at x; advances both. */
#define TINYORT_ONE_BY_FOUR(w, x, y0, y1, y2, y3)                                                                      \
    {                                                                                                                  \
        uint32_t u_, v_, p_, q_, a_;                                                                                   \
        __asm__("ldrd %[p], %[q], [%[xs]], #8\n\t"                                                                     \
                "ldrd %[u], %[v], [%[ws]], #8\n\t"                                                                     \
                "sxtb16 %[a], %[u]\n\t"                                                                                \
                "smlad %[s0], %[p], %[a], %[s0]\n\t"                                                                   \
                "sxtb16 %[a], %[v]\n\t"                                                                                \
                "smlad %[s1], %[p], %[a], %[s1]\n\t"                                                                   \
                "sxtb16 %[a], %[u], ror #8\n\t"                                                                        \
                "smlad %[s0], %[q], %[a], %[s0]\n\t"                                                                   \
                "sxtb16 %[a], %[v], ror #8\n\t"                                                                        \
                "smlad %[s1], %[q], %[a], %[s1]\n\t"                                                                   \
                "ldrd %[u], %[v], [%[ws]], #8\n\t"                                                                     \
                "sxtb16 %[a], %[u]\n\t"                                                                                \
                "smlad %[s2], %[p], %[a], %[s2]\n\t"                                                                   \
                "sxtb16 %[a], %[v]\n\t"                                                                                \
                "smlad %[s3], %[p], %[a], %[s3]\n\t"                                                                   \
                "sxtb16 %[a], %[u], ror #8\n\t"                                                                        \
                "smlad %[s2], %[q], %[a], %[s2]\n\t"                                                                   \
                "sxtb16 %[a], %[v], ror #8\n\t"                                                                        \
                "smlad %[s3], %[q], %[a], %[s3]"                                                                       \
                : [u] "=&r"(u_), [v] "=&r"(v_), [p] "=&r"(p_), [q] "=&r"(q_), [a] "=&r"(a_), [ws] "+r"(w),             \
                  [xs] "+r"(x), [s0] "+r"(y0), [s1] "+r"(y1), [s2] "+r"(y2), [s3] "+r"(y3)                             \
                :                                                                                                      \
                : "memory");                                                                                           \
    }
/* The instructions of one of the taps below; `at`: the address of its pixel. */
#define TINYORT_TAP_AT(at)                                                                                             \
    "ldr %[u], [" at "]\n\t"                                                                                           \
    "ldr %[v], [%[ws]], #4\n\t"                                                                                        \
    "sxtb16 %[a], %[u]\n\t"                                                                                            \
    "sxtb16 %[b], %[v]\n\t"                                                                                            \
    "smlabb %[s0], %[a], %[b], %[s0]\n\t"                                                                              \
    "smlatt %[s2], %[a], %[b], %[s2]\n\t"                                                                              \
    "sxtb16 %[a], %[u], ror #8\n\t"                                                                                    \
    "sxtb16 %[b], %[v], ror #8\n\t"                                                                                    \
    "smlabb %[s1], %[a], %[b], %[s1]\n\t"                                                                              \
    "smlatt %[s3], %[a], %[b], %[s3]\n\t"
/* Four channels of three pixels at x, `column` bytes apart, times three groups of weights at w; advances w. */
#define TINYORT_THREE_TAPS(w, x, column, y0, y1, y2, y3)                                                               \
    {                                                                                                                  \
        uint32_t u_, v_, a_, b_;                                                                                       \
        __asm__(TINYORT_TAP_AT("%[xs]") TINYORT_TAP_AT("%[xs], %[col]") TINYORT_TAP_AT("%[xs], %[col], lsl #1")        \
                : [u] "=&r"(u_), [v] "=&r"(v_), [a] "=&r"(a_), [b] "=&r"(b_), [ws] "+r"(w), [s0] "+r"(y0),             \
                  [s1] "+r"(y1), [s2] "+r"(y2), [s3] "+r"(y3)                                                          \
                : [xs] "r"(x), [col] "r"(column)                                                                       \
                : "memory");                                                                                           \
    }
#else
#define TINYORT_TWO_BY_TWO(w, x, y0, y1, z0, z1)                                                                       \
    {                                                                                                                  \
        const uint32_t u_ = tinyort_word(w), v_ = tinyort_word((w) + 4);                                               \
        y0 = tinyort_multiply_pairs((x)[0], tinyort_even(u_), y0);                                                     \
        z0 = tinyort_multiply_pairs((x)[1], tinyort_even(u_), z0);                                                     \
        y1 = tinyort_multiply_pairs((x)[0], tinyort_even(v_), y1);                                                     \
        z1 = tinyort_multiply_pairs((x)[1], tinyort_even(v_), z1);                                                     \
        y0 = tinyort_multiply_pairs((x)[2], tinyort_odd(u_), y0);                                                      \
        z0 = tinyort_multiply_pairs((x)[3], tinyort_odd(u_), z0);                                                      \
        y1 = tinyort_multiply_pairs((x)[2], tinyort_odd(v_), y1);                                                      \
        z1 = tinyort_multiply_pairs((x)[3], tinyort_odd(v_), z1);                                                      \
        (w) += 8;                                                                                                      \
        (x) += 4;                                                                                                      \
    }
#define TINYORT_ONE_BY_FOUR(w, x, y0, y1, y2, y3)                                                                      \
    {                                                                                                                  \
        const uint32_t u_ = tinyort_word(w), v_ = tinyort_word((w) + 4), p_ = tinyort_word((w) + 8),                   \
                       q_ = tinyort_word((w) + 12);                                                                    \
        y0 = tinyort_multiply_pairs((x)[1], tinyort_odd(u_), tinyort_multiply_pairs((x)[0], tinyort_even(u_), y0));    \
        y1 = tinyort_multiply_pairs((x)[1], tinyort_odd(v_), tinyort_multiply_pairs((x)[0], tinyort_even(v_), y1));    \
        y2 = tinyort_multiply_pairs((x)[1], tinyort_odd(p_), tinyort_multiply_pairs((x)[0], tinyort_even(p_), y2));    \
        y3 = tinyort_multiply_pairs((x)[1], tinyort_odd(q_), tinyort_multiply_pairs((x)[0], tinyort_even(q_), y3));    \
        (w) += 16;                                                                                                     \
        (x) += 2;                                                                                                      \
    }
#define TINYORT_THREE_TAPS(w, x, column, y0, y1, y2, y3)                                                               \
    {                                                                                                                  \
        TINYORT_TAP(w, x, y0, y1, y2, y3)                                                                              \
        TINYORT_TAP(w, (x) + (column), y0, y1, y2, y3)                                                                 \
        TINYORT_TAP(w, (x) + 2 * (column), y0, y1, y2, y3)                                                             \
    }
#endif /* __ARM_FEATURE_SIMD32 */

/* Four channels of a pixel at x times their weights at w; advances w. */
#define TINYORT_TAP(w, x, y0, y1, y2, y3)                                                                              \
    {                                                                                                                  \
        const uint32_t u_ = tinyort_flipped(tinyort_word(x), flip), v_ = tinyort_word(w);                              \
        y0 += tinyort_low(tinyort_even(u_)) * tinyort_low(tinyort_even(v_));                                           \
        y1 += tinyort_low(tinyort_odd(u_)) * tinyort_low(tinyort_odd(v_));                                             \
        y2 += tinyort_high(tinyort_even(u_)) * tinyort_high(tinyort_even(v_));                                         \
        y3 += tinyort_high(tinyort_odd(u_)) * tinyort_high(tinyort_odd(v_));                                           \
        (w) += 4;                                                                                                      \
    }

#endif
