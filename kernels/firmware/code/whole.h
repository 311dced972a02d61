/* whole.h - sums of whole numbers with a fraction of `bits` bits as bytes: rounded half to even, plus the zero point,
 * saturated; `flip` is 0x80 for uint8, whose bytes are computed as int8 less 128; else 0. */
#ifndef TORT_FIRMWARE_CODE_WHOLE_H
#define TORT_FIRMWARE_CODE_WHOLE_H

#include <stdint.h>

static int8_t tinyort_whole(int64_t sum, int32_t bits, int32_t zero, int32_t flip) {
    const int64_t half = (int64_t)1 << (bits - 1), floor = sum >> bits;
    const int64_t rest = sum - (floor * 2 * half);
    int64_t value = floor + ((rest > half) || ((rest == half) && (floor & 1))) + zero;
    value = (value < -128) ? -128 : (value > 127) ? 127 : value;
    return (int8_t)((int32_t)value ^ flip);
}

#endif
