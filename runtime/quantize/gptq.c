/* gptq.c - rounding of a matrix in blocks (gptq.h).
 *
 * GPTQ (Frantar et al. 2022) rounds row after row, and moves the rows that are left so that the product with the
 * layer's inputs X changes least. With H = X'X = L'L, L lower triangular, errors e cost e'He, the sum over k of
 * (sum(i <= k) L[k][i] e[i])^2: row k makes its own term 0 where it can, and is w[k] - sum(i < k) L[k][i] e[i] /
 * L[k][k] before it is rounded. That is GPTQ without the inverse of H (Chee et al. 2023, QuIP). Example: of
 * inputs x and 0.9 x, what rounding took from the first one's weight is given to the second, divided by 0.9.
 *
 * A block's scale is taken when its first row is reached, of the rows as they would be without further rounding. */
#include "runtime/quantize/gptq.h"

#include <math.h>
#include <string.h>

enum {
    ROWS = 8,     /* of inputs, or of a factor, whose products are added at once */
    COLUMNS = 16, /* of a matrix that are rounded at once, so that the factor is read once for them */
};

/* ---- the factor -------------------------------------------------------------------------------------------------- */

/* Adds sign * x'x, for ROWS rows x of `step` elements, to the lower triangle of the first n rows of h. */
static void add_products(double *restrict h, int64_t step, int64_t n, const double *restrict x, double sign) {
    for (int64_t j = 0; j < n; j++) {
        double *restrict row = h + j * step, f[ROWS];
        for (int64_t r = 0; r < ROWS; r++) f[r] = sign * x[r * step + j];
        for (int64_t i = 0; i <= j; i++)
            row[i] += f[0] * x[i] + f[1] * x[step + i] + f[2] * x[2 * step + i] + f[3] * x[3 * step + i] +
                      f[4] * x[4 * step + i] + f[5] * x[5 * step + i] + f[6] * x[6 * step + i] + f[7] * x[7 * step + i];
    }
}

void tort_gptq_add(double *sums, int64_t k, const float *rows, int64_t count, double *room) {
    for (int64_t first = 0; first < count; first += ROWS) {
        const int64_t have = count - first < ROWS ? count - first : ROWS;
        for (int64_t i = 0; i < ROWS * k; i++) room[i] = i < have * k ? (double)rows[first * k + i] : 0;
        add_products(sums, k, k, room, 1);
    }
}

/* Factors rows first .. end - 1 among themselves. */
static bool factor_rows(double *h, int64_t k, int64_t first, int64_t end) {
    for (int64_t j = end - 1; j >= first; j--) {
        double *row = h + j * k;
        const double pivot = row[j];
        if (!(pivot > 0 && pivot < INFINITY)) return false;
        for (int64_t i = 0; i <= j; i++) row[i] /= sqrt(pivot);
        for (int64_t above = first; above < j; above++)
            for (int64_t i = 0; i <= above; i++) h[above * k + i] -= row[above] * row[i];
    }
    return true;
}

bool tort_gptq_factor(double *sums, int64_t k) {
    double mean = 0;
    bool ok = true;
    for (int64_t i = 0; i < k; i++) mean += sums[i * k + i] / (double)k;
    for (int64_t i = 0; i < k; i++) sums[i * k + i] += mean > 0 ? 0.01 * mean : 1;
    for (int64_t end = k; ok && end > 0; end -= ROWS) {
        const int64_t first = end > ROWS ? end - ROWS : 0;
        ok = factor_rows(sums, k, first, end);
        if (ok && first) add_products(sums, k, first, sums + first * k, -1);
    }
    return ok;
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* COLUMNS columns of a matrix; rows of so many doubles. */
typedef struct tile {
    const tort_block_matrix *matrix;
    const double *factor;
    int64_t first;   /* column */
    double *weights; /* k rows */
    double *errors;  /* k rows: what became of the weights, less the weights */
    double *wanted;  /* rows of a block: the weights that cost least after what was rounded */
    double *sums;    /* rows of a block: errors before the block, as its rows feel them */
    double *row;     /* one row */
    uint8_t *codes;  /* rows of a block */
    double scales[COLUMNS];
} tile;

int64_t tort_block_room(const tort_block_matrix *matrix) {
    return COLUMNS * (2 * matrix->k + 3 * (int64_t)matrix->block + 1);
}

/* Adds rows begin .. end - 1 of `errors`, each times its element of `factors`, to sums. */
static void add_rows(const double *factors, const double *errors, int64_t begin, int64_t end, double *sums) {
    double into[COLUMNS];
    memcpy(into, sums, sizeof into);
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < COLUMNS; c++) into[c] += factors[i] * errors[i * COLUMNS + c];
    memcpy(sums, into, sizeof into);
}

/* The weights of a block that cost least, all of its rows free: forward substitution. */
static void want(tile *t, int64_t begin, int64_t end) {
    const double *w = t->weights + begin * COLUMNS;
    memset(t->sums, 0, (size_t)((end - begin) * COLUMNS) * sizeof *t->sums);
    memcpy(t->wanted, w, (size_t)((end - begin) * COLUMNS) * sizeof *w);
    for (int64_t k = begin; t->factor && k < end; k++) {
        const double *factors = t->factor + k * t->matrix->k;
        double *sums = t->sums + (k - begin) * COLUMNS;
        add_rows(factors, t->errors, 0, begin, sums);
        memcpy(t->row, sums, COLUMNS * sizeof *t->row);
        add_rows(factors, t->errors, begin, k, t->row);
        for (int64_t c = 0; c < COLUMNS; c++) {
            t->errors[k * COLUMNS + c] = -t->row[c] / factors[k];
            t->wanted[(k - begin) * COLUMNS + c] += t->errors[k * COLUMNS + c];
        }
    }
}

