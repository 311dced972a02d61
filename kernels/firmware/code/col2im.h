/* col2im.h - sums of overlapping blocks, stored as columns, in images of any number of axes, as the inverse of STFT
 * needs them. A row of x is what one cell of the block adds at all places along the last axis. */
#ifndef TORT_FIRMWARE_CODE_COL2IM_H
#define TORT_FIRMWARE_CODE_COL2IM_H

#include "kernels/firmware/code/axes.h"

#include <stdint.h>

typedef struct tinyort_col2im_shape {
    int32_t planes, pixels, cells, rows, rank; /* rows of places, for each cell */
    int32_t image[TINYORT_AXES], block[TINYORT_AXES], places[TINYORT_AXES], strides[TINYORT_AXES];
    int32_t dilations[TINYORT_AXES], pads[TINYORT_AXES];
} tinyort_col2im_shape;

static void tinyort_col2im_row(const tinyort_col2im_shape *s, int32_t cell, int32_t row, const float *x, float *y) {
    const int32_t last = s->rank - 1;
    const int32_t before = cell % s->block[last] * s->dilations[last] - s->pads[last];
    cell /= s->block[last];
    for (int32_t k = last - 1, size = s->image[last]; k >= 0; k--) {
        const int32_t at = cell % s->block[k] * s->dilations[k] + row % s->places[k] * s->strides[k] - s->pads[k];
        if (at < 0 || at >= s->image[k]) {
            return;
        }
        cell /= s->block[k];
        row /= s->places[k];
        y += at * size;
        size *= s->image[k];
    }
    for (int32_t i = 0; i < s->places[last]; i++) {
        const int32_t at = before + i * s->strides[last];
        if (at >= 0 && at < s->image[last]) {
            y[at] += x[i];
        }
    }
}

static void tinyort_col2im(const tinyort_col2im_shape *s, const float *x, float *y) {
    for (int32_t i = 0; i < s->planes * s->pixels; i++) {
        y[i] = 0.0f;
    }
    for (int32_t plane = 0; plane < s->planes; plane++) {
        for (int32_t cell = 0; cell < s->cells; cell++) {
            for (int32_t row = 0; row < s->rows; row++) {
                tinyort_col2im_row(s, cell, row, x, y);
                x += s->places[s->rank - 1];
            }
        }
        y += s->pixels;
    }
}

#endif
