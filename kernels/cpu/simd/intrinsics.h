/* intrinsics.h - the processor's own instructions, for the sources that need what vectors of the compiler cannot say.
 *
 * Apart from vector.h because <immintrin.h> alone takes longer to compile than most sources of this folder. */
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

/* From low to high; NaN stays: the instructions of x86 give their second operand where either is NaN, those of Arm NaN.
 * Comparisons and masks would take four times as many. */
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
