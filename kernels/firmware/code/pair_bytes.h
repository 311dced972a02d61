/* pair_bytes.h - a sum or product of two tensors of bytes with scales, each broadcast to y of four axes d0 to d3, as
 * pair.h does it. flip is 0x80 for uint8.
 *
 * A sum is a * f0 + (b * f1 + f2), where f2 has all three zero points; a product is (a - f0) * (b - f1) * f2 + zero.
 * Both are rounded half to even: adding 1.5 * 2^23 rounds a float below 2^22 to an integer, which stands in the low
 * bits; results that may be larger are `far`. */
#ifndef TORT_FIRMWARE_CODE_PAIR_BYTES_H
#define TORT_FIRMWARE_CODE_PAIR_BYTES_H

#include "kernels/firmware/code/pair_bytes_shape.h"
#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/vector.h"

static int8_t tinyort_combine(const tinyort_pair_bytes_shape *s, int8_t a, int8_t b, float f0, float f1, float f2) {
    const int32_t flip = tinyort_flips(s->flip);
    const float p = (float)((int8_t)tinyort_flipped(a, s->flip) + flip);
    const float q = (float)((int8_t)tinyort_flipped(b, s->flip) + flip);
    float value, other;
    int32_t bits;
    if (s->multiplies != 0) {
        value = (p - f0) * (q - f1);
        value *= f2;
    } else {
        other = q * f1;
        other += f2;
        value = p * f0;
        value += other;
    }
#if !defined(TINYORT_COMPILED) || defined(TINYORT_FAR)
    if (s->far != 0) {
        if (value < -1000.0f) {
            value = -1000.0f;
        }
        if (value > 1000.0f) {
            value = 1000.0f;
        }
    }
#endif /* TINYORT_FAR */
    value += 12582912.0f;
    (void)memcpy(&bits, &value, sizeof bits);
    bits += s->zero - flip - 0x4b400000;
    return (int8_t)tinyort_flipped(tinyort_saturate(bits), s->flip);
}

static void tinyort_pair_bytes(const tinyort_pair_bytes_shape *s, const void *a, const void *b, void *y, float f0,
                               float f1, float f2) {
    const tinyort_pair_bytes_shape own = *s; /* stores to y cannot change it, so it stays in registers */
    int8_t *to = (int8_t *)y;
    for (int32_t i = 0; i < own.d0; i++) {
        for (int32_t j = 0; j < own.d1; j++) {
            for (int32_t k = 0; k < own.d2; k++) {
                const int8_t *as = (const int8_t *)a + (i * own.a0) + (j * own.a1) + (k * own.a2);
                const int8_t *bs = (const int8_t *)b + (i * own.b0) + (j * own.b1) + (k * own.b2);
                int32_t left = own.d3;
#if defined(__ARM_FEATURE_MVE)
                for (; !own.multiplies && !tinyort_flips(own.flip) && (own.a3 == 1) && (own.b3 == 1) && (left >= 4);
                     left -= 4) {
                    const float32x4_t p = vmulq_n_f32(vcvtq_f32_s32(vldrbq_s32(as)), f0);
                    const float32x4_t q = vaddq_n_f32(vmulq_n_f32(vcvtq_f32_s32(vldrbq_s32(bs)), f1), f2);
                    const int32x4_t value = vcvtnq_s32_f32(vaddq_f32(p, q)); /* saturates */
                    vstrbq_s32(to, vminq_s32(vmaxq_s32(value, vdupq_n_s32(-128)), vdupq_n_s32(127)));
                    as += 4;
                    bs += 4;
                    to += 4;
                }
#endif /* __ARM_FEATURE_MVE */
                for (; left > 0; left--) {
                    *to++ = tinyort_combine(&own, *as, *bs, f0, f1, f2);
                    as += own.a3;
                    bs += own.b3;
                }
            }
        }
    }
}

#endif
