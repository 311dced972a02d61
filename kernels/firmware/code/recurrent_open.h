/* recurrent_open.h - a recurrent layer whose weights are operands of the run, in the order of ONNX: they are laid out
 * in scratch as recurrent.h reads them, before its own room; `biases` may be NULL. */
#ifndef TORT_FIRMWARE_CODE_RECURRENT_OPEN_H
#define TORT_FIRMWARE_CODE_RECURRENT_OPEN_H

#include "kernels/firmware/code/recurrent.h"

/* Rows of `gates` gates in fours, whose weights take turns; returns what is behind them. */
static float *tinyort_lay_out(int32_t gates, int32_t hidden, int32_t depth, const float *w, float *to) {
    const int32_t rows = (hidden + 7) / 8 * 8;
    for (int32_t gate = 0; gate < gates; gate++) {
        for (int32_t m = 0; m < rows; m++) {
            for (int32_t k = 0; k < depth; k++) {
                to[(((m / 4 * depth) + k) * 4) + (m % 4)] = (m < hidden) ? w[(m * depth) + k] : 0.0f;
            }
        }
        w += hidden * depth;
        to += rows * depth;
    }
    return to;
}

static float *tinyort_lay_out_biases(const tinyort_recurrent_shape *s, const float *b, float *to) {
    const int32_t hidden = s->hidden, rows = (hidden + 7) / 8 * 8;
    for (int32_t d = 0; d < s->directions; d++) {
        for (int32_t gate = 0; gate < ((2 * s->gates) - s->summed); gate++) {
            for (int32_t m = 0; m < rows; m++) {
                const float *own =
                    b ? (b + (((2 * d * s->gates) + ((gate < s->gates) ? gate : (gate + s->summed))) * hidden)) : b;
                to[m] = (!b || (m >= hidden)) ? 0.0f
                        : (gate < s->summed)  ? (own[m] + own[(s->gates * hidden) + m])
                                              : own[m];
            }
            to += rows;
        }
    }
    return to;
}

static void tinyort_recurrent_open(const tinyort_recurrent_open_shape *shape, const float *x, const float *w,
                                   const float *r, const float *biases, const int32_t *lengths, const float *first_h,
                                   const float *first_c, const float *peepholes, float *y, float *last_h, float *last_c,
                                   void *scratch, tinyort_recurrent_step *step, tinyort_function *f,
                                   tinyort_function *g, tinyort_function *k, float clip) {
    const tinyort_recurrent_shape *s = &shape->layer;
    float *of_w = (float *)scratch;
    float *of_r = tinyort_lay_out(s->directions * s->gates, s->hidden, s->input, w, of_w);
    float *of_b = tinyort_lay_out(s->directions * s->gates, s->hidden, s->hidden, r, of_r);
    float *room = tinyort_lay_out_biases(s, biases, of_b);
    tinyort_recurrent(s, x, of_w, of_r, of_b, lengths, first_h, first_c, peepholes, y, last_h, last_c, room, step, f, g,
                      k, clip);
}

#endif
