/* exp_below.h - e^x for x <= 0 or NaN, within 1.5 ulp; 0 in place of subnormal results. */
#ifndef TORT_FIRMWARE_CODE_EXP_BELOW_H
#define TORT_FIRMWARE_CODE_EXP_BELOW_H

#include "kernels/firmware/code/exp_reduced.h"

static inline float tinyort_exp_below(float x) {
    int32_t power;
    if (x < -87.33654f) {
        return 0.0f;
    }
    const float result = tinyort_exp_reduced(x, &power);
    return result * tinyort_power_of_two(power);
}

#endif
