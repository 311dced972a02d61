/* byte_lanes.h - conversion of a vector's worth of bytes to 32-bit lanes and back. __builtin_convertvector would
 * become single bytes where the processor has no instruction for the whole conversion. */
#ifndef TORT_KERNELS_CPU_SIMD_BYTE_LANES_H
#define TORT_KERNELS_CPU_SIMD_BYTE_LANES_H

#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#if NEON
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
#elif X86
INLINE mask widen_bytes(const uint8_t *from, bool is_signed) {
    __m128i bytes = _mm_setzero_si128();
    memcpy(&bytes, from, WIDTH);
#if X86 == 512
    return is_signed ? (mask)_mm512_cvtepi8_epi32(bytes) : (mask)_mm512_cvtepu8_epi32(bytes);
#elif X86 == 256
    return is_signed ? (mask)_mm256_cvtepi8_epi32(bytes) : (mask)_mm256_cvtepu8_epi32(bytes);
#else
    return is_signed ? (mask)_mm_cvtepi8_epi32(bytes) : (mask)_mm_cvtepu8_epi32(bytes);
#endif
}

/* Stores the lowest byte of each lane. */
INLINE void narrow_bytes(mask lanes, uint8_t *to) {
#if X86 == 512
    const __m128i bytes = _mm512_cvtepi32_epi8((__m512i)lanes);
#else
    const __m128i lowest = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
#if X86 == 256
    const __m256i whole = (__m256i)lanes;
    const __m128i low = _mm_shuffle_epi8(_mm256_castsi256_si128(whole), lowest);
    const __m128i bytes = _mm_unpacklo_epi32(low, _mm_shuffle_epi8(_mm256_extracti128_si256(whole, 1), lowest));
#else
    const __m128i bytes = _mm_shuffle_epi8((__m128i)lanes, lowest);
#endif
#endif
    memcpy(to, &bytes, WIDTH);
}
#else
typedef uint8_t loose_bytes __attribute__((vector_size(WIDTH), aligned(1), may_alias));
typedef int8_t loose_signed __attribute__((vector_size(WIDTH), aligned(1), may_alias));

INLINE mask widen_bytes(const uint8_t *from, bool is_signed) {
    return is_signed ? __builtin_convertvector(*(const loose_signed *)from, mask)
                     : __builtin_convertvector(*(const loose_bytes *)from, mask);
}

/* Stores the lowest byte of each lane. */
INLINE void narrow_bytes(mask lanes, uint8_t *to) {
    *(loose_bytes *)to = __builtin_convertvector(lanes, loose_bytes);
}
#endif

/* ---- numbers to bytes -------------------------------------------------------------------------------------------- */

/* Clamps to low..high; NaN becomes low. */
INLINE vector clamp_number(vector value, vector low, vector high) {
#if X86 == 512
    return _mm512_min_ps(_mm512_max_ps(value, low), high);
#elif X86 == 256
    return _mm256_min_ps(_mm256_max_ps(value, low), high);
#elif NEON
    return vminnmq_f32(vmaxnmq_f32(value, low), high);
#elif X86
    return _mm_min_ps(_mm_max_ps(value, low), high);
#else
    return __builtin_elementwise_min(__builtin_elementwise_max(value, low), high);
#endif
}

/* Stores numbers as int8 or uint8: rounded half to even, then moved by the zero point, within the type's range. NaN
 * becomes the smallest byte. Adding 1.5 * 2^23 rounds numbers below 2^22 to an integer. */
INLINE void store_number(vector number, int32_t zero_point, bool is_signed, uint8_t *to) {
    const union {
        float number;
        int32_t bits;
    } round = {0x1.8p23f};
    const vector low = broadcast((float)((is_signed ? -128 : 0) - zero_point)),
                 high = broadcast((float)((is_signed ? 127 : 255) - zero_point));
    narrow_bytes((mask)(clamp_number(number, low, high) + round.number) + (zero_point - round.bits), to);
}

/* The same for four vectors. x86 narrows with saturation, twice, so that clamping takes one minimum: conversion of what
 * is too large makes the smallest int32, as of what is too small, and of NaN. uint8 is made as int8, of 128 less. Lanes
 * of 16 bytes then have to be put in order. */
INLINE void store_numbers(const vector *numbers, int32_t zero_point, bool is_signed, uint8_t *to) {
#if !X86
    for (int v = 0; v < 4; v++) store_number(numbers[v], zero_point, is_signed, to + v * WIDTH);
#elif X86 == 512
    const __m512 high = _mm512_set1_ps(0x1p16f);
    const __m512i zero = _mm512_set1_epi16((int16_t)(is_signed ? zero_point : zero_point - 128));
    __m512i whole[4];
    for (int v = 0; v < 4; v++) whole[v] = _mm512_cvtps_epi32(_mm512_min_ps(high, numbers[v]));
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero);
    const __m512i rest = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero);
    const __m512i flip = _mm512_set1_epi8(is_signed ? 0 : -128);
    const __m512i bytes = _mm512_packs_epi16(low, rest) ^ flip;
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, bytes));
#elif X86 == 256
    const __m256 high = _mm256_set1_ps(0x1p16f);
    const __m256i zero = _mm256_set1_epi16((int16_t)(is_signed ? zero_point : zero_point - 128));
    __m256i whole[4];
    for (int v = 0; v < 4; v++) whole[v] = _mm256_cvtps_epi32(_mm256_min_ps(high, numbers[v]));
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(whole[0], whole[1]), zero);
    const __m256i rest = _mm256_adds_epi16(_mm256_packs_epi32(whole[2], whole[3]), zero);
    const __m256i flip = _mm256_set1_epi8(is_signed ? 0 : -128);
    const __m256i bytes = _mm256_packs_epi16(low, rest) ^ flip;
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32(bytes, order));
#else
    const __m128 high = _mm_set1_ps(0x1p16f);
    const __m128i zero = _mm_set1_epi16((int16_t)(is_signed ? zero_point : zero_point - 128));
    __m128i whole[4];
    for (int v = 0; v < 4; v++) whole[v] = _mm_cvtps_epi32(_mm_min_ps(high, numbers[v]));
    const __m128i low = _mm_adds_epi16(_mm_packs_epi32(whole[0], whole[1]), zero);
    const __m128i rest = _mm_adds_epi16(_mm_packs_epi32(whole[2], whole[3]), zero);
    const __m128i flip = _mm_set1_epi8(is_signed ? 0 : -128);
    const __m128i bytes = _mm_packs_epi16(low, rest) ^ flip;
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
#endif
}

#endif
