/* byte_gemm.c - the loops around a tile of the product of bytes.
 *
 * Panels of B pass by blocks of A, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
 * 2008, but k is never cut: sums are complete when a tile leaves the registers, so they are requantized at once.
 * Operands packed during the run are made in blocks that stay in the L2 cache. Zero points leave the inner loop: sum
 * (a - za) * (b - zb) = sum a*b - zb * sum a - za * sum b + k*za*zb, where sum a and sum b are made while packing.
 * Cost: m * n * k products, four per lane and instruction with VNNI, and (m + n) * k for sums of rows and columns.
 * Example: with m = n = k = 1024 the zero points cost 2 million additions beside 1074 million products.
 * Read next: byte_gemm.h, byte_pack.c, simd/bytes.c. */
#include "kernels/cpu/byte_pack.h"
#include "kernels/cpu/sizes.h"

#include <math.h>
#include <string.h>

#define ROWS_BYTES (192 * 1024)    /* of rows at a time, if packed during the run */
#define COLUMNS_BYTES (320 * 1024) /* of columns at a time, if packed during the run */
#define MAX_DOTS 4                 /* columns left over that are made one by one rather than as a vector */
#define FEW_ROWS 4                 /* up to so many rows, a list of additions per panel of columns does not pay */
#define PACKING 16                 /* rows whose products take as long as packing columns */
#define MAX_COLUMNS TORT_MAX_COLUMNS

static int32_t product32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* ---- the buffer of a part ---------------------------------------------------------------------------------------- */

/* Lists of a panel of columns: pointers into the product's lists where those fill a panel, else copies padded with
 * zeros. Copying always would cost a product of one row as much as its tiles. */
typedef struct column_lists {
    const int32_t *add, *times; /* NULL: absent */
    const float *factors, *floats;
    int32_t sums[MAX_COLUMNS], turned[MAX_COLUMNS]; /* of columns packed during the run */
    int32_t made[MAX_COLUMNS];                      /* what is added */
    int32_t copies[3][MAX_COLUMNS];
} column_lists;

/* The parts of a buffer, in this order. */
typedef struct parts {
    int64_t rows_at_once, columns_at_once;                   /* multiples of the tile */
    int64_t rows, lists, columns, column_lists, dots, total; /* bytes of each */
} parts;

/* Lists per row: sums, add, times, factors. */
#define ROW_LISTS 4

static void divide(const tort_bytes *bytes, int64_t m, int64_t k, bool rows_packed, bool columns_packed, parts *p) {
    const int64_t tile = bytes->tile_rows, wanted = ROWS_BYTES / (tort_byte_row(k) + 1) / tile * tile;
    const int64_t panels = COLUMNS_BYTES / (tort_round_up(k, 4) * bytes->tile_columns + 1);
    *p = (parts){.rows_at_once = tort_round_up(m, tile), .columns_at_once = bytes->tile_columns};
    if (!rows_packed && p->rows_at_once > wanted) p->rows_at_once = wanted > tile ? wanted : tile;
    if (panels > 1 && !columns_packed) p->columns_at_once *= panels < 4 ? panels : 4;
    p->rows = rows_packed ? 0 : p->rows_at_once * tort_byte_row(k);
    p->lists = tort_round_up(p->rows_at_once * ROW_LISTS * (int64_t)sizeof(int32_t), 64);
    p->columns = columns_packed ? 0 : p->columns_at_once * tort_round_up(k, 4) + TORT_BYTE_SLACK;
    p->column_lists = p->columns_at_once / bytes->tile_columns * (int64_t)sizeof(column_lists);
    p->dots = MAX_DOTS * tort_byte_row(k);
    p->total = tort_round_up(p->rows + p->lists + p->columns + p->column_lists + p->dots, 64);
}

int64_t tort_byte_gemm_buffer(const tort_bytes *bytes, int64_t m, int64_t k, bool rows_packed, bool columns_packed) {
    parts p;
    if (k > INT32_MAX || m > INT64_MAX / 1024) return -1;
    divide(bytes, m, k, rows_packed, columns_packed, &p);
    return p.total;
}

/* ---- what is added to sums --------------------------------------------------------------------------------------- */

/* A part of the work with its buffer. Lists of rows begin at m_first; panels and their lists begin at n_first. */
typedef struct work {
    const tort_byte_gemm *g;
    parts parts;
    uint8_t *rows, *columns;
    uint8_t *dots; /* leftover columns of the last panel, each with contiguous bytes */
    int32_t *row_sums, *row_add, *row_times;
    float *row_factors;
    column_lists *lists;
    bool slow; /* results of bytes need double */
    bool by_column, times;
    int64_t m_first, m_last, n_first, n_last;
} work;

