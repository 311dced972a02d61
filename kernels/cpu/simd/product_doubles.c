/* product_doubles.c - rows of A times a packed panel of B, in double; see tort_double_rows. Read next:
 * ../product_doubles.c. */
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#define VECTORS 2
#define COLUMNS (VECTORS * DOUBLES)
/* Whose sums stay in registers. */
#if X86 == 512
#define ROWS 8
#elif RVV
#define ROWS 3
#else
#define ROWS 4
#endif

/* Stores a row of sums, or adds them to what is there. */
INLINE void store_row(const tort_double_rows *t, double *y, const doubles *sums) {
#if X86 == 512 /* calls of memcpy would take as long as 30 products */
    const uint32_t kept = (1u << t->columns) - 1;
    for (int v = 0; v < VECTORS; v++) {
        const __mmask8 lanes = (__mmask8)(kept >> v * DOUBLES);
        doubles made = sums[v];
        if (t->adds) made += (doubles)_mm512_maskz_loadu_pd(lanes, y + v * DOUBLES);
        _mm512_mask_storeu_pd(y + v * DOUBLES, lanes, made);
    }
#else
    const bool whole = t->columns == COLUMNS;
    double last[COLUMNS], *to = whole ? y : last;
    if (!whole && t->adds) memcpy(last, y, (size_t)t->columns * sizeof *last);
    for (int v = 0; v < VECTORS; v++) {
        loose_doubles *place = (loose_doubles *)(to + v * DOUBLES);
        *place = t->adds ? (doubles)*place + sums[v] : sums[v];
    }
    if (!whole) memcpy(y, last, (size_t)t->columns * sizeof *last);
#endif
}

/* `rows` is a constant after inlining. */
INLINE void multiply(const tort_double_rows *t, const double *a, double *y, int rows) {
    doubles sums[ROWS][VECTORS];
    const double *b = t->panel;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = (doubles){0};
    for (int64_t k = 0; k < t->k; k++, b += COLUMNS, a += t->a_k) {
        const doubles left = *(const loose_doubles *)b, right = *(const loose_doubles *)(b + DOUBLES);
        UNROLL for (int r = 0; r < rows; r++) {
            const double factor = a[r * t->a_row];
            sums[r][0] += factor * left;
            sums[r][1] += factor * right;
        }
    }
    UNROLL for (int r = 0; r < rows; r++, y += t->y_row) store_row(t, y, sums[r]);
}

void SIMD(tort_simd_double_rows)(const tort_double_rows *t) {
    int64_t row = 0;
    for (; row + ROWS <= t->rows; row += ROWS) multiply(t, t->a + row * t->a_row, t->y + row * t->y_row, ROWS);
    for (; row < t->rows; row++) multiply(t, t->a + row * t->a_row, t->y + row * t->y_row, 1);
}

void SIMD(tort_simd_double_dots)(double *y, int64_t rows, const double *a, int64_t a_row, const double *b, int64_t k,
                                 bool adds) {
    for (int64_t row = 0; row < rows; row++, a += a_row) {
        doubles sums[VECTORS] = {{0}};
        double sum = 0;
        int64_t i = 0;
        for (; i + COLUMNS <= k; i += COLUMNS)
            for (int v = 0; v < VECTORS; v++)
                sums[v] += (doubles) * (const loose_doubles *)(a + i + v * DOUBLES) * (doubles) *
                           (const loose_doubles *)(b + i + v * DOUBLES);
        for (; i < k; i++) sum += a[i] * b[i];
        sums[0] += sums[1];
        for (int lane = 0; lane < DOUBLES; lane++) sum += sums[0][lane];
        y[row] = adds ? y[row] + sum : sum;
    }
}
