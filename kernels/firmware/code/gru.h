/* gru.h - a step of GRU (recurrent.h): gates update, reset, hidden. With linear_before_reset, the reset gate scales the
 * hidden gate's product of h; without, h. */
#ifndef TORT_FIRMWARE_CODE_GRU_H
#define TORT_FIRMWARE_CODE_GRU_H

#include "kernels/firmware/code/recurrent.h"

static inline void tinyort_gru(const tinyort_recurrent_shape *s, const tinyort_cell *cell, tinyort_function *f,
                               tinyort_function *g, tinyort_function *k) {
    (void)k;
    const int32_t hidden = s->hidden;
    float *update = cell->sums, *reset = update + cell->rows, *fresh = reset + cell->rows, *h = cell->h,
          *scaled = cell->c;
    tinyort_activate(2 * cell->rows, update, f, cell->clip); /* reset lies behind it */
    for (int32_t i = 0; i < hidden; i++) {
        scaled[i] = s->linear_before_reset ? h[i] : (reset[i] * h[i]);
    }
    tinyort_gates(cell->rows, hidden, scaled, cell->r, cell->bias, cell->room);
    for (int32_t i = 0; i < hidden; i++) {
        const float product = s->linear_before_reset ? (reset[i] * cell->room[i]) : cell->room[i];
        fresh[i] += product;
    }
    tinyort_activate(hidden, fresh, g, cell->clip);
    for (int32_t i = 0; i < hidden; i++) {
        const float added = (1.0f - update[i]) * fresh[i], kept = update[i] * h[i];
        h[i] = added + kept;
    }
}

#endif
