/* intrinsics.h - the processor's own instructions, for sources that need more than the compiler's vector types.
 *
 * Separate from vector.h because <immintrin.h> alone takes longer to compile than most sources of this folder. */
#ifndef TORT_KERNELS_CPU_SIMD_INTRINSICS_H
#define TORT_KERNELS_CPU_SIMD_INTRINSICS_H

#include "kernels/cpu/simd/vector.h"

#include <string.h>

#if NEON
#include <arm_neon.h>
#if NEON == 32 /* has no such instructions; of a NaN in `a`, vmaxnm makes b */
#define vmull_high_s8(a, b) vmull_s8(vget_high_s8(a), vget_high_s8(b))
#define vpaddq_s16(a, b)                                                                                               \
    vcombine_s16(vpadd_s16(vget_low_s16(a), vget_high_s16(a)), vpadd_s16(vget_low_s16(b), vget_high_s16(b)))
#define vpaddq_s32(a, b)                                                                                               \
    vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)), vpadd_s32(vget_low_s32(b), vget_high_s32(b)))
#define vaddvq_s32(a) vget_lane_s32(vpadd_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)), vdup_n_s32(0)), 0)
#define vmaxnmq_f32(a, b) vbslq_f32(vcgtq_f32(a, b), a, b)
#define vminnmq_f32(a, b) vminq_f32(a, b)
#endif
#elif X86 == 128
#include <nmmintrin.h>
#elif X86
#include <immintrin.h>
#endif

/* An operation has forms for x86 and for Arm, and a last one in vector types, which says what it does, for processors
 * whose compilers need no more. */
INLINE vector either(mask condition, vector yes, vector no) {
    return (vector)((condition & (mask)yes) | (~condition & (mask)no));
}

/* Clamps to low..high and keeps NaN: x86 returns the second operand if either is NaN, Arm returns NaN. Comparisons
 * and masks would take four times as many instructions. */
static inline vector clamp(vector value, vector low, vector high) {
#if X86 == 512
    return _mm512_min_ps(high, _mm512_max_ps(low, value));
#elif X86 == 256
    return _mm256_min_ps(high, _mm256_max_ps(low, value));
#elif NEON
    return vminq_f32(high, vmaxq_f32(low, value));
#elif X86
    return _mm_min_ps(high, _mm_max_ps(low, value));
#else
    value = either(value < low, low, value);
    return either(value > high, high, value);
#endif
}

typedef float loose_half __attribute__((vector_size(WIDTH * 2), aligned(4), may_alias));

/* Half a vector of floats as a vector of doubles: compilers make several pieces of __builtin_convertvector. */
static inline doubles widened(const float *x) {
#if X86 == 512
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif X86 == 256
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
#elif NEON == 64
    return (doubles)vcvt_f64_f32(vld1_f32(x));
#elif X86
    return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i_u *)x)));
#else
    return __builtin_convertvector(*(const loose_half *)x, doubles);
#endif
}

static inline void store_narrowed(float *to, doubles value) {
#if X86 == 512
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(value));
#elif X86 == 256
    _mm_storeu_ps(to, _mm256_cvtpd_ps(value));
#elif NEON == 64
    vst1_f32(to, vcvt_f32_f64((float64x2_t)value));
#elif X86
    _mm_storel_pi((__m64_u *)to, _mm_cvtpd_ps(value));
#else
    *(loose_half *)to = __builtin_convertvector(value, loose_half);
#endif
}

#if X86 == 256
static inline __m256i first_lanes(int64_t count) {
    const __m256i lanes = {0x100000000, 0x300000002, 0x500000004, 0x700000006};
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
}
#endif

/* Loads `count` floats, WIDTH at most; the other lanes are 0. Put together on the stack they would have to reach the
 * cache before they can be loaded as a vector. */
INLINE vector load_some(const float *x, int64_t count) {
    if (count >= WIDTH) return load(x);
#if X86 == 512
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), x);
#elif X86 == 256
    return _mm256_maskload_ps(x, first_lanes(count));
#else
    vector some = {0};
    for (int64_t i = 0; i < count; i++) some[i] = x[i];
    return some;
#endif
}

/* Stores the first `count` elements, fewer than a vector. */
static inline void store_part(float *to, vector value, int64_t count) {
#if X86 == 512
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
#elif X86 == 256
    _mm256_maskstore_ps(to, first_lanes(count), value);
#elif WIDTH == 4
    if (count & 2) memcpy(to, &value, 2 * sizeof *to);
    if (count & 1) to[count - 1] = value[count - 1];
#else
    const float *from = (const float *)&value;
    for (int64_t size = WIDTH / 2; size > 0; size /= 2) {
        if (!(count & size)) continue;
        memcpy(to, from, (size_t)size * sizeof *to);
        to += size, from += size;
    }
#endif
}

/* Returns the larger one; NaN if either is NaN. x86 returns the second operand if either is NaN: here `best`, so that
 * only a NaN in `value` is to be put back. */
static inline vector larger(vector best, vector value) {
#if X86 == 512
    const vector max = _mm512_max_ps(value, best);
    return _mm512_mask_mov_ps(max, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), value);
#elif X86 == 256
    return _mm256_blendv_ps(_mm256_max_ps(value, best), value, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
#elif NEON
    return vmaxq_f32(best, value);
#elif X86
    const vector nan = _mm_cmpunord_ps(value, value);
    return _mm_or_ps(_mm_max_ps(value, best), nan); /* all bits set are a NaN, too */
#else
    return either((best > value) | (best != best), best, value);
#endif
}

#endif
