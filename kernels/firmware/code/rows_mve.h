/* rows_mve.h - the products of two columns of bytes with all filters, for a processor with M-profile vectors.
 *
 * A column is read as it is: a vector of its first (length - 1) % 16 + 1 bytes, then whole vectors. w has the vectors
 * of four filters in turns, those of the first bytes filled up with zeros; filters are padded to a multiple of 4.
 *
 * Four filters of both columns are a tile, in assembly: its eight sums take all registers that sums can be in, so that
 * the loop over tiles keeps its pointers in memory, which changes places with the sums. */
#ifndef TORT_FIRMWARE_CODE_ROWS_MVE_H
#define TORT_FIRMWARE_CODE_ROWS_MVE_H

#include "kernels/firmware/code/column_plain.h"
#include "kernels/firmware/code/requantize.h"

/* Pointers that each tile of filters moves on, zero point and flip of y, and the number of filters left, a multiple of
 * 4; the columns, their remainders behind the first bytes, and the number of whole vectors there. */
typedef struct tinyort_tiles {
    const int32_t *bias;
    const float *factors;
    void *y, *z;
    int32_t zero, flip, left;
    const int8_t *a, *b, *a_next, *b_next;
    int32_t more;
} tinyort_tiles;

#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && defined(__OPTIMIZE__)
/* The vectors of four filters times those of both columns. */
#define TINYORT_MULTIPLY_FOUR(multiply)                                                                                \
    "vldrb.8 q2, [%[w]], #16\n\t"                                                                                      \
    "vldrb.8 q3, [%[w]], #16\n\t" multiply " r0, q0, q2\n\t" multiply " r2, q1, q2\n\t" multiply                       \
    " r4, q0, q3\n\t" multiply " r6, q1, q3\n\t"                                                                       \
    "vldrb.8 q2, [%[w]], #16\n\t"                                                                                      \
    "vldrb.8 q3, [%[w]], #16\n\t" multiply " r8, q0, q2\n\t" multiply " r10, q1, q2\n\t" multiply                      \
    " r12, q0, q3\n\t" multiply " lr, q1, q3\n\t"
/* requantize.h in vectors; where sums are wide, they are stored as they are. */
#if defined(TINYORT_UINT8)
#define TINYORT_FLIP_TILE                                                                                              \
    "vdup.8 q1, r10\n\t"                                                                                               \
    "veor q0, q0, q1\n\t"
#else
#define TINYORT_FLIP_TILE
#endif /* TINYORT_UINT8 */
#if defined(TINYORT_WIDE)
#define TINYORT_STORE_TILE                                                                                             \
    "vstrw.32 q0, [r4], #16\n\t"                                                                                       \
    "vstrw.32 q1, [r6], #16\n\t"
#else
#define TINYORT_STORE_TILE                                                                                             \
    "vldrw.32 q3, [r2], #16\n\t"                                                                                       \
    "vcvt.f32.s32 q0, q0\n\t"                                                                                          \
    "vcvt.f32.s32 q1, q1\n\t"                                                                                          \
    "vmul.f32 q0, q0, q3\n\t"                                                                                          \
    "vmul.f32 q1, q1, q3\n\t"                                                                                          \
    "vcvtn.s32.f32 q0, q0\n\t"                                                                                         \
    "vcvtn.s32.f32 q1, q1\n\t"                                                                                         \
    "vqmovnb.s32 q0, q0\n\t"                                                                                           \
    "vqmovnt.s32 q0, q1\n\t"                                                                                           \
    "vqadd.s16 q0, q0, r8\n\t"                                                                                         \
    "vqmovnb.s16 q0, q0\n\t" TINYORT_FLIP_TILE "vshr.u32 q1, q0, #16\n\t"                                              \
    "vstrb.32 q0, [r4], #4\n\t"                                                                                        \
    "vstrb.32 q1, [r6], #4\n\t"
#endif /* TINYORT_WIDE */

