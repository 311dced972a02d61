/* resize.h - resizes two axes of (outer, height, width, inner) to (outer, out_h, out_w, inner) by tables: element i of
 * an output axis is the sum of taps_h (or taps_w) elements of the input axis, times their weights. Where the first of
 * these elements is negative, the output is `outside`. */
#ifndef TORT_FIRMWARE_CODE_RESIZE_H
#define TORT_FIRMWARE_CODE_RESIZE_H

#include <stdint.h>

typedef struct tinyort_resize_shape {
    int32_t outer, height, width, inner, out_h, out_w, taps_h, taps_w;
} tinyort_resize_shape;

static void tinyort_resize(const tinyort_resize_shape *s, const void *from, const int32_t *rows,
                           const float *row_weights, const int32_t *columns, const float *column_weights, void *to,
                           float outside) {
    const float *x = from;
    float *y = to;
    for (int32_t outer = 0; outer < s->outer; outer++) {
        for (int32_t at = 0; at < (s->out_h * s->out_w); at++) {
            const int32_t h = at / s->out_w * s->taps_h, w = at % s->out_w * s->taps_w;
            const int32_t inside = (rows[h] >= 0) && (columns[w] >= 0);
            for (int32_t i = 0; i < s->inner; i++) {
                float sum = inside ? 0.0f : outside;
                for (int32_t j = h; inside && (j < (h + s->taps_h)); j++) {
                    float row = 0.0f;
                    for (int32_t k = w; k < (w + s->taps_w); k++) {
                        const float part = x[(((rows[j] * s->width) + columns[k]) * s->inner) + i] * column_weights[k];
                        row += part;
                    }
                    const float term = row * row_weights[j];
                    sum += term;
                }
                *y++ = sum;
            }
        }
        x += s->height * s->width * s->inner;
    }
}

#endif
