/* move.h - copies a box of `rank` axes, 1 at least, of elements of `element_bytes` bytes: x_first and y_first are the
 * bytes before its first element, xs and ys the steps along its axes, in bytes. A step of x may be 0 or negative. */
#ifndef TORT_FIRMWARE_CODE_MOVE_H
#define TORT_FIRMWARE_CODE_MOVE_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/offset.h"

#include <string.h>

typedef struct tinyort_move_shape {
    int32_t element_bytes, x_first, y_first, rank, dims[TINYORT_AXES], xs[TINYORT_AXES], ys[TINYORT_AXES];
} tinyort_move_shape;

static void tinyort_move(const tinyort_move_shape *s, const void *x, void *y) {
    const int32_t last = s->rank - 1;
    int32_t rows = 1;
    for (int32_t i = 0; i < last; i++) {
        rows *= s->dims[i];
    }
    for (int32_t row = 0; row < rows; row++) {
        const unsigned char *from = (const unsigned char *)x + s->x_first + tinyort_offset(row, last, s->dims, s->xs);
        unsigned char *to = (unsigned char *)y + s->y_first + tinyort_offset(row, last, s->dims, s->ys);
        for (int32_t i = 0; i < s->dims[last]; i++) {
            if (s->element_bytes == 4) { /* becomes a load and a store */
                (void)memcpy(to + (i * s->ys[last]), from + (i * s->xs[last]), 4);
            } else {
                (void)memcpy(to + (i * s->ys[last]), from + (i * s->xs[last]), (size_t)s->element_bytes);
            }
        }
    }
}

#endif
