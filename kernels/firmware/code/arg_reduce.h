/* arg_reduce.h - the index of the largest (or, with `least`, smallest) of `length` elements, `inner` apart, of `outer`
 * times `inner` lanes; the first of equal ones, or the last with `select_last`. NaN wins. */
#ifndef TORT_FIRMWARE_CODE_ARG_REDUCE_H
#define TORT_FIRMWARE_CODE_ARG_REDUCE_H

#include <stdint.h>

typedef struct tinyort_arg_reduce_shape {
    int32_t outer, length, inner, least, select_last;
} tinyort_arg_reduce_shape;

static void tinyort_arg_reduce(const tinyort_arg_reduce_shape *s, const float *x, int64_t *y) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const float *from = x + (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        int32_t best = 0;
        for (int32_t i = 1; i < s->length; i++) {
            const float most = from[best * s->inner], value = from[i * s->inner];
            const int32_t equal = (value == most) || ((value != value) && (most != most));
            const int32_t better = (value != value) || ((most == most) && (s->least ? (value < most) : (value > most)));
            if ((equal != 0) ? (s->select_last != 0) : (better != 0)) {
                best = i;
            }
        }
        y[lane] = best;
    }
}

#endif
