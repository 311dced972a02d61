/* functions_whole.h - functions of whole numbers, in the form of functions.h: of two int64_t, which wrap; a
 * division by 0 gives 0. */
#ifndef TORT_FIRMWARE_CODE_FUNCTIONS_WHOLE_H
#define TORT_FIRMWARE_CODE_FUNCTIONS_WHOLE_H

#include <stdint.h>

static int64_t tinyort_whole_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t tinyort_whole_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t tinyort_whole_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t tinyort_whole_div(int64_t a, int64_t b) {
    return (b == 0) ? 0 : (b == -1) ? (int64_t)(~(uint64_t)a + 1u) : (a / b);
}

static int64_t tinyort_whole_fmod(int64_t a, int64_t b) {
    return ((b == 0) || (b == -1)) ? 0 : (a % b);
}

static int64_t tinyort_whole_mod(int64_t a, int64_t b) {
    const int64_t rest = ((b == 0) || (b == -1)) ? 0 : (a % b);
    return ((rest != 0) && ((rest < 0) != (b < 0))) ? (rest + b) : rest;
}

static int64_t tinyort_whole_max(int64_t a, int64_t b) {
    return (a > b) ? a : b;
}

static int64_t tinyort_whole_min(int64_t a, int64_t b) {
    return (a < b) ? a : b;
}

static int64_t tinyort_whole_equal(int64_t a, int64_t b) {
    return a == b;
}

static int64_t tinyort_whole_less(int64_t a, int64_t b) {
    return a < b;
}

static int64_t tinyort_whole_less_or_equal(int64_t a, int64_t b) {
    return a <= b;
}

static int64_t tinyort_whole_greater(int64_t a, int64_t b) {
    return a > b;
}

static int64_t tinyort_whole_greater_or_equal(int64_t a, int64_t b) {
    return a >= b;
}

static int64_t tinyort_whole_and(int64_t a, int64_t b) {
    return (a != 0) && (b != 0);
}

static int64_t tinyort_whole_or(int64_t a, int64_t b) {
    return (a != 0) || (b != 0);
}

static int64_t tinyort_whole_xor(int64_t a, int64_t b) {
    return (a != 0) != (b != 0);
}

static int64_t tinyort_whole_bit_and(int64_t a, int64_t b) {
    return a & b;
}

static int64_t tinyort_whole_bit_or(int64_t a, int64_t b) {
    return a | b;
}

static int64_t tinyort_whole_bit_xor(int64_t a, int64_t b) {
    return a ^ b;
}

/* One operand, a. */
static int64_t tinyort_whole_bit_not(int64_t a, int64_t b) {
    (void)b;
    return ~a;
}

/* By the width of the type and more, and by less than 0: 0, and -1 of a negative number that is shifted right. */
static int64_t tinyort_whole_shift_left(int64_t a, int64_t b) {
    return ((b < 0) || (b > 63)) ? 0 : (int64_t)((uint64_t)a << b);
}

static int64_t tinyort_whole_shift_right(int64_t a, int64_t b) {
    return a >> (((b < 0) || (b > 63)) ? 63 : b);
}

/* Modulo 2^64; of a negative power the part before the point. */
static int64_t tinyort_whole_pow(int64_t a, int64_t b) {
    uint64_t result = 1, square = (uint64_t)a;
    if (b < 0) {
        return ((a == 1) || (a == -1)) ? ((b % 2) ? a : 1) : 0;
    }
    for (; b; b /= 2) {
        if ((b % 2) != 0) {
            result *= square;
        }
        square *= square;
    }
    return (int64_t)result;
}

/* Quotient, remainder and right shift of uint64_t numbers, which int64_t holds as the same bits. By 0 the first two are
 * 0. */
static int64_t tinyort_unsigned_div(int64_t a, int64_t b) {
    return b ? (int64_t)((uint64_t)a / (uint64_t)b) : 0;
}

static int64_t tinyort_unsigned_mod(int64_t a, int64_t b) {
    return b ? (int64_t)((uint64_t)a % (uint64_t)b) : 0;
}

static int64_t tinyort_unsigned_shift_right(int64_t a, int64_t b) {
    return ((b < 0) || (b > 63)) ? 0 : (int64_t)((uint64_t)a >> b);
}

#endif
