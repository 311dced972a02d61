/* four.h - four floats: a vector where the processor has vectors of them (Helium with floats, NEON of Armv8-A), else a
 * struct, whose members compilers keep in registers as they do not an array's. Lanes never meet, so the bits of results
 * do not depend on it. */
#ifndef TORT_FIRMWARE_CODE_FOUR_H
#define TORT_FIRMWARE_CODE_FOUR_H

#include <math.h>
#include <stdint.h>

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE & 2
#include <arm_mve.h>
#define tinyort_vectors
#elif defined(__aarch64__)
#include <arm_neon.h>
#define tinyort_vectors
#endif /* __aarch64__ */

#if defined(tinyort_vectors)
typedef float32x4_t tinyort_four;
#define tinyort_zeros vdupq_n_f32(0.0f)
#define tinyort_load_four(from) vld1q_f32(from)
#define tinyort_store_four(to, four) vst1q_f32(to, four)
#else
typedef struct tinyort_four {
    float a, b, c, d;
} tinyort_four;
#define tinyort_zeros ((tinyort_four){0.0f, 0.0f, 0.0f, 0.0f})
#define tinyort_load_four(from) ((tinyort_four){(from)[0], (from)[1], (from)[2], (from)[3]})
#define tinyort_store_four(to, four) ((to)[0] = (four).a, (to)[1] = (four).b, (to)[2] = (four).c, (to)[3] = (four).d)
#endif /* tinyort_vectors */

#endif
