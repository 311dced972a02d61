/* halves.c - conversions between float and float16 or bfloat16. v2 has no instruction for float16. Read next:
 * ../halves.c. */
#include "kernels/cpu/simd/intrinsics.h"

#include "ops/numeric.h"

#include <string.h>

#if X86 == 512
static inline void widen(const uint16_t *x, float *y) {
    _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x)));
}

static inline void narrow(const float *x, uint16_t *y) {
    _mm256_storeu_si256((void *)y, _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}
#elif X86 == 256
static inline void widen(const uint16_t *x, float *y) {
    _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const void *)x)));
}

static inline void narrow(const float *x, uint16_t *y) {
    _mm_storeu_si128((void *)y, _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}
#elif NEON
static inline void widen(const uint16_t *x, float *y) {
    vst1q_f32(y, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))));
}

static inline void narrow(const float *x, uint16_t *y) {
    vst1_u16(y, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x))));
}
#endif

#if X86 > 128 || NEON
/* Widens whole vectors; the last one overlaps the one before it. */
void SIMD(tort_simd_from_float16)(const uint16_t *restrict x, float *restrict y, int64_t count) {
    if (count < WIDTH) {
        uint16_t halves[WIDTH] = {0};
        float floats[WIDTH];
        for (int64_t i = 0; i < count; i++) halves[i] = x[i];
        widen(halves, floats);
        for (int64_t i = 0; i < count; i++) y[i] = floats[i];
        return;
    }
    for (int64_t i = 0; i < count; i += WIDTH) {
        const int64_t at = i + WIDTH <= count ? i : count - WIDTH;
        widen(x + at, y + at);
    }
}

void SIMD(tort_simd_to_float16)(const float *restrict x, uint16_t *restrict y, int64_t count) {
    if (count < WIDTH) {
        uint16_t halves[WIDTH];
        float floats[WIDTH] = {0};
        for (int64_t i = 0; i < count; i++) floats[i] = x[i];
        narrow(floats, halves);
        for (int64_t i = 0; i < count; i++) y[i] = halves[i];
        return;
    }
    for (int64_t i = 0; i < count; i += WIDTH) {
        const int64_t at = i + WIDTH <= count ? i : count - WIDTH;
        narrow(x + at, y + at);
    }
}
#else
void SIMD(tort_simd_from_float16)(const uint16_t *x, float *y, int64_t count) {
    tort_load_floats(TORT_FLOAT16, x, 0, count, y);
}

void SIMD(tort_simd_to_float16)(const float *x, uint16_t *y, int64_t count) {
    tort_store_floats(TORT_FLOAT16, y, 0, count, x);
}
#endif

void SIMD(tort_simd_from_bfloat16)(const uint16_t *restrict x, float *restrict y, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)x[i] << 16;
        memcpy(y + i, &bits, sizeof bits);
    }
}

void SIMD(tort_simd_to_bfloat16)(const float *restrict x, uint16_t *restrict y, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = (bits >> 16) | 0x40u;
        y[i] = (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
    }
}
