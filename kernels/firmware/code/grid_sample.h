/* grid_sample.h - x at the coordinates of a grid: x is (batch, channels, sizes...), the grid (batch, points, spatial),
 * with the coordinate of the last axis first, y (batch, channels, points). Up to three axes have sizes. */
#ifndef TORT_FIRMWARE_CODE_GRID_SAMPLE_H
#define TORT_FIRMWARE_CODE_GRID_SAMPLE_H

#include "kernels/firmware/code/grid_taps.h"

typedef struct tinyort_grid_sample_shape {
    tinyort_grid grid;
    int32_t spatial, batch, channels, points, sizes[3];
} tinyort_grid_sample_shape;

static void tinyort_grid_sample(const tinyort_grid_sample_shape *s, const float *x, const float *grid, float *y) {
    const int32_t taps = 1 << s->grid.mode;
    for (int32_t item = 0; item < (s->batch * s->points); item++) {
        int32_t offsets[64] = {0}, count = 1, elements = 1;
        float factors[64] = {1.0f};
        for (int32_t axis = 0; axis < s->spatial; axis++) {
            int32_t indices[4];
            float weights[4];
            tinyort_grid_taps(&s->grid, grid[s->spatial - 1 - axis], s->sizes[axis], indices, weights);
            for (int32_t k = count - 1; k >= 0; k--) { /* from the end: products lie over their factors */
                const int32_t outer = offsets[k];
                const float factor = factors[k];
                for (int32_t t = taps - 1; t >= 0; t--) {
                    const int32_t outside = (outer < 0) || (indices[t] < 0);
                    offsets[(k * taps) + t] = outside ? -1 : ((outer * s->sizes[axis]) + indices[t]);
                    factors[(k * taps) + t] = factor * weights[t];
                }
            }
            elements *= s->sizes[axis];
            count *= taps;
        }
        for (int32_t c = 0; c < s->channels; c++) {
            const int32_t plane = (item / s->points * s->channels) + c;
            float sum = 0.0f;
            for (int32_t k = 0; k < count; k++) {
                const float term = (offsets[k] < 0) ? 0.0f : (factors[k] * x[(plane * elements) + offsets[k]]);
                sum += term;
            }
            y[(plane * s->points) + (item % s->points)] = sum;
        }
        grid += s->spatial;
    }
}

#endif
