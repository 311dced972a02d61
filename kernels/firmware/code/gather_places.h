/* gather_places.h - copies `bytes` bytes from each place in x, of `count`, to y. */
#ifndef TORT_FIRMWARE_CODE_GATHER_PLACES_H
#define TORT_FIRMWARE_CODE_GATHER_PLACES_H

#include "kernels/firmware/code/place.h"

#include <string.h>

typedef struct tinyort_gather_places_shape {
    tinyort_places places;
    int32_t element_bytes, bytes, count;
} tinyort_gather_places_shape;

static void tinyort_gather_places(const tinyort_gather_places_shape *s, const void *x, const void *indices, void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        (void)memcpy((unsigned char *)y + (i * s->bytes),
                     (const unsigned char *)x + (tinyort_place(&s->places, indices, i) * s->element_bytes),
                     (size_t)s->bytes);
    }
}

#endif
