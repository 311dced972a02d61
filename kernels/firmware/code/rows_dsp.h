/* rows_dsp.h - the products of two columns of bytes with all filters, for a processor with the DSP extension.
 *
 * Columns are those of column_dsp.h, of which a step takes four bytes; filters come in pairs whose words of four
 * weights take turns. Two filters of both columns are a tile, in assembly: its loop takes all registers that there are,
 * so the loop over tiles keeps its pointers in memory and in registers of floats. */
#ifndef TORT_FIRMWARE_CODE_ROWS_DSP_H
#define TORT_FIRMWARE_CODE_ROWS_DSP_H

#include "kernels/firmware/code/column_dsp.h"
#include "kernels/firmware/code/requantize.h"

/* Pointers that each tile of filters moves on, zero point and flip of y, and the number of filters left. */
typedef struct tinyort_tiles {
    const int32_t *bias;
    const float *factors;
    void *y, *z;
    int32_t zero, left, flip;
} tinyort_tiles;

#if defined(__ARM_FEATURE_SIMD32) && defined(__ARM_FP) && defined(__GNUC__) &&                                         \
    defined(__OPTIMIZE__) /* without, too few registers */
/* Four bytes of two filters times those of two columns: 16 products by 14 instructions. */
#define TINYORT_STEP_OF_TWO                                                                                            \
    "ldrd %[u], %[v], [%[w]], #8\n\t"                                                                                  \
    "ldm %[x]!, {r3, r4, r5, r6}\n\t"                                                                                  \
    "sxtb16 %[a], %[u]\n\t"                                                                                            \
    "smlad %[y0], r3, %[a], %[y0]\n\t"                                                                                 \
    "smlad %[z0], r4, %[a], %[z0]\n\t"                                                                                 \
    "sxtb16 %[a], %[v]\n\t"                                                                                            \
    "smlad %[y1], r3, %[a], %[y1]\n\t"                                                                                 \
    "smlad %[z1], r4, %[a], %[z1]\n\t"                                                                                 \
    "sxtb16 %[a], %[u], ror #8\n\t"                                                                                    \
    "smlad %[y0], r5, %[a], %[y0]\n\t"                                                                                 \
    "smlad %[z0], r6, %[a], %[z0]\n\t"                                                                                 \
    "sxtb16 %[a], %[v], ror #8\n\t"                                                                                    \
    "smlad %[y1], r5, %[a], %[y1]\n\t"                                                                                 \
    "smlad %[z1], r6, %[a], %[z1]\n\t"
/* Steps `label` up to the address of x in a register of floats. */
#define TINYORT_STEPS_TO(end, label, steps)                                                                            \
    "vmov %[a], " end "\n\t"                                                                                           \
    "cmp %[x], %[a]\n\t"                                                                                               \
    "beq 9f\n" label ":\t" steps "vmov %[a], " end "\n\t"                                                              \
    "cmp %[x], %[a]\n\t"                                                                                               \
    "bne " label "b\n"                                                                                                 \
    "9:\t"
/* requantize.h in four lanes; where z is y, the value of y stays. Sums that are wide are stored as they are. */
#if defined(TINYORT_UINT8)
#define TINYORT_FLIP_TILE                                                                                              \
    "ldr %[v], [%[a], #24]\n\t"                                                                                        \
    "eor %[y0], %[v]\n\t"                                                                                              \
    "eor %[y1], %[v]\n\t"                                                                                              \
    "eor %[z0], %[v]\n\t"                                                                                              \
    "eor %[z1], %[v]\n\t"                                                                                              \
    "ldr %[v], [%[a], #20]\n\t"
#else
#define TINYORT_FLIP_TILE
#endif /* TINYORT_UINT8 */
#define TINYORT_ROUND_TO_BYTE(sum) "add " sum ", " sum ", %[u]\n\tssat " sum ", #8, " sum "\n\t"
#if defined(TINYORT_WIDE)
#define TINYORT_STORE_TILE                                                                                             \
    "subs %[v], %[v], #2\n\t"                                                                                          \
    "strd %[y0], %[y1], [r5], #8\n\t"                                                                                  \
    "strd %[z0], %[z1], [r6], #8\n\t"
#else
#define TINYORT_STORE_TILE                                                                                             \
    "vldmia r4!, {s10, s11}\n\t"                                                                                       \
    "vmov s12, s13, %[y0], %[y1]\n\t"                                                                                  \
    "vmov s14, s15, %[z0], %[z1]\n\t"                                                                                  \
    "vcvt.f32.s32 s12, s12\n\t"                                                                                        \
    "vcvt.f32.s32 s13, s13\n\t"                                                                                        \
    "vcvt.f32.s32 s14, s14\n\t"                                                                                        \
    "vcvt.f32.s32 s15, s15\n\t"                                                                                        \
    "vmul.f32 s12, s12, s10\n\t"                                                                                       \
    "vmul.f32 s13, s13, s11\n\t"                                                                                       \
    "vmul.f32 s14, s14, s10\n\t"                                                                                       \
    "vmul.f32 s15, s15, s11\n\t"                                                                                       \
    "vcvtr.s32.f32 s12, s12\n\t"                                                                                       \
    "vcvtr.s32.f32 s13, s13\n\t"                                                                                       \
    "vcvtr.s32.f32 s14, s14\n\t"                                                                                       \
    "vcvtr.s32.f32 s15, s15\n\t"                                                                                       \
    "vmov %[y0], %[y1], s12, s13\n\t"                                                                                  \
    "vmov %[z0], %[z1], s14, s15\n\t" TINYORT_ROUND_TO_BYTE("%[y0]") TINYORT_ROUND_TO_BYTE("%[y1]")                    \
        TINYORT_ROUND_TO_BYTE("%[z0]") TINYORT_ROUND_TO_BYTE("%[z1]") TINYORT_FLIP_TILE                                \
        "strb %[z0], [r6], #1\n\t"                                                                                     \
        "strb %[y0], [r5], #1\n\t"                                                                                     \
        "subs %[v], %[v], #2\n\t"                                                                                      \
        "bmi 5f\n\t" /* there is no second filter */                                                                   \
        "strb %[z1], [r6], #1\n\t"                                                                                     \
        "strb %[y1], [r5], #1\n\t"
