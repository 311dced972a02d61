/* amx.c - products of bytes on the matrix unit of x86-64 (AMX): an instruction multiplies 16 rows by 16 columns over 64
 * bytes of k, and its sums are exact.
 *
 * Operands have the layout of ../bytes.h: 16 rows of a chunk are a tile as they lie, and 16 words of 16 columns are one
 * whose rows are a panel apart. All eight tiles have one shape, 16 x 64 bytes; what a product has less of is 0 in one
 * of its operands. Instructions are written out, because the intrinsics of gcc 12 do not say what memory they read, and
 * stores before them vanish. Read next: bytes.c, which makes products of few rows. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd/byte_vector.h"

#include <string.h>

enum { ROWS = 32, COLUMNS = 32, SIDE = 16, WORDS = 16, PANEL = COLUMNS * 4 /* bytes from a word of k to the next */ };

/* Products of so few rows are made as fast by VNNI: loading the columns is what takes the time. */
#define FEW_ROWS 4

/* ---- instructions ------------------------------------------------------------------------------------------------ */

#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define TILE_LOAD(t, from, stride)                                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(t, to, stride)                                                                                      \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) : "memory")
/* Tile c gains the products of the rows of a and the columns of b; one of them is signed, the other is not. */
#define TILE_MULTIPLY(c, a, b, unsigned_rows)                                                                          \
    do {                                                                                                               \
        if (unsigned_rows)                                                                                             \
            __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::);                                         \
        else                                                                                                           \
            __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::);                                         \
    } while (0)

typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes;
_Static_assert(sizeof(tile_shapes) == 64, "as the processor reads it");

static void begin(void) {
    static const tile_shapes shapes = {.palette = 1,
                                       .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                       .rows = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE}};
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes));
}

static void end(void) {
    __asm__ volatile("tilerelease" ::);
}

/* Tiles 0 to 3 are the sums, two rows by two columns of them; 4 and 5 are loaded with rows, 6 and 7 with columns. */
INLINE void clear_sums(void) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
}

INLINE void step(const uint8_t *a, const uint8_t *below, int64_t a_stride, const uint8_t *b, int64_t b_stride,
                 bool two_rows, bool two_columns, bool unsigned_rows) {
    TILE_LOAD(6, b, b_stride);
    TILE_LOAD(4, a, a_stride);
    TILE_MULTIPLY(0, 4, 6, unsigned_rows);
    if (two_columns) {
        TILE_LOAD(7, b + 4 * SIDE, b_stride);
        TILE_MULTIPLY(1, 4, 7, unsigned_rows);
    }
    if (!two_rows) return;
    TILE_LOAD(5, below, a_stride);
    TILE_MULTIPLY(2, 5, 6, unsigned_rows);
    if (two_columns) TILE_MULTIPLY(3, 5, 7, unsigned_rows);
}

INLINE void store_sums(int32_t *to, bool two_rows, bool two_columns) {
    TILE_STORE(0, to, PANEL);
    if (two_columns) TILE_STORE(1, to + SIDE, PANEL);
    if (two_rows) TILE_STORE(2, to + SIDE * COLUMNS, PANEL);
    if (two_rows && two_columns) TILE_STORE(3, to + SIDE * COLUMNS + SIDE, PANEL);
}

/* ---- tiles of packed operands ------------------------------------------------------------------------------------ */

INLINE void make_tile(const tort_byte_tile *t, bool two_rows, bool two_columns, bool unsigned_rows) {
    const int64_t chunk = ROWS * TORT_BYTE_CHUNK, below = SIDE * TORT_BYTE_CHUNK;
    const int64_t whole = t->words / WORDS, rest = t->words % WORDS;
    const uint8_t *a = t->rows, *b = t->columns;
    clear_sums();
    for (int64_t s = 0; s < whole; s++, a += chunk, b += WORDS * PANEL)
        step(a, a + below, TORT_BYTE_CHUNK, b, PANEL, two_rows, two_columns, unsigned_rows);
    if (rest) { /* a tile would read beyond the panel */
        _Alignas(64) uint8_t last[WORDS * PANEL] = {0};
        memcpy(last, b, (size_t)rest * PANEL);
        step(a, a + below, TORT_BYTE_CHUNK, last, PANEL, two_rows, two_columns, unsigned_rows);
    }
    store_sums(t->sums, two_rows, two_columns);
}

INLINE void choose_size(const tort_byte_tile *t, bool unsigned_rows) {
    const bool two_rows = t->row_count > SIDE, two_columns = t->column_count > SIDE;
    if (two_rows && two_columns)
        make_tile(t, true, true, unsigned_rows);
    else if (two_rows)
        make_tile(t, true, false, unsigned_rows);
    else if (two_columns)
        make_tile(t, false, true, unsigned_rows);
    else
        make_tile(t, false, false, unsigned_rows);
}

extern const tort_bytes tort_bytes_v4_vnni, tort_bytes_v4_amx;

static void tile(const tort_byte_tile *t) {
    if (t->row_count <= FEW_ROWS)
        tort_bytes_v4_vnni.tile(t);
    else if (t->unsigned_rows)
        choose_size(t, true);
    else
        choose_size(t, false);
}

/* ---- tiles of pixels --------------------------------------------------------------------------------------------- */

INLINE void make_pixels(const tort_unit_tile *t, bool two_rows, bool two_columns) {
    const uint8_t *first = t->x[0], *second = t->x[1], *w = t->weights, *later = t->later;
    const int64_t x_step = t->x_step, w_step = two_columns ? PANEL : PANEL / 2;
    const tort_span *span = t->spans;
    clear_sums();
    for (int64_t s = t->span_count; s > 0; s--, span++, w += WORDS * w_step) {
        const int64_t offset = span->offset;
        step(first + offset, two_rows ? second + offset : NULL, x_step, w, w_step, two_rows, two_columns, true);
        for (int32_t i = t->lines; i > 0; i--, later += 64) __builtin_prefetch(later, 0, 2);
    }
    store_sums(t->sums, two_rows, two_columns);
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

void tort_bytes_blocked_tile_v4_vnni(const struct tort_blocked_byte_tile *tile); /* of blocked_bytes.c */
void tort_bytes_quads_v4_vnni(const uint8_t *row, int64_t pixels, uint8_t *quads);
void tort_bytes_depthwise_v4_vnni(const tort_depthwise_bytes *d, const tort_blocked_byte_tile *t);
void tort_bytes_blocked_finish_v4_vnni(const struct tort_blocked_byte_tile *tile, const int32_t *sums);

const tort_bytes tort_bytes_v4_amx = {.instructions = TORT_CPU_V4 | TORT_CPU_AVX512_VNNI | TORT_CPU_AMX,
                                      .tile_rows = ROWS,
                                      .tile_columns = COLUMNS,
                                      .width = SIDE,
                                      .few_rows = FEW_ROWS,
                                      .begin = begin,
                                      .end = end,
                                      .tile = tile,
                                      .blocked_pixels = BLOCKED_BYTE_PIXELS,
                                      .blocked_blocks = BLOCKED_BYTE_VECTORS,
                                      .blocked_tile = tort_bytes_blocked_tile_v4_vnni,
                                      .quads = tort_bytes_quads_v4_vnni,
                                      .depthwise = tort_bytes_depthwise_v4_vnni,
                                      .unit_tile = unit_tile,
                                      .blocked_finish = tort_bytes_blocked_finish_v4_vnni};
