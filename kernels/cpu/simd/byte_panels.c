/* byte_panels.c - operands and results of a tile of bytes: rows in chunks, columns in words of four, and sums stored
 * as int32, floats or bytes. Read next: ../bytes.h. */
#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd/byte_lanes.h"

#include <string.h>

typedef mask loose_mask __attribute__((aligned(4), may_alias));
typedef uint8_t eight __attribute__((vector_size(16)));
typedef uint16_t eight_pairs __attribute__((vector_size(16)));
typedef eight loose_eight __attribute__((aligned(1), may_alias));

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Copies `count` bytes to a chunk and fills it with 0. Returns the sum of the stored bytes. */
INLINE int32_t copy_chunk(uint8_t *restrict to, const uint8_t *restrict from, int64_t stride, int64_t count,
                          uint8_t flip, bool is_signed) {
    int32_t sum = 0;
    if (count == TORT_BYTE_CHUNK && stride == 1) {
        for (int i = 0; i < TORT_BYTE_CHUNK; i++) to[i] = from[i] ^ flip;
    } else {
        memset(to, 0, TORT_BYTE_CHUNK);
        for (int64_t i = 0; i < count; i++) to[i] = from[i * stride] ^ flip;
    }
    if (is_signed)
        for (int i = 0; i < TORT_BYTE_CHUNK; i++) sum += (int8_t)to[i];
    else
        for (int i = 0; i < TORT_BYTE_CHUNK; i++) sum += to[i];
    return sum;
}

void SIMD(tort_simd_byte_rows)(const tort_byte_rows *r, uint8_t *to, const uint8_t *from, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        uint32_t sum = 0;
        for (int64_t k = 0, chunk = 0; k < r->k; k += TORT_BYTE_CHUNK, chunk++) {
            uint8_t *place = to + (chunk * r->tile_rows + i) * TORT_BYTE_CHUNK;
            const int64_t left = r->k - k, taken = left < TORT_BYTE_CHUNK ? left : TORT_BYTE_CHUNK;
            sum += (uint32_t)copy_chunk(place, from + i * r->row_stride + k * r->k_stride, r->k_stride, taken, r->flip,
                                        r->is_signed);
        }
        if (r->sums) r->sums[i] = (int32_t)sum;
    }
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

INLINE eight load_eight(const uint8_t *from) {
    uint64_t low;
    memcpy(&low, from, sizeof low);
    typedef uint64_t longs __attribute__((vector_size(16)));
    return (eight)(longs){low, 0};
}

#define UNPACK_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* Stores eight words, made of pairs ab and cd. */
INLINE void store_pairs(uint8_t *to, eight_pairs ab, eight_pairs cd, eight flip) {
    *(loose_eight *)to = (eight)__builtin_shufflevector(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11) ^ flip;
    *(loose_eight *)(to + 16) = (eight)__builtin_shufflevector(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15) ^ flip;
}

/* Interleaves eight bytes of each of four rows to eight words. */
INLINE void interleave(uint8_t *to, const uint8_t *const *rows, int64_t at, eight flip) {
    const eight a = load_eight(rows[0] + at), b = load_eight(rows[1] + at), c = load_eight(rows[2] + at),
                d = load_eight(rows[3] + at);
    store_pairs(to, (eight_pairs)UNPACK_LOW(a, b), (eight_pairs)UNPACK_LOW(c, d), flip);
}

/* Interleaves sixteen bytes of each row to sixteen words. */
INLINE void interleave_wide(uint8_t *to, const uint8_t *const *rows, int64_t at, eight flip) {
    const eight a = *(const loose_eight *)(rows[0] + at), b = *(const loose_eight *)(rows[1] + at),
                c = *(const loose_eight *)(rows[2] + at), d = *(const loose_eight *)(rows[3] + at);
    const eight_pairs ab = (eight_pairs)UNPACK_LOW(a, b), cd = (eight_pairs)UNPACK_LOW(c, d);
    const eight_pairs ab_high = (eight_pairs)UNPACK_HIGH(a, b), cd_high = (eight_pairs)UNPACK_HIGH(c, d);
    store_pairs(to, ab, cd, flip);
    store_pairs(to + 32, ab_high, cd_high, flip);
}

