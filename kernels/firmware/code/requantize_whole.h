/* requantize_whole.h - requantize.h without floats. */
#ifndef TORT_FIRMWARE_CODE_REQUANTIZE_WHOLE_H
#define TORT_FIRMWARE_CODE_REQUANTIZE_WHOLE_H

#include "kernels/firmware/code/bytes_shape.h"
#include "kernels/firmware/code/number.h"

static inline int8_t tinyort_requantize(const tinyort_bytes_shape *s, int32_t sum, float factor) {
    tinyort_number n = tinyort_number_of(factor);
    n.m *= sum;
    int32_t value = tinyort_number_whole(n) + s->zero;
    value = (value < -128) ? -128 : (value > 127) ? 127 : value;
    return (int8_t)tinyort_flipped(value, s->flip);
}

#endif
