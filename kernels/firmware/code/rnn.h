/* rnn.h - a step of RNN (recurrent.h). */
#ifndef TORT_FIRMWARE_CODE_RNN_H
#define TORT_FIRMWARE_CODE_RNN_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/recurrent.h"

static void tinyort_rnn(const tinyort_recurrent_shape *s, const tinyort_cell *cell) {
    for (int32_t i = 0; i < s->hidden; i++)
        cell->h[i] = cell->f(tinyort_clamp(cell->input[i] + cell->state[i], -cell->clip, cell->clip));
}

#endif
