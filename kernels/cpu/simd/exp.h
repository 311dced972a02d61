/* exp.h - e^x of vectors, with the constants and the results of tort_expf. */
#ifndef TORT_KERNELS_CPU_SIMD_EXP_H
#define TORT_KERNELS_CPU_SIMD_EXP_H

#include "kernels/cpu/simd/intrinsics.h"

/* Returns e^r of x = n ln 2 + r, |r| <= ln 2 / 2; n is in the lowest bits of *shifted. */
INLINE vector exp_near(vector x, vector *shifted) {
    const vector round = broadcast(0x1.8p23f);
    *shifted = x * 0x1.715476p0f + round;
    const vector n = *shifted - round, r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    vector p = r * 0.001394121425f + 0.008363235074f;
    p = p * r + 0.04166637413f;
    p = p * r + 0.166665766464f;
    p = p * r + 0.500000002709f;
    return (p * r) * r + r + 1.0f;
}

/* e^x for x <= 0 only, and 0 where the result would be subnormal. NaN stays. */
INLINE vector exp_below_one(vector x) {
    vector shifted;
    const vector near = exp_near(x, &shifted), round = broadcast(0x1.8p23f), lowest = broadcast(-87);
#if X86 == 512
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ), near, shifted - round);
#else
    const mask power = ((mask)shifted - (mask)round + 127) << 23, vanishes = x < lowest;
    return (vector)(~vanishes & (mask)(near * (vector)power));
#endif
}

#if X86 == 512
/* e^x. One instruction scales by 2^n, whatever n is, where others need two factors. */
INLINE vector exp_any(vector x) {
    vector shifted;
    x = clamp(x, broadcast(-104), broadcast(89));
    const vector near = exp_near(x, &shifted);
    return _mm512_scalef_ps(near, shifted - broadcast(0x1.8p23f));
}
#endif

#endif