/* Interleaves rows to words. Leftover words are done by one more step that overlaps the previous one. */
void SIMD(tort_simd_byte_words)(uint8_t *to, const uint8_t *const *rows, int64_t count, uint8_t flip) {
    const eight flips = flip - (eight){0};
    if (count >= 16) {
        for (int64_t i = 0; i + 16 <= count; i += 16) interleave_wide(to + 4 * i, rows, i, flips);
        if (count % 16) interleave_wide(to + 4 * (count - 16), rows, count - 16, flips);
    } else if (count >= 8) {
        interleave(to, rows, 0, flips);
        interleave(to + 4 * (count - 8), rows, count - 8, flips);
    } else {
        for (int64_t i = 0; i < count; i++)
            for (int64_t r = 0; r < 4; r++) to[4 * i + r] = rows[r][i] ^ flip;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

#define SQUARE 16 /* side of the square transposed at a time: the channels of a block */

/* Transposes a 16 x 16 square: four times, rows are interleaved with those half a square away. */
INLINE void turn_square(eight *rows) {
    UNROLL
    for (int stage = 0; stage < 4; stage++) {
        eight mixed[SQUARE];
        UNROLL
        for (int i = 0; i < SQUARE / 2; i++) {
            mixed[2 * i] = UNPACK_LOW(rows[i], rows[i + SQUARE / 2]);
            mixed[2 * i + 1] = UNPACK_HIGH(rows[i], rows[i + SQUARE / 2]);
        }
        UNROLL
        for (int i = 0; i < SQUARE; i++) rows[i] = mixed[i];
    }
}

/* Returns the start of the square after the one at `at`; the last square ends with the last pixel and overlaps the
 * one before it. */
INLINE int64_t next_square(int64_t at, int64_t pixels) {
    const int64_t last = pixels - SQUARE;
    return at < last && at + SQUARE > last ? last : at + SQUARE;
}

void SIMD(tort_simd_bytes_to_block)(const uint8_t *plain, uint8_t *block, int64_t pixels, int32_t channels) {
    for (int64_t p = 0; pixels >= SQUARE && p < pixels; p = next_square(p, pixels)) {
        eight rows[SQUARE];
        UNROLL
        for (int c = 0; c < SQUARE; c++)
            rows[c] = c < channels ? (eight) * (const loose_eight *)(plain + c * pixels + p) : (eight){0};
        turn_square(rows);
        UNROLL
        for (int i = 0; i < SQUARE; i++) *(loose_eight *)(block + (p + i) * SQUARE) = rows[i];
    }
    for (int64_t p = 0; pixels < SQUARE && p < pixels; p++)
        for (int32_t c = 0; c < SQUARE; c++) block[p * SQUARE + c] = c < channels ? plain[c * pixels + p] : 0;
}

void SIMD(tort_simd_bytes_from_block)(const uint8_t *block, uint8_t *plain, int64_t pixels, int32_t channels) {
    for (int64_t p = 0; pixels >= SQUARE && p < pixels; p = next_square(p, pixels)) {
        eight rows[SQUARE];
        UNROLL
        for (int i = 0; i < SQUARE; i++) rows[i] = *(const loose_eight *)(block + (p + i) * SQUARE);
        turn_square(rows);
        UNROLL
        for (int c = 0; c < SQUARE; c++)
            if (c < channels) *(loose_eight *)(plain + c * pixels + p) = rows[c];
    }
    for (int32_t c = 0; pixels < SQUARE && c < channels; c++)
        for (int64_t p = 0; p < pixels; p++) plain[c * pixels + p] = block[p * SQUARE + c];
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* A move of one vector of words from the source to the panel's row. */
typedef struct move {
    int64_t from;
    int32_t to;
} move;

/* Excess words of a move are overwritten by the next move or the next row. */
INLINE void move_rows(uint8_t *panel, const uint8_t *source, const int64_t *offsets, int64_t rows, const move *moves,
                      int count) {
    for (int64_t k = 0; k < rows; k++, panel += 4 * TILE_COLUMNS) {
        const uint8_t *from = source + 4 * offsets[k];
        for (int m = 0; m < count; m++)
            *(loose_mask *)(void *)(panel + 4 * moves[m].to) =
                *(const loose_mask *)(const void *)(from + 4 * moves[m].from);
    }
}

void SIMD(tort_simd_byte_runs)(uint8_t *panel, const uint8_t *source, const int64_t *offsets, int64_t rows,
                               const tort_run *runs, int32_t run_count) {
    move moves[TILE_COLUMNS + TILE_VECTORS];
    int count = 0;
    for (int32_t r = 0; r < run_count; r++)
        for (int32_t i = 0; i < runs[r].length; i += WIDTH) moves[count++] = (move){runs[r].offset + i, runs[r].at + i};
    switch (count) {
    case 1: move_rows(panel, source, offsets, rows, moves, 1); return;
    case 2: move_rows(panel, source, offsets, rows, moves, 2); return;
    case 3: move_rows(panel, source, offsets, rows, moves, 3); return;
    default: move_rows(panel, source, offsets, rows, moves, count); return;
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Returns a vector of sums of row i with their corrections added. */
INLINE mask corrected(const tort_byte_finish *f, int i, int v, bool by_column, bool times) {
    const mask made = *(const loose_mask *)(const void *)(f->sums + i * TILE_COLUMNS + v * WIDTH);
    mask sum = add_modulo(made, f->row_add[i] - (mask){0});
    if (by_column) sum = add_modulo(sum, *(const loose_mask *)(const void *)(f->column_add + v * WIDTH));
    if (!times) return sum;
    const mask column = *(const loose_mask *)(const void *)(f->column_times + v * WIDTH);
    return add_modulo(sum, multiply_modulo(column, f->row_times[i]));
}

INLINE void store_floats(const tort_byte_finish *f, int i, bool times, float *y) {
    const float row_factor = f->row_factors[i];
    for (int v = 0; v < TILE_VECTORS; v++) {
        const vector sum = __builtin_convertvector(corrected(f, i, v, true, times), vector);
        vector scaled = sum * (load(f->column_factors + v * WIDTH) * row_factor);
        if (f->column_bias) scaled += load(f->column_bias + v * WIDTH);
        store(y + v * WIDTH, scaled);
    }
}

INLINE void store_whole(const tort_byte_finish *f, int i, bool by_column, bool times, int32_t *y) {
    for (int v = 0; v < TILE_VECTORS; v++)
        *(loose_mask *)(void *)(y + v * WIDTH) = corrected(f, i, v, by_column, times);
}

/* Copies fewer bytes than a row of a tile has. */
INLINE void copy_part(uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t size = 2 * TILE_COLUMNS; size > 0; size /= 2) {
        if (!(count & size)) continue;
        memcpy(to, from, size);
        to += size;
        from += size;
    }
}

INLINE void put_bytes(const tort_byte_finish *f, int i, const uint8_t *from) {
    uint8_t *y = (uint8_t *)f->y + i * f->y_stride;
    if (f->columns == TILE_COLUMNS)
        memcpy(y, from, TILE_COLUMNS);
    else
        copy_part(y, from, (size_t)f->columns);
}

/* Stores bytes, of two rows at a time. No factor turns a sum into NaN. */
INLINE void finish_bytes(const tort_byte_finish *f, bool by_column, bool times) {
    const bool is_signed = f->low < 0;
    for (int i = 0; i < f->rows; i += 2) {
        vector numbers[4];
        uint8_t two[2 * TILE_COLUMNS];
        const int next = i + 1 < f->rows ? i + 1 : i;
        for (int n = 0; n < 4; n++) {
            const int row = n < TILE_VECTORS ? i : next, v = n % TILE_VECTORS;
            vector factor = broadcast(f->row_factors[row]);
            if (by_column) factor *= load(f->column_factors + v * WIDTH);
            numbers[n] = __builtin_convertvector(corrected(f, row, v, by_column, times), vector) * factor;
        }
        store_numbers(numbers, f->zero_point, is_signed, two);
        put_bytes(f, next, two + (next - i) * TILE_COLUMNS);
        put_bytes(f, i, two);
    }
}
_Static_assert(TILE_VECTORS == 2, "finish_bytes makes four vectors of two rows");

INLINE void finish_rows(const tort_byte_finish *f, bool by_column, bool times) {
    uint8_t narrow[4 * TILE_COLUMNS];
    if (f->result == TORT_BYTES_TO_BYTES) {
        finish_bytes(f, by_column, times);
        return;
    }
    for (int i = 0; i < f->rows; i++) {
        int32_t *row = (int32_t *)f->y + i * f->y_stride;
        void *y = f->columns == TILE_COLUMNS ? (void *)row : narrow;
        if (f->result == TORT_BYTES_TO_FLOAT)
            store_floats(f, i, times, y);
        else
            store_whole(f, i, by_column, times, y);
        if (y != row) copy_part((uint8_t *)row, narrow, (size_t)f->columns * 4);
    }
}

void SIMD(tort_simd_byte_finish)(const tort_byte_finish *f) {
    if (f->column_times && f->column_add)
        finish_rows(f, true, true);
    else if (f->column_times)
        finish_rows(f, false, true);
    else if (f->column_add)
        finish_rows(f, true, false);
    else
        finish_rows(f, false, false);
}
