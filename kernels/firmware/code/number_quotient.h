/* number_quotient.h - a quotient of numbers above 0, of 24 bits at most, as a float; one that floats do not reach is 0.
 */
#ifndef TORT_FIRMWARE_CODE_NUMBER_QUOTIENT_H
#define TORT_FIRMWARE_CODE_NUMBER_QUOTIENT_H

#include "kernels/firmware/code/number.h"

static float tinyort_number_quotient(tinyort_number a, tinyort_number b) {
    tinyort_number q;
    for (; a.m < 0x1000000; a.m *= 2) {
        a.e--;
    }
    q.m = (a.m << 28) / b.m * 2;
    q.m += (q.m / 2 * b.m) != (a.m << 28); /* what is left moves the rounding */
    q.e = a.e - 29 - b.e;
    q = tinyort_number_round(q, 24);
    for (; q.m < 0x800000; q.m *= 2) {
        q.e--;
    }
    float value;
    const uint32_t bits = (q.e > -150) ? (((uint32_t)q.m & 0x7fffffu) | ((uint32_t)(q.e + 150) << 23)) : 0;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
