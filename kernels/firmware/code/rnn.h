/* rnn.h - a step of RNN (recurrent.h). */
#ifndef TORT_FIRMWARE_CODE_RNN_H
#define TORT_FIRMWARE_CODE_RNN_H

#include "kernels/firmware/code/recurrent.h"

static inline void tinyort_rnn(const tinyort_recurrent_shape *s, const tinyort_cell *cell, tinyort_function *f,
                               tinyort_function *g, tinyort_function *k) {
    (void)g;
    (void)k;
    tinyort_activate(s->hidden, cell->sums, f, cell->clip);
    (void)memcpy(cell->h, cell->sums, (size_t)s->hidden * sizeof(float));
}

#endif
