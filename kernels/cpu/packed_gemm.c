/* packed_gemm.c - the loops around a tile of the matrix product.
 *
 * Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008: k is cut into blocks of DEPTH,
 * so that a panel of B (24 KiB with AVX2) stays in the L1 cache while all panels of A pass by; a block of A, and of
 * B where that is packed during the run, stays in the L2 cache. An operand packed ahead is stored block by block in
 * the order of reading.
 * Cost: m * n * k multiply-adds; C is read and written once per block of k. During a run B is packed once, and A once
 * per 16 panels of B, or once if B is packed ahead.
 * Example: m = n = k = 1024 has 3 blocks of k: C makes 3 passes (12 MiB) beside 1074 million multiply-adds.
 * Read next: packed_gemm.h, simd/gemm.c. */
#include "kernels/cpu/packed_gemm.h"
#include "kernels/cpu/sizes.h"

#include <string.h>

#define DEPTH TORT_PACKED_DEPTH
#define ROWS_PACKED 336  /* rows of A at a time, if packed ahead; a multiple of every tile_rows (4, 6, 8, 14) */
#define ROWS_BUFFER 168  /* rows of A at a time, if packed during the run; a multiple too */
#define COLUMNS_BUFFER 8 /* panels of B at a time, if packed during the run and A ahead ... */
#define COLUMNS_BOTH 16  /* ... and if both are packed during the run: more, so that A is packed less often */
#define SLACK 64         /* floats behind a panel that packing may overwrite */
#define NEAR 524288      /* floats of a B that an L2 cache may keep from one run to the next: 2 MiB */
#define ROW_AHEAD 4096   /* floats that a single row prefetches ahead: four pages, as the processor stays within one */

/* ---- packing ahead ----------------------------------------------------------------------------------------------- */

int64_t tort_packed_a_size(const tort_simd *simd, int64_t m, int64_t k) {
    return tort_round_up(m, simd->tile_rows) * k + SLACK;
}

int64_t tort_packed_b_size(const tort_simd *simd, int64_t n, int64_t k) {
    return tort_round_up(n, simd->tile_columns) * k + SLACK;
}

/* Packs an operand as a whole. `lanes`: rows or columns of a tile; `count`: rows of A or columns of B. */
static void pack_whole(struct tort_watch *watch, const tort_simd *simd, int32_t lanes, float *packed,
                       const float *source, int64_t lane_stride, int64_t k_stride, int64_t count, int64_t k,
                       float scale) {
    int64_t done = 0;
    for (int64_t block = 0; block < k; block += DEPTH) {
        const int64_t depth = tort_min(DEPTH, k - block);
        for (int64_t first = 0; first < count; first += lanes) {
            if (!tort_work_goes_on(watch, &done, depth * lanes)) return;
            simd->pack_lanes(packed, lanes, source + first * lane_stride + block * k_stride, lane_stride, k_stride,
                             (int32_t)tort_min(lanes, count - first), depth, scale);
            packed += depth * lanes;
        }
    }
}

void tort_pack_a(struct tort_watch *watch, const tort_simd *simd, float *packed, const float *a, int64_t row_stride,
                 int64_t k_stride, int64_t m, int64_t k) {
    pack_whole(watch, simd, simd->tile_rows, packed, a, row_stride, k_stride, m, k, 1);
}

void tort_pack_b(struct tort_watch *watch, const tort_simd *simd, float *packed, const float *b, int64_t k_stride,
                 int64_t column_stride, int64_t n, int64_t k, float scale) {
    pack_whole(watch, simd, simd->tile_columns, packed, b, column_stride, k_stride, n, k, scale);
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

/* A block of k with its operands: `a` and `b` point to the panels of row m_first and column n_first. a_step:
 * distance of the elements of a panel that has a single row. */
typedef struct block {
    int64_t k_first, depth, m_first, m_last, n_first, n_last, a_step;
    const float *a, *b;
    const float *rows; /* unpacked A from row m_first on, for whole tiles; NULL: all rows are packed */
} block;

/* Panels of weights come from a far cache, and the first tile of one would wait for it: so the tiles before it
 * prefetch it, a part each, until all is requested. If the last of several tiles has few rows it does not prefetch:
 * it would finish before the data arrive, and wait for them. */
static void ask_ahead(tort_tile *tile, int64_t panel) {
    const int64_t asked = tile->k * 16;
    if (tile->later + asked - tile->b < 2 * panel) tile->later += asked;
}

/* Makes tiles of all rows and columns n_first..n_last of the block. */
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

/* Makes a block. The first block of k starts with biases and residual, the others add to C; the last applies the
 * epilogue: bounds in the tile, other activations over some panels at a time, which are still in the L2 cache. */
static void multiply(const tort_packed_gemm *g, const block *at) {
    const tort_epilogue *epilogue = at->k_first + at->depth == g->k ? g->epilogue : NULL;
    const int64_t step = (int64_t)COLUMNS_BUFFER * g->simd->tile_columns;
    tort_tile tile = {.a_step = at->a_step, .k = at->depth, .c_stride = g->c_stride};
    const bool complete = tort_simd_bounds(epilogue, &tile.bounds);
    for (int64_t n = at->n_first; n < at->n_last; n += step) {
        if (n > at->n_first && !tort_call_goes_on(g->call, 0)) return;
        const int64_t n_last = tort_min(at->n_last, n + step);
        multiply_columns(g, at, &tile, n, n_last);
        for (int64_t m = at->m_first; !complete && m < at->m_last; m++)
            g->simd->finish(epilogue, NULL, g->c + m * g->c_stride + n, n_last - n);
    }
}

#define THIN 128 /* columns: packing an element of A costs as much as multiplying it by some 25 */
/* Floats: rows so far apart map to one set of the L1 cache, which has fewer ways than a tile has rows. */
#define COLLIDE 1024

static bool stays_as_it_lies(const tort_packed_gemm *g) {
    const bool wide = (g->n - 1) % g->simd->tile_columns >=
                      g->simd->width; /* the last panel is wider than a vector, so every tile is */
    return g->n <= THIN && wide && g->a_k_stride == 1 && g->scale == 1 && g->a_row_stride % COLLIDE;
}

/* Packs rows of A, except whole tiles that may stay as they are. A single row stays too, or gets contiguous
 * elements: in a panel each element would take a cache line. */
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

/* Makes rows m_first..m_last of columns at->n_first..n_last, whose panels are at->b. */
static void multiply_rows(const tort_packed_gemm *g, block *at, int64_t m_first, int64_t m_last, float *a_buffer) {
    const int64_t lanes = g->simd->tile_rows, step = g->packed_a ? ROWS_PACKED : ROWS_BUFFER;
    for (at->m_first = m_first; at->m_first < m_last; at->m_first += step) {
        if (at->m_first > m_first && !tort_call_goes_on(g->call, 0)) return;
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
    float *b_buffer = buffer ? buffer + a_buffer_floats(g->packed_a != NULL) : NULL; /* NULL: both are packed */
    const int64_t step = g->packed_b ? n_last - n_first : panels_at_once(g->packed_a != NULL) * lanes;
    /* k may be 0: the tiles then set C to the bias. */
    for (int64_t k = 0; k == 0 || k < g->k; k += DEPTH) {
        block at = {.k_first = k, .depth = tort_min(DEPTH, g->k - k)};
        for (at.n_first = n_first; at.n_first < n_last; at.n_first += step) {
            if (k + at.n_first > n_first && !tort_call_goes_on(g->call, 0)) return;
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
