/* index.h - index i of a list of int32_t, if narrow, or of int64_t, along an axis of `size`: a negative one counts from
 * the end, one that is out of range is clamped. */
#ifndef TORT_FIRMWARE_CODE_INDEX_H
#define TORT_FIRMWARE_CODE_INDEX_H

#include <stdint.h>

static int32_t tinyort_index(const void *indices, int32_t narrow, int32_t i, int32_t size) {
    int64_t index = narrow ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
    if (index < 0) {
        index += size;
    }
    if (index < 0) {
        index = 0;
    }
    return (index < size) ? (int32_t)index : (size - 1);
}

#endif
