/* rows.c - inner loops that make rows of outputs from rows of inputs: depthwise convolutions, pools, and the product of
 * a row with a matrix or a transposed matrix.
 *
 * Several vectors are made at a time, so that a weight is broadcast once for all of them and additions overlap. A load
 * that crosses a cache line takes twice as long, and nearly all of a window do: where it moves by one row, three rows
 * of outputs use each. */
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#define BLOCK 4   /* vectors at a time, of one row or of as many rows */
#define SHARING 3 /* rows of outputs that are made from the same loads */
/* Vectors of each of them: with a broadcast weight and what is loaded they fill the registers. */
#if X86 == 512 || NEON == 64
#define SHARED_VECTORS 4
#elif WIDTH == 8 || NEON
#define SHARED_VECTORS 2
#else
#define SHARED_VECTORS 0 /* few loads of v2 cross a cache line, and are instructions; RVV has no registers for them */
#endif

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Stores a vector of outputs; of one that is not known to be `whole`, those within the width. */
INLINE void put(const tort_window_rows *rows, int64_t h, int64_t x, bool whole, vector value) {
    float *out = rows->out + h * rows->out_pitch + x;
    if (whole || x + WIDTH <= rows->width)
        store(out, value);
    else if (x < rows->width)
        store_part(out, value, rows->width - x);
}

INLINE void put_sum(const tort_window_rows *rows, const tort_weighted *sum, int64_t h, int64_t x, bool whole,
                    vector value) {
    value = clamp(value, broadcast(sum->bounds.low), broadcast(sum->bounds.high));
    if (sum->row_divisors) value /= broadcast(sum->row_divisors[h]) * load(sum->column_divisors + x);
    put(rows, h, x, whole, value);
}

/* Makes a vector of each of BLOCK rows, or BLOCK vectors or one of a row: enough to hide the latency of an addition. */
INLINE void window_block(bool max, const tort_window_rows *rows, const tort_weighted *sum, int64_t h, int64_t x,
                         int lines, int vectors) {
    const float *source[BLOCK];
    vector values[BLOCK][BLOCK];
    for (int r = 0; r < lines; r++) {
        source[r] = rows->source + (h + r) * rows->pitch + x;
        for (int v = 0; v < vectors; v++)
            values[r][v] = max ? load(source[r] + sum->offsets[0] + v * WIDTH) : broadcast(sum->bias);
    }
    for (int64_t j = max; j < sum->count; j++) {
        const vector weight = broadcast(max ? 1 : sum->weights[j]);
        for (int r = 0; r < lines; r++)
            for (int v = 0; v < vectors; v++) {
                const vector seen = load(source[r] + sum->offsets[j] + v * WIDTH);
                values[r][v] = max ? larger(values[r][v], seen) : values[r][v] + weight * seen;
            }
    }
    for (int r = 0; r < lines; r++)
        for (int v = 0; v < vectors; v++)
            if (max)
                put(rows, h + r, x + v * WIDTH, vectors > 1, values[r][v]);
            else
                put_sum(rows, sum, h + r, x + v * WIDTH, vectors > 1, values[r][v]);
}

/* Makes rows from h on. */
INLINE void window_rows(bool max, const tort_window_rows *window, const tort_weighted *weighted, int64_t h) {
    const tort_window_rows rows = *window; /* copies, which no store can change, so they may stay in registers */
    const tort_weighted sum = *weighted;
    for (; h + BLOCK <= rows.rows; h += BLOCK)
        for (int64_t x = 0; x < rows.width; x += WIDTH) window_block(max, &rows, &sum, h, x, BLOCK, 1);
    for (; h < rows.rows; h++) {
        int64_t x = 0;
        for (; x + BLOCK * WIDTH <= rows.width; x += BLOCK * WIDTH) window_block(max, &rows, &sum, h, x, 1, BLOCK);
        for (; x < rows.width; x += WIDTH) window_block(max, &rows, &sum, h, x, 1, 1);
    }
}

void SIMD(tort_simd_maximum)(const tort_window_rows *rows, const tort_weighted *weighted) {
    window_rows(true, rows, weighted, 0);
}

#if SHARED_VECTORS
/* Adds what row `seen` of the source gives to outputs first .. last: output o sees it with row seen - o of the
 * weights. Of each output, additions are in the order of its weights. */
INLINE void add_seen(const float *source, int64_t pitch, const tort_weighted *sum, int64_t columns, int64_t seen,
                     int first, int last, int vectors, vector values[SHARING][SHARED_VECTORS]) {
    for (int64_t j = 0; j < columns; j++) {
        vector x[SHARED_VECTORS];
        for (int v = 0; v < vectors; v++) x[v] = load(source + seen * pitch + sum->offsets[j] + v * WIDTH);
        for (int o = first; o <= last; o++) {
            const vector weight = broadcast(sum->weights[(seen - o) * columns + j]);
            for (int v = 0; v < vectors; v++) values[o][v] += weight * x[v];
        }
    }
}

