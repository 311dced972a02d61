/* einsum.h - y = the sum of a * b over the `reduced` axes, for each index of the `kept` ones, which y has in this
 * order. dims, as and bs: sizes, and steps in elements, of the kept axes from 0 on, of the reduced ones from 8 on. */
#ifndef TORT_FIRMWARE_CODE_EINSUM_H
#define TORT_FIRMWARE_CODE_EINSUM_H

#include "kernels/firmware/code/offset.h"

typedef struct tinyort_einsum_shape {
    int32_t count, sum, kept, reduced, dims[16], as[16], bs[16];
} tinyort_einsum_shape;

static void tinyort_einsum(const tinyort_einsum_shape *s, const float *a, const float *b, float *y) {
    for (int32_t at = 0; at < s->count; at++) {
        const float *from = a + tinyort_offset(at, s->kept, s->dims, s->as);
        const float *with = b + tinyort_offset(at, s->kept, s->dims, s->bs);
        float sum = 0.0f;
        for (int32_t i = 0; i < s->sum; i++) {
            const int32_t left = tinyort_offset(i, s->reduced, s->dims + 8, s->as + 8);
            const float product = from[left] * with[tinyort_offset(i, s->reduced, s->dims + 8, s->bs + 8)];
            sum += product;
        }
        y[at] = sum;
    }
}

#endif