static bool wants_row_sums(const tort_byte_gemm *g) {
    return g->column_zeros.each || g->column_zeros.one != 0;
}

static bool wants_column_sums(const tort_byte_gemm *g) {
    return g->row_zeros.each || g->row_zeros.one != 0;
}

/* True if sums of tiles lack something of each column. */
static bool turns(const tort_byte_gemm *g) {
    return g->unsigned_rows && g->bytes->turned;
}

#define MIN_FACTOR 0x1p-15f
#define MAX_FACTOR 0x1p60f
#define MAX_BIAS (1 << 30)

bool tort_byte_factors_exact(const float *factors, int64_t count) {
    bool usual = true;
    for (int64_t i = 0; factors && i < count; i++)
        usual = usual && fabsf(factors[i]) >= MIN_FACTOR && fabsf(factors[i]) <= MAX_FACTOR;
    return usual;
}

/* True if requantization needs double. A float is inexact only for a sum of 2^24 or more, but with a usual factor
 * (2^-15 or more) that exceeds a byte's range anyway; sums of at most 16000 products stay below 2^30, so a bias
 * beyond 2^30 saturates too. */
static bool needs_double(const tort_byte_gemm *g) {
    return g->result == TORT_BYTES_TO_BYTES &&
           (g->products > TORT_EXACT_PRODUCTS || !tort_byte_factors_exact(g->row_factors, g->m) ||
            !tort_byte_factors_exact(g->column_factors, g->n));
}

/* Fills the lists of rows: (products * row zero - sum of the row) * column zero, and the bias. */
static void fill_rows(work *w, const int32_t *sums) {
    const tort_byte_gemm *g = w->g;
    for (int64_t m = w->m_first; m < w->m_last; m++) {
        const int64_t i = m - w->m_first;
        const int32_t zero = g->row_zeros.each ? g->row_zeros.each[m] : g->row_zeros.one;
        const int32_t less = wants_row_sums(g) ? tort_sum32(product32((int32_t)g->products, zero), -sums[i]) : 0;
        w->row_add[i] = g->column_zeros.each ? 0 : product32(less, g->column_zeros.one);
        w->row_times[i] = g->column_zeros.each ? less : -zero;
        w->row_factors[i] = g->row_factors ? g->row_factors[m] : 1;
        if (g->row_bias && g->result != TORT_BYTES_TO_BYTES)
            w->row_add[i] = tort_sum32(w->row_add[i], g->row_bias[m]);
        else if (g->row_bias && !w->slow)
            w->row_add[i] = tort_sum32(w->row_add[i], (int32_t)tort_min(tort_max(g->row_bias[m], -MAX_BIAS), MAX_BIAS));
    }
}

/* Returns the part of a list from column n on, or a copy padded to a panel. */
static const void *list_of(const work *w, const void *list, int64_t n, int32_t columns, int32_t *copy) {
    const int32_t *from = list;
    if (!list || columns == w->g->bytes->tile_columns) return list ? from + n : NULL;
    memset(copy, 0, MAX_COLUMNS * sizeof *copy);
    memcpy(copy, from + n, (size_t)columns * sizeof *copy);
    return copy;
}

