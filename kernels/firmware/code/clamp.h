/* clamp.h - the activation of a fused operator as two bounds: Relu is 0 and INFINITY, none is -INFINITY and INFINITY.
 *
 * NaN passes, as both comparisons are false for it. */
#ifndef TORT_FIRMWARE_CODE_CLAMP_H
#define TORT_FIRMWARE_CODE_CLAMP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static float tinyort_clamp(float x, float low, float high) {
    if (x < low) {
        x = low;
    }
    return (x > high) ? high : x;
}

#endif
