/* place.h - where entry i of a list of indices leads, in elements: i as an index of `rank` axes with `dims` and `steps`
 * has an offset, and each of the entry's `length` indices, along an axis of `sizes`, that many `strides`. Indices are
 * as tinyort_index reads them. */
#ifndef TORT_FIRMWARE_CODE_PLACE_H
#define TORT_FIRMWARE_CODE_PLACE_H

#include "kernels/firmware/code/axes.h"
#include "kernels/firmware/code/index.h"
#include "kernels/firmware/code/offset.h"

typedef struct tinyort_places {
    int32_t narrow, length, rank, dims[TINYORT_AXES], steps[TINYORT_AXES], sizes[TINYORT_AXES], strides[TINYORT_AXES];
} tinyort_places;

static int32_t tinyort_place(const tinyort_places *s, const void *indices, int32_t i) {
    int32_t at = tinyort_offset(i, s->rank, s->dims, s->steps);
    for (int32_t k = 0; k < s->length; k++) {
        at += tinyort_index(indices, s->narrow, (i * s->length) + k, s->sizes[k]) * s->strides[k];
    }
    return at;
}

#endif
