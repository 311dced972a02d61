/* lstm.h - a step of LSTM (recurrent.h): gates input, output, forget, cell. */
#ifndef TORT_FIRMWARE_CODE_LSTM_H
#define TORT_FIRMWARE_CODE_LSTM_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/recurrent.h"

static void tinyort_lstm(const tinyort_recurrent_shape *s, const tinyort_cell *cell) {
    const int32_t hidden = s->hidden;
    const float *p = cell->peepholes, *a = cell->input, *b = cell->state;
    for (int32_t i = 0; i < hidden; i++) {
        float in = a[i] + b[i], out = a[i + hidden] + b[i + hidden];
        float forget = a[i + 2 * hidden] + b[i + 2 * hidden], fresh = a[i + 3 * hidden] + b[i + 3 * hidden];
        if (p) {
            const float to_in = p[i] * cell->c[i], to_forget = p[i + 2 * hidden] * cell->c[i];
            in += to_in;
            forget += to_forget;
        }
        in = cell->f(tinyort_clamp(in, -cell->clip, cell->clip));
        forget = s->input_forget ? 1.0f - in : cell->f(tinyort_clamp(forget, -cell->clip, cell->clip));
        fresh = cell->g(tinyort_clamp(fresh, -cell->clip, cell->clip));
        const float kept = forget * cell->c[i], added = in * fresh;
        cell->c[i] = kept + added;
        if (p) {
            const float to_out = p[i + hidden] * cell->c[i];
            out += to_out;
        }
        cell->h[i] = cell->f(tinyort_clamp(out, -cell->clip, cell->clip)) * cell->k(cell->c[i]);
    }
}

#endif
