/* concat_bytes.h - one part of a concatenation of bytes: `outer` pieces of `length`, each at place `at` of `pitch`
 * bytes of y; through a table of 256, or copied where scale and zero point stay (`same`). */
#ifndef TORT_FIRMWARE_CODE_CONCAT_BYTES_H
#define TORT_FIRMWARE_CODE_CONCAT_BYTES_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_concat_bytes_shape {
    int32_t outer, length, pitch, at, same;
} tinyort_concat_bytes_shape;

static void tinyort_concat_bytes(const tinyort_concat_bytes_shape *s, const void *x, const void *table, void *y) {
    const uint8_t *from = (const uint8_t *)x, *entries = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y + s->at;
    for (int32_t o = 0; o < s->outer; o++) {
        if (s->same != 0) {
            (void)memcpy(to, from, (size_t)s->length);
        }
        for (int32_t i = 0; (i < s->length) && !s->same; i++) {
            to[i] = entries[from[i]];
        }
        from += s->length;
        to += s->pitch;
    }
}

#endif
