/* rotary.h - rotates the first `rotated` elements of each head in pairs (i, i + half), or (2i, 2i + 1) if interleaved,
 * and copies the others. Steps are in elements, for (batch, position, head). Item (batch, position) has its cosines and
 * sines in a row of its own or, of `cached` rows, in that of its position; `chain`: positions has the first one
 * alone. Positions that are out of range are clamped. */
#ifndef TORT_FIRMWARE_CODE_ROTARY_H
#define TORT_FIRMWARE_CODE_ROTARY_H

#include "kernels/firmware/code/index.h"

typedef struct tinyort_rotary_shape {
    int32_t batch, length, heads, size, rotated, interleaved, cached, chain, steps[3];
} tinyort_rotary_shape;

static int32_t tinyort_rotary_row(const tinyort_rotary_shape *s, const int64_t *positions, int32_t item) {
    if (!positions) {
        return item;
    }
    const int32_t row =
        tinyort_index(positions, 0, s->chain ? 0 : item, s->cached) + (s->chain ? (item % s->length) : 0);
    return (row < s->cached) ? row : (s->cached - 1);
}

static void tinyort_rotary(const tinyort_rotary_shape *s, const float *x, const int64_t *positions,
                           const float *cosines, const float *sines, float *y) {
    const int32_t half = s->rotated / 2;
    for (int32_t at = 0; at < (s->batch * s->length * s->heads); at++) {
        const int32_t item = at / s->heads, row = tinyort_rotary_row(s, positions, item) * half;
        const int32_t head =
            (item / s->length * s->steps[0]) + (item % s->length * s->steps[1]) + (at % s->heads * s->steps[2]);
        for (int32_t i = 0; i < half; i++) {
            const int32_t j = head + (s->interleaved ? (2 * i) : i), k = j + (s->interleaved ? 1 : half);
            const float a = x[j], b = x[k], u = cosines[row + i] * a, v = sines[row + i] * b;
            const float p = sines[row + i] * a, q = cosines[row + i] * b;
            y[j] = u - v;
            y[k] = p + q;
        }
        for (int32_t i = s->rotated; i < s->size; i++) {
            y[head + i] = x[head + i];
        }
    }
}

#endif
