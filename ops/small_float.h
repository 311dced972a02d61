/* small_float.h - floats of 16 bits and below: their formats, and single elements by a format. For numeric.c, and for
 * kernels of a device, which define SMALL_FLOAT_FUNCTION as their language declares functions.
 *
 * Encoding works on doubles, so that a value is rounded once whatever type it comes from. */
#ifndef TORT_OPS_SMALL_FLOAT_H
#define TORT_OPS_SMALL_FLOAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef SMALL_FLOAT_FUNCTION
#define SMALL_FLOAT_FUNCTION static inline
#endif

typedef enum special_values {
    SPECIAL_IEEE,    /* the top exponent is infinity and NaN */
    SPECIAL_TOP_NAN, /* no infinity; all ones is NaN, either sign */
    SPECIAL_MINUS_ZERO /* no infinity, no minus zero: its code is NaN */,
    SPECIAL_NONE /* finite values only */
} special_values;

typedef struct tort_float_format {
    int bits, mantissa, bias;
    uint32_t largest; /* code of the largest finite value */
    uint32_t nan;     /* code of the NaN that encoding makes, without its sign */
    special_values special;
} tort_float_format;

SMALL_FLOAT_FUNCTION uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

SMALL_FLOAT_FUNCTION float bits_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Selects without a branch; `mask` is all ones or zero. */
SMALL_FLOAT_FUNCTION uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no) {
    return (yes & mask) | (no & ~mask);
}

SMALL_FLOAT_FUNCTION bool is_nan_code(const tort_float_format *format, uint32_t code, uint32_t magnitude) {
    switch (format->special) {
    case SPECIAL_IEEE: return magnitude > format->largest + 1;
    case SPECIAL_TOP_NAN: return magnitude > format->largest;
    case SPECIAL_MINUS_ZERO: return code == format->nan;
    case SPECIAL_NONE: break;
    }
    return false;
}

/* Inlined with a constant format, the cases vanish and loops vectorise. */
SMALL_FLOAT_FUNCTION float decode(const tort_float_format *format, uint32_t code) {
    uint32_t top = (uint32_t)format->bits - 1, sign = code >> top << 31, magnitude = code & ((1u << top) - 1);
    float scale = bits_float((uint32_t)(254 - format->bias) << 23); /* 2^(127 - bias), as in half_to_float */
    uint32_t bits = float_bits(bits_float(magnitude << (23 - format->mantissa)) * scale);
    bits = choose(-(uint32_t)(magnitude > format->largest), 0x7f800000u, bits);
    bits = choose(-(uint32_t)is_nan_code(format, code, magnitude), 0x7fc00000u, bits);
    return bits_float(bits | sign);
}

/* Code 0 is 2^-127, a subnormal float. */
SMALL_FLOAT_FUNCTION float decode_e8m0(uint32_t code) {
    uint32_t bits = choose(-(uint32_t)(code == 0), 0x00400000u, code << 23);
    return bits_float(choose(-(uint32_t)(code == 0xff), 0x7fc00000u, bits));
}

/* Exponent of a double: |value| = fraction * 2^exponent with fraction in [1, 2); for a subnormal one -1023, fraction <
 * 1. */
SMALL_FLOAT_FUNCTION int exponent_of(uint64_t bits) {
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* Encodes as tort_encode_float8e8m0 does. Fractions from `up` on, in units of 2^-52, are rounded up. */
SMALL_FLOAT_FUNCTION uint32_t encode_e8m0(double value, uint64_t up, bool saturate) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = exponent_of(bits);
    if (value != value) return 0xff;
    if (exponent >= -127 && exponent <= 127) exponent += (bits & 0xfffffffffffffu) >= up;
    if (exponent > 127) return saturate ? 0xfe : 0xff;
    if (exponent < -127) return saturate ? 0 : 0xff;
    return (uint32_t)(exponent + 127);
}

/* Encodes as tort_encode_float does. */
SMALL_FLOAT_FUNCTION uint32_t encode(const tort_float_format *format, double value, bool saturate) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << (format->bits - 1);
    if (value != value) {
        bool one_nan = format->special == SPECIAL_MINUS_ZERO || format->special == SPECIAL_NONE;
        return one_nan ? format->nan : format->nan | sign;
    }
    uint32_t magnitude = format->largest + 1;
    int lowest = 1 - format->bias, exponent = exponent_of(bits);
    if (exponent <= 128) {
        if (exponent < lowest) exponent = lowest;
        /* Converts to units of the last place of that binade; adding 2^52 makes the addition round to an integer. */
        uint64_t unit_bits = (uint64_t)(format->mantissa - exponent + 1023) << 52;
        double unit;
        memcpy(&unit, &unit_bits, sizeof unit);
        double units = fabs(value) * unit + 0x1p52 - 0x1p52;
        magnitude = ((uint32_t)(exponent - lowest) << format->mantissa) + (uint32_t)units;
    }
    if (magnitude > format->largest) {
        if (saturate || format->special == SPECIAL_NONE) {
            magnitude = format->largest;
        } else if (format->special == SPECIAL_IEEE) {
            magnitude = format->largest + 1;
        } else {
            return format->special == SPECIAL_MINUS_ZERO ? format->nan : format->nan | sign;
        }
    }
    if (magnitude == 0 && format->special == SPECIAL_MINUS_ZERO) sign = 0;
    return magnitude | sign;
}

#endif
