/* average_factor_whole.h - average_factor.h without floats. */
#ifndef TORT_FIRMWARE_CODE_AVERAGE_FACTOR_WHOLE_H
#define TORT_FIRMWARE_CODE_AVERAGE_FACTOR_WHOLE_H

#include "kernels/firmware/code/number_product.h"
#include "kernels/firmware/code/number_quotient.h"

static float tinyort_average_factor(float x_scale, float y_scale, int32_t count) {
    const tinyort_number n = {count, 0};
    if (!count) {
        return 0.0f;
    }
    return tinyort_number_quotient(tinyort_number_of(x_scale), tinyort_number_product(tinyort_number_of(y_scale), n));
}

#endif
