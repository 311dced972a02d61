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
    (void)memcpy(&word, from, sizeof word);
    return word;
}

#if defined(__ARM_FEATURE_SIMD32)
/* The weights of a filter of 3 x 3 in pairs (a, b), (b, c) for each row. */
#define TINYORT_TAKE_TAPS(w)                                                                                           \
    uint32_t taps[6];                                                                                                  \
    for (int32_t i_ = 0; i_ < 6; i_ += 2) {                                                                            \
        taps[i_] = tinyort_even(tinyort_word(w));                                                                      \
        taps[i_ + 1] = tinyort_odd(tinyort_word(w));                                                                   \
        (w) += 4;                                                                                                      \
    }
#endif /* __ARM_FEATURE_SIMD32 */

/* ---- steps of the loops ------------------------------------------------------------------------------------------
 *
 * In the processor's own instructions, because compilers run out of registers for the plain C below, which means the
 * same. LDRD needs addresses that are multiples of 4. */
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
/* The instructions of one of the taps below; `at`: the address of its pixel, `widen`: SXTB16, or UXTB16 for
 * uint8. */
#define TINYORT_TAP_AT(widen, at)                                                                                      \
    "ldr %[u], [" at "]\n\t"                                                                                           \
    "ldr %[v], [%[ws]], #4\n\t" widen " %[a], %[u]\n\t"                                                                \
    "sxtb16 %[b], %[v]\n\t"                                                                                            \
    "smlabb %[s0], %[a], %[b], %[s0]\n\t"                                                                              \
    "smlatt %[s2], %[a], %[b], %[s2]\n\t" widen " %[a], %[u], ror #8\n\t"                                              \
    "sxtb16 %[b], %[v], ror #8\n\t"                                                                                    \
    "smlabb %[s1], %[a], %[b], %[s1]\n\t"                                                                              \
    "smlatt %[s3], %[a], %[b], %[s3]\n\t"
