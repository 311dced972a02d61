/* softmax_bytes.h - the softmax of bytes with scales, of `outer` times `inner` lanes of `length` elements, which are
 * `inner` apart. flip is 0x80 for int8, whose order it turns into that of uint8; low and high: the ends of y's type,
 * less its zero point.
 *
 * powers[255 - d] is e^x of the distance d from the largest element, of which 1 is 2^32 - 1. A quotient in steps of y's
 * scale is rounded half to even: adding 1.5 * 2^23 rounds a float below 2^22 to an integer, which stands in the low
 * bits. */
#ifndef TORT_FIRMWARE_CODE_SOFTMAX_BYTES_H
#define TORT_FIRMWARE_CODE_SOFTMAX_BYTES_H

#include "kernels/firmware/code/softmax_bytes_shape.h"

#include <string.h>

static void tinyort_softmax_bytes(const tinyort_softmax_bytes_shape *s, const void *x, const uint32_t *powers, void *y,
                                  float scale) {
    const float low = (float)s->low, high = (float)s->high;
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const int32_t first = (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        const uint8_t *from = (const uint8_t *)x + first;
        uint8_t *to = (uint8_t *)y + first;
        int32_t max = 0;
        uint64_t sum = 0;
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            if ((from[i] ^ s->flip) > max) {
                max = from[i] ^ s->flip;
            }
        }
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            sum += powers[255 - max + (from[i] ^ s->flip)];
        }
        const float factor = 1.0f / (scale * (float)sum);
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            float steps = (float)powers[255 - max + (from[i] ^ s->flip)] * factor;
            int32_t bits;
            steps = (steps < high) ? steps : high;
            steps = (steps > low) ? steps : low;
            steps += 12582912.0f;
            (void)memcpy(&bits, &steps, sizeof bits);
            to[i] = (uint8_t)(bits - 0x4b400000 + s->zero);
        }
    }
}

#endif
