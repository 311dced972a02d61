/* softmax_bytes_whole.h - softmax_bytes.h without floats. */
#ifndef TORT_FIRMWARE_CODE_SOFTMAX_BYTES_WHOLE_H
#define TORT_FIRMWARE_CODE_SOFTMAX_BYTES_WHOLE_H

#include "kernels/firmware/code/number_product.h"
#include "kernels/firmware/code/number_quotient.h"
#include "kernels/firmware/code/softmax_bytes_shape.h"

static void tinyort_softmax_bytes(const tinyort_softmax_bytes_shape *s, const void *x, const uint32_t *powers, void *y,
                                  float scale) {
    const tinyort_number one = {1, 0};
    for (int32_t lane = 0; lane < (s->outer * s->inner); lane++) {
        const int32_t first = (lane / s->inner * s->inner * s->length) + (lane % s->inner);
        const uint8_t *from = (const uint8_t *)x + first;
        uint8_t *to = (uint8_t *)y + first;
        tinyort_number sum = {0, 0};
        int32_t max = 0;
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            if ((from[i] ^ s->flip) > max) {
                max = from[i] ^ s->flip;
            }
        }
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            sum.m += powers[255 - max + (from[i] ^ s->flip)];
        }
        const tinyort_number factor = tinyort_number_of(tinyort_number_quotient(
            one, tinyort_number_product(tinyort_number_of(scale), tinyort_number_round(sum, 24))));
        for (int32_t i = 0; i < (s->length * s->inner); i += s->inner) {
            tinyort_number steps = {powers[255 - max + (from[i] ^ s->flip)], 0};
            steps = tinyort_number_round(steps, 24);
            steps.m *= factor.m;
            steps.e += factor.e;
            int32_t value = tinyort_number_whole(steps);
            value = (value < s->low) ? s->low : (value > s->high) ? s->high : value;
            to[i] = (uint8_t)(value + s->zero);
        }
    }
}

#endif