/* Four channels of three pixels at x, `column` bytes apart, times three groups of weights at w; advances w. */
#define TINYORT_THREE_TAPS(widen, is_signed, w, x, column, y0, y1, y2, y3)                                             \
    {                                                                                                                  \
        uint32_t u_, v_, a_, b_;                                                                                       \
        __asm__(TINYORT_TAP_AT(widen, "%[xs]") TINYORT_TAP_AT(widen, "%[xs], %[col]")                                  \
                    TINYORT_TAP_AT(widen, "%[xs], %[col], lsl #1")                                                     \
                : [u] "=&r"(u_), [v] "=&r"(v_), [a] "=&r"(a_), [b] "=&r"(b_), [ws] "+r"(w), [s0] "+r"(y0),             \
                  [s1] "+r"(y1), [s2] "+r"(y2), [s3] "+r"(y3)                                                          \
                : [xs] "r"(x), [col] "r"(column)                                                                       \
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
/* Two outputs of a filter of 3 x 3: numbers of three rows at x0, x1 and x2, which advance, where outputs are `stride`
 * of 1 or 2 apart. taps: (a, b), (b, c) for each row. y1 is the bias, for both. All addresses are multiples of 4. */
#define TINYORT_TAPS_OF_TWO(from, weights, first)                                                                      \
    "ldrd %[a], %[b], " from "\n\t" weights "\n\t"                                                                     \
    "smlad %[s0], %[a], %[u], " first "\n\t"                                                                           \
    "smlatb %[s1], %[a], %[u], %[s1]\n\t"                                                                              \
    "smlabt %[s0], %[b], %[v], %[s0]\n\t"                                                                              \
    "smlad %[s1], %[b], %[v], %[s1]\n\t"
#define TINYORT_TAPS_APART(from, weights, first)                                                                       \
    "ldrd %[a], %[b], [" from "], #8\n\t" weights "\n\t"                                                               \
    "smlad %[s0], %[a], %[u], " first "\n\t"                                                                           \
    "smlabt %[s0], %[b], %[v], %[s0]\n\t"                                                                              \
    "ldr %[a], [" from "]\n\t"                                                                                         \
    "smlad %[s1], %[b], %[u], %[s1]\n\t"                                                                               \
    "smlabt %[s1], %[a], %[v], %[s1]\n\t"
#define TINYORT_TAPS_OPERANDS(x0, x1, x2, taps, y0, y1)                                                                \
    : [a] "=&r"(a_), [b] "=&r"(b_), [u] "=&r"(u_), [v] "=&r"(v_), [r0] "+r"(x0), [r1] "+r"(x1), [r2] "+r"(x2),         \
      [s0] "=&r"(y0), [s1] "+r"(y1)                                                                                    \
    : [ws] "r"(taps)                                                                                                   \
    : "memory"
#define TINYORT_NINE_TAPS(x0, x1, x2, stride, y0, y1)                                                                  \
    {                                                                                                                  \
        uint32_t a_, b_, u_, v_;                                                                                       \
        if ((stride) == 1) {                                                                                           \
            __asm__(TINYORT_TAPS_OF_TWO("[%[r0]], #4", "ldrd %[u], %[v], [%[ws]]", "%[s1]")                            \
                        TINYORT_TAPS_OF_TWO("[%[r1]], #4", "ldrd %[u], %[v], [%[ws], #8]", "%[s0]")                    \
                            TINYORT_TAPS_OF_TWO("[%[r2]], #4", "ldrd %[u], %[v], [%[ws], #16]", "%[s0]")               \
                                TINYORT_TAPS_OPERANDS(x0, x1, x2, taps, y0, y1));                                      \
        } else {                                                                                                       \
            __asm__(TINYORT_TAPS_APART("%[r0]", "ldrd %[u], %[v], [%[ws]]", "%[s1]")                                   \
                        TINYORT_TAPS_APART("%[r1]", "ldrd %[u], %[v], [%[ws], #8]", "%[s0]")                           \
                            TINYORT_TAPS_APART("%[r2]", "ldrd %[u], %[v], [%[ws], #16]", "%[s0]")                      \
                                TINYORT_TAPS_OPERANDS(x0, x1, x2, taps, y0, y1));                                      \
        }                                                                                                              \
    }
#else
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
#define TINYORT_THREE_TAPS(widen, is_signed, w, x, column, y0, y1, y2, y3)                                             \
    {                                                                                                                  \
        TINYORT_TAP(is_signed, w, x, y0, y1, y2, y3)                                                                   \
        TINYORT_TAP(is_signed, w, (x) + (column), y0, y1, y2, y3)                                                      \
        TINYORT_TAP(is_signed, w, (x) + 2 * (column), y0, y1, y2, y3)                                                  \
    }
#if defined(__ARM_FEATURE_SIMD32)
#define TINYORT_ROW_OF_TWO(x, u, v, stride, y0, y1)                                                                    \
    {                                                                                                                  \
        const uint32_t p_ = tinyort_pair_at(x), q_ = tinyort_pair_at((x) + 2);                                         \
        y0 = tinyort_multiply_pairs(p_, u, y0) + tinyort_low(q_) * tinyort_high(v);                                    \
        y1 = (stride) == 1 ? tinyort_multiply_pairs(q_, v, y1) + tinyort_high(p_) * tinyort_low(u)                     \
                           : tinyort_multiply_pairs(q_, u, y1) + (x)[4] * tinyort_high(v);                             \
        (x) += 2 * (stride);                                                                                           \
    }
#define TINYORT_NINE_TAPS(x0, x1, x2, stride, y0, y1)                                                                  \
    y0 = y1;                                                                                                           \
    TINYORT_ROW_OF_TWO(x0, taps[0], taps[1], stride, y0, y1)                                                           \
    TINYORT_ROW_OF_TWO(x1, taps[2], taps[3], stride, y0, y1)                                                           \
    TINYORT_ROW_OF_TWO(x2, taps[4], taps[5], stride, y0, y1)
#else
#define TINYORT_TAKE_TAPS(w)                                                                                           \
    const int32_t a0_ = (w)[0], a1_ = (w)[1], a2_ = (w)[3], b0_ = (w)[4], b1_ = (w)[5], b2_ = (w)[7], c0_ = (w)[8],    \
                  c1_ = (w)[9], c2_ = (w)[11];
#define TINYORT_ROW_OF_TWO(x, a, b, c, stride, y0, y1)                                                                 \
    y0 += (x)[0] * (a) + (x)[1] * (b) + (x)[2] * (c);                                                                  \
    y1 += (x)[stride] * (a) + (x)[(stride) + 1] * (b) + (x)[(stride) + 2] * (c);                                       \
    (x) += 2 * (stride);
#define TINYORT_NINE_TAPS(x0, x1, x2, stride, y0, y1)                                                                  \
    y0 = y1;                                                                                                           \
    TINYORT_ROW_OF_TWO(x0, a0_, a1_, a2_, stride, y0, y1)                                                              \
    TINYORT_ROW_OF_TWO(x1, b0_, b1_, b2_, stride, y0, y1)                                                              \
    TINYORT_ROW_OF_TWO(x2, c0_, c1_, c2_, stride, y0, y1)
#endif /* __ARM_FEATURE_SIMD32: intrinsics */
#endif /* __ARM_FEATURE_SIMD32 */

/* Four channels of a pixel at x times their weights at w; advances w. */
#define TINYORT_TAP(is_signed, w, x, y0, y1, y2, y3)                                                                   \
    {                                                                                                                  \
        const uint32_t u_ = tinyort_word(x), v_ = tinyort_word(w);                                                     \
        const uint32_t e_ = (is_signed) ? tinyort_even(u_) : u_ & 0xff00ffu;                                           \
        const uint32_t o_ = (is_signed) ? tinyort_odd(u_) : u_ >> 8 & 0xff00ffu;                                       \
        y0 += tinyort_low(e_) * tinyort_low(tinyort_even(v_));                                                         \
        y1 += tinyort_low(o_) * tinyort_low(tinyort_odd(v_));                                                          \
        y2 += tinyort_high(e_) * tinyort_high(tinyort_even(v_));                                                       \
        y3 += tinyort_high(o_) * tinyort_high(tinyort_odd(v_));                                                        \
        (w) += 4;                                                                                                      \
    }

#endif
