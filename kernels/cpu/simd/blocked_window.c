/* blocked_window.c - windows over one block of channels: depthwise filters, sums and maxima.
 *
 * The sixteen channels are the lanes. PIXELS pixels at a time have sums of their own, so that additions overlap;
 * pixels left over, and those at the border of a picture, go one by one. Read next: ../blocked_window.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/simd/intrinsics.h"

#include <math.h>

#define BLOCK_VECTORS (TORT_LANES / WIDTH)
#ifdef RVV
#define PIXELS 3 /* pixels at a time */
#else
#define PIXELS (BLOCK_VECTORS > 2 ? 2 : 8 / BLOCK_VECTORS)
#endif
typedef tort_blocked_window window;

static const float zero_block[TORT_LANES];

INLINE void store_sums(const window *w, int pixels, vector (*acc)[BLOCK_VECTORS], int64_t at) {
    const float *bias = w->bias ? w->bias : zero_block, *add = w->add ? w->add + at * TORT_LANES : zero_block;
    const int64_t add_step = w->add ? TORT_LANES : 0;
    const vector low = broadcast(w->bounds.low), high = broadcast(w->bounds.high), scale = broadcast(w->scale);
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            const vector sum = acc[i][v] * scale + load(bias + v * WIDTH) + load(add + i * add_step + v * WIDTH);
            store(w->y + (at + i) * TORT_LANES + v * WIDTH, clamp(sum, low, high));
        }
}

/* weighted and pixels are constants after inlining. */
INLINE void sum_pixels(const window *w, int pixels, bool weighted, int64_t at) {
    vector acc[PIXELS][BLOCK_VECTORS];
    const float *row = w->x + at * w->x_step;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) acc[i][v] = broadcast(0);
    for (int64_t r = 0; r < w->rows; r++, row += w->row_step) {
        const float *x = row, *weights = weighted ? w->weights + r * w->weight_row : NULL;
        for (ptrdiff_t c = 0; c < (ptrdiff_t)w->columns; c++, x += w->column_step) {
            vector factor[BLOCK_VECTORS];
            for (int v = 0; weighted && v < BLOCK_VECTORS; v++) factor[v] = load(weights + c * TORT_LANES + v * WIDTH);
            UNROLL
            for (int i = 0; i < pixels; i++)
                for (int v = 0; v < BLOCK_VECTORS; v++) {
                    const vector value = load(x + i * w->x_step + v * WIDTH);
                    acc[i][v] += weighted ? value * factor[v] : value;
                }
        }
    }
    store_sums(w, pixels, acc, at);
}

INLINE void all_sums(const window *w, bool weighted) {
    int64_t at = 0;
    for (; at + PIXELS <= w->pixels; at += PIXELS) sum_pixels(w, PIXELS, weighted, at);
    for (; at < w->pixels; at++) sum_pixels(w, 1, weighted, at);
}

void SIMD(tort_simd_blocked_sum)(const window *w) {
    if (w->weights)
        all_sums(w, true);
    else
        all_sums(w, false);
}

INLINE void maximum_of(const window *w, int pixels, int64_t at) {
    vector best[PIXELS][BLOCK_VECTORS];
    const float *row = w->x + at * w->x_step;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) best[i][v] = broadcast(-INFINITY);
    for (int64_t r = 0; r < w->rows; r++, row += w->row_step) {
        const float *x = row;
        for (ptrdiff_t c = 0; c < (ptrdiff_t)w->columns; c++, x += w->column_step) UNROLL
        for (int i = 0; i < pixels; i++)
            for (int v = 0; v < BLOCK_VECTORS; v++)
                best[i][v] = larger(best[i][v], load(x + i * w->x_step + v * WIDTH));
    }
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) store(w->y + (at + i) * TORT_LANES + v * WIDTH, best[i][v]);
}

void SIMD(tort_simd_blocked_maximum)(const window *w) {
    int64_t at = 0;
    for (; at + PIXELS <= w->pixels; at += PIXELS) maximum_of(w, PIXELS, at);
    for (; at < w->pixels; at++) maximum_of(w, 1, at);
}

void SIMD(tort_simd_blocked_scale)(const float *x, float *y, int64_t pixels, const float *scale, const float *shift) {
    vector factor[BLOCK_VECTORS], add[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) factor[v] = load(scale + v * WIDTH), add[v] = load(shift + v * WIDTH);
    for (int64_t i = 0; i < pixels * TORT_LANES; i += TORT_LANES)
        for (int v = 0; v < BLOCK_VECTORS; v++) store(y + i + v * WIDTH, load(x + i + v * WIDTH) * factor[v] + add[v]);
}
