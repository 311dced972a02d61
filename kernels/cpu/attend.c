/* attend.c - the two matrix products of attention, see attend.h.
 *
 * Each is a packed matrix product as in packed_gemm.c (Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", 2008): a key panel holds tile_columns keys with all their elements, a value panel tile_columns
 * columns of all values, so a range of keys is a range of panels of the one, and a range within each panel of the
 * other.
 *
 * Up to 4 queries use keys and values unpacked: each is then read once, and packing would add a write and a second
 * read.
 * Cost: rows * keys * (key_size + value_size) multiply-adds, and keys * (key_size + value_size) floats packed per
 * head.
 * Example: 128 queries and keys of 64 elements: 2.1 million multiply-adds for 16384 packed floats.
 * Read next: packed_gemm.h. */
#include "kernels/cpu/attend.h"
#include "kernels/cpu/sizes.h"

#include "runtime/core/base/memory.h"

#include <string.h>

#define BLOCK_FLOATS 65536 /* 256 KiB of scores, a part of the L2 cache */
#define FEW_ROWS 4         /* up to so many queries, packing keys and values does not pay */
#define DEPTH 256          /* keys whose weights are packed at a time */
#define LONG 65536         /* elements that are packed, or multiplied by a tile, between two questions */
#define SLACK 64           /* floats behind a panel that packing may overwrite */
#define TOO_MANY (SIZE_MAX / 64 * 64)

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

int64_t tort_attend_stride(int64_t keys) {
    return keys / TORT_ATTEND_STEP * TORT_ATTEND_STEP + TORT_ATTEND_STEP;
}

int64_t tort_attend_block_rows(const tort_simd *simd, int64_t keys) {
    const int64_t fit = BLOCK_FLOATS / tort_attend_stride(keys), tile = simd->tile_rows;
    const int64_t rows = fit < TORT_ATTEND_MAX_ROWS ? fit / tile * tile : TORT_ATTEND_MAX_ROWS;
    return rows > tile ? rows : tile;
}

int64_t tort_attend_score_floats(const tort_simd *simd, int64_t keys) {
    if (keys > INT64_MAX / TORT_ATTEND_MAX_ROWS - TORT_ATTEND_STEP) return INT64_MAX;
    const int64_t stride = tort_attend_stride(keys), max = TORT_ATTEND_MAX_ROWS * stride,
                  min = simd->tile_rows * stride;
    return max < BLOCK_FLOATS ? max : min > BLOCK_FLOATS ? min : BLOCK_FLOATS;
}

static bool round_up(size_t count, size_t unit, size_t *rounded) {
    if (!tort_add_size(count, unit - 1, rounded)) return false;
    *rounded = *rounded / unit * unit;
    return true;
}

/* Computes the floats of `count` packed lanes of `elements` elements, a multiple of 16; false on overflow. */
static bool panel_floats(size_t count, size_t lanes, size_t elements, size_t *floats) {
    return round_up(count, lanes, floats) && tort_mul_size(*floats, elements, floats) &&
           tort_add_size(*floats, SLACK, floats) && round_up(*floats, 16, floats);
}

