/* exp.h - e^x for any x, within 1.5 ulp. 2^n is made of two factors, so that subnormal results are right. */
#ifndef TORT_FIRMWARE_CODE_EXP_H
#define TORT_FIRMWARE_CODE_EXP_H

#include "kernels/firmware/code/exp_reduced.h"

#include <math.h>

static float tinyort_exp(float x) {
    int32_t power;
    if (!(x < 89.0f)) {
        return (x != x) ? x : INFINITY;
    }
    if (x < -104.0f) {
        return 0.0f;
    }
    const float result = tinyort_exp_reduced(x, &power) * tinyort_power_of_two(power / 2);
    return result * tinyort_power_of_two(power - (power / 2));
}

#endif
