/* offset.h - the offset of element `index`, counted in row-major order, of `rank` axes with the given steps. */
#ifndef TORT_FIRMWARE_CODE_OFFSET_H
#define TORT_FIRMWARE_CODE_OFFSET_H

#include <stdint.h>

static int32_t tinyort_offset(int32_t index, int32_t rank, const int32_t *dims, const int32_t *steps) {
    int32_t offset = 0;
    for (int32_t i = rank - 1; i >= 0; i--) {
        offset += index % dims[i] * steps[i];
        index /= dims[i];
    }
    return offset;
}

#endif
