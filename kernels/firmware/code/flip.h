/* flip.h - the negation of bools; y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_FLIP_H
#define TORT_FIRMWARE_CODE_FLIP_H

#include <stdint.h>

typedef struct tinyort_flip_shape {
    int32_t count;
} tinyort_flip_shape;

static void tinyort_flip(const tinyort_flip_shape *s, const uint8_t *x, uint8_t *y) {
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = !x[i];
    }
}

#endif
