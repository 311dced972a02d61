/* window.h - windows of signals and MelWeightMatrix, for every provider. */
#ifndef TORT_OPS_WINDOW_H
#define TORT_OPS_WINDOW_H

#include "runtime/include/op.h"

typedef struct tort_window {
    bool periodic; /* the period is `size`, not size - 1 */
} tort_window;

/* A generalized cosine window: element n is a - b cos(2 pi n / period) + c cos(4 pi n / period). */
typedef struct tort_cosines {
    double a, b, c;
} tort_cosines;

tort_cosines tort_window_cosines(const tort_op *op);

typedef struct tort_mel {
    int64_t bins, length, rate;
    double low, step; /* in mels; point k is low + k * step */
} tort_mel;

/* Reads the inputs, which are scalars; TORT_E_RUN if there is no sample rate. */
tort_status tort_mel_read(const tort_call *call, tort_mel *mel);
/* The spectrogram bins where the triangle of a column begins, is 1, and ends; TORT_E_RUN if they are not in `rows`. */
tort_status tort_mel_column(const tort_call *call, const tort_mel *mel, int64_t column, int64_t rows, int64_t bins[3]);

#endif
