/* intrinsics.h - the processor's own instructions, for sources that need more than the compiler's vector types.
 *
 * Separate from vector.h because <immintrin.h> alone takes longer to compile than most sources of this folder. */
#ifndef TORT_KERNELS_CPU_SIMD_INTRINSICS_H
#define TORT_KERNELS_CPU_SIMD_INTRINSICS_H

#include "kernels/cpu/simd/vector.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif WIDTH == 4
#include <nmmintrin.h>
#else
#include <immintrin.h>
#endif

/* Clamps to low..high and keeps NaN: x86 returns the second operand if either is NaN, Arm returns NaN. Comparisons
 * and masks would take four times as many instructions. */
static inline vector clamp(vector value, vector low, vector high) {
#if WIDTH == 16
    return _mm512_min_ps(high, _mm512_max_ps(low, value));
#elif WIDTH == 8
    return _mm256_min_ps(high, _mm256_max_ps(low, value));
#elif defined(__aarch64__)
    return vminq_f32(high, vmaxq_f32(low, value));
#else
    return _mm_min_ps(high, _mm_max_ps(low, value));
#endif
}

#endif
