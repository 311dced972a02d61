/* packed_gemm.c - the loops around a tile of the matrix product.
 *
 * k is cut into blocks of DEPTH, so that a panel of B (24 KiB with AVX2) stays in the first cache while all panels of
 * A pass by; a block of A, or of B where that is packed on the way, stays in the second. Packed ahead, an operand is
 * stored block by block in the order in which it is read. Read next: packed_gemm.h, simd/gemm.c. */
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/sizes.h"

#include <string.h>

#define DEPTH TORT_PACKED_DEPTH
#define ROWS_PACKED 336  /* of A at a time where it is packed ahead; a multiple of every tile_rows (4, 6, 8, 14) */
#define ROWS_BUFFER 168  /* of A at a time where it is packed on the way; a multiple too */
#define COLUMNS_BUFFER 8 /* panels of B at a time where it is packed on the way and A ahead ... */
#define COLUMNS_BOTH 16  /* ... and where both are packed on the way, so that A is packed less often */
#define SLACK 64         /* floats behind a panel that packing may write */
#define NEAR 524288      /* floats of a B that a second cache may hold from one run to the next: 2 MiB */
#define ROW_AHEAD 4096   /* floats that a single row asks for ahead: four pages, as processors look ahead within one */

/* ---- packing ahead ----------------------------------------------------------------------------------------------- */

int64_t tort_packed_a_size(const tort_simd *simd, int64_t m, int64_t k) {
    return tort_round_up(m, simd->tile_rows) * k + SLACK;
}

int64_t tort_packed_b_size(const tort_simd *simd, int64_t n, int64_t k) {
    return tort_round_up(n, simd->tile_columns) * k + SLACK;
}

/* `lanes` is the tile's rows or columns; count the rows of A or columns of B. */
static void pack_ahead(const tort_simd *simd, int32_t lanes, float *packed, const float *source, int64_t lane_stride,
                       int64_t k_stride, int64_t count, int64_t k, float scale) {
    for (int64_t block = 0; block < k; block += DEPTH) {
        const int64_t depth = tort_min(DEPTH, k - block);
        for (int64_t first = 0; first < count; first += lanes) {
            simd->pack_lanes(packed, lanes, source + first * lane_stride + block * k_stride, lane_stride, k_stride,
                             (int32_t)tort_min(lanes, count - first), depth, scale);
            packed += depth * lanes;
        }
    }
}

void tort_pack_a(const tort_simd *simd, float *packed, const float *a, int64_t row_stride, int64_t k_stride, int64_t m,
                 int64_t k) {
    pack_ahead(simd, simd->tile_rows, packed, a, row_stride, k_stride, m, k, 1);
}

void tort_pack_b(const tort_simd *simd, float *packed, const float *b, int64_t k_stride, int64_t column_stride,
                 int64_t n, int64_t k, float scale) {
    pack_ahead(simd, simd->tile_columns, packed, b, column_stride, k_stride, n, k, scale);
}

void tort_pack_b_part(const tort_simd *simd, float *packed, const float *b, int64_t k_stride, int64_t column_stride,
                      int64_t n, int64_t k, float scale, const tort_b_part *part) {
    const int64_t lanes = simd->tile_columns, width = tort_round_up(n, lanes);
    for (int64_t row = part->k_first, last; row < part->k_last; row = last) {
        const int64_t block = row / DEPTH * DEPTH, depth = tort_min(DEPTH, k - block);
        last = tort_min(block + depth, part->k_last);
        for (int64_t first = part->n_first; first < part->n_last; first += lanes)
            simd->pack_lanes(packed + width * block + first * depth + (row - block) * lanes, (int32_t)lanes,
                             b + (first - part->n_first) * column_stride + (row - part->k_first) * k_stride,
                             column_stride, k_stride, (int32_t)tort_min(lanes, part->n_last - first), last - row,
                             scale);
    }
    if (part->k_last == k && part->n_last == n) memset(packed + width * k, 0, SLACK * sizeof(float));
}

/* ---- packing on the way ------------------------------------------------------------------------------------------ */

