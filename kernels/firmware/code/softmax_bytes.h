/* softmax_bytes.h - the softmax of bytes with scales, in integers, of `outer` times `inner` lanes of `length` elements,
 * which are `inner` apart. flip is 0x80 for int8, whose order it turns into that of uint8.
 *
 * powers[255 - d] is e^x of the distance d from the largest element, scaled so that the sum of a lane fits 32 bits; a
 * quotient in steps of the output's scale (`parts` make up 1) is rounded half up. */
#ifndef TORT_FIRMWARE_CODE_SOFTMAX_BYTES_H
#define TORT_FIRMWARE_CODE_SOFTMAX_BYTES_H

#include <stdint.h>

typedef struct tinyort_softmax_bytes_shape {
    int32_t outer, length, inner, flip, parts, zero, low, high;
} tinyort_softmax_bytes_shape;

static void tinyort_softmax_bytes(const tinyort_softmax_bytes_shape *s, const void *x, const uint32_t *powers,
                                  void *y) {
    for (int32_t lane = 0; lane < s->outer * s->inner; lane++) {
        const int32_t first = lane / s->inner * s->inner * s->length + lane % s->inner;
        const uint8_t *from = (const uint8_t *)x + first;
        uint8_t *to = (uint8_t *)y + first;
        int32_t max = 0;
        uint32_t sum = 0;
        for (int32_t i = 0; i < s->length * s->inner; i += s->inner)
            if ((from[i] ^ s->flip) > max) max = from[i] ^ s->flip;
        for (int32_t i = 0; i < s->length * s->inner; i += s->inner) sum += powers[255 - max + (from[i] ^ s->flip)];
        for (int32_t i = 0; i < s->length * s->inner; i += s->inner) {
            const uint64_t part = (uint64_t)powers[255 - max + (from[i] ^ s->flip)] * (uint32_t)s->parts + sum / 2;
            const int64_t value = (int64_t)(part / sum) + s->zero;
            to[i] = (uint8_t)(value > s->high ? s->high : value < s->low ? s->low : value);
        }
    }
}

#endif
