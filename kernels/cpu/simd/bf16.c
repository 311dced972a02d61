/* bf16.c - the inner loop of products of bfloat16 on the matrix unit of x86-64: four tiles of sums, of two registers of
 * rows and two of columns. An instruction multiplies 16 rows by 16 columns over 32 elements of k; its sums are float32.
 * Sums may begin with a bias, a row of 16 that a load with a stride of 0 reads 16 times. Read next: tiles.h. */
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/simd/tiles.h"
#include "kernels/cpu/simd/vector.h"

enum { SIDE = 16, HALF = TORT_BF16_UNIT / 2 /* elements of a register */, ROW = 64 /* bytes of a register's row */ };

#ifdef TILE_MODEL
#define UNIT_INSTRUCTIONS (TORT_CPU_V3 | TORT_CPU_TILE_MODEL)
#else
#define UNIT_INSTRUCTIONS (TORT_CPU_V4 | TORT_CPU_AMX)
#endif

INLINE void load_sums(const tort_bf16_tile *t, bool two_rows, bool two_columns) {
    const float *from = t->adds ? t->sums : t->bias;
    const int64_t stride = t->adds ? t->stride : 0;
    TILE_LOAD(0, from, 4 * stride);
    if (two_columns) TILE_LOAD(1, from + SIDE, 4 * stride);
    if (two_rows) TILE_LOAD(2, from + SIDE * stride, 4 * stride);
    if (two_rows && two_columns) TILE_LOAD(3, from + SIDE * stride + SIDE, 4 * stride);
}

INLINE void make_tile(const tort_bf16_tile *t, bool two_rows, bool two_columns) {
    const uint16_t *a = t->rows, *b = t->columns;
    if (t->adds || t->bias) {
        load_sums(t, two_rows, two_columns);
    } else {
        tiles_clear();
    }
    for (int64_t s = t->steps; s > 0; s--, a += TORT_BF16_UNIT, b += TORT_BF16_UNIT)
        tiles_step(a, a + HALF, ROW, b, b + HALF, ROW, two_rows, two_columns, TILE_BF16);
    tiles_store(t->sums, 4 * t->stride, two_rows, two_columns);
}

static void tile(const tort_bf16_tile *t) {
    const bool two_rows = t->row_count > SIDE, two_columns = t->column_count > SIDE;
    if (two_rows && two_columns)
        make_tile(t, true, true);
    else if (two_rows)
        make_tile(t, true, false);
    else if (two_columns)
        make_tile(t, false, true);
    else
        make_tile(t, false, false);
}

extern const tort_bf16 SIMD(tort_bf16);

const tort_bf16 SIMD(tort_bf16) = {
    .instructions = UNIT_INSTRUCTIONS | TORT_CPU_BF16, .begin = tiles_begin, .end = tiles_end, .tile = tile};
