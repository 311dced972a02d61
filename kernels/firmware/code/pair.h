/* pair.h - a + b, a - b, a * b or a / b (operation 0 to 3), each broadcast to y of `rank` axes, 1 at least: as and bs
 * are steps in elements, 0 where they are repeated. y may lie over an operand of its own shape. */
#ifndef TORT_FIRMWARE_CODE_PAIR_H
#define TORT_FIRMWARE_CODE_PAIR_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/offset.h"

typedef struct tinyort_pair_shape {
    int32_t operation, rank, dims[TINYORT_AXES], as[TINYORT_AXES], bs[TINYORT_AXES];
} tinyort_pair_shape;

static void tinyort_pair(const tinyort_pair_shape *s, const float *a, const float *b, float *y) {
    const int32_t last = s->rank - 1;
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= s->dims[i];
    }
    for (int32_t row = 0; row < rows; row++) {
        const float *from = a + tinyort_offset(row, last, s->dims, s->as);
        const float *with = b + tinyort_offset(row, last, s->dims, s->bs);
        for (int32_t i = 0; i < s->dims[last]; i++) {
            const float left = from[i * s->as[last]], right = with[i * s->bs[last]];
            *y++ = (s->operation == 0)   ? (left + right)
                   : (s->operation == 1) ? (left - right)
                   : (s->operation == 2) ? (left * right)
                                         : (left / right);
        }
    }
}

#endif
