/* pieces.h - long loops in pieces, between which a run may end.
 *
 * A kernel asks after every 100 microseconds of work or so, as estimated, whether its run goes on (tort_call_goes_on),
 * and returns if it does not. Read next: pieces.c. */
#ifndef TORT_KERNELS_CPU_PIECES_H
#define TORT_KERNELS_CPU_PIECES_H

#include "kernels/cpu/blocked.h"

#define TORT_PIECE_BITS 17 /* of the nanoseconds between two questions */

/* Returns the nanoseconds that a * b * c multiply-adds take, roughly, but no more than a piece: all that takes as long
 * needs a question of its own. */
static inline int64_t tort_work(int64_t a, int64_t b, int64_t c) {
    int64_t products;
    if (__builtin_mul_overflow(a, b, &products) || __builtin_mul_overflow(products, c, &products) ||
        products >= (int64_t)16 << TORT_PIECE_BITS)
        return 1 << TORT_PIECE_BITS;
    return products / 16 + 1;
}

/* Asked before item i of a loop whose items take `work` nanoseconds (tort_work). False: the run has ended, and the
 * loop too. Short loops only look whether it has: asking is left to the loops around them. */
static inline bool tort_piece_goes_on(const tort_call *call, int64_t i, int64_t work) {
    const bool asks = ((i * work) ^ ((i + 1) * work)) >> TORT_PIECE_BITS != 0;
    return asks ? tort_call_goes_on(call, 0) : !tort_is_over(call->watch);
}

/* The inner loops of tort_simd, with the same results. */
void tort_row_product(const tort_call *call, const tort_simd *simd, float *y, int64_t n, const float *a, int64_t k,
                      const float *b, int64_t b_stride, const float *column_bias);
void tort_row_dots(const tort_call *call, const tort_simd *simd, float *y, int64_t n, const float *a, int64_t k,
                   const float *b, int64_t b_stride, float scale);
/* loop: weighted_sum or maximum. */
void tort_window(const tort_call *call, const tort_simd *simd, tort_window_loop *loop, const tort_window_rows *rows,
                 const tort_weighted *weighted);
/* The same of rows of any length. Read next: long_rows.c. */
float tort_row_sum(const tort_call *call, const tort_simd *simd, const float *x, int64_t n, float shift, bool squared);
void tort_shift_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n, float mean,
                    float factor, float bias);
void tort_softmax_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n);
void tort_log_softmax_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n);
void tort_normalize_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n,
                        float epsilon, bool centered, const float *scale, const float *bias, bool one_scale);
/* loop: blocked_sum or blocked_maximum. */
void tort_blocked_windows(const tort_call *call, const tort_simd *simd, void (*loop)(const tort_blocked_window *window),
                          const tort_blocked_window *window);
/* Sums of very many channels may differ in their last bits from those of blocked_tile. */
void tort_blocked_pixels(const tort_call *call, const tort_simd *simd, const tort_blocked_tile *tile);

#endif
