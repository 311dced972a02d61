/* recurrent.h - a layer of RNN, LSTM or GRU in one or two directions: at each step, `input` holds W x + its bias and
 * `state` R h + its bias, of `gates` times `hidden` rows, and `cell` makes the next h (and c) of them with the
 * functions f, g and k. Absent operands are NULL. scratch: (2 + 2 * gates) * hidden floats. Behind a sequence's own
 * length y is 0.
 */
#ifndef TORT_FIRMWARE_CODE_RECURRENT_H
#define TORT_FIRMWARE_CODE_RECURRENT_H

#include "kernels/firmware/code/dot.h"

#include <string.h>

typedef struct tinyort_recurrent_shape {
    int32_t length, batch, input, hidden, gates, directions, reverse, batch_first, input_forget, linear_before_reset;
} tinyort_recurrent_shape;

/* Operands of a cell in one direction. */
typedef struct tinyort_cell {
    const float *r, *r_bias, *peepholes;
    float *input, *state, *h, *c;
    float (*f)(float), (*g)(float), (*k)(float);
    float clip;
} tinyort_cell;

static void tinyort_recurrent(const tinyort_recurrent_shape *s, const float *x, const float *w, const float *r,
                              const float *bias, const int32_t *lengths, const float *first_h, const float *first_c,
                              const float *peepholes, float *y, float *last_h, float *last_c, float *scratch,
                              void (*step)(const tinyort_recurrent_shape *, const tinyort_cell *), float (*f)(float),
                              float (*g)(float), float (*k)(float), float clip) {
    const int32_t hidden = s->hidden, rows = s->gates * hidden;
    const size_t bytes = (size_t)hidden * sizeof(float);
    for (int32_t d = 0; d < s->directions; d++)
        for (int32_t n = 0; n < s->batch; n++) {
            const float *from = w + d * rows * s->input, *b = bias ? bias + 2 * d * rows : NULL;
            const int32_t length = lengths ? lengths[n] : s->length, backwards = s->reverse || d > 0;
            const int32_t place = (s->batch_first ? n * s->directions + d : d * s->batch + n) * hidden;
            float *h = scratch, *c = h + hidden;
            const tinyort_cell cell = {.r = r + d * rows * hidden,
                                       .r_bias = b ? b + rows : NULL,
                                       .peepholes = peepholes ? peepholes + 3 * d * hidden : NULL,
                                       .input = c + hidden,
                                       .state = c + hidden + rows,
                                       .h = h,
                                       .c = c,
                                       .f = f,
                                       .g = g,
                                       .k = k,
                                       .clip = clip};
            for (int32_t i = 0; i < hidden; i++) {
                h[i] = first_h ? first_h[place + i] : 0.0f;
                c[i] = first_c ? first_c[place + i] : 0.0f;
            }
            for (int32_t i = 0; i < s->length; i++) {
                const int32_t t = backwards && i < length ? length - 1 - i : i;
                const float *now = x + (s->batch_first ? n * s->length + t : t * s->batch + n) * s->input;
                for (int32_t row = 0; row < rows && i < length; row++) {
                    cell.input[row] = tinyort_dot(from + row * s->input, now, s->input) + (b ? b[row] : 0.0f);
                    cell.state[row] = tinyort_dot(cell.r + row * hidden, h, hidden) + (b ? b[rows + row] : 0.0f);
                }
                if (i < length) step(s, &cell);
                float *to = y ? y + (s->batch_first ? (n * s->length + t) * s->directions + d
                                                    : (t * s->directions + d) * s->batch + n) *
                                        hidden
                              : NULL;
                if (to && i < length) memcpy(to, h, bytes);
                if (to && i >= length) memset(to, 0, bytes);
            }
            if (last_h) memcpy(last_h + place, h, bytes);
            if (last_c) memcpy(last_c + place, c, bytes);
        }
}

#endif
