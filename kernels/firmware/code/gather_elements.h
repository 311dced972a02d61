/* gather_elements.h - element i of y is that of x at the same place, but for one axis, whose index is element i of
 * `indices`. x has `size` elements along that axis, and steps of xs elements along axes; y has `dims`. Indices are
 * as tinyort_index reads them. */
#ifndef TORT_FIRMWARE_CODE_GATHER_ELEMENTS_H
#define TORT_FIRMWARE_CODE_GATHER_ELEMENTS_H

#include "kernels/firmware/code/index.h"
#include "kernels/firmware/code/offset.h"

#include <string.h>

typedef struct tinyort_gather_elements_shape {
    int32_t element_bytes, count, size, step, narrow, rank, dims[8], xs[8];
} tinyort_gather_elements_shape;

static void tinyort_gather_elements(const tinyort_gather_elements_shape *s, const void *x, const void *indices,
                                    void *y) {
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t index = tinyort_index(indices, s->narrow, i, s->size);
        const int32_t at = tinyort_offset(i, s->rank, s->dims, s->xs) + index * s->step;
        memcpy((unsigned char *)y + i * s->element_bytes, (const unsigned char *)x + at * s->element_bytes,
               (size_t)s->element_bytes);
    }
}

#endif
