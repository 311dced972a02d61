/* pieces.c - inner loops in pieces, see pieces.h. Pieces are whole blocks of what the loops make at a time, so that
 * results stay the same. */
#include "kernels/cpu/pieces.h"

#include <math.h>

#define COLUMNS (1 << 20) /* of a product of one row at a time */
#define ROWS 4            /* of a matrix that row_product and row_dots take at a time */
#define VECTORS 4         /* of outputs that weighted_sum and maximum make at a time, at most */
#define SPANS 4096        /* of blocked_tile at a time */

/* Returns how many items of `work` nanoseconds make a piece, in whole units. */
static int64_t items_at_once(int64_t work, int64_t unit) {
    return tort_max(unit, (1 << TORT_PIECE_BITS) / work / unit * unit);
}

void tort_row_product(const tort_call *call, const tort_simd *simd, float *y, int64_t n, const float *a, int64_t k,
                      const float *b, int64_t b_stride, const float *column_bias) {
    for (int64_t j = 0; j < n; j += COLUMNS) {
        const int64_t columns = tort_min(COLUMNS, n - j), rows = items_at_once(tort_work(columns, 1, 1), ROWS);
        const float *sums = column_bias ? column_bias + j : NULL;
        for (int64_t i = 0; i == 0 || i < k; i += rows, sums = y + j) {
            if (i + j > 0 && !tort_call_goes_on(call, 0)) return;
            simd->row_product(y + j, columns, a + i, tort_min(rows, k - i), b + i * b_stride + j, b_stride, sums);
        }
    }
}

void tort_row_dots(const tort_call *call, const tort_simd *simd, float *y, int64_t n, const float *a, int64_t k,
                   const float *b, int64_t b_stride, float scale) {
    const int64_t rows = items_at_once(tort_work(k, 1, 1), ROWS);
    for (int64_t j = 0; j < n; j += rows) {
        if (j > 0 && !tort_call_goes_on(call, 0)) return;
        simd->row_dots(y + j, tort_min(rows, n - j), a, k, b + j * b_stride, b_stride, scale);
    }
}

void tort_window(const tort_call *call, const tort_simd *simd, tort_window_loop *loop, const tort_window_rows *rows,
                 const tort_weighted *weighted) {
    const int64_t unit = VECTORS * simd->width;
    if (tort_work(rows->width, weighted->count, rows->rows) >> TORT_PIECE_BITS == 0) {
        loop(rows, weighted);
        return;
    }
    const int64_t outputs = items_at_once(tort_work(weighted->count, 1, 1), unit);
    for (int64_t h = 0; h < rows->rows; h++)
        for (int64_t x = 0; x < rows->width; x += outputs) {
            if (h + x > 0 && !tort_call_goes_on(call, 0)) return;
            tort_weighted some = *weighted;
            if (some.row_divisors) some.row_divisors += h, some.column_divisors += x;
            loop(&(tort_window_rows){.out = rows->out + h * rows->out_pitch + x,
                                     .source = rows->source + h * rows->pitch + x,
                                     .rows = 1,
                                     .width = tort_min(outputs, rows->width - x)},
                 &some);
        }
}

void tort_blocked_windows(const tort_call *call, const tort_simd *simd, void (*loop)(const tort_blocked_window *window),
                          const tort_blocked_window *window) {
    const int64_t positions = window->rows * window->columns,
                  unit = simd->width / 2; /* pixels that loops make at a time */
    if (window->pixels <= unit || tort_work(window->pixels, positions, TORT_LANES) >> TORT_PIECE_BITS == 0) {
        loop(window);
        return;
    }
    const int64_t pixels = items_at_once(tort_work(positions, TORT_LANES, 1), unit);
    tort_blocked_window w = *window;
    for (int64_t at = 0; at < window->pixels; at += pixels) {
        if (at > 0 && !tort_call_goes_on(call, 0)) return;
        w.pixels = tort_min(pixels, window->pixels - at);
        w.x = window->x + at * window->x_step;
        w.y = window->y + at * TORT_LANES;
        w.add = window->add ? window->add + at * TORT_LANES : NULL;
        loop(&w);
    }
}

void tort_blocked_pixels(const tort_call *call, const tort_simd *simd, const tort_blocked_tile *tile) {
    static const float no_bias[4 * TORT_LANES]; /* enough for a tile of filters */
    if (tile->span_count <= SPANS) {
        simd->blocked_tile(tile);
        return;
    }
    tort_blocked_tile t = *tile;
    for (int64_t left = tile->span_count; left > SPANS; left = t.span_count) {
        int64_t channels = 0;
        t.span_count = SPANS;
        t.bounds = (tort_bounds){.low = -INFINITY, .high = INFINITY};
        simd->blocked_tile(&t);
        for (int64_t s = 0; s < SPANS; s++) channels += t.spans[s].count;
        t.weights += channels * t.blocks * TORT_LANES;
        t.spans += SPANS;
        t.span_count = left - SPANS;
        t.bias = no_bias;
        t.add = t.y;
        if (!tort_call_goes_on(call, 0)) return;
    }
    t.bounds = tile->bounds;
    simd->blocked_tile(&t);
}
