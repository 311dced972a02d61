/* number.h - floats in whole numbers, m * 2^e, for processors without a unit of floats: results are those of floats,
 * which round half to even to 24 bits.
 *
 * Rounding a product to a float, and that to a whole number, gives what rounding once does, but near the middle between
 * two numbers: within 2^-18 of it, where results are bytes. There both are done. */
#ifndef TORT_FIRMWARE_CODE_NUMBER_H
#define TORT_FIRMWARE_CODE_NUMBER_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_number {
    int64_t m;
    int32_t e;
} tinyort_number;

/* Floats below the smallest normal one count as the smallest normal one. */
static tinyort_number tinyort_number_of(float value) {
    tinyort_number n;
    uint32_t bits;
    (void)memcpy(&bits, &value, sizeof bits);
    n.m = (int64_t)((bits & 0x7fffffu) | 0x800000u);
    n.e = (int32_t)(bits << 1 >> 24) - 150;
    if (!(bits << 1)) {
        n.m = 0;
    }
    if ((bits >> 31) != 0u) {
        n.m = -n.m;
    }
    return n;
}

/* m / 2^down, rounded half to even. */
static int64_t tinyort_shift_even(int64_t m, int32_t down) {
    if (down <= 0) {
        return m;
    }
    if (down > 62) {
        return 0;
    }
    const int64_t floor = m >> down, rest = m - (floor * ((int64_t)1 << down)), half = (int64_t)1 << (down - 1);
    return floor + ((rest > half) || ((rest == half) && (floor & 1)));
}

/* The number with at most `bits` bits. */
static tinyort_number tinyort_number_round(tinyort_number n, int32_t bits) {
    uint64_t size = (n.m < 0) ? (uint64_t)-n.m : (uint64_t)n.m;
    int32_t down = 0;
    for (; size >> bits; size >>= 1) {
        down++;
    }
    n.m = tinyort_shift_even(n.m, down);
    n.e += down;
    return n;
}

/* The number as a float, rounded to a whole number, within 1000. */
static int32_t tinyort_number_whole(tinyort_number n) {
    const int32_t down = -n.e - 8;
    if ((down >= 0) && (down < 63)) {
        const int64_t steps = n.m >> down; /* with 8 bits of fraction */
        const int32_t fraction = (int32_t)steps & 0xff;
        if (steps > 256000) {
            return 1000;
        }
        if (steps < -256000) {
            return -1000;
        }
        if ((fraction != 0x7f) && (fraction != 0x80)) {
            return ((int32_t)steps + 128) >> 8;
        }
    }
    n = tinyort_number_round(tinyort_number_round(n, 53), 24); /* wide products of doubles round first */
    if (n.e < 0) {
        n.m = tinyort_shift_even(n.m, -n.e);
    }
    for (; (n.e > 0) && (n.m > -1000) && (n.m < 1000); n.m *= 2) {
        n.e--;
    }
    return (int32_t)((n.m < -1000) ? -1000 : (n.m > 1000) ? 1000 : n.m);
}

#endif
