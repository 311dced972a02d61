/* byte_pack.c - operands of a product of bytes: rows in chunks, columns in panels of words. Layout: bytes.h; read
 * first: byte_gemm.h. */
#include "kernels/cpu/byte_pack.h"
#include "kernels/cpu/sizes.h"

#include <string.h>

#define MIN_SAFE 4 /* one in so many words must be safe */

tort_byte_sign tort_byte_sign_of(const tort_bytes *bytes, tort_type type, bool is_weight) {
    const bool is_signed = type == TORT_INT8, wanted = is_weight || bytes->all_signed;
    if (is_signed == wanted) return (tort_byte_sign){.is_signed = wanted};
    return (tort_byte_sign){.flip = 128, .is_signed = wanted, .shift = wanted ? -128 : 128};
}

/* Returns the bytes of panels of `lines` lines of `size` bytes, and a sum for each line; -1: overflow. */
static int64_t packed_size(int64_t lines, int64_t size) {
    int64_t total;
    if (lines < 0 || size > INT32_MAX || __builtin_mul_overflow(lines, size + (int64_t)sizeof(int32_t), &total) ||
        total > INT64_MAX / 4)
        return -1;
    return total + TORT_BYTE_SLACK;
}

int64_t tort_packed_byte_rows_size(const tort_bytes *bytes, int64_t lines, int64_t k) {
    return packed_size(tort_round_up(lines, bytes->tile_rows), tort_byte_row(k));
}

/* True if words of columns are put in another order. The loop over very many words, in parts, has none. */
static bool has_order(const tort_bytes *bytes, int64_t k) {
    return bytes->turned && k <= TORT_BYTE_K;
}

int64_t tort_packed_byte_columns_size(const tort_bytes *bytes, int64_t lines, int64_t k) {
    const int64_t padded = tort_round_up(lines, bytes->tile_columns), list = (int64_t)sizeof(int32_t);
    const int64_t size = packed_size(padded, tort_round_up(k, 4) + (bytes->turned ? list : 0));
    if (size < 0 || !has_order(bytes, k)) return size;
    return size + padded / bytes->tile_columns * tort_byte_order(k) * list;
}

static tort_packed_bytes packed_at(const void *packed, int64_t bytes) {
    if (!packed) return (tort_packed_bytes){.panels = NULL};
    return (tort_packed_bytes){.panels = packed, .sums = (const int32_t *)(const void *)((const char *)packed + bytes)};
}

tort_packed_bytes tort_packed_byte_rows(const tort_bytes *bytes, const void *packed, int64_t lines, int64_t k) {
    return packed_at(packed, tort_round_up(lines, bytes->tile_rows) * tort_byte_row(k));
}

tort_packed_bytes tort_packed_byte_columns(const tort_bytes *bytes, const void *packed, int64_t lines, int64_t k) {
    const int64_t padded = tort_round_up(lines, bytes->tile_columns);
    tort_packed_bytes found = packed_at(packed, padded * tort_round_up(k, 4));
    if (packed && bytes->turned) found.turned = found.sums + padded;
    if (packed && has_order(bytes, k)) found.order = found.turned + padded;
    return found;
}

void tort_byte_rows_into(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                         const tort_byte_matrix *a, int64_t first, int64_t last, int64_t k, int32_t *sums) {
    const int64_t lanes = bytes->tile_rows;
    int32_t made[TORT_BYTE_ROWS];
    int64_t done = 0;
    tort_byte_rows rows = {.tile_rows = bytes->tile_rows,
                           .row_stride = a->line_stride,
                           .k_stride = a->k_stride,
                           .flip = a->sign.flip,
                           .is_signed = a->sign.is_signed,
                           .sums = sums ? made : NULL};
    for (int64_t m = first; m < last; m += lanes, packed += lanes * tort_byte_row(k))
        for (int64_t at = 0; at == 0 || at < k; at += TORT_BYTE_K) {
            const int32_t count = (int32_t)tort_min(lanes, last - m);
            rows.k = tort_min(TORT_BYTE_K, k - at);
            if (!tort_work_goes_on(watch, &done, lanes * rows.k)) return;
            simd->byte_rows(&rows, packed + at * lanes, a->data + m * a->line_stride + at * a->k_stride, count);
            for (int32_t i = 0; sums && i < count; i++)
                sums[m - first + i] = at ? tort_sum32(sums[m - first + i], made[i]) : made[i];
        }
}

void tort_pack_byte_rows(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                         const tort_byte_matrix *a, int64_t lines, int64_t k) {
    int32_t *sums = (int32_t *)(void *)(packed + tort_round_up(lines, bytes->tile_rows) * tort_byte_row(k));
    if (tort_zero_bytes(watch, packed, (size_t)packed_size(tort_round_up(lines, bytes->tile_rows), tort_byte_row(k))))
        tort_byte_rows_into(watch, simd, bytes, packed, a, 0, lines, k, sums);
}