/* Columns begin with `first` bytes. */
static void tinyort_multiply_tiles(tinyort_tiles *t, const int8_t *w, int32_t first) {
    const int8_t *p, *q;
    __asm__ volatile("vctp.8 %[k]\n"
                     "1:\tldrd %[p], %[q], [%[t], #28]\n\t"
                     "vpstt\n\t"
                     "vldrbt.8 q0, [%[p]]\n\t"
                     "vldrbt.8 q1, [%[q]]\n\t" TINYORT_MULTIPLY_FOUR(
                         "vmladav.s8") "ldr %[k], [%[t], #44]\n\t"
                                       "cbz %[k], 3f\n\t"
                                       "ldrd %[p], %[q], [%[t], #36]\n"
                                       "2:\tvldrb.8 q0, [%[p]], #16\n\t"
                                       "vldrb.8 q1, [%[q]], #16\n\t" TINYORT_MULTIPLY_FOUR(
                                           "vmladava.s8") "subs %[k], #1\n\t"
                                                          "bne 2b\n"
                                                          "3:\tvmov d0, r0, r4\n\t"
                                                          "vmov d1, r8, r12\n\t"
                                                          "vmov d2, r2, r6\n\t"
                                                          "vmov d3, r10, lr\n\t"
                                                          "ldm %[t], {r0, r2, r4, r6, r8, r10, lr}\n\t"
                                                          "vldrw.32 q2, [r0], #16\n\t"
                                                          "vadd.i32 q0, q0, q2\n\t"
                                                          "vadd.i32 q1, q1, q2\n\t" TINYORT_STORE_TILE
                                                          "subs lr, lr, #4\n\t"
                                                          "stm %[t], {r0, r2, r4, r6, r8, r10, lr}\n\t"
                                                          "bne 1b"
                     : [w] "+r"(w), [p] "=&r"(p), [q] "=&r"(q), [k] "+l"(first)
                     : [t] "r"(t)
                     : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

static void tinyort_run_tiles(const tinyort_bytes_shape *s, tinyort_tiles *t, const int8_t *w, int32_t first) {
#if defined(TINYORT_WIDE)
    int8_t *y = (int8_t *)t->y, *z = (int8_t *)t->z;
    const float *factors = t->factors;
    for (int32_t left = t->left; left > 0; left -= 4) {
        int32_t sums[8];
        t->y = sums;
        t->z = sums + 4;
        t->left = 4;
        tinyort_multiply_tiles(t, w, first);
        for (int32_t i = 0; i < 8; i++) {
            (i < 4 ? y : z)[i % 4] = tinyort_requantize(s, sums[i], factors[i % 4]);
        }
        w += 4 * s->depth;
        factors += 4;
        y += 4;
        z += 4;
    }
#else
    (void)s;
    tinyort_multiply_tiles(t, w, first);
#endif /* TINYORT_WIDE */
}
#else
static void tinyort_run_tiles(const tinyort_bytes_shape *s, tinyort_tiles *t, const int8_t *w, int32_t first) {
    int8_t *y = (int8_t *)t->y, *z = (int8_t *)t->z;
    for (int32_t m = 0; m < t->left; m++) {
        const int8_t *weights = w + (m / 4 * 4 * s->depth) + (m % 4 * 16);
        int32_t sum = t->bias[m], other = sum;
        for (int32_t k = 0; k < s->length; k++) {
            const int32_t at = (k < first) ? k : (k + 16 - first);
            sum += t->a[k] * weights[(at / 16 * 64) + (at % 16)];
            other += t->b[k] * weights[(at / 16 * 64) + (at % 16)];
        }
        y[m] = tinyort_requantize(s, sum, t->factors[m]);
        z[m] = tinyort_requantize(s, other, t->factors[m]);
    }
    t->bias += t->left;
    t->factors += t->left;
}
#endif /* __ARM_FEATURE_MVE */

/* Stores fewer than four bytes. */
static void tinyort_store_few(int8_t *to, const int8_t *from, int32_t count) {
    to[0] = from[0];
    if (count > 1) {
        to[1] = from[1];
    }
    if (count > 2) {
        to[2] = from[2];
    }
}

static void tinyort_rows(const tinyort_bytes_shape *s, const void *a, const void *b, const int8_t *w,
                         const int32_t *bias, const float *factors, int8_t *y, int8_t *z) {
    const int32_t more = (int32_t)((uint32_t)(s->length - 1) / 16u), first = s->length - (16 * more);
    const int32_t filters = s->filters, whole = filters & -4;
    int8_t last[8];
    tinyort_tiles t;
    t.bias = bias;
    t.factors = factors;
    t.zero = s->zero;
    t.flip = s->flip;
    t.a = (const int8_t *)a;
    t.b = (const int8_t *)b;
    t.a_next = t.a + first;
    t.b_next = t.b + first;
    t.more = more;
    for (int32_t done = 0; done < filters; done = (done < whole) ? whole : filters) {
        t.y = (done < whole) ? y : last;
        t.z = (done < whole) ? z : (last + 4);
        t.left = (done < whole) ? whole : 4;
        tinyort_run_tiles(s, &t, w + (done * s->depth), first);
    }
    if (whole == filters) {
        return;
    }
    tinyort_store_few(y + whole, last, filters - whole);
    tinyort_store_few(z + whole, last + 4, filters - whole);
}

#endif
