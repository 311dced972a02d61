/* reduce.h - f(... f(f(initial, x), x') ..., x'') over the reduced axes of x, divided, for each index of the kept axes:
 * `count` floats. Axes have steps in elements; there is at least one reduced axis. */
#ifndef TORT_FIRMWARE_CODE_REDUCE_H
#define TORT_FIRMWARE_CODE_REDUCE_H

#include "kernels/firmware/code/offset.h"

typedef struct tinyort_reduce_shape {
    int32_t count, kept, reduced, kept_dims[8], kept_steps[8], dims[8], steps[8];
} tinyort_reduce_shape;

static void tinyort_reduce(const tinyort_reduce_shape *s, const float *x, float *y, float (*f)(float, float),
                           float initial, float divisor) {
    const int32_t last = s->reduced - 1;
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) rows *= s->dims[i];
    for (int32_t at = 0; at < s->count; at++) {
        const float *first = x + tinyort_offset(at, s->kept, s->kept_dims, s->kept_steps);
        float sum = initial;
        for (int32_t row = 0; row < rows; row++) {
            const float *from = first + tinyort_offset(row, last, s->dims, s->steps);
            for (int32_t i = 0; i < s->dims[last]; i++) sum = f(sum, from[i * s->steps[last]]);
        }
        y[at] = sum / divisor;
    }
}

#endif