size_t tort_attend_buffer(const tort_simd *simd, int64_t keys, int64_t key_size, int64_t value_size) {
    const size_t columns = (size_t)simd->tile_columns, depth = key_size > DEPTH ? (size_t)key_size : DEPTH;
    size_t floats, part, bytes;
    if (panel_floats((size_t)keys, columns, (size_t)key_size, &floats) &&
        panel_floats((size_t)value_size, columns, (size_t)keys, &part) && tort_add_size(floats, part, &floats) &&
        panel_floats(TORT_ATTEND_MAX_ROWS, (size_t)simd->tile_rows, depth, &part) &&
        tort_add_size(floats, part, &floats) && tort_mul_size(floats, sizeof(float), &bytes))
        return bytes;
    return TOO_MANY;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Packs lanes in pieces of k; lane_stride and k_stride as in tort_simd.pack_lanes. */
static void pack_lanes(const tort_attend *a, float *panel, int32_t lanes, const float *source, int64_t lane_stride,
                       int64_t k_stride, int64_t count, int64_t k, float scale) {
    for (int64_t at = 0; at < k && (at == 0 || tort_call_goes_on(a->call, 0)); at += LONG)
        a->simd->pack_lanes(panel + at * lanes, lanes, source + at * k_stride, lane_stride, k_stride,
                            (int32_t)tort_min(lanes, count), tort_min(LONG, k - at), scale);
}

/* Packs columns first..first+columns of the values as one panel. */
static void pack_values(const tort_attend *a, int64_t first, int32_t columns, float *panel) {
    const tort_attend_matrix *v = &a->values;
    const float *source = v->data + first * v->column;
    if (v->column != 1) {
        pack_lanes(a, panel, a->simd->tile_columns, source, v->column, v->row, columns, a->count, 1);
        return;
    }
    const tort_run run = {.offset = 0, .at = 0, .length = columns};
    int64_t offsets[DEPTH];
    for (int64_t i = 0; i < DEPTH && i < a->count; i++) offsets[i] = i * v->row;
    for (int64_t k = 0; k < a->count && (k % LONG || tort_call_goes_on(a->call, 0)); k += DEPTH)
        a->simd->pack_runs(panel + k * a->simd->tile_columns, source + k * v->row, offsets,
                           tort_min(DEPTH, a->count - k), &run, 1, false);
}

void tort_attend_begin(tort_attend *a, int64_t queries, float *buffer) {
    const int32_t lanes = a->simd->tile_columns;
    a->packed_keys = a->packed_values = NULL;
    if (queries <= FEW_ROWS && a->keys.column == 1 && a->values.column == 1) return;
    size_t floats = 0;
    panel_floats((size_t)a->count, (size_t)lanes, (size_t)a->key_size, &floats);
    a->packed_keys = buffer;
    a->packed_values = buffer + floats;
    panel_floats((size_t)a->value_size, (size_t)lanes, (size_t)a->count, &floats);
    a->left = a->packed_values + floats;
    const int64_t key_work = tort_work(lanes, a->key_size, 16), value_work = tort_work(lanes, a->count, 16);
    for (int64_t j = 0; j < a->count && tort_piece_goes_on(a->call, j / lanes, key_work); j += lanes)
        pack_lanes(a, a->packed_keys + j * a->key_size, lanes, a->keys.data + j * a->keys.row, a->keys.row,
                   a->keys.column, a->count - j, a->key_size, 1);
    for (int64_t j = 0; j < a->value_size && tort_piece_goes_on(a->call, j / lanes, value_work); j += lanes)
        pack_values(a, j, (int32_t)tort_min(lanes, a->value_size - j), a->packed_values + j * a->count);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void pack_left(const tort_attend *a, const tort_attend_matrix *matrix, int64_t rows, int64_t depth,
                      float scale) {
    const int32_t lanes = a->simd->tile_rows;
    for (int64_t i = 0; i < rows; i += lanes)
        pack_lanes(a, a->left + i * depth, lanes, matrix->data + i * matrix->row, matrix->row, matrix->column, rows - i,
                   depth, scale);
}

/* Multiplies one panel of the right operand with all rows of the left one. */
static void multiply_panel(const tort_attend *a, int64_t rows, tort_tile *tile, float *c) {
    tile->later = tile->b + tile->k * a->simd->tile_columns;
    for (int64_t i = 0; i < rows && (tile->k < LONG || tort_call_goes_on(a->call, 0)); i += a->simd->tile_rows) {
        tile->a = a->left + i * tile->k;
        tile->c = c + i * tile->c_stride;
        tile->rows = (int32_t)tort_min(a->simd->tile_rows, rows - i);
        if (tile->add) tile->add = tile->c;
        a->simd->tile(tile);
    }
}

static tort_tile unbounded(const tort_attend *a, int64_t k, int64_t c_stride) {
    tort_tile tile = {.a_step = a->simd->tile_rows, .k = k, .c_stride = c_stride};
    tort_simd_bounds(NULL, &tile.bounds);
    return tile;
}

void tort_attend_scores(const tort_attend *a, const tort_attend_matrix *queries, int64_t rows, int64_t first,
                        int64_t last, float scale, float *scores, int64_t stride) {
    if (!a->packed_keys) {
        for (int64_t i = 0; i < rows && tort_call_goes_on(a->call, 0); i++)
            tort_row_dots(a->call, a->simd, scores + i * stride, last - first, queries->data + i * queries->row,
                          a->key_size, a->keys.data + first * a->keys.row, a->keys.row, scale);
        return;
    }
    tort_tile tile = unbounded(a, a->key_size, stride);
    tile.columns = a->simd->tile_columns;
    pack_left(a, queries, rows, a->key_size, scale);
    const int64_t work = tort_work(rows, tile.columns, a->key_size);
    for (int64_t j = first; j < last && tort_piece_goes_on(a->call, (j - first) / tile.columns, work);
         j += tile.columns) {
        tile.b = a->packed_keys + j * a->key_size;
        multiply_panel(a, rows, &tile, scores + j - first);
    }
}

void tort_attend_sum(const tort_attend *a, const float *weights, int64_t stride, int64_t rows, int64_t first,
                     int64_t last, float *y, int64_t y_stride) {
    const int32_t lanes = a->simd->tile_columns;
    if (!a->packed_values) {
        for (int64_t i = 0; i < rows && tort_call_goes_on(a->call, 0); i++)
            tort_row_product(a->call, a->simd, y + i * y_stride, a->value_size, weights + i * stride, last - first,
                             a->values.data + first * a->values.row, a->values.row, NULL);
        return;
    }
    const int64_t work = tort_work(rows, DEPTH, a->value_size + 16);
    for (int64_t k = first; k == first || (k < last && tort_piece_goes_on(a->call, k / DEPTH, work)); k += DEPTH) {
        const tort_attend_matrix part = {.data = weights + (k - first), .row = stride, .column = 1};
        tort_tile tile = unbounded(a, tort_min(DEPTH, last - k), y_stride);
        const int64_t panel_work = tort_work(rows, lanes, DEPTH);
        pack_left(a, &part, rows, tile.k, 1);
        for (int64_t j = 0; j < a->value_size && tort_piece_goes_on(a->call, j / lanes, panel_work); j += lanes) {
            tile.b = a->packed_values + j * a->count + k * lanes;
            tile.columns = (int32_t)tort_min(lanes, a->value_size - j);
            tile.add = k > first ? y : NULL;
            multiply_panel(a, rows, &tile, y + j);
        }
    }
}