INLINE void shared_block(const tort_window_rows *window, const tort_weighted *weighted, int64_t h, int64_t x,
                         int vectors) {
    const tort_window_rows rows = *window; /* copies, as above */
    const tort_weighted sum = *weighted;
    const float *source = rows.source + h * rows.pitch + x;
    const int64_t columns = sum.count / sum.shared, end = sum.shared;
    vector values[SHARING][SHARED_VECTORS];
    for (int o = 0; o < SHARING; o++)
        for (int v = 0; v < vectors; v++) values[o][v] = broadcast(sum.bias);
    _Static_assert(SHARING == 3, "which outputs see a row");
    add_seen(source, rows.pitch, &sum, columns, 0, 0, 0, vectors, values);
    add_seen(source, rows.pitch, &sum, columns, 1, 0, 1, vectors, values);
    for (int64_t i = 2; i < end; i++) add_seen(source, rows.pitch, &sum, columns, i, 0, 2, vectors, values);
    add_seen(source, rows.pitch, &sum, columns, end, 1, 2, vectors, values);
    add_seen(source, rows.pitch, &sum, columns, end + 1, 2, 2, vectors, values);
    for (int o = 0; o < SHARING; o++)
        for (int v = 0; v < vectors; v++) put_sum(&rows, &sum, h + o, x + v * WIDTH, false, values[o][v]);
}

/* Functions of their own: together, or in a loop, GCC keeps some of the sums in memory. */
static __attribute__((noinline)) void shared_pair(const tort_window_rows *rows, const tort_weighted *sum, int64_t h,
                                                  int64_t x) {
    shared_block(rows, sum, h, x, 2);
}
#if SHARED_VECTORS == 4
static __attribute__((noinline)) void shared_four(const tort_window_rows *rows, const tort_weighted *sum, int64_t h,
                                                  int64_t x) {
    shared_block(rows, sum, h, x, 4);
}
#endif

#endif

void SIMD(tort_simd_weighted_sum)(const tort_window_rows *rows, const tort_weighted *sum) {
    int64_t h = 0;
#if SHARED_VECTORS
    for (; sum->shared >= SHARING && h + SHARING <= rows->rows; h += SHARING) {
        int64_t x = 0;
#if SHARED_VECTORS == 4
        for (; x + 2 * WIDTH < rows->width; x += 4 * WIDTH) shared_four(rows, sum, h, x);
#endif
        for (; x < rows->width; x += 2 * WIDTH) shared_pair(rows, sum, h, x);
    }
#endif
    window_rows(false, rows, sum, h);
}

/* ---- a row and a matrix ------------------------------------------------------------------------------------------ */

/* Adds to y the sum of `steps` rows of B, each times its element of a. */
INLINE void add_rows(float *restrict y, int64_t n, const float *a, int steps, const float *restrict b,
                     int64_t b_stride) {
    int64_t x = 0;
    for (; x + WIDTH <= n; x += WIDTH) {
        vector sum = load(y + x);
        for (int j = 0; j < steps; j++) sum += broadcast(a[j]) * load(b + j * b_stride + x);
        store(y + x, sum);
    }
    for (; x < n; x++)
        for (int j = 0; j < steps; j++) y[x] += a[j] * b[j * b_stride + x];
}

/* Reads B once, four rows at a time; y stays in the cache. */
void SIMD(tort_simd_row_product)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                                 const float *column_bias) {
    if (!column_bias)
        memset(y, 0, (size_t)n * sizeof(float));
    else if (column_bias != y)
        memcpy(y, column_bias, (size_t)n * sizeof(float));
    int64_t j = 0;
    for (; j + BLOCK <= k; j += BLOCK) add_rows(y, n, a + j, BLOCK, b + j * b_stride, b_stride);
    for (; j < k; j++) add_rows(y, n, a + j, 1, b + j * b_stride, b_stride);
}

/* Computes the products of a with `rows` rows of B: each vector of a is loaded once for all of them. */
INLINE void dot_rows(float *y, int rows, const float *a, int64_t k, const float *b, int64_t b_stride, float scale) {
    vector sums[BLOCK] = {{0}};
    int64_t i = 0;
    for (; i + WIDTH <= k; i += WIDTH) {
        const vector left = load(a + i);
        for (int r = 0; r < rows; r++) sums[r] += left * load(b + r * b_stride + i);
    }
    for (int r = 0; r < rows; r++) {
        float sum = 0, rest = 0;
        for (int lane = 0; lane < WIDTH; lane++) sum += sums[r][lane];
        for (int64_t j = i; j < k; j++) rest += a[j] * b[r * b_stride + j];
        y[r] = scale * (sum + rest);
    }
}

void SIMD(tort_simd_row_dots)(float *y, int64_t n, const float *a, int64_t k, const float *b, int64_t b_stride,
                              float scale) {
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK) dot_rows(y + j, BLOCK, a, k, b + j * b_stride, b_stride, scale);
    for (; j < n; j++) dot_rows(y + j, 1, a, k, b + j * b_stride, b_stride, scale);
}
