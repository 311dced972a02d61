/* load.h - element i of an array of whole numbers: type 0 uint8_t or bool, 1 int8_t, 2 uint16_t, 3 int16_t, 4 uint32_t,
 * 5 int32_t, 6 int64_t; of 7, floats, the part before the point; of 9, uint64_t, 2^63 less, which keeps the order. */
#ifndef TORT_FIRMWARE_CODE_LOAD_H
#define TORT_FIRMWARE_CODE_LOAD_H

#include <stdint.h>

static int64_t tinyort_load(int32_t type, const void *x, int32_t i) {
    switch (type) {
    case 0: return ((const uint8_t *)x)[i];
    case 1: return ((const int8_t *)x)[i];
    case 2: return ((const uint16_t *)x)[i];
    case 3: return ((const int16_t *)x)[i];
    case 4: return ((const uint32_t *)x)[i];
    case 5: return ((const int32_t *)x)[i];
    case 6: return ((const int64_t *)x)[i];
    case 9: return (int64_t)(((const uint64_t *)x)[i] ^ 0x8000000000000000u);
    default: break;
    }
    const float value = ((const float *)x)[i];
    if (value != value) {
        return 0;
    }
    if (value >= 9223372036854775808.0f) {
        return INT64_MAX;
    }
    return (value < -9223372036854775808.0f) ? INT64_MIN : (int64_t)value;
}

#endif
