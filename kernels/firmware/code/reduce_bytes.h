/* reduce_bytes.h - the mean of bytes over the reduced axes (reduce_shape.h), of another scale: a sum times a factor;
 * or, with `side` 1, their maximum, with -1 their minimum. `first` is what a sum or choice begins with. */
#ifndef TORT_FIRMWARE_CODE_REDUCE_BYTES_H
#define TORT_FIRMWARE_CODE_REDUCE_BYTES_H

#include "kernels/firmware/code/offset.h"
#include "kernels/firmware/code/reduce_shape.h"
#include "kernels/firmware/code/requantize.h"

typedef struct tinyort_reduce_bytes_shape {
    tinyort_bytes_shape rows;
    tinyort_reduce_shape axes;
    int32_t side, first;
} tinyort_reduce_bytes_shape;

static void tinyort_reduce_bytes(const tinyort_reduce_bytes_shape *s, const void *x, void *y, float factor) {
    const int32_t last = s->axes.reduced - 1, step = s->axes.steps[last];
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= s->axes.dims[i];
    }
    for (int32_t at = 0; at < s->axes.count; at++) {
        const int8_t *first =
            (const int8_t *)x + tinyort_offset(at, s->axes.kept, s->axes.kept_dims, s->axes.kept_steps);
        int32_t sum = s->first;
        for (int32_t row = 0; row < rows; row++) {
            const int8_t *from = first + tinyort_offset(row, last, s->axes.dims, s->axes.steps);
            for (int32_t i = 0; i < s->axes.dims[last]; i++) {
                const int32_t value = (int8_t)tinyort_flipped(*from, s->rows.x_flip);
                if (!s->side) {
                    sum += value;
                } else if ((s->side * value) > (s->side * sum)) {
                    sum = value;
                }
                from += step;
            }
        }
        ((int8_t *)y)[at] =
            s->side ? (int8_t)tinyort_flipped(sum, s->rows.flip) : tinyort_requantize(&s->rows, sum, factor);
    }
}

#endif
