/* encoder.h - the value of the key that equals an element; the last value of the list if there is none. Keys are
 * numbers (load.h), and NaN equals NaN; values have `bytes`. Of equal keys the first counts, or, with `later`, the
 * last. */
#ifndef TORT_FIRMWARE_CODE_ENCODER_H
#define TORT_FIRMWARE_CODE_ENCODER_H

#include "kernels/firmware/code/load.h"

#include <string.h>

typedef struct tinyort_encoder_shape {
    int32_t count, type, keys, bytes, later;
} tinyort_encoder_shape;

static int32_t tinyort_encoder_key(const tinyort_encoder_shape *s, const void *x, int32_t i, const void *keys) {
    for (int32_t k = 0; k < s->keys; k++) {
        const int32_t at = s->later ? s->keys - 1 - k : k;
        if (s->type == 7) {
            const float value = ((const float *)x)[i], key = ((const float *)keys)[at];
            if (value == key || (value != value && key != key)) {
                return at;
            }
        } else if (tinyort_load(s->type, x, i) == tinyort_load(s->type, keys, at)) {
            return at;
        }
    }
    return s->keys;
}

static void tinyort_encoder(const tinyort_encoder_shape *s, const void *x, const void *keys, const void *values,
                            void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t at = tinyort_encoder_key(s, x, i, keys);
        memcpy((unsigned char *)y + i * s->bytes, (const unsigned char *)values + at * s->bytes, (size_t)s->bytes);
    }
}

#endif
