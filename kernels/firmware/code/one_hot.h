/* one_hot.h - y is (outer, depth, inner): at each index of `indices` (outer, inner), counted along depth and from its
 * end if it is negative, the second of two values, elsewhere the first; of an index out of range nowhere the second.
 * `type` is that of the indices, of load.h; a value has `element_bytes` bytes. */
#ifndef TORT_FIRMWARE_CODE_ONE_HOT_H
#define TORT_FIRMWARE_CODE_ONE_HOT_H

#include "kernels/firmware/code/load.h"

#include <string.h>

typedef struct tinyort_one_hot_shape {
    int32_t element_bytes, type, outer, depth, inner;
} tinyort_one_hot_shape;

static void tinyort_one_hot(const tinyort_one_hot_shape *s, const void *indices, const void *values, void *y) {
    unsigned char *to = (unsigned char *)y;
    for (int32_t outer = 0; outer < s->outer; outer++) {
        for (int32_t d = 0; d < s->depth; d++) {
            for (int32_t inner = 0; inner < s->inner; inner++) {
                int64_t index = tinyort_load(s->type, indices, (outer * s->inner) + inner);
                if (index < 0) {
                    index += s->depth;
                }
                (void)memcpy(to, (const unsigned char *)values + ((index == d) ? s->element_bytes : 0),
                             (size_t)s->element_bytes);
                to += s->element_bytes;
            }
        }
    }
}

#endif
