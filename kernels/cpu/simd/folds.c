/* folds.c - sums and extremes of floats: of rows column by column, into a row of doubles, and of a single row.
 *
 * Of columns, four rows are added at a time, so that each result is loaded and stored once for all of them. Read next:
 * ../reduce.c, which brings all reductions into rows. */
#include "kernels/cpu/simd/intrinsics.h"

#include <math.h>

#define WIDES (TORT_FOLD_CHUNK / DOUBLES)
typedef int64_t doubles_bits __attribute__((vector_size(DOUBLES * 8), aligned(8), may_alias));

INLINE doubles term_of(tort_fold_kind kind, const float *x) {
    const doubles value = widened(x);
    if (kind == TORT_FOLD_MAGNITUDES) return (doubles)((doubles_bits)value & INT64_MAX);
    return kind == TORT_FOLD_SQUARES ? value * value : value;
}

#define BLOCK (8 * DOUBLES) /* columns whose plain sums stay in registers */

INLINE doubles terms_of(tort_fold_kind kind, const float *x, int64_t stride) {
    return (term_of(kind, x) + term_of(kind, x + stride)) +
           (term_of(kind, x + 2 * stride) + term_of(kind, x + 3 * stride));
}

INLINE void sum_block(double *into, const float *x, int64_t stride, int64_t rows) {
    doubles sums[BLOCK / DOUBLES];
    for (int i = 0; i < BLOCK; i += DOUBLES) sums[i / DOUBLES] = *(const loose_doubles *)(into + i);
    for (; rows >= 4; rows -= 4, x += 4 * stride)
        for (int i = 0; i < BLOCK; i += DOUBLES) sums[i / DOUBLES] += terms_of(TORT_FOLD_SUM, x + i, stride);
    for (; rows > 0; rows--, x += stride)
        for (int i = 0; i < BLOCK; i += DOUBLES) sums[i / DOUBLES] += widened(x + i);
    for (int i = 0; i < BLOCK; i += DOUBLES) *(loose_doubles *)(into + i) = sums[i / DOUBLES];
}

/* Column by column; into has whole chunks of doubles. */
INLINE void fold_sums(tort_fold_kind kind, double *into, const float *x, int64_t stride, int64_t rows, int64_t chunks) {
    int64_t count = chunks * TORT_FOLD_CHUNK;
    for (; kind == TORT_FOLD_SUM && WIDTH > 4 && count >= BLOCK; count -= BLOCK, into += BLOCK, x += BLOCK)
        sum_block(into, x, stride, rows);
    for (; rows >= 4; rows -= 4, x += 4 * stride)
        for (int64_t i = 0; i < count; i += DOUBLES) *(loose_doubles *)(into + i) += terms_of(kind, x + i, stride);
    for (; rows > 0; rows--, x += stride)
        for (int64_t i = 0; i < count; i += DOUBLES) *(loose_doubles *)(into + i) += term_of(kind, x + i);
}

/* ---- extremes ---------------------------------------------------------------------------------------------------- */

#define VECTORS (TORT_FOLD_CHUNK / WIDTH)

/* Finds maxima, or minima as negated maxima of negated elements (sign -1); NaN wins in both. Intermediate results
 * stay in vectors. */
INLINE void extremes(double *into, const float *x, int64_t stride, int64_t rows, int chunks, float sign) {
    vector best[4 * VECTORS];
    float found[4 * TORT_FOLD_CHUNK];
    for (int i = 0; i < chunks * TORT_FOLD_CHUNK; i++) found[i] = sign * (float)into[i];
    for (int v = 0; v < chunks * VECTORS; v++) best[v] = load(found + v * WIDTH);
    for (; rows > 0; rows--, x += stride)
        for (int v = 0; v < chunks * VECTORS; v++) best[v] = larger(best[v], broadcast(sign) * load(x + v * WIDTH));
    for (int v = 0; v < chunks * VECTORS; v++) store(found + v * WIDTH, best[v]);
    for (int i = 0; i < chunks * TORT_FOLD_CHUNK; i++) into[i] = (double)(sign * found[i]);
}

INLINE void all_extremes(double *into, const float *x, int64_t stride, int64_t rows, int64_t chunks, float sign) {
    for (; chunks >= 4; chunks -= 4, into += 4 * TORT_FOLD_CHUNK, x += 4 * TORT_FOLD_CHUNK)
        extremes(into, x, stride, rows, 4, sign);
    for (; chunks > 0; chunks--, into += TORT_FOLD_CHUNK, x += TORT_FOLD_CHUNK)
        extremes(into, x, stride, rows, 1, sign);
}

void SIMD(tort_simd_fold_columns)(tort_fold_kind kind, double *into, const float *x, int64_t stride, int64_t rows,
                                  int64_t chunks) {
    switch (kind) {
    case TORT_FOLD_SUM: fold_sums(TORT_FOLD_SUM, into, x, stride, rows, chunks); break;
    case TORT_FOLD_MAGNITUDES: fold_sums(TORT_FOLD_MAGNITUDES, into, x, stride, rows, chunks); break;
    case TORT_FOLD_SQUARES: fold_sums(TORT_FOLD_SQUARES, into, x, stride, rows, chunks); break;
    default: all_extremes(into, x, stride, rows, chunks, kind == TORT_FOLD_LARGEST ? 1 : -1);
    }
}

/* ---- single rows ------------------------------------------------------------------------------------------------- */

