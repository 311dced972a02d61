/* reduce.h - f(... f(f(initial, x), x') ..., x'') over the reduced axes of x, divided, for each index of the kept axes:
 * `count` floats. Axes have steps in elements; there is at least one reduced axis. f takes the elements of a block, and
 * `join` the blocks, so that a sum of n elements has the rounding errors of 32 + n / 32. */
#ifndef TORT_FIRMWARE_CODE_REDUCE_H
#define TORT_FIRMWARE_CODE_REDUCE_H

#include "kernels/firmware/code/offset.h"
#include "kernels/firmware/code/reduce_shape.h"

static void tinyort_reduce(const tinyort_reduce_shape *s, const float *x, float *y, float (*f)(float, float),
                           float (*join)(float, float), float initial, float divisor) {
    const int32_t last = s->reduced - 1;
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= s->dims[i];
    }
    for (int32_t at = 0; at < s->count; at++) {
        const float *first = x + tinyort_offset(at, s->kept, s->kept_dims, s->kept_steps);
        float sum = initial;
        for (int32_t row = 0; row < rows; row++) {
            const float *from = first + tinyort_offset(row, last, s->dims, s->steps);
            for (int32_t i = 0; i < s->dims[last];) {
                const int32_t end = ((s->dims[last] - i) < 32) ? s->dims[last] : (i + 32);
                float part = initial;
                for (; i < end; i++) {
                    part = f(part, from[i * s->steps[last]]);
                }
                sum = join(sum, part);
            }
        }
        y[at] = sum / divisor;
    }
}

#endif
