/* recurrent.h - a layer of RNN, LSTM or GRU in one or two directions: at each step, `sums` has bias + W x
 * + R h of each gate, of which `step` makes the next h (and c) with the functions f, g and k; of the last gate of GRU
 * it has bias + W x alone. Absent operands are NULL. Behind a sequence's own length y is 0.
 *
 * A gate has `hidden` rows, rounded up to eight in w, r, biases and sums. w, r: as dense_float.h has its weights.
 * biases: of each direction those of W and R, added up for summed gates; then R's of the others.
 * scratch: 2 * hidden floats and gates + 1 times the rounded ones. */
#ifndef TORT_FIRMWARE_CODE_RECURRENT_H
#define TORT_FIRMWARE_CODE_RECURRENT_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/dense_sums.h"
#include "kernels/firmware/code/recurrent_shape.h"

#include <string.h>

/* sums = from + w x for `rows` rows. */
static void tinyort_gates(int32_t rows, int32_t depth, const float *x, const float *w, const float *from, float *sums) {
    for (int32_t i = 0; i < rows; i += 8) {
        tinyort_dense_sums(x, w, w + (4 * depth), depth, from + i, sums + i);
        w += 8 * depth;
    }
}

/* x = f(x) for `count` elements, which are limited to -clip .. clip before. */
static void tinyort_activate(int32_t count, float *x, tinyort_function *f, float clip) {
    for (int32_t i = 0; i < count; i++) {
        x[i] = f((clip < INFINITY) ? tinyort_clamp(x[i], -clip, clip) : x[i]);
    }
}

static void tinyort_recurrent(const tinyort_recurrent_shape *s, const float *x, const float *w, const float *r,
                              const float *biases, const int32_t *lengths, const float *first_h, const float *first_c,
                              const float *peepholes, float *y, float *last_h, float *last_c, void *scratch,
                              tinyort_recurrent_step *step, tinyort_function *f, tinyort_function *g,
                              tinyort_function *k, float clip) {
    const int32_t hidden = s->hidden, rows = (hidden + 7) / 8 * 8, all = s->gates * rows, summed = s->summed * rows;
    const size_t bytes = (size_t)hidden * sizeof(float);
    float *h = (float *)scratch, *c = h + hidden, *sums = c + hidden;
    for (int32_t d = 0; d < s->directions; d++) {
        for (int32_t n = 0; n < s->batch; n++) {
            const float *bias = biases + (d * ((2 * all) - summed));
            const int32_t length = (lengths && (lengths[n] < s->length)) ? lengths[n] : s->length,
                          backwards = s->reverse || (d > 0);
            const int32_t place = (s->batch_first ? ((n * s->directions) + d) : ((d * s->batch) + n)) * hidden;
            const tinyort_cell cell = {.r = r + (((d * all) + summed) * hidden),
                                       .bias = bias + all,
                                       .peepholes = peepholes ? (peepholes + (3 * d * hidden)) : NULL,
                                       .sums = sums,
                                       .h = h,
                                       .c = c,
                                       .room = sums + all,
                                       .rows = rows,
                                       .clip = clip};
            for (int32_t i = 0; i < hidden; i++) {
                h[i] = first_h ? first_h[place + i] : 0.0f;
                c[i] = first_c ? first_c[place + i] : 0.0f;
            }
            for (int32_t i = 0; i < s->length; i++) {
                const int32_t t = (backwards && (i < length)) ? (length - 1 - i) : i;
                const float *now = x + ((s->batch_first ? ((n * s->length) + t) : ((t * s->batch) + n)) * s->input);
                if (i < length) {
                    tinyort_gates(all, s->input, now, w + (d * all * s->input), bias, sums);
                    tinyort_gates(summed, hidden, h, r + (d * all * hidden), sums, sums);
                    step(s, &cell, f, g, k);
                }
                float *to = y ? (y + ((s->batch_first ? ((((n * s->length) + t) * s->directions) + d)
                                                      : ((((t * s->directions) + d) * s->batch) + n)) *
                                      hidden))
                              : NULL;
                if (to && (i < length)) {
                    (void)memcpy(to, h, bytes);
                }
                if (to && (i >= length)) {
                    (void)memset(to, 0, bytes);
                }
            }
            if (last_h != NULL) {
                (void)memcpy(last_h + place, h, bytes);
            }
            if (last_c != NULL) {
                (void)memcpy(last_c + place, c, bytes);
            }
        }
    }
}

#endif
