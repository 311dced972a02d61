/* requantize_two.h - requantize.h for two sums, for a processor with the DSP extension: one move takes both to the
 * registers of floats, one takes them back, and VCVTR rounds half to even. */
#ifndef TORT_FIRMWARE_CODE_REQUANTIZE_TWO_H
#define TORT_FIRMWARE_CODE_REQUANTIZE_TWO_H

#include "kernels/firmware/code/requantize.h"

static inline void tinyort_requantize_two(const tinyort_bytes_shape *s, int32_t y0, int32_t y1, float factor0,
                                          float factor1, int8_t *to0, int8_t *to1) {
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__) && !defined(TINYORT_WIDE)
    __asm__("vmov s14, s15, %[a], %[b]\n\t"
            "vcvt.f32.s32 s14, s14\n\t"
            "vcvt.f32.s32 s15, s15\n\t"
            "vmul.f32 s14, s14, %[f]\n\t"
            "vmul.f32 s15, s15, %[g]\n\t"
            "vcvtr.s32.f32 s14, s14\n\t"
            "vcvtr.s32.f32 s15, s15\n\t"
            "vmov %[a], %[b], s14, s15"
            : [a] "+r"(y0), [b] "+r"(y1)
            : [f] "t"(factor0), [g] "t"(factor1)
            : "s14", "s15");
    *to0 = (int8_t)tinyort_flipped(tinyort_saturate(y0 + s->zero), s->flip);
    *to1 = (int8_t)tinyort_flipped(tinyort_saturate(y1 + s->zero), s->flip);
#else
    *to0 = tinyort_requantize(s, y0, factor0);
    *to1 = tinyort_requantize(s, y1, factor1);
#endif /* TINYORT_WIDE */
}

#endif