/* Packs a panel of a matrix whose rows are contiguous. Bytes beyond `columns` are undefined. */
static void interleave_panel(const tort_simd *simd, const tort_bytes *bytes, uint8_t *panel, const tort_byte_matrix *b,
                             int64_t first, int32_t columns, int64_t k) {
    static const uint8_t nothing[TORT_MAX_COLUMNS];
    for (int64_t j = 0; j < k; j += 4, panel += 4 * bytes->tile_columns) {
        const uint8_t *rows[4];
        for (int64_t r = 0; r < 4; r++) rows[r] = j + r < k ? b->data + (j + r) * b->k_stride + first : nothing;
        simd->byte_words(panel, rows, columns, b->sign.flip);
    }
}

/* Packs a panel of a matrix whose columns are contiguous, or strided. */
static void gather_panel(const tort_bytes *bytes, uint8_t *panel, const tort_byte_matrix *b, int64_t first,
                         int32_t columns, int64_t k) {
    const uint8_t flip = b->sign.flip;
    const int64_t stride = b->k_stride, step = bytes->tile_columns * 4;
    for (int32_t c = 0; c < columns; c++) {
        const uint8_t *from = b->data + (first + c) * b->line_stride;
        uint8_t *to = panel + c * 4;
        int64_t j = 0;
        for (; j + 4 <= k; j += 4, from += 4 * stride, to += step) {
            const uint8_t word[4] = {from[0] ^ flip, from[stride] ^ flip, from[2 * stride] ^ flip,
                                     from[3 * stride] ^ flip};
            memcpy(to, word, sizeof word);
        }
        for (int64_t i = 0; j < k && i < 4; i++) to[i] = j + i < k ? from[i * stride] ^ flip : 0;
    }
}

/* Packs a panel whose columns consist of aligned words, which are moved as elements. */
static void gather_words(const tort_simd *simd, const tort_bytes *bytes, uint8_t *panel, const tort_byte_matrix *b,
                         int64_t first, int32_t columns, int64_t k) {
    const uint8_t flip = b->sign.flip;
    const void *from = b->data + first * b->line_stride;
    simd->pack_lanes((float *)(void *)panel, bytes->tile_columns, from, b->line_stride / 4, 1, columns, k / 4, 1);
    for (int64_t i = 0; flip && i < k * bytes->tile_columns; i++) panel[i] ^= flip;
}

static void pack_panel(const tort_simd *simd, const tort_bytes *bytes, uint8_t *panel, const tort_byte_matrix *b,
                       int64_t first, int32_t columns, int64_t k) {
    if (b->line_stride == 1)
        interleave_panel(simd, bytes, panel, b, first, columns, k);
    else if (b->k_stride == 1 && k % 4 == 0 && b->line_stride % 4 == 0 && (uintptr_t)b->data % sizeof(float) == 0)
        gather_words(simd, bytes, panel, b, first, columns, k);
    else
        gather_panel(bytes, panel, b, first, columns, k);
}

void tort_sum_byte_panel(const tort_bytes *bytes, const uint8_t *panel, int64_t k, bool unsigned_rows, int32_t *sums,
                         int32_t *turned) {
    enum { CHUNKS = 32, WORDS = CHUNKS * TORT_BYTE_CHUNK / 4, ROWS = 2 };
    const int64_t lanes = bytes->tile_columns, words = (k + 3) / 4;
    uint8_t rows[CHUNKS][ROWS][TORT_BYTE_CHUNK];
    _Alignas(64) int32_t made[TORT_BYTE_TILE];
    tort_byte_tile tile = {.rows = rows[0][0],
                           .row_count = turned ? 2 : 1,
                           .chunk_rows = ROWS,
                           .column_count = bytes->tile_columns,
                           .unsigned_rows = unsigned_rows,
                           .sums = made};
    for (int c = 0; c < CHUNKS; c++) {
        memset(rows[c][0], 1, TORT_BYTE_CHUNK);
        memset(rows[c][1], 0, TORT_BYTE_CHUNK);
    }
    for (int64_t word = 0; word == 0 || word < words; word += WORDS) {
        tile.columns = panel + word * 4 * lanes;
        tile.words = tort_min(WORDS, words - word);
        for (int64_t i = k; i < 4 * words && word + WORDS >= words; i++) /* a panel has anything beyond k */
            rows[(i - 4 * word) / TORT_BYTE_CHUNK][0][i % TORT_BYTE_CHUNK] = 0;
        bytes->tile(&tile);
        for (int64_t j = 0; j < lanes; j++) {
            const int32_t less = turned ? made[lanes + j] : 0;
            sums[j] = tort_sum32(word ? sums[j] : 0, tort_sum32(made[j], -less));
            if (turned) turned[j] = tort_sum32(word ? turned[j] : 0, -less);
        }
    }
}

