/* gru.h - a step of GRU (recurrent.h): gates update, reset, hidden. Without linear_before_reset, the product of the
 * hidden gate is that of the reset state. */
#ifndef TORT_FIRMWARE_CODE_GRU_H
#define TORT_FIRMWARE_CODE_GRU_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/recurrent.h"

static void tinyort_gru(const tinyort_recurrent_shape *s, const tinyort_cell *cell) {
    const int32_t hidden = s->hidden;
    float *update = cell->input, *reset = update + hidden, *fresh = reset + hidden;
    float *product = cell->state, *recurrent = product + 2 * hidden;
    for (int32_t i = 0; i < hidden; i++) {
        update[i] = cell->f(tinyort_clamp(update[i] + cell->state[i], -cell->clip, cell->clip));
        reset[i] = cell->f(tinyort_clamp(reset[i] + cell->state[i + hidden], -cell->clip, cell->clip));
    }
    for (int32_t i = 0; i < hidden; i++) product[i] = reset[i] * (s->linear_before_reset ? recurrent[i] : cell->h[i]);
    for (int32_t i = 0; i < hidden && !s->linear_before_reset; i++)
        recurrent[i] = tinyort_dot(cell->r + (2 * hidden + i) * hidden, product, hidden) +
                       (cell->r_bias ? cell->r_bias[2 * hidden + i] : 0.0f);
    for (int32_t i = 0; i < hidden; i++) {
        const float sum = fresh[i] + (s->linear_before_reset ? product[i] : recurrent[i]);
        const float value = cell->g(tinyort_clamp(sum, -cell->clip, cell->clip));
        const float added = (1.0f - update[i]) * value, kept = update[i] * cell->h[i];
        cell->h[i] = added + kept;
    }
}

#endif
