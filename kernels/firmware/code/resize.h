/* resize.h - resizes two axes of (outer, height, width, inner) to (outer, out_h, out_w, inner) by tables: element i of
 * an output axis is the sum of taps_h (or taps_w) elements of the input axis, times their weights. */
#ifndef TORT_FIRMWARE_CODE_RESIZE_H
#define TORT_FIRMWARE_CODE_RESIZE_H

#include <stdint.h>

typedef struct tinyort_resize_shape {
    int32_t outer, height, width, inner, out_h, out_w, taps_h, taps_w;
} tinyort_resize_shape;

static void tinyort_resize(const tinyort_resize_shape *s, const float *x, const int32_t *rows, const float *row_weights,
                           const int32_t *columns, const float *column_weights, float *y) {
    for (int32_t outer = 0; outer < s->outer; outer++, x += s->height * s->width * s->inner)
        for (int32_t at = 0; at < s->out_h * s->out_w; at++) {
            const int32_t h = at / s->out_w * s->taps_h, w = at % s->out_w * s->taps_w;
            for (int32_t i = 0; i < s->inner; i++) {
                float sum = 0.0f;
                for (int32_t j = h; j < h + s->taps_h; j++) {
                    float row = 0.0f;
                    for (int32_t k = w; k < w + s->taps_w; k++) {
                        const float from = x[(rows[j] * s->width + columns[k]) * s->inner + i];
                        const float part = from * column_weights[k];
                        row += part;
                    }
                    const float term = row * row_weights[j];
                    sum += term;
                }
                *y++ = sum;
            }
        }
}

#endif
