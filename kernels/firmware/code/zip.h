/* zip.h - f(a, b) of floats, or, where f is NULL, g(a, b) of whole numbers, each broadcast to y of `rank` axes, 1 at
 * least: as and bs are steps in elements, 0 where they are repeated. Types of load.h and store.h: a is of type `from`,
 * b of `other`, y of `to`. y may lie over an operand of its own shape and type. */
#ifndef TORT_FIRMWARE_CODE_ZIP_H
#define TORT_FIRMWARE_CODE_ZIP_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/offset.h"
#include "kernels/firmware/code/store.h"

#include <stddef.h>

typedef struct tinyort_zip_shape {
    int32_t from, other, to, rank, dims[TINYORT_AXES], as[TINYORT_AXES], bs[TINYORT_AXES];
} tinyort_zip_shape;

static float tinyort_float_at(int32_t type, const void *x, int32_t i) {
    return (type == 7) ? ((const float *)x)[i] : (float)tinyort_load(type, x, i);
}

static void tinyort_zip(const tinyort_zip_shape *s, const void *a, const void *b, void *y, float (*f)(float, float),
                        int64_t (*g)(int64_t, int64_t)) {
    const int32_t last = s->rank - 1;
    int32_t rows = 1, at = 0;
    for (int32_t i = 0; i < last; i++) {
        rows *= s->dims[i];
    }
    for (int32_t row = 0; row < rows; row++) {
        const int32_t left = tinyort_offset(row, last, s->dims, s->as);
        const int32_t right = tinyort_offset(row, last, s->dims, s->bs);
        for (int32_t i = 0; i < s->dims[last]; i++) {
            const int32_t j = left + (i * s->as[last]), k = right + (i * s->bs[last]);
            if (f != NULL) {
                const float value = f(tinyort_float_at(s->from, a, j), tinyort_float_at(s->other, b, k));
                if (s->to == 7) {
                    ((float *)y)[at] = value;
                } else {
                    tinyort_store(s->to, y, at, tinyort_load(7, &value, 0));
                }
            } else {
                tinyort_store(s->to, y, at, g(tinyort_load(s->from, a, j), tinyort_load(s->other, b, k)));
            }
            at++;
        }
    }
}

#endif
