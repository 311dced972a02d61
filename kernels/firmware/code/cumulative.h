/* cumulative.h - running sums, or products, of x along an axis, forwards or in `reverse`; an `exclusive` one is without
 * its own element. `type` is one of load.h, or 9: double. The axis is read from memory, as tinyort_index does. Floats
 * are joined wide, whole numbers wrap. y may be x. */
#ifndef TORT_FIRMWARE_CODE_CUMULATIVE_H
#define TORT_FIRMWARE_CODE_CUMULATIVE_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/index.h"
#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/store.h"

typedef struct tinyort_cumulative_shape {
    int32_t type, product, exclusive, reverse, narrow, rank, dims[TINYORT_AXES];
} tinyort_cumulative_shape;

static void tinyort_cumulative(const tinyort_cumulative_shape *s, const void *x, const void *axes, void *y) {
    const int32_t axis = tinyort_index(axes, s->narrow, 0, s->rank), length = s->dims[axis];
    int32_t lanes = 1, inner = 1;
    for (int32_t i = 0; i < s->rank; i++) {
        if (i != axis) {
            lanes *= s->dims[i];
        }
        if (i > axis) {
            inner *= s->dims[i];
        }
    }
    for (int32_t lane = 0; lane < lanes; lane++) {
        const int32_t first = (lane / inner * inner * length) + (lane % inner);
        double sum = (double)s->product;
        uint64_t whole = (uint64_t)s->product;
        for (int32_t i = 0; i < length; i++) {
            const int32_t at = first + ((s->reverse ? (length - 1 - i) : i) * inner);
            const double before = sum, value = (s->type == 9)   ? ((const double *)x)[at]
                                               : (s->type == 7) ? (double)((const float *)x)[at]
                                                                : 0.0;
            const uint64_t old = whole, added = (s->type < 7) ? (uint64_t)tinyort_load(s->type, x, at) : 0;
            sum = s->product ? (sum * value) : (sum + value);
            whole = s->product ? (whole * added) : (whole + added);
            if (s->type == 9) {
                ((double *)y)[at] = s->exclusive ? before : sum;
            } else if (s->type == 7) {
                ((float *)y)[at] = (float)(s->exclusive ? before : sum);
            } else {
                tinyort_store(s->type, y, at, (int64_t)(s->exclusive ? old : whole));
            }
        }
    }
}

#endif
