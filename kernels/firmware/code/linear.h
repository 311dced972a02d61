/* linear.h - rows of scores of linear models, and the labels of classes.
 *
 * choice: 0 no label, 1 the class of the largest score; one score: 2 of the second of two classes, where the first has
 * 1 less it, 3 of the only class, which is present above 0. */
#ifndef TORT_FIRMWARE_CODE_LINEAR_H
#define TORT_FIRMWARE_CODE_LINEAR_H

#include "kernels/firmware/code/dot.h"

typedef struct tinyort_linear_shape {
    int32_t rows, columns, type, targets, choice;
} tinyort_linear_shape;

/* intercepts; labels, y: of a classifier whose labels are asked for; transform; z: scores. NULL: there are none.
 * scratch: as many floats as scores, 2 at least. */
static void tinyort_linear(const tinyort_linear_shape *s, const void *x, const float *coefficients,
                           const float *intercepts, const int64_t *labels, void (*transform)(float *, int32_t),
                           void *scratch, int64_t *y, float *z) {
    const int32_t width = s->choice == 2 ? 2 : s->targets;
    float *scores = (float *)scratch;
    for (int32_t row = 0; row < s->rows; row++) {
        int32_t best = 0;
        for (int32_t t = 0; t < s->targets; t++) {
            scores[t] = tinyort_dot(s->type, x, row * s->columns, coefficients + t * s->columns, s->columns, 0);
            scores[t] += intercepts != NULL ? intercepts[t] : 0.0f;
            best = scores[t] > scores[best] ? t : best;
        }
        if (y != NULL) {
            y[row] = labels[s->choice == 1 ? best : scores[0] > 0.0f];
        }
        if (s->choice == 2) {
            scores[1] = scores[0];
            scores[0] = transform != NULL ? -scores[1] : 1.0f - scores[1];
        }
        if (transform != NULL) {
            transform(scores, width);
        }
        for (int32_t t = 0; t < width && z != NULL; t++) {
            z[row * width + t] = scores[t];
        }
    }
}

#endif
