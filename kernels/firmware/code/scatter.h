/* scatter.h - y is x, of `bytes` bytes, with `inner` updates at each of `count` places: an update takes the place of
 * the element, or is joined with it by f, of floats, or g, of whole numbers with types of load.h and store.h. Updates
 * come in their order. Without x, y keeps what it has; it may lie over x. */
#ifndef TORT_FIRMWARE_CODE_SCATTER_H
#define TORT_FIRMWARE_CODE_SCATTER_H

#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/place.h"
#include "kernels/firmware/code/store.h"

#include <string.h>

typedef struct tinyort_scatter_shape {
    tinyort_places places;
    int32_t from, to, element_bytes, bytes, count, inner;
} tinyort_scatter_shape;

static void tinyort_scatter(const tinyort_scatter_shape *s, const void *x, const void *indices, const void *updates,
                            void *y, float (*f)(float, float), int64_t (*g)(int64_t, int64_t)) {
    if (x && (x != y)) {
        (void)memcpy(y, x, (size_t)s->bytes);
    }
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t first = tinyort_place(&s->places, indices, i), row = s->inner * s->element_bytes;
        if (!f && !g) {
            (void)memcpy((unsigned char *)y + (first * s->element_bytes), (const unsigned char *)updates + (i * row),
                         (size_t)row);
        }
        for (int32_t k = i * s->inner, at = first; (f || g) && (at < (first + s->inner)); k++) {
            if (f != NULL) {
                ((float *)y)[at] = f(((float *)y)[at], ((const float *)updates)[k]);
            } else {
                tinyort_store(s->to, y, at, g(tinyort_load(s->from, y, at), tinyort_load(s->from, updates, k)));
            }
            at++;
        }
    }
}

#endif
