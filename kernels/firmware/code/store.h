/* store.h - sets element i of an array to a whole number, cut to the bits of the type (load.h); 8: bool. */
#ifndef TORT_FIRMWARE_CODE_STORE_H
#define TORT_FIRMWARE_CODE_STORE_H

#include <stdint.h>

static void tinyort_store(int32_t type, void *y, int32_t i, int64_t value) {
    switch (type) {
    case 0: ((uint8_t *)y)[i] = (uint8_t)value; break;
    case 1: ((int8_t *)y)[i] = (int8_t)value; break;
    case 2: ((uint16_t *)y)[i] = (uint16_t)value; break;
    case 3: ((int16_t *)y)[i] = (int16_t)value; break;
    case 4: ((uint32_t *)y)[i] = (uint32_t)value; break;
    case 5: ((int32_t *)y)[i] = (int32_t)value; break;
    case 6: ((int64_t *)y)[i] = value; break;
    case 7: ((float *)y)[i] = (float)value; break;
    case 9: ((uint64_t *)y)[i] = (uint64_t)value ^ 0x8000000000000000u; break;
    default: ((uint8_t *)y)[i] = value != 0; break;
    }
}

#endif
