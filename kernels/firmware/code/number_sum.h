/* number_sum.h - the sum of two numbers of 24 bits as a float. */
#ifndef TORT_FIRMWARE_CODE_NUMBER_SUM_H
#define TORT_FIRMWARE_CODE_NUMBER_SUM_H

#include "kernels/firmware/code/number.h"

/* A term 38 bits or more below the other affects the rounded sum by its sign alone. */
static tinyort_number tinyort_number_sum(tinyort_number a, tinyort_number b) {
    if (!a.m || (b.m && (a.e < b.e))) {
        const tinyort_number other = a;
        a = b;
        b = other;
    }
    if (!b.m) {
        return a;
    }
    const int32_t apart = a.e - b.e, up = (apart < 38) ? apart : 38;
    a.m *= (int64_t)1 << up;
    a.e -= up;
    a.m += (up == apart) ? b.m : (b.m < 0) ? -1 : 1;
    return tinyort_number_round(a, 24);
}

#endif