void tort_byte_panel_into(struct tort_watch *watch, int64_t *done, const tort_simd *simd, const tort_bytes *bytes,
                          uint8_t *panel, const tort_byte_matrix *b, int64_t first, int32_t columns, int64_t k) {
    tort_byte_matrix piece = *b;
    for (int64_t at = 0; at == 0 || at < k; at += TORT_BYTE_K) {
        const int64_t count = tort_min(TORT_BYTE_K, k - at);
        if (!tort_work_goes_on(watch, done, count * columns)) return;
        piece.data = b->data + at * b->k_stride;
        pack_panel(simd, bytes, panel + at * bytes->tile_columns, &piece, first, columns, count);
    }
}

static void swap_words(uint8_t *one, uint8_t *other, int64_t columns) {
    for (int64_t i = 0; i < 4 * columns; i += 8) {
        uint64_t a, b;
        memcpy(&a, one + i, sizeof a);
        memcpy(&b, other + i, sizeof b);
        memcpy(one + i, &b, sizeof b);
        memcpy(other + i, &a, sizeof a);
    }
}

int32_t tort_order_words(const tort_bytes *bytes, uint8_t *panel, int64_t columns, int64_t words, int32_t *order) {
    const int64_t size = 4 * columns, safe = bytes->find_safe(panel, columns, words, order);
    int64_t first = 0, last = words;
    while (safe * MIN_SAFE >= words && first < safe) {
        if (order[first] < 0) {
            do last--;
            while (order[last] < 0);
            const int32_t from = order[first];
            swap_words(panel + first * size, panel + last * size, columns);
            order[first] = order[last];
            order[last] = from;
        }
        first++;
    }
    for (int64_t i = 0; i < words; i++)
        if (order[i] < 0) order[i] = ~order[i];
    return safe * MIN_SAFE < words ? 0 : (int32_t)safe;
}

/* Sums a packed panel and orders its words. */
static void finish_panel(const tort_bytes *bytes, uint8_t *panel, int64_t k, int32_t *sums, int32_t *turned,
                         int32_t *order) {
    int32_t unused[TORT_MAX_COLUMNS];
    tort_sum_byte_panel(bytes, panel, k, true, sums, turned);
    if (!order) return;
    const int64_t words = tort_byte_order(k) - 1, chunk = TORT_BYTE_CHUNK / 4;
    const int64_t safe = order[0] = tort_order_words(bytes, panel, bytes->tile_columns, words, order + 1);
    if (!safe) return;
    for (int64_t i = 1; i <= words; i++)
        order[i] = (int32_t)(order[i] / chunk * bytes->tile_rows * TORT_BYTE_CHUNK + order[i] % chunk * 4);
    tort_sum_byte_panel(bytes, panel + safe * 4 * bytes->tile_columns, 4 * (words - safe), true, unused, turned);
}

/* Packs all lines in whole panels, with zeros in missing lines and in the slack; then makes the sums, which lie where
 * packing may overwrite. */
void tort_pack_byte_columns(struct tort_watch *watch, const tort_simd *simd, const tort_bytes *bytes, uint8_t *packed,
                            const tort_byte_matrix *b, int64_t lines, int64_t k) {
    const int64_t columns = bytes->tile_columns, padded = tort_round_up(lines, columns), size = tort_round_up(k, 4);
    const int64_t whole = lines / columns * columns;
    int64_t done = 0;
    for (int64_t first = 0; first < whole; first += columns)
        tort_byte_panel_into(watch, &done, simd, bytes, packed + first * size, b, first, (int32_t)columns, k);
    const int64_t all = tort_packed_byte_columns_size(bytes, lines, k);
    if (!tort_zero_bytes(watch, packed + whole * size, (size_t)(all - whole * size))) return;
    if (whole < lines)
        tort_byte_panel_into(watch, &done, simd, bytes, packed + whole * size, b, whole, (int32_t)(lines - whole), k);
    int32_t *sums = (int32_t *)(void *)(packed + padded * size), *turned = bytes->turned ? sums + padded : NULL;
    int32_t *order = has_order(bytes, k) ? turned + padded : NULL;
    for (int64_t first = 0; first < lines && tort_work_goes_on(watch, &done, columns * k); first += columns) {
        finish_panel(bytes, packed + first * size, k, sums + first, turned ? turned + first : NULL, order);
        if (order) order += tort_byte_order(k);
    }
}