void tort_pack_b_matrix(const tort_packed_gemm *gemm, int64_t k_first, int64_t k_count, int64_t column_first,
                        int32_t columns, float *panel) {
    const tort_simd *simd = gemm->simd;
    const float *source = gemm->b + k_first * gemm->b_k_stride + column_first * gemm->b_column_stride;
    if (gemm->b_column_stride != 1) {
        simd->pack_lanes(panel, simd->tile_columns, source, gemm->b_column_stride, gemm->b_k_stride, columns, k_count,
                         1);
        return;
    }
    const tort_run run = {.offset = 0, .at = 0, .length = columns};
    int64_t offsets[DEPTH];
    for (int64_t i = 0; i < k_count; i++) offsets[i] = i * gemm->b_k_stride;
    simd->pack_runs(panel, source, offsets, k_count, &run, 1, false);
}

static int64_t panels_at_once(bool a_packed) {
    return a_packed ? COLUMNS_BUFFER : COLUMNS_BOTH;
}

static int64_t a_buffer_floats(bool a_packed) {
    return a_packed ? 0 : tort_round_up((int64_t)ROWS_BUFFER * DEPTH + SLACK, 16);
}

size_t tort_packed_gemm_buffer(const tort_simd *simd, bool a_packed, bool b_packed) {
    const int64_t b = b_packed ? 0 : panels_at_once(a_packed) * simd->tile_columns * DEPTH + SLACK;
    return (size_t)tort_round_up(a_buffer_floats(a_packed) + b, 16) * sizeof(float);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Where the panels of a block of k lie: `a` and `b` point to the panels of row m_first and column n_first. a_step: from
 * an element to the next of a panel of a single row. */
typedef struct block {
    int64_t k_first, depth, m_first, m_last, n_first, n_last, a_step;
    const float *a, *b;
    const float *rows; /* of A as it lies, from m_first on, where whole tiles are not packed; or NULL */
} block;

/* Panels of weights come from far away, and the first tile of one would wait for it: so the tiles before it ask for it,
 * a part each, till all is on its way. The last of several does not where it has few rows: it would be done long before
 * what it asks for is there, and wait. */
static void ask_ahead(tort_tile *tile, int64_t panel) {
    const int64_t asked = tile->k * 16;
    if (tile->later + asked - tile->b < 2 * panel) tile->later += asked;
}

/* Tiles of all rows against columns n_first..n_last of the block. */
static void multiply_columns(const tort_packed_gemm *g, const block *at, tort_tile *tile, int64_t n_first,
                             int64_t n_last) {
    const int32_t tile_rows = g->simd->tile_rows, tile_columns = g->simd->tile_columns;
    const bool begins = at->k_first == 0 && !g->accumulate;
    const float *add = begins ? g->residual : g->c;
    const int64_t all_rows = at->m_last - at->m_first;
    const bool alone = all_rows == 1, near = alone && g->n * g->k <= NEAR;
    for (int64_t n = n_first; n < n_last; n += tile_columns) {
        tile->b = at->b + (n - at->n_first) * at->depth;
        tile->columns = (int32_t)tort_min(tile_columns, n_last - n);
        tile->later = near ? NULL : tile->b + (alone ? ROW_AHEAD : tile_columns * at->depth);
        tile->column_bias = begins && g->column_bias ? g->column_bias + n : NULL;
        for (int64_t m = at->m_first; m < at->m_last; m += tile_rows) {
            tile->rows = (int32_t)tort_min(tile_rows, at->m_last - m);
            tile->a_row = at->rows && tile->rows == tile_rows ? g->a_row_stride : 0;
            tile->a = tile->a_row ? at->rows + (m - at->m_first) * tile->a_row : at->a + (m - at->m_first) * at->depth;
            tile->row_bias = begins && g->row_bias ? g->row_bias + m : NULL;
            tile->c = g->c + m * g->c_stride + n;
            tile->add = add ? add + m * g->c_stride + n : NULL;
            const bool small = all_rows > tile_rows && 2 * tile->rows < tile_rows;
            if (small) tile->later = tile->rows == 1 ? NULL : tile->b;
            g->simd->tile(tile);
            if (!alone && !small) ask_ahead(tile, tile_columns * at->depth);
        }
    }
}

/* The first block of k begins with biases and residual, the others go on with what is in C; the last ends with the
 * epilogue: what is more than bounds goes over some panels at a time, which are still in the second cache. */
static void multiply(const tort_packed_gemm *g, const block *at) {
    const tort_epilogue *epilogue = at->k_first + at->depth == g->k ? g->epilogue : NULL;
    const int64_t step = (int64_t)COLUMNS_BUFFER * g->simd->tile_columns;
    tort_tile tile = {.a_step = at->a_step, .k = at->depth, .c_stride = g->c_stride};
    const bool complete = tort_simd_bounds(epilogue, &tile.bounds);
    for (int64_t n = at->n_first; n < at->n_last; n += step) {
        const int64_t n_last = tort_min(at->n_last, n + step);
        multiply_columns(g, at, &tile, n, n_last);
        for (int64_t m = at->m_first; !complete && m < at->m_last; m++)
            g->simd->finish(epilogue, NULL, g->c + m * g->c_stride + n, n_last - n);
    }
}

#define THIN 128 /* columns: to pack an element of A takes as long as to multiply it with some 25 */
#define COLLIDE                                                                                                        \
    1024 /* floats: rows so far apart share a line of the first cache, which has not as many ways as a tile rows */

static bool stays_as_it_lies(const tort_packed_gemm *g) {
    const bool wide = (g->n - 1) % g->simd->tile_columns >= g->simd->width; /* the last panel is: no tile is a vector */
    return g->n <= THIN && wide && g->a_k_stride == 1 && g->scale == 1 && g->a_row_stride % COLLIDE;
}

/* A row alone stays as it is, or has its elements together: in a panel they would take a line of the cache each, beside
 * all of B. */
static void pack_rows(const tort_packed_gemm *g, block *at, float *a_buffer) {
    const int32_t lanes = g->simd->tile_rows;
    const float *a = g->a + at->k_first * g->a_k_stride;
    at->a_step = 1;
    at->a = a_buffer;
    if (at->m_last - at->m_first == 1 && g->scale == 1) {
        at->a = a + at->m_first * g->a_row_stride;
        at->a_step = g->a_k_stride;
        return;
    }
    const int64_t whole = (at->m_last - at->m_first) / lanes * lanes;
    at->rows = stays_as_it_lies(g) ? a + at->m_first * g->a_row_stride : NULL;
    for (int64_t m = at->m_first + (at->rows ? whole : 0); m < at->m_last; m += lanes) {
        const int32_t rows = (int32_t)tort_min(lanes, at->m_last - m);
        g->simd->pack_lanes(a_buffer + (m - at->m_first) * at->depth, rows == 1 ? 1 : lanes, a + m * g->a_row_stride,
                            g->a_row_stride, g->a_k_stride, rows, at->depth, g->scale);
    }
}

/* All rows against columns at->n_first..n_last, whose panels are at->b. */
static void multiply_rows(const tort_packed_gemm *g, block *at, int64_t m_first, int64_t m_last, float *a_buffer) {
    const int64_t lanes = g->simd->tile_rows, step = g->packed_a ? ROWS_PACKED : ROWS_BUFFER;
    for (at->m_first = m_first; at->m_first < m_last; at->m_first += step) {
        at->m_last = tort_min(m_last, at->m_first + step);
        if (g->packed_a) {
            at->a = g->packed_a + tort_round_up(g->m, lanes) * at->k_first + at->m_first * at->depth;
            at->a_step = lanes;
        } else {
            pack_rows(g, at, a_buffer);
        }
        multiply(g, at);
    }
}

void tort_packed_gemm_block(const tort_packed_gemm *g, int64_t m_first, int64_t m_last, int64_t n_first, int64_t n_last,
                            float *buffer) {
    const int64_t lanes = g->simd->tile_columns;
    float *b_buffer = buffer ? buffer + a_buffer_floats(g->packed_a != NULL) : NULL; /* both are packed */
    const int64_t step = g->packed_b ? n_last - n_first : panels_at_once(g->packed_a != NULL) * lanes;
    /* k may be 0: then the tiles only set C to the bias. */
    for (int64_t k = 0; k == 0 || k < g->k; k += DEPTH) {
        block at = {.k_first = k, .depth = tort_min(DEPTH, g->k - k)};
        for (at.n_first = n_first; at.n_first < n_last; at.n_first += step) {
            at.n_last = tort_min(n_last, at.n_first + step);
            if (g->packed_b) {
                at.b = g->packed_b + tort_round_up(g->n, lanes) * k + at.n_first * at.depth;
            } else {
                for (int64_t n = at.n_first; n < at.n_last; n += lanes)
                    g->pack_b(g, k, at.depth, n, (int32_t)tort_min(lanes, at.n_last - n),
                              b_buffer + (n - at.n_first) * at.depth);
                at.b = b_buffer;
            }
            multiply_rows(g, &at, m_first, m_last, buffer);
        }
    }
}
