/* lp_norm.h - divides each of `outer` times `inner` lanes of `length` elements, `inner` apart, by its norm: the sum of
 * sizes, or, with `squares`, the root of the sum of squares. A lane of zeros stays. y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_LP_NORM_H
#define TORT_FIRMWARE_CODE_LP_NORM_H

#include <math.h>
#include <stdint.h>

typedef struct tinyort_lp_norm_shape {
    int32_t outer, length, inner, squares;
} tinyort_lp_norm_shape;

static void tinyort_lp_norm(const tinyort_lp_norm_shape *s, const float *x, float *y) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const int32_t first = (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        const int32_t end = first + (s->length * s->inner);
        float norm = 0.0f;
        for (int32_t i = first; i < end; i += s->inner) {
            const float term = s->squares ? (x[i] * x[i]) : fabsf(x[i]);
            norm += term;
        }
        if (s->squares != 0) {
            norm = sqrtf(norm);
        }
        for (int32_t i = first; i < end; i += s->inner) {
            y[i] = (norm == 0.0f) ? x[i] : (x[i] / norm);
        }
    }
}

#endif
