/* real.h - element i of an array as a number of 53 bits: types of load.h and store.h, and 9 double, 10 float16, 11
 * bfloat16, 12 uint64_t. Whole numbers are cut to the bits of their type, NaN becomes 0. */
#ifndef TORT_FIRMWARE_CODE_REAL_H
#define TORT_FIRMWARE_CODE_REAL_H

#include "kernels/firmware/code/load.h"
#include "kernels/firmware/code/store.h"

#include <math.h>
#include <string.h>

static double tinyort_wide_power_of_two(int32_t power) {
    const uint64_t bits = (uint64_t)(power + 1023) << 52;
    double factor;
    (void)memcpy(&factor, &bits, sizeof factor);
    return factor;
}

/* A number of 16 bits, of which the low `bits` are its fraction, and the bits above them its power plus `bias`. */
static double tinyort_of_short(uint32_t code, int32_t bits, int32_t bias) {
    const int32_t power = (int32_t)(code & 0x7fff) >> bits, part = (int32_t)code & ((1 << bits) - 1);
    const double whole = (double)(power ? (part + (1 << bits)) : part);
    const double size = (power > (2 * bias)) ? part ? (double)NAN : (double)INFINITY
                                             : (whole * tinyort_wide_power_of_two((power ? power : 1) - bias - bits));
    return (code & 0x8000) ? -size : size;
}

/* The nearest such number, an even one of two. A fraction that is rounded up to 2 carries into the power. */
static uint16_t tinyort_to_short(double value, int32_t bits, int32_t bias) {
    const double size = (value < 0.0) ? -value : value;
    const int32_t infinite = ((2 * bias) + 1) << bits;
    uint64_t word;
    (void)memcpy(&word, &value, sizeof word);
    const int32_t sign = (word >> 63) ? 0x8000 : 0, least = 1 - bias;
    int32_t power = (int32_t)((word >> 52) & 0x7ff) - 1023;
    if (value != value) {
        return (uint16_t)(sign | infinite | (1 << (bits - 1)));
    }
    if (size > tinyort_wide_power_of_two(bias + 1)) {
        return (uint16_t)(sign | infinite);
    }
    if (power < least) {
        power = least;
    }
    const double scaled = size * tinyort_wide_power_of_two(bits - power), shifted = scaled + 6755399441055744.0;
    const int32_t whole = (int32_t)(shifted - 6755399441055744.0); /* 1.5 * 2^52: rounds to even */
    return (uint16_t)(sign | (((power + bias - 1) * (1 << bits)) + whole));
}

static double tinyort_load_real(int32_t type, const void *x, int32_t i) {
    switch (type) {
    case 7: return (double)((const float *)x)[i];
    case 9: return ((const double *)x)[i];
    case 10: return tinyort_of_short(((const uint16_t *)x)[i], 10, 15);
    case 11: return tinyort_of_short(((const uint16_t *)x)[i], 7, 127);
    case 12: return (double)((const uint64_t *)x)[i];
    default: return (double)tinyort_load(type, x, i);
    }
}

static void tinyort_store_real(int32_t type, void *y, int32_t i, double value) {
    const int32_t far = !((value >= -9223372036854775808.0) && (value < 9223372036854775808.0));
    const int64_t whole = !far ? (int64_t)value : (value != value) ? 0 : (value > 0.0) ? INT64_MAX : INT64_MIN;
    switch (type) {
    case 7: ((float *)y)[i] = (float)value; break;
    case 8: ((uint8_t *)y)[i] = value != 0.0; break;
    case 9: ((double *)y)[i] = value; break;
    case 10: ((uint16_t *)y)[i] = tinyort_to_short(value, 10, 15); break;
    case 11: ((uint16_t *)y)[i] = tinyort_to_short(value, 7, 127); break;
    case 12:
        if (value >= 18446744073709551616.0) {
            ((uint64_t *)y)[i] = UINT64_MAX;
        } else {
            ((uint64_t *)y)[i] = (value >= 0.0) ? (uint64_t)value : (uint64_t)whole;
        }
        break;
    default: tinyort_store(type, y, i, whole);
    }
}

#endif
