/* gather.h - picks slices of `slice` bytes by index: x is (outer, size, slice), y is (outer, count, slice). Indices are
 * as tinyort_index reads them. */
#ifndef TORT_FIRMWARE_CODE_GATHER_H
#define TORT_FIRMWARE_CODE_GATHER_H

#include "kernels/firmware/code/index.h"

#include <string.h>

typedef struct tinyort_gather_shape {
    int32_t outer, size, slice, count, narrow;
} tinyort_gather_shape;

static void tinyort_gather(const tinyort_gather_shape *s, const void *x, const void *indices, void *y) {
    unsigned char *to = (unsigned char *)y;
    for (int32_t outer = 0; outer < s->outer; outer++) {
        for (int32_t i = 0; i < s->count; i++) {
            const int32_t index = tinyort_index(indices, s->narrow, i, s->size);
            (void)memcpy(to, (const unsigned char *)x + (((outer * s->size) + index) * s->slice), (size_t)s->slice);
            to += s->slice;
        }
    }
}

#endif
