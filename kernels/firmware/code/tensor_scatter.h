/* tensor_scatter.h - y is the cache x, (batch * outer, length, slice), with `count` slices of each update from
 * first[batch] on, which is 0 where there is no such; behind the end of a circular cache comes its begin, of another a
 * position that is out of range is clamped. y may lie over x. */
#ifndef TORT_FIRMWARE_CODE_TENSOR_SCATTER_H
#define TORT_FIRMWARE_CODE_TENSOR_SCATTER_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_tensor_scatter_shape {
    int32_t batch, outer, length, count, slice, circular; /* slice: in bytes */
} tinyort_tensor_scatter_shape;

static void tinyort_tensor_scatter(const tinyort_tensor_scatter_shape *s, const void *x, const void *updates,
                                   const int64_t *first, void *y) {
    const int32_t last = s->length - s->count;
    if (x != y) {
        (void)memcpy(y, x, (size_t)s->batch * (size_t)(s->outer * s->length * s->slice));
    }
    for (int32_t i = 0; i < (s->batch * s->outer * s->count); i++) {
        const int32_t row = i / s->count;
        int64_t at = first ? first[row / s->outer] : 0;
        if (at < 0) {
            at = 0;
        }
        if (s->circular != 0) {
            at %= s->length;
        }
        if (!s->circular && (at > last)) {
            at = last;
        }
        const int32_t to = (row * s->length) + (((int32_t)at + (i % s->count)) % s->length);
        (void)memcpy((unsigned char *)y + (to * s->slice), (const unsigned char *)updates + (i * s->slice),
                     (size_t)s->slice);
    }
}

#endif