/* Fills the lists of a panel of columns. sums, turned: of the columns from n on, or NULL. */
static void fill_columns(const work *w, column_lists *lists, int64_t n, int32_t columns, const int32_t *sums,
                         const int32_t *turned) {
    static const int32_t nothing[MAX_COLUMNS];
    static const float ones[MAX_COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const tort_byte_gemm *g = w->g;
    const bool by_rows = w->times && !g->column_zeros.each;
    const uint32_t times = sums && !by_rows ? 0u - (uint32_t)g->row_zeros.one : 0;
    const int32_t *bias = g->column_bias ? g->column_bias + n : nothing, *sum = times ? sums : nothing;
    const int32_t *more = turned ? turned : nothing;
    int32_t *restrict made = lists->made;
    lists->add = nothing;
    if (times || g->column_bias || turned) {
        memset(made, 0, sizeof lists->made);
        for (int32_t j = 0; j < columns; j++)
            made[j] = (int32_t)(times * (uint32_t)sum[j] + (uint32_t)bias[j] + (uint32_t)more[j]);
        lists->add = made;
    }
    lists->times = by_rows ? list_of(w, sums, 0, columns, lists->copies[0])
                           : list_of(w, g->column_zeros.each, n, columns, lists->copies[0]);
    lists->factors = g->column_factors ? list_of(w, g->column_factors, n, columns, lists->copies[1]) : ones;
    lists->floats = list_of(w, g->column_floats, n, columns, lists->copies[2]);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void finish_slowly(const work *w, const tort_byte_finish *usual, int64_t m, int64_t n) {
    const tort_byte_gemm *g = w->g;
    int32_t whole[TORT_BYTE_TILE];
    tort_byte_finish finish = *usual;
    finish.result = TORT_BYTES_TO_INT32;
    finish.y = whole;
    finish.y_stride = g->bytes->tile_columns;
    g->simd->byte_finish(&finish);
    for (int32_t i = 0; i < finish.rows; i++) {
        const tort_requantized r = {.bias = g->row_bias ? g->row_bias[m + i] : 0,
                                    .factors = g->column_factors ? g->column_factors + n : NULL,
                                    .factor = finish.row_factors[i],
                                    .zero_point = (float)finish.zero_point,
                                    .bounds = {(float)finish.low, (float)finish.high}};
        g->simd->requantize(&r, whole + i * finish.y_stride, (uint8_t *)usual->y + i * usual->y_stride, finish.columns);
    }
}

/* Returns how many of `columns` columns are made one by one. */
static int32_t dots_of(const tort_byte_gemm *g, int32_t columns) {
    const int32_t rest = columns % g->bytes->width;
    return g->bytes->dots && !turns(g) && rest <= MAX_DOTS ? rest : 0;
}

static void gather_dots(const work *w, const uint8_t *panel, int32_t columns) {
    const tort_bytes *bytes = w->g->bytes;
    const int32_t count = dots_of(w->g, columns);
    const int64_t words = (w->g->k + 3) / 4, length = tort_byte_row(w->g->k);
    for (int32_t d = 0; d < count; d++) {
        const uint8_t *from = panel + 4 * (columns - count + d);
        uint8_t *to = w->dots + d * length;
        for (int64_t k = 0, last; k < words && (k == 0 || tort_call_goes_on(w->g->call, 0)); k = last) {
            last = tort_min(words, k + TORT_BYTE_K / 4);
            for (int64_t i = k; i < last; i++) memcpy(to + 4 * i, from + 4 * i * bytes->tile_columns, 4);
        }
        memset(to + 4 * words, 0, (size_t)(length - 4 * words));
    }
}

/* Makes the sums of a tile, or of a single column, in pieces of k. word_bytes: of the columns. */
static void sum_words(const tort_byte_gemm *g, const tort_byte_tile *tile, void (*make)(const tort_byte_tile *),
                      int64_t word_bytes) {
    const int64_t at_once = TORT_BYTE_K / 4, lanes = g->bytes->tile_columns;
    if (tile->words <= at_once) {
        make(tile);
        return;
    }
    _Alignas(64) int32_t more[TORT_BYTE_TILE];
    tort_byte_tile piece = *tile;
    piece.words = at_once;
    make(&piece);
    piece.sums = more;
    for (int64_t word = at_once; word < tile->words && tort_call_goes_on(g->call, 0); word += at_once) {
        piece.words = tort_min(at_once, tile->words - word);
        piece.rows = tile->rows + word * 4 * g->bytes->tile_rows;
        piece.columns = tile->columns + word * word_bytes;
        make(&piece);
        for (int64_t i = 0; i < tile->row_count; i++)
            for (int64_t j = 0; j < (make == g->bytes->dots ? 1 : tile->column_count); j++)
                tile->sums[i * lanes + j] = tort_sum32(tile->sums[i * lanes + j], more[i * lanes + j]);
    }
}

static void make_sums(const work *w, tort_byte_tile *tile, int32_t columns) {
    const tort_bytes *bytes = w->g->bytes;
    const int32_t dots = dots_of(w->g, columns);
    tile->column_count = columns - dots;
    if (tile->column_count > 0) sum_words(w->g, tile, bytes->tile, 4 * bytes->tile_columns);
    for (int32_t d = 0; d < dots; d++) {
        tort_byte_tile column = *tile;
        column.columns = w->dots + d * tort_byte_row(w->g->k);
        column.sums = tile->sums + tile->column_count + d;
        sum_words(w->g, &column, bytes->dots, 4);
    }
}

static void multiply_tile(const work *w, const uint8_t *rows, const uint8_t *columns, int64_t m, int64_t n) {
    const tort_byte_gemm *g = w->g;
    const int64_t i = m - w->m_first, element = m * g->y_stride + n;
    static const column_lists none;
    const column_lists *lists = w->by_column || w->times ? w->lists + (n - w->n_first) / g->bytes->tile_columns : &none;
    _Alignas(64) int32_t sums[TORT_BYTE_TILE];
    const int32_t column_count = (int32_t)tort_min(g->bytes->tile_columns, w->n_last - n);
    tort_byte_tile tile = {.rows = rows,
                           .columns = columns,
                           .words = (g->k + 3) / 4,
                           .row_count = (int32_t)tort_min(g->bytes->tile_rows, w->m_last - m),
                           .chunk_rows = g->bytes->tile_rows,
                           .unsigned_rows = g->unsigned_rows,
                           .sums = sums};
    if (g->packed_columns.order) {
        const int32_t *order = g->packed_columns.order + n / g->bytes->tile_columns * tort_byte_order(g->k);
        tile.order = order[0] ? order + 1 : NULL;
        tile.safe = order[0];
    }
    make_sums(w, &tile, column_count);
    const bool is_signed = g->y_type == TORT_INT8;
    const tort_byte_finish finish = {.sums = sums,
                                     .row_add = w->row_add + i,
                                     .column_add = w->by_column ? lists->add : NULL,
                                     .row_times = w->times ? w->row_times + i : NULL,
                                     .column_times = w->times ? lists->times : NULL,
                                     .row_factors = w->row_factors + i,
                                     .column_factors = lists->factors,
                                     .column_bias = lists->floats,
                                     .rows = tile.row_count,
                                     .columns = column_count,
                                     .result = g->result,
                                     .y = (uint8_t *)g->y + element * (g->result == TORT_BYTES_TO_BYTES ? 1 : 4),
                                     .y_stride = g->y_stride,
                                     .zero_point = g->y_zero_point,
                                     .low = is_signed ? -128 : 0,
                                     .high = is_signed ? 127 : 255};
    if (w->slow)
        finish_slowly(w, &finish, m, n);
    else
        g->simd->byte_finish(&finish);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Sums the columns of a panel that is packed during the run. Where k has gaps, the caller's row of ones has them too.
 */
static void sum_columns(const tort_byte_gemm *g, const uint8_t *panel, column_lists *lists) {
    const tort_byte_tile tile = {.rows = g->ones,
                                 .columns = panel,
                                 .words = (g->k + 3) / 4,
                                 .row_count = 1,
                                 .chunk_rows = g->bytes->tile_rows,
                                 .column_count = g->bytes->tile_columns,
                                 .unsigned_rows = g->unsigned_rows,
                                 .sums = lists->sums};
    if (g->ones)
        sum_words(g, &tile, g->bytes->tile, 4 * g->bytes->tile_columns);
    else
        tort_sum_byte_panel(g->bytes, panel, g->k, g->unsigned_rows, lists->sums, turns(g) ? lists->turned : NULL);
}

/* Packs columns n_first..n_last if needed and fills their lists, also after the end of the run; returns the first
 * panel. */
static const uint8_t *take_columns(const work *w) {
    const tort_byte_gemm *g = w->g;
    const int64_t lanes = g->bytes->tile_columns, line = tort_round_up(g->k, 4);
    const bool packed = g->packed_columns.panels != NULL, sums = wants_column_sums(g);
    const uint8_t *panels = packed ? g->packed_columns.panels + w->n_first * line : w->columns;
    int64_t done = 0;
    for (int64_t n = w->n_first; n < w->n_last; n += lanes) {
        const int32_t columns = (int32_t)tort_min(lanes, w->n_last - n);
        column_lists *lists = w->lists + (n - w->n_first) / lanes;
        uint8_t *panel = w->columns + (n - w->n_first) * line;
        if (!packed && g->pack)
            g->pack(g, n, columns, panel);
        else if (!packed)
            tort_byte_panel_into(g->call->watch, &done, g->simd, g->bytes, panel, &g->b, n, columns, g->k);
        if (!packed && (sums || turns(g))) sum_columns(g, panel, lists);
        const int32_t *found = packed ? g->packed_columns.sums + n : lists->sums;
        const int32_t *turned = packed ? g->packed_columns.turned + n : lists->turned;
        if (w->by_column || w->times) fill_columns(w, lists, n, columns, sums ? found : NULL, turns(g) ? turned : NULL);
        if (columns < lanes) gather_dots(w, panels + (n - w->n_first) * line, columns);
    }
    return panels;
}

/* Packs rows m_first..m_last if needed and fills their lists; returns the first tile. */
static const uint8_t *take_rows(work *w) {
    const tort_byte_gemm *g = w->g;
    const bool packed = g->packed_rows.panels != NULL;
    if (!packed)
        tort_byte_rows_into(g->call->watch, g->simd, g->bytes, w->rows, &g->a, w->m_first, w->m_last, g->k,
                            wants_row_sums(g) ? w->row_sums : NULL);
    fill_rows(w, packed ? g->packed_rows.sums + w->m_first : w->row_sums);
    return packed ? g->packed_rows.panels + w->m_first * tort_byte_row(g->k) : w->rows;
}

static void multiply_columns(const work *w, const uint8_t *rows) {
    const int64_t tile_rows = w->g->bytes->tile_rows, tile_columns = w->g->bytes->tile_columns;
    const int64_t tile_work = tort_work(tile_rows, w->n_last - w->n_first, w->g->k);
    const uint8_t *columns = take_columns(w);
    int64_t i = 0;
    for (int64_t m = w->m_first; m < w->m_last && tort_piece_goes_on(w->g->call, i, tile_work); m += tile_rows, i++)
        for (int64_t n = w->n_first; n < w->n_last; n += tile_columns)
            multiply_tile(w, rows + (m - w->m_first) * tort_byte_row(w->g->k),
                          columns + (n - w->n_first) * tort_round_up(w->g->k, 4), m, n);
}

static void *take(uint8_t **buffer, int64_t bytes) {
    void *taken = *buffer;
    *buffer += bytes;
    return taken;
}

static void open_work(const tort_byte_gemm *g, uint8_t *buffer, work *w) {
    const bool rows_packed = g->packed_rows.panels != NULL, columns_packed = g->packed_columns.panels != NULL;
    *w = (work){.g = g, .slow = needs_double(g)};
    divide(g->bytes, g->m, g->k, rows_packed, columns_packed, &w->parts);
    const int64_t list = w->parts.rows_at_once * (int64_t)sizeof(int32_t);
    w->times = g->row_zeros.each || g->column_zeros.each || (g->m <= FEW_ROWS && g->row_zeros.one != 0);
    w->by_column = g->result == TORT_BYTES_TO_FLOAT || g->column_factors || g->column_bias || turns(g) ||
                   (!g->row_zeros.each && g->row_zeros.one != 0);
    w->rows = take(&buffer, w->parts.rows);
    uint8_t *lists = take(&buffer, w->parts.lists);
    w->row_sums = take(&lists, list);
    w->row_add = take(&lists, list);
    w->row_times = take(&lists, list);
    w->row_factors = take(&lists, list);
    w->columns = take(&buffer, w->parts.columns);
    w->lists = take(&buffer, w->parts.column_lists);
    w->dots = take(&buffer, w->parts.dots);
}

static void make_blocks(work *w, int64_t m_first, int64_t m_last, int64_t n_first, int64_t n_last) {
    const int64_t block_work = tort_work(w->parts.rows_at_once + PACKING, w->parts.columns_at_once, w->g->k);
    int64_t i = 0;
    for (int64_t m = m_first; m < m_last; m += w->parts.rows_at_once) {
        w->m_first = m;
        w->m_last = tort_min(m_last, m + w->parts.rows_at_once);
        const uint8_t *rows = take_rows(w);
        for (int64_t n = n_first; n < n_last; n += w->parts.columns_at_once, i++) {
            if (!tort_piece_goes_on(w->g->call, i, block_work)) return;
            w->n_first = n;
            w->n_last = tort_min(n_last, n + w->parts.columns_at_once);
            multiply_columns(w, rows);
        }
    }
}

void tort_byte_gemm_block(const tort_byte_gemm *g, int64_t m_first, int64_t m_last, int64_t n_first, int64_t n_last,
                          uint8_t *buffer) {
    const bool on_unit = g->bytes->begin && m_last - m_first > g->bytes->few_rows;
    work w;
    open_work(g, buffer, &w);
    if (on_unit) g->bytes->begin();
    make_blocks(&w, m_first, m_last, n_first, n_last);
    if (on_unit) g->bytes->end();
}
