/* log.h - the natural logarithm, within 2 ulp: x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). Of 0 it is -INFINITY, of
 * less NaN. */
#ifndef TORT_FIRMWARE_CODE_LOG_H
#define TORT_FIRMWARE_CODE_LOG_H

#include "kernels/firmware/code/polynomial.h"

#include <math.h>
#include <string.h>

static float tinyort_log(float x) {
    static const float c[] = {-0.078595458674f, 0.12881622396f,   -0.131287676328f,
                              0.141811961135f,  -0.166245531444f, 0.200022860841f,
                              -0.25000810428f,  0.333333167275f,  -0.5f};
    if (!(x > 0.0f)) {
        return (x == 0.0f) ? -INFINITY : NAN;
    }
    if (x == INFINITY) {
        return x;
    }
    const int32_t subnormal = x < 1.17549435e-38f;
    const float scaled = subnormal ? (x * 8388608.0f) : x;
    uint32_t bits;
    (void)memcpy(&bits, &scaled, sizeof bits);
    bits += 0x3f800000u - 0x3f3504f3u;
    const float n = (float)((int32_t)(bits >> 23) - 127 - (subnormal ? 23 : 0));
    bits = (bits & 0x7fffffu) + 0x3f3504f3u;
    float f;
    (void)memcpy(&f, &bits, sizeof f);
    f -= 1.0f;
    const float square = f * f, high = n * 0.693145752f, low = n * 1.42860677e-06f;
    const float rest = tinyort_polynomial(f, c, 9) * square;
    return ((low + rest) + f) + high;
}

#endif
