/* folds.c - sums and extremes of rows of floats, column by column, into a row of doubles.
 *
 * Plain loops that compilers make vector code of. Some rows are read at a time, so that a result is loaded and stored
 * once for all of them. Read next: ../reduce.c, which makes rows of whatever is reduced. */
#include "kernels/cpu/simd/vector.h"

#include <math.h>

INLINE double sum_of(double a, double b) {
    return a + b;
}
INLINE double value_of(float x) {
    return (double)x;
}
INLINE double magnitude_of(float x) {
    return fabs((double)x);
}
INLINE double square_of(float x) {
    return (double)x * (double)x;
}
INLINE float itself(float x) {
    return x;
}
INLINE float larger_float(float a, float b) {
    return (a >= b) | (a != a) ? a : b;
}
INLINE float smaller_float(float a, float b) {
    return (a <= b) | (a != a) ? a : b;
}
INLINE double larger_double(double a, double b) {
    return (a >= b) | (a != a) ? a : b;
}
INLINE double smaller_double(double a, double b) {
    return (a <= b) | (a != a) ? a : b;
}

/* `term` is made of each element; `few` joins terms, `join` what they come to with the result so far. */
#define ROWS(name, term, few, join)                                                                                    \
    static void name(double *restrict into, const float *restrict x, int64_t stride, int64_t rows, int64_t chunks) {   \
        const int64_t count = chunks * TORT_FOLD_CHUNK;                                                                \
        for (; rows >= 4; rows -= 4, x += 4 * stride)                                                                  \
            for (int64_t i = 0; i < count; i++)                                                                        \
                into[i] = join(into[i], (double)few(few(term(x[i]), term(x[stride + i])),                              \
                                                    few(term(x[2 * stride + i]), term(x[3 * stride + i]))));           \
        for (; rows > 0; rows--, x += stride)                                                                          \
            for (int64_t i = 0; i < count; i++) into[i] = join(into[i], (double)term(x[i]));                           \
    }
ROWS(sum, value_of, sum_of, sum_of)
ROWS(sum_magnitudes, magnitude_of, sum_of, sum_of)
ROWS(sum_squares, square_of, sum_of, sum_of)
ROWS(largest, itself, larger_float, larger_double)
ROWS(smallest, itself, smaller_float, smaller_double)

const tort_fold SIMD(tort_simd_folds)[TORT_FOLD_COUNT] = {
    [TORT_FOLD_SUM] = sum,         [TORT_FOLD_MAGNITUDES] = sum_magnitudes, [TORT_FOLD_SQUARES] = sum_squares,
    [TORT_FOLD_LARGEST] = largest, [TORT_FOLD_SMALLEST] = smallest,
};
