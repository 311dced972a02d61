/* gemm.c - the inner loops of the matrix product: a tile of C that stays in registers, and the packing of its operands.
 *
 * A step of the loop over k loads one row of the packed B and multiplies it with each of the tile's elements of A.
 * Read next: vector.h for the tile's size, ../packed_gemm.c for the loops around this one. */
#include "kernels/cpu/simd/vector.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void start_tile(const tort_tile *t, int rows, int vectors, vector (*acc)[TILE_VECTORS]) {
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            if (t->accumulate)
                acc[i][v] = load(t->c + i * t->c_stride + v * WIDTH);
            else
                acc[i][v] = broadcast(t->row_bias ? t->row_bias[i] : 0);
            if (!t->accumulate && t->column_bias) acc[i][v] += load(t->column_bias + v * WIDTH);
        }
}

/* Activations that only bound what they get: done while the tile is in registers. */
INLINE bool is_clamp(const tort_epilogue *e) {
    return e->activation == TORT_ACTIVATION_RELU || e->activation == TORT_ACTIVATION_CLIP;
}

INLINE void store_tile(const tort_tile *t, int rows, int vectors, vector (*acc)[TILE_VECTORS]) {
    if (t->residual)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) acc[i][v] += load(t->residual + i * t->c_stride + v * WIDTH);
    if (t->epilogue) {
        const bool clip = t->epilogue->activation == TORT_ACTIVATION_CLIP;
        const vector low = broadcast(clip ? t->epilogue->alpha : 0),
                     high = broadcast(clip ? t->epilogue->beta : INFINITY);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) acc[i][v] = clamp(acc[i][v], low, high);
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) store(t->c + i * t->c_stride + v * WIDTH, acc[i][v]);
}

/* rows and vectors are constants where this is inlined, so that acc lives in registers. */
INLINE void whole_tile(const tort_tile *t, int rows, int vectors) {
    vector acc[TILE_ROWS][TILE_VECTORS];
    start_tile(t, rows, vectors, acc);
    const float *a = t->a, *b = t->b;
    for (int64_t k = 0; k < t->k; k++) {
        vector row[TILE_VECTORS];
        for (int v = 0; v < vectors; v++) row[v] = load(b + v * WIDTH);
        for (int i = 0; i < rows; i++) {
            const vector factor = broadcast(a[i]);
            for (int v = 0; v < vectors; v++) acc[i][v] += factor * row[v];
        }
        a += TILE_ROWS;
        b += TILE_COLUMNS;
    }
    store_tile(t, rows, vectors, acc);
}

/* A single row would wait for each of its sums: four steps of k at a time have sums of their own. Every column is
 * summed in the same order, whatever the width of its tile, so that columns that are equal stay equal. */
INLINE void one_row(const tort_tile *t, int vectors) {
    vector acc[4][TILE_VECTORS];
    start_tile(t, 1, vectors, acc);
    for (int s = 1; s < 4; s++)
        for (int v = 0; v < vectors; v++) acc[s][v] = broadcast(0);
    const float *a = t->a, *b = t->b;
    int64_t k = 0;
    for (; k + 4 <= t->k; k += 4)
        for (int s = 0; s < 4; s++, a += TILE_ROWS, b += TILE_COLUMNS)
            for (int v = 0; v < vectors; v++) acc[s][v] += broadcast(a[0]) * load(b + v * WIDTH);
    for (; k < t->k; k++, a += TILE_ROWS, b += TILE_COLUMNS)
        for (int v = 0; v < vectors; v++) acc[0][v] += broadcast(a[0]) * load(b + v * WIDTH);
    for (int v = 0; v < vectors; v++) acc[0][v] = (acc[0][v] + acc[1][v]) + (acc[2][v] + acc[3][v]);
    store_tile(t, 1, vectors, acc);
}

#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        if (t->columns > (TILE_VECTORS - 1) * WIDTH)                                                                   \
            whole_tile(t, n, TILE_VECTORS);                                                                            \
        else                                                                                                           \
            whole_tile(t, n, 1);                                                                                       \
        return;