#endif /* TINYORT_WIDE */

/* x: the columns; near, end: where they end, the first without the rest of 16 bytes of each. */
static void tinyort_multiply_tiles(tinyort_tiles *t, const void *x, const void *near, const void *end,
                                   const int8_t *w) {
    int32_t y0, y1, z0, z1;
    uint32_t u, v;
    __asm__ volatile(
        "vmov s0, %[a]\n\t"
        "vmov s1, %[x]\n\t"
        "vmov s2, %[y0]\n\t"
        "vmov s3, %[y1]\n\t"
        "ldm %[a], {r3, r4, r5, r6}\n"
        "1:\tldrd %[y0], %[y1], [r3], #8\n\t"
        "stm %[a], {r3, r4, r5, r6}\n\t"
        "mov %[z0], %[y0]\n\t"
        "mov %[z1], %[y1]\n\t"
        "vmov %[x], s1\n\t" TINYORT_STEPS_TO(
            "s2", "2",
            TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO
                TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO TINYORT_STEP_OF_TWO)
            TINYORT_STEPS_TO("s3", "3", TINYORT_STEP_OF_TWO) "vmov %[a], s0\n\t"
                                                             "ldm %[a], {r3, r4, r5, r6}\n\t"
                                                             "ldrd %[u], %[v], [%[a], #16]\n\t" TINYORT_STORE_TILE
                                                             "str %[v], [%[a], #20]\n\t"
                                                             "bne 1b\n"
                                                             "5:"
        : [a] "+r"(t), [x] "+r"(x), [w] "+r"(w), [y0] "=&r"(y0), [y1] "=&r"(y1), [z0] "=&r"(z0), [z1] "=&r"(z1),
          [u] "=&r"(u), [v] "=&r"(v)
        : "[y0]"(near), "[y1]"(end)
        : "r3", "r4", "r5", "r6", "s0", "s1", "s2", "s3", "s10", "s11", "s12", "s13", "s14", "s15", "cc", "memory");
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const uint32_t *near = (const uint32_t *)a + (s->depth & -32), *end = (const uint32_t *)a + s->depth;
    (void)b;
#if defined(TINYORT_WIDE)
    for (int32_t m = 0; m < s->filters; m += 2) {
        int32_t sums[4];
        tinyort_tiles t = {bias + m, factors + m, sums, sums + 2, 0, 2, 0};
        tinyort_multiply_tiles(&t, a, near, end, w);
        for (int32_t i = 0; i < 2 && m + i < s->filters; i++) {
            z[m + i] = tinyort_requantize(s, sums[2 + i], factors[m + i]);
            y[m + i] = tinyort_requantize(s, sums[i], factors[m + i]);
        }
        w += 2 * s->depth;
    }
#else
    tinyort_tiles t = {bias, factors, y, z, s->zero, s->filters, s->flip};
    tinyort_multiply_tiles(&t, a, near, end, w);
#endif /* TINYORT_WIDE */
}
#else
static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const tinyort_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    (void)b;
    for (int32_t m = 0; m < own.filters; m += 2) {
        int32_t y0 = bias[m], y1 = bias[m + 1], z0 = y0, z1 = y1;
        const uint32_t *x = (const uint32_t *)a;
        for (const int8_t *end = w + (2 * own.depth); w < end; w += 8) {
            const uint32_t u = tinyort_word(w), v = tinyort_word(w + 4);
            y0 = tinyort_multiply_pairs(x[2], tinyort_odd(u), tinyort_multiply_pairs(x[0], tinyort_even(u), y0));
            z0 = tinyort_multiply_pairs(x[3], tinyort_odd(u), tinyort_multiply_pairs(x[1], tinyort_even(u), z0));
            y1 = tinyort_multiply_pairs(x[2], tinyort_odd(v), tinyort_multiply_pairs(x[0], tinyort_even(v), y1));
            z1 = tinyort_multiply_pairs(x[3], tinyort_odd(v), tinyort_multiply_pairs(x[1], tinyort_even(v), z1));
            x += 4;
        }
        z[m] = tinyort_requantize(&own, z0, factors[m]); /* where z is y, the value of y stays */
        y[m] = tinyort_requantize(&own, y0, factors[m]);
        if ((m + 1) == own.filters) {
            break;
        }
        z[m + 1] = tinyort_requantize(&own, z1, factors[m + 1]);
        y[m + 1] = tinyort_requantize(&own, y1, factors[m + 1]);
    }
}
#endif /* __ARM_FEATURE_SIMD32 */

#endif
