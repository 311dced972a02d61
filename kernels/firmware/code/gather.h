/* gather.h - picks slices of `slice` bytes by index: x is (outer, size, slice), y is (outer, count, slice). Indices are
 * int32_t if narrow, otherwise int64_t; a negative one counts from the end, one that is out of range is clamped. */
#ifndef TORT_FIRMWARE_CODE_GATHER_H
#define TORT_FIRMWARE_CODE_GATHER_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_gather_shape {
    int32_t outer, size, slice, count, narrow;
} tinyort_gather_shape;

static void tinyort_gather(const tinyort_gather_shape *s, const void *x, const void *indices, void *y) {
    unsigned char *to = (unsigned char *)y;
    for (int32_t outer = 0; outer < s->outer; outer++)
        for (int32_t i = 0; i < s->count; i++, to += s->slice) {
            int64_t index = s->narrow ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
            if (index < 0) index += s->size;
            if (index < 0) index = 0;
            if (index >= s->size) index = s->size - 1;
            memcpy(to, (const unsigned char *)x + (outer * s->size + (int32_t)index) * s->slice, (size_t)s->slice);
        }
}

#endif
