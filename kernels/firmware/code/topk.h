/* topk.h - the k largest (or, with `least`, smallest) of `length` elements, `inner` apart, of `outer` times `inner`
 * lanes, in order; of equal ones the first comes first, and NaN counts as the largest number. values or indices may be
 * NULL.
 *
 * Selection: each of the k is the first in order behind the one before, so nothing is kept and k * length elements are
 * read. */
#ifndef TORT_FIRMWARE_CODE_TOPK_H
#define TORT_FIRMWARE_CODE_TOPK_H

#include <stddef.h>
#include <stdint.h>

typedef struct tinyort_topk_shape {
    int32_t outer, length, inner, k, least;
} tinyort_topk_shape;

/* 1 if element i comes before element j. */
static int32_t tinyort_comes_before(const tinyort_topk_shape *s, const float *lane, int32_t i, int32_t j) {
    const float a = lane[i * s->inner], b = lane[j * s->inner];
    const int32_t smaller = (a < b) || ((a == a) && (b != b)), larger = (a > b) || ((a != a) && (b == b));
    if (smaller || larger) {
        return s->least ? smaller : larger;
    }
    return i < j;
}

static void tinyort_topk(const tinyort_topk_shape *s, const float *x, float *values, int64_t *indices) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const float *from = x + (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        int32_t at = (lane / s->inner * s->inner * s->k) + (lane % s->inner), last = -1;
        for (int32_t rank = 0; rank < s->k; rank++) {
            int32_t best = -1;
            for (int32_t i = 0; i < s->length; i++) {
                if ((last >= 0) && !tinyort_comes_before(s, from, last, i)) {
                    continue;
                }
                if ((best < 0) || tinyort_comes_before(s, from, i, best)) {
                    best = i;
                }
            }
            last = best;
            if (values != NULL) {
                values[at] = from[best * s->inner];
            }
            if (indices != NULL) {
                indices[at] = best;
            }
            at += s->inner;
        }
    }
}

#endif
