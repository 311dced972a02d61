/* byte_lanes.h - conversion of a vector's worth of bytes to 32-bit lanes and back. __builtin_convertvector would
 * become single bytes where the processor has no instruction for the whole conversion. */
#ifndef TORT_KERNELS_CPU_SIMD_BYTE_LANES_H
#define TORT_KERNELS_CPU_SIMD_BYTE_LANES_H

#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#ifdef __aarch64__
INLINE mask widen_bytes(const uint8_t *from, bool is_signed) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(word));
    if (is_signed) return (mask)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes))));
    return (mask)vmovl_u16(vget_low_u16(vmovl_u8(bytes)));
}

/* Stores the lowest byte of each lane. */
INLINE void narrow_bytes(mask lanes, uint8_t *to) {
    const int16x4_t pairs = vmovn_s32((int32x4_t)lanes);
    const uint32_t word = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(pairs, pairs))), 0);
    memcpy(to, &word, sizeof word);
}
#else
INLINE mask widen_bytes(const uint8_t *from, bool is_signed) {
    __m128i bytes = _mm_setzero_si128();
    memcpy(&bytes, from, WIDTH);
#if WIDTH == 16
    return is_signed ? (mask)_mm512_cvtepi8_epi32(bytes) : (mask)_mm512_cvtepu8_epi32(bytes);
#elif WIDTH == 8
    return is_signed ? (mask)_mm256_cvtepi8_epi32(bytes) : (mask)_mm256_cvtepu8_epi32(bytes);
#else
    return is_signed ? (mask)_mm_cvtepi8_epi32(bytes) : (mask)_mm_cvtepu8_epi32(bytes);
#endif
}

/* Stores the lowest byte of each lane. */
INLINE void narrow_bytes(mask lanes, uint8_t *to) {
#if WIDTH == 16
    const __m128i bytes = _mm512_cvtepi32_epi8((__m512i)lanes);
#else
    const __m128i lowest = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
#if WIDTH == 8
    const __m256i whole = (__m256i)lanes;
    const __m128i low = _mm_shuffle_epi8(_mm256_castsi256_si128(whole), lowest);
    const __m128i bytes = _mm_unpacklo_epi32(low, _mm_shuffle_epi8(_mm256_extracti128_si256(whole, 1), lowest));
#else
    const __m128i bytes = _mm_shuffle_epi8((__m128i)lanes, lowest);
#endif
#endif
    memcpy(to, &bytes, WIDTH);
}
#endif

#endif