/* The whole number in low..high that is nearest, of two the even one: loops of it have vectors, those of nearbyint call
 * it. */
static double nearest(double x, double low, double high) {
    const double above = x > low ? x : low, within = above < high ? above : high;
    return within + 0x1.8p52 - 0x1.8p52;
}

/* A row of a block with the scales of the tile. costs: gets what rounding the row costs, by column. */
static void round_row(tile *t, int64_t block, int64_t k, double *costs) {
    const int64_t begin = block * t->matrix->block;
    const double levels = (double)(1 << (t->matrix->bits - 1)),
                 *factors = t->factor ? t->factor + k * t->matrix->k : NULL;
    const double pivot = factors ? factors[k] : 1;
    memset(t->row, 0, COLUMNS * sizeof *t->row);
    if (factors) {
        memcpy(t->row, t->sums + (k - begin) * COLUMNS, COLUMNS * sizeof *t->row);
        add_rows(factors, t->errors, begin, k, t->row);
    }
    for (int64_t c = 0; c < COLUMNS; c++) {
        const double weight = t->weights[k * COLUMNS + c], moved = weight - t->row[c] / pivot;
        const double code = nearest(moved / t->scales[c], -levels, levels - 1);
        const double rounded = code * t->scales[c], cost = (rounded - moved) * pivot;
        t->errors[k * COLUMNS + c] = rounded - weight;
        t->codes[(k - begin) * COLUMNS + c] = (uint8_t)(code + levels);
        costs[c] += cost * cost;
    }
}

/* Scales of a block: its largest weight by magnitude becomes the lowest code with its sign, or a little less than it,
 * if to clip it costs less than wider steps for all. */
static void choose_scales(tile *t, int64_t block, int64_t begin, int64_t end) {
    enum { TRIED = 9 };
    const double levels = (double)(1 << (t->matrix->bits - 1));
    double largest[COLUMNS] = {0}, best[COLUMNS], min_cost[COLUMNS];
    for (int64_t k = 0; k < end - begin; k++)
        for (int64_t c = 0; c < COLUMNS; c++)
            if (fabs(t->wanted[k * COLUMNS + c]) > fabs(largest[c])) largest[c] = t->wanted[k * COLUMNS + c];
    for (int64_t c = 0; c < COLUMNS; c++) min_cost[c] = INFINITY, best[c] = 1;
    for (int32_t i = 0; i < TRIED; i++) {
        double costs[COLUMNS] = {0};
        for (int64_t c = 0; c < COLUMNS; c++) {
            t->scales[c] = (double)(float)(largest[c] / -levels * (1.1 - 0.05 * i));
            if (t->scales[c] == 0) t->scales[c] = 1; /* of zeros */
        }
        for (int64_t k = begin; k < end; k++) round_row(t, block, k, costs);
        for (int64_t c = 0; c < COLUMNS; c++)
            if (costs[c] < min_cost[c]) min_cost[c] = costs[c], best[c] = t->scales[c];
    }
    memcpy(t->scales, best, sizeof best);
}

/* Writes codes and scales of a block, whose last one of a matrix is filled up with zeros. */
static void store_block(const tile *t, int64_t block, int64_t count) {
    const tort_block_matrix *m = t->matrix;
    const int64_t blocks = tort_block_count_of(m), columns = m->n - t->first < COLUMNS ? m->n - t->first : COLUMNS;
    for (int64_t c = 0; c < columns; c++) {
        const int64_t number = (t->first + c) * blocks + block;
        uint8_t *codes = m->codes + number * m->block * m->bits / 8;
        m->scales[number] = (float)t->scales[c];
        for (int64_t k = 0; k < m->block; k++) {
            const uint8_t code = k < count ? t->codes[k * COLUMNS + c] : (uint8_t)(1 << (m->bits - 1));
            if (m->bits == 8)
                codes[k] = code;
            else
                codes[k / 2] |= (uint8_t)(k % 2 ? code << 4 : code);
        }
    }
}

static void round_block(tile *t, int64_t block) {
    const tort_block_matrix *m = t->matrix;
    const int64_t begin = block * m->block, end = begin + m->block < m->k ? begin + m->block : m->k;
    double costs[COLUMNS] = {0};
    want(t, begin, end);
    choose_scales(t, block, begin, end);
    for (int64_t k = begin; k < end; k++) round_row(t, block, k, costs);
    store_block(t, block, end - begin);
}

void tort_block_quantize(const tort_block_matrix *m, const double *factor, double *room) {
    tile t = {.matrix = m, .factor = factor, .weights = room};
    t.errors = t.weights + m->k * COLUMNS;
    t.wanted = t.errors + m->k * COLUMNS;
    t.sums = t.wanted + m->block * COLUMNS;
    t.row = t.sums + m->block * COLUMNS;
    t.codes = (uint8_t *)(t.row + COLUMNS);
    for (t.first = 0; t.first < m->n; t.first += COLUMNS) {
        for (int64_t k = 0; k < m->k; k++)
            for (int64_t c = 0; c < COLUMNS; c++) {
                const bool have = t.first + c < m->n;
                t.weights[k * COLUMNS + c] = have ? (double)m->weights[k * m->k_step + (t.first + c) * m->n_step] : 0;
            }
        for (int64_t block = 0; block < tort_block_count_of(m); block++) round_block(&t, block);
    }
}
