/* arg_bytes.h - arg_reduce.h for bytes: the index of the largest (or, with `least`, smallest) of `length` bytes,
 * `inner` apart, of `outer` times `inner` lanes; the first of equal ones, or the last with `select_last`. flip is 0x80
 * for int8, whose order it turns into that of uint8. */
#ifndef TORT_FIRMWARE_CODE_ARG_BYTES_H
#define TORT_FIRMWARE_CODE_ARG_BYTES_H

#include <stdint.h>

typedef struct tinyort_arg_bytes_shape {
    int32_t outer, length, inner, least, select_last, flip;
} tinyort_arg_bytes_shape;

static void tinyort_arg_bytes(const tinyort_arg_bytes_shape *s, const void *x, int64_t *y) {
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const uint8_t *from = (const uint8_t *)x + (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        int32_t best = 0, most = *from ^ s->flip;
        for (int32_t i = 1; i < s->length; i++) {
            const int32_t value = from[i * s->inner] ^ s->flip;
            if ((value == most) ? (s->select_last != 0) : (s->least ? (value < most) : (value > most))) {
                best = i;
                most = value;
            }
        }
        y[lane] = best;
    }
}

#endif
