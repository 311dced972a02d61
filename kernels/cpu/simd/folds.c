/* folds.c - sums and extremes of rows of floats, column by column, into a row of doubles.
 *
 * Plain loops that compilers vectorize. Four rows are added at a time, so that each result is loaded and stored once
 * for all of them. Read next: ../reduce.c, which brings all reductions into rows. */
#include "kernels/cpu/simd/vector.h"

#include <math.h>

INLINE double value_of(float x) {
    return (double)x;
}
INLINE double magnitude_of(float x) {
    return fabs((double)x);
}
INLINE double square_of(float x) {
    return (double)x * (double)x;
}
/* Defines a sum of term(x). */
#define SUMS(name, term)                                                                                               \
    static void name(double *restrict into, const float *restrict x, int64_t stride, int64_t rows, int64_t chunks) {   \
        const int64_t count = chunks * TORT_FOLD_CHUNK;                                                                \
        for (; rows >= 4; rows -= 4, x += 4 * stride)                                                                  \
            for (int64_t i = 0; i < count; i++)                                                                        \
                into[i] += (term(x[i]) + term(x[stride + i])) + (term(x[2 * stride + i]) + term(x[3 * stride + i]));   \
        for (; rows > 0; rows--, x += stride)                                                                          \
            for (int64_t i = 0; i < count; i++) into[i] += term(x[i]);                                                 \
    }
SUMS(sum, value_of)
SUMS(sum_magnitudes, magnitude_of)
SUMS(sum_squares, square_of)

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

static void largest(double *into, const float *x, int64_t stride, int64_t rows, int64_t chunks) {
    all_extremes(into, x, stride, rows, chunks, 1);
}

static void smallest(double *into, const float *x, int64_t stride, int64_t rows, int64_t chunks) {
    all_extremes(into, x, stride, rows, chunks, -1);
}

const tort_fold SIMD(tort_simd_folds)[TORT_FOLD_COUNT] = {
    [TORT_FOLD_SUM] = sum,         [TORT_FOLD_MAGNITUDES] = sum_magnitudes, [TORT_FOLD_SQUARES] = sum_squares,
    [TORT_FOLD_LARGEST] = largest, [TORT_FOLD_SMALLEST] = smallest,
};
