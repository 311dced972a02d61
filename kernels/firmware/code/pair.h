/* pair.h - a + b, a - b, a * b or a / b (operation 0 to 3), each broadcast to y of four axes d0 to d3: a and b have
 * steps in elements along them, 0 where they are repeated. y may lie over an operand of its own shape. */
#ifndef TORT_FIRMWARE_CODE_PAIR_H
#define TORT_FIRMWARE_CODE_PAIR_H

#include <stdint.h>

typedef struct tinyort_pair_shape {
    int32_t operation, d0, d1, d2, d3, a0, a1, a2, a3, b0, b1, b2, b3;
} tinyort_pair_shape;

static void tinyort_pair(const tinyort_pair_shape *s, const float *a, const float *b, float *y) {
    for (int32_t i = 0; i < s->d0; i++)
        for (int32_t j = 0; j < s->d1; j++)
            for (int32_t k = 0; k < s->d2; k++) {
                const float *as = a + i * s->a0 + j * s->a1 + k * s->a2;
                const float *bs = b + i * s->b0 + j * s->b1 + k * s->b2;
                for (int32_t l = 0; l < s->d3; l++, as += s->a3, bs += s->b3)
                    *y++ = s->operation == 0   ? *as + *bs
                           : s->operation == 1 ? *as - *bs
                           : s->operation == 2 ? *as * *bs
                                               : *as / *bs;
            }
}

#endif
