/* lstm.h - a step of LSTM (recurrent.h): gates input, output, forget, cell. */
#ifndef TORT_FIRMWARE_CODE_LSTM_H
#define TORT_FIRMWARE_CODE_LSTM_H

#include "kernels/firmware/code/recurrent.h"

static inline void tinyort_lstm(const tinyort_recurrent_shape *s, const tinyort_cell *cell, tinyort_function *f,
                                tinyort_function *g, tinyort_function *k) {
    const int32_t hidden = s->hidden;
    const float *p = cell->peepholes;
    float *in = cell->sums, *out = in + cell->rows, *forget = out + cell->rows, *fresh = forget + cell->rows;
    float *c = cell->c;
    for (int32_t i = 0; (i < hidden) && p; i++) {
        const float to_in = p[i] * c[i], to_forget = p[i + (2 * hidden)] * c[i];
        in[i] += to_in;
        forget[i] += to_forget;
    }
    tinyort_activate(hidden, in, f, cell->clip);
    if (!s->input_forget) {
        tinyort_activate(hidden, forget, f, cell->clip);
    }
    tinyort_activate(hidden, fresh, g, cell->clip);
    for (int32_t i = 0; i < hidden; i++) {
        const float kept = (s->input_forget ? (1.0f - in[i]) : forget[i]) * c[i], added = in[i] * fresh[i];
        c[i] = kept + added;
    }
    for (int32_t i = 0; (i < hidden) && p; i++) {
        const float to_out = p[i + hidden] * c[i];
        out[i] += to_out;
    }
    tinyort_activate(hidden, out, f, cell->clip);
    for (int32_t i = 0; i < hidden; i++) {
        cell->h[i] = out[i] * k(c[i]);
    }
}

#endif