static void dispatch(const tort_tile *t) {
    switch (t->rows) {
    case 1:
        if (t->columns > (TILE_VECTORS - 1) * WIDTH)
            one_row(t, TILE_VECTORS);
        else
            one_row(t, 1);
        return;
        CASE(2)
        CASE(3)
        CASE(4)
#if TILE_ROWS > 4
        CASE(5)
        CASE(6)
#endif
#if TILE_ROWS > 6
        CASE(7)
        CASE(8)
#endif
#if TILE_ROWS > 8
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
#endif
    default: return;
    }
}

/* A tile made in a buffer of its own: its width need not be a whole number of vectors, and its activation may be any.
 * What lies behind its columns is computed and dropped. */
static void buffered_tile(const tort_tile *t) {
    float c[TILE_ROWS * TILE_COLUMNS], bias[TILE_COLUMNS] = {0};
    const size_t bytes = (size_t)t->columns * sizeof(float);
    const int32_t stride = t->columns > (TILE_VECTORS - 1) * WIDTH ? TILE_COLUMNS : WIDTH;
    tort_tile copy = *t;
    copy.c = c;
    copy.c_stride = stride;
    copy.residual = NULL;
    copy.epilogue = NULL;
    if (t->accumulate)
        for (int32_t i = 0; i < t->rows; i++) memcpy(c + i * stride, t->c + i * t->c_stride, bytes);
    if (t->column_bias) {
        memcpy(bias, t->column_bias, bytes);
        copy.column_bias = bias;
    }
    dispatch(&copy);
    for (int32_t i = 0; t->residual && i < t->rows; i++)
        for (int32_t j = 0; j < t->columns; j++) c[i * stride + j] += t->residual[i * t->c_stride + j];
    if (t->epilogue) SIMD(tort_simd_finish)(t->epilogue, NULL, c, t->rows * stride);
    for (int32_t i = 0; i < t->rows; i++) memcpy(t->c + i * t->c_stride, c + i * stride, bytes);
}

void SIMD(tort_simd_tile)(const tort_tile *t) {
    const bool whole = t->columns == TILE_COLUMNS || t->columns == WIDTH;
    if (whole && (!t->epilogue || is_clamp(t->epilogue)))
        dispatch(t);
    else
        buffered_tile(t);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Exactly `length` elements, the last ones by a vector that overlaps those before it. */
INLINE void copy_exactly(float *to, const float *from, int32_t length) {
    if (length < WIDTH) {
        for (int32_t i = 0; i < length; i++) to[i] = from[i];
        return;
    }
    for (int32_t i = 0; i + WIDTH <= length; i += WIDTH) store(to + i, load(from + i));
    store(to + length - WIDTH, load(from + length - WIDTH));
}

void SIMD(tort_simd_pack_runs)(float *panel, const float *source, const int64_t *offsets, int64_t rows,
                               const tort_run *runs, int32_t run_count, bool may_overread) {
    if (run_count == 1 && runs[0].at == 0 && runs[0].length == TILE_COLUMNS) {
        for (int64_t k = 0; k < rows; k++)
            for (int v = 0; v < TILE_VECTORS; v++)
                store(panel + k * TILE_COLUMNS + v * WIDTH, load(source + offsets[k] + runs[0].offset + v * WIDTH));
        return;
    }
    for (int64_t k = 0; k < rows; k++) {
        const float *from = source + offsets[k];
        float *to = panel + k * TILE_COLUMNS;
        /* What a run writes too much is overwritten by the next run, or by the next row. */
        for (int32_t r = 0; r < run_count; r++) {
            if (!may_overread)
                copy_exactly(to + runs[r].at, from + runs[r].offset, runs[r].length);
            else
                for (int32_t i = 0; i < runs[r].length; i += WIDTH)
                    store(to + runs[r].at + i, load(from + runs[r].offset + i));
        }
    }
}

void SIMD(tort_simd_pack_lanes)(float *panel, int32_t lanes, const float *source, int64_t lane_stride, int64_t k_stride,
                                int32_t count, int64_t k, float scale) {
    if (count < lanes) memset(panel, 0, (size_t)(k * lanes) * sizeof(float));
    for (int32_t i = 0; i < count; i++) {
        const float *from = source + i * lane_stride;
        for (int64_t j = 0; j < k; j++) panel[j * lanes + i] = from[j * k_stride] * scale;
    }
}