/* Adds up the lanes by halves. */
INLINE double joined(doubles *sums) {
    /* One loop around these would keep the sums on the stack. */
    for (int v = 0; WIDES > 4 && v < 4; v++) sums[v] += sums[WIDES > 4 ? 4 + v : 0];
    for (int v = 0; WIDES > 2 && v < 2; v++) sums[v] += sums[WIDES > 2 ? 2 + v : 0];
    sums[0] += sums[1];
#if X86 == 512
    const __m256d four = _mm512_castpd512_pd256(sums[0]) + _mm512_extractf64x4_pd(sums[0], 1);
    const __m128d two = _mm256_castpd256_pd128(four) + _mm256_extractf128_pd(four, 1);
#elif X86 == 256
    const __m128d two = _mm256_castpd256_pd128(sums[0]) + _mm256_extractf128_pd(sums[0], 1);
#elif WIDTH == 4
    const doubles two = sums[0];
#else
    doubles two = sums[0];
    for (int n = DOUBLES / 2; n > 1; n /= 2)
        for (int i = 0; i < n; i++) two[i] += two[i + n];
#endif
    return two[0] + two[1];
}

INLINE double row_sums(tort_fold_kind kind, const float *x, int64_t count) {
    enum { CHUNK = TORT_FOLD_CHUNK };
    static const int64_t last_ones[2 * CHUNK] = {[CHUNK] = -1, -1, -1, -1, -1, -1, -1, -1,
                                                 -1,           -1, -1, -1, -1, -1, -1, -1};
    doubles sums[WIDES];
    int64_t i = 0;
    for (int v = 0; v < WIDES; v++) sums[v] = (doubles){0};
    for (; i + 4 * CHUNK <= count; i += 4 * CHUNK)
        for (int v = 0; v < WIDES; v++) {
            const float *at = x + i + v * DOUBLES;
            sums[v] += (term_of(kind, at) + term_of(kind, at + CHUNK)) +
                       (term_of(kind, at + 2 * CHUNK) + term_of(kind, at + 3 * CHUNK));
        }
    for (; i + CHUNK <= count; i += CHUNK)
        for (int v = 0; v < WIDES; v++) sums[v] += term_of(kind, x + i + v * DOUBLES);
    if (i < count && count < CHUNK) { /* there is no chunk that ends where the row does */
        float few[CHUNK] = {0};
        for (; i < count; i++) few[CHUNK - count + i] = x[i];
        for (int v = 0; v < WIDES; v++) sums[v] += term_of(kind, few + v * DOUBLES);
    } else if (i < count) {
        const int64_t *kept = last_ones + count - i; /* of the last chunk, the lanes that are not in one before */
        for (int v = 0; v < WIDES; v++) {
            const doubles term = term_of(kind, x + count - CHUNK + v * DOUBLES);
            sums[v] += (doubles)((doubles_bits)term & *(const doubles_bits *)(kept + v * DOUBLES));
        }
    }
    return joined(sums);
}

typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t quad_mask __attribute__((vector_size(16)));

INLINE quad larger_quad(quad a, quad b) {
    const quad_mask keep = (a >= b) | (a != a);
    return (quad)((keep & (quad_mask)a) | (~keep & (quad_mask)b));
}

INLINE double row_extreme(const float *x, int64_t count, float sign) {
    enum { VECTORS_AT_ONCE = 4 };
    vector top[VECTORS_AT_ONCE];
    float lanes[WIDTH], best = sign * x[0];
    int64_t i = 0;
    if (count < WIDTH) {
        for (i = 1; i < count; i++) best = best >= sign * x[i] || best != best ? best : sign * x[i];
        return (double)(sign * best);
    }
    for (int v = 0; v < VECTORS_AT_ONCE; v++) top[v] = broadcast(-INFINITY);
    for (; i + VECTORS_AT_ONCE * WIDTH <= count; i += VECTORS_AT_ONCE * WIDTH)
        for (int v = 0; v < VECTORS_AT_ONCE; v++) top[v] = larger(top[v], broadcast(sign) * load(x + i + v * WIDTH));
    for (; i < count; i += WIDTH) /* the last one overlaps those before */
        top[1] = larger(top[1], broadcast(sign) * load(x + (i + WIDTH <= count ? i : count - WIDTH)));
    store(lanes, larger(larger(top[0], top[1]), larger(top[2], top[3])));
    quad four = *(const quad *)lanes;
    for (int q = 4; q < WIDTH; q += 4) four = larger_quad(four, *(const quad *)(lanes + q));
    four = larger_quad(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
    four = larger_quad(four, __builtin_shufflevector(four, four, 1, 0, 3, 2));
    return (double)(sign * four[0]);
}

INLINE void sum_rows(tort_fold_kind kind, double *into, const float *x, int64_t count, int64_t rows) {
    for (int64_t row = 0; row < rows; row++) into[row] = row_sums(kind, x + row * count, count);
}

void SIMD(tort_simd_fold_rows)(tort_fold_kind kind, double *into, const float *x, int64_t count, int64_t rows) {
    const float sign = kind == TORT_FOLD_LARGEST ? 1 : -1;
    switch (kind) {
    case TORT_FOLD_SUM: sum_rows(TORT_FOLD_SUM, into, x, count, rows); break;
    case TORT_FOLD_MAGNITUDES: sum_rows(TORT_FOLD_MAGNITUDES, into, x, count, rows); break;
    case TORT_FOLD_SQUARES: sum_rows(TORT_FOLD_SQUARES, into, x, count, rows); break;
    default:
        for (int64_t row = 0; row < rows; row++) into[row] = row_extreme(x + row * count, count, sign);
    }
}
