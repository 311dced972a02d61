/* amx.c - products of bytes on the matrix unit of x86-64 (AMX): an instruction multiplies 16 rows by 16 columns over 64
 * bytes of k, and its sums are exact.
 *
 * Operands have the layout of ../bytes.h: 16 rows of a chunk are a tile as they lie, and 16 words of 16 columns are one
 * whose rows are a panel apart. Read next: tiles.h; bytes.c, which makes products of few rows. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd/byte_vector.h"
#include "kernels/cpu/simd/tiles.h"

#include <string.h>

#ifndef UNIT_COLUMNS
#define UNIT_COLUMNS TILE_COLUMNS
#endif

/* PANEL: bytes from a word of k to the next. */
enum { ROWS = 32, COLUMNS = UNIT_COLUMNS, SIDE = 16, WORDS = 16, PANEL = COLUMNS * 4 };

/* Names of the set whose table makes what the unit leaves to vectors. */
#ifdef TILE_MODEL
#define BESIDE(name) JOIN(name, v3_exact)
#define UNIT_INSTRUCTIONS (TORT_CPU_V3 | TORT_CPU_TILE_MODEL)
#else
#define BESIDE(name) JOIN(name, v4_vnni)
#define UNIT_INSTRUCTIONS (TORT_CPU_V4 | TORT_CPU_AVX512_VNNI | TORT_CPU_AMX)
#endif

/* Products of so few rows are made as fast by VNNI: loading the columns is what takes the time. */
#define FEW_ROWS 4

/* ---- tiles of packed operands ------------------------------------------------------------------------------------ */

INLINE void make_tile(const tort_byte_tile *t, bool two_rows, bool two_columns, int kind) {
    const int64_t chunk = ROWS * TORT_BYTE_CHUNK, below = SIDE * TORT_BYTE_CHUNK;
    const int64_t whole = t->words / WORDS, rest = t->words % WORDS;
    const uint8_t *a = t->rows, *b = t->columns;
    tiles_clear();
    for (int64_t s = 0; s < whole; s++, a += chunk, b += WORDS * PANEL)
        tiles_step(a, a + below, TORT_BYTE_CHUNK, b, b + 4 * SIDE, PANEL, two_rows, two_columns, kind);
    if (rest) { /* a tile would read beyond the panel */
        _Alignas(64) uint8_t last[WORDS * PANEL] = {0};
        memcpy(last, b, (size_t)rest * PANEL);
        tiles_step(a, a + below, TORT_BYTE_CHUNK, last, last + 4 * SIDE, PANEL, two_rows, two_columns, kind);
    }
    tiles_store(t->sums, PANEL, two_rows, two_columns);
}

INLINE void choose_size(const tort_byte_tile *t, int kind) {
    const bool two_rows = t->row_count > SIDE, two_columns = t->column_count > SIDE;
    if (two_rows && two_columns)
        make_tile(t, true, true, kind);
    else if (two_rows)
        make_tile(t, true, false, kind);
    else if (two_columns)
        make_tile(t, false, true, kind);
    else
        make_tile(t, false, false, kind);
}

extern const tort_bytes BESIDE(tort_bytes), SIMD(tort_bytes);

static void tile(const tort_byte_tile *t) {
    if (t->row_count <= FEW_ROWS)
        BESIDE(tort_bytes).tile(t);
    else if (t->unsigned_rows)
        choose_size(t, TILE_U8S8);
    else
        choose_size(t, TILE_S8U8);
}

/* ---- tiles of pixels --------------------------------------------------------------------------------------------- */

INLINE void make_pixels(const tort_unit_tile *t, bool two_rows, bool two_columns) {
    const uint8_t *first = t->x[0], *second = t->x[1], *w = t->weights, *later = t->later;
    const int64_t x_step = t->x_step, w_step = (two_columns ? 2 : 1) * 4 * SIDE;
    const tort_span *span = t->spans;
    tiles_clear();
    for (int64_t s = t->span_count; s > 0; s--, span++, w += WORDS * w_step) {
        const int64_t offset = span->offset;
        tiles_step(first + offset, two_rows ? second + offset : NULL, x_step, w, w + 4 * SIDE, w_step, two_rows,
                   two_columns, TILE_U8S8);
        for (int32_t i = t->lines; i > 0; i--, later += 64) __builtin_prefetch(later, 0, 2);
    }
    tiles_store(t->sums, PANEL, two_rows, two_columns);
}

static void unit_tile(const tort_unit_tile *t) {
    if (t->x[1] && t->blocks > 1)
        make_pixels(t, true, true);
    else if (t->x[1])
        make_pixels(t, true, false);
    else if (t->blocks > 1)
        make_pixels(t, false, true);
    else
        make_pixels(t, false, false);
}

/* Defined in blocked_bytes.c. */
void BESIDE(tort_bytes_blocked_tile)(const struct tort_blocked_byte_tile *tile);
void BESIDE(tort_bytes_blocked_finish)(const struct tort_blocked_byte_tile *tile, const int32_t *sums);
#ifdef TILE_MODEL
#define QUADS NULL
#define DEPTHWISE NULL
#else
void BESIDE(tort_bytes_quads)(const uint8_t *row, int64_t pixels, uint8_t *quads);
void BESIDE(tort_bytes_depthwise)(const tort_depthwise_bytes *d, const tort_blocked_byte_tile *t);
#define QUADS BESIDE(tort_bytes_quads)
#define DEPTHWISE BESIDE(tort_bytes_depthwise)
#endif

const tort_bytes SIMD(tort_bytes) = {.instructions = UNIT_INSTRUCTIONS,
                                     .tile_rows = ROWS,
                                     .tile_columns = COLUMNS,
                                     .width = SIDE,
                                     .few_rows = FEW_ROWS,
                                     .begin = tiles_begin,
                                     .end = tiles_end,
                                     .tile = tile,
                                     .blocked_pixels = BLOCKED_BYTE_PIXELS,
                                     .blocked_blocks = BLOCKED_BYTE_VECTORS * WIDTH / TORT_LANES,
                                     .blocked_tile = BESIDE(tort_bytes_blocked_tile),
                                     .quads = QUADS,
                                     .depthwise = DEPTHWISE,
                                     .unit_tile = unit_tile,
                                     .blocked_finish = BESIDE(tort_bytes_blocked_finish)};
