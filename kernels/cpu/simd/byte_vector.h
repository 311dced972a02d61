/* byte_vector.h - sums of four products of bytes per lane: by the processor's instruction (VNNI of x86, DOT of Arm)
 * where the source is compiled for it, else in 16 bits. No variant saturates. */
#ifndef TORT_KERNELS_CPU_SIMD_BYTE_VECTOR_H
#define TORT_KERNELS_CPU_SIMD_BYTE_VECTOR_H

#include "kernels/cpu/bytes.h"
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#if NEON
#define ALL_SIGNED true /* both operands are signed; otherwise one of them is */
#else
#define ALL_SIGNED false
#endif

/* x86 before VNNI multiplies unsigned bytes a by signed bytes b as |b| * (a - 128) for b >= 0 and |b| * (127 - a) for
 * others: vpmaddubsw takes |b| as its unsigned operand and a ^ turn as its signed one, with a turn of 0x80 or 0x7f. Two
 * such products are at least 2 * 128 * -128 and at most 2 * 128 * 127, so their sum in 16 bits is exact, where a * b
 * itself would saturate. What is missing from a * b, 128 * b or 127 * b, depends on the column alone. Words of which
 * no pair of b is above 128 in sum need no turn (tort_byte_tile.order). */
#if X86 && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__) && !defined(TILE_MODEL)
#define TURNED 1
#else
#define TURNED 0
#endif

/* Tile of ../blocked.h that fills the registers: pixels by vectors of filters. */
#if defined(__AVX512VNNI__)
#define BLOCKED_BYTE_PIXELS 14
#define BLOCKED_BYTE_VECTORS 2
#elif defined(__AVXVNNI__) || X86 == 512
#define BLOCKED_BYTE_PIXELS 6
#define BLOCKED_BYTE_VECTORS 2
#elif X86 == 256
#define BLOCKED_BYTE_PIXELS 5
#define BLOCKED_BYTE_VECTORS 2
#elif defined(__ARM_FEATURE_DOTPROD)
#define BLOCKED_BYTE_PIXELS 6
#define BLOCKED_BYTE_VECTORS 4
#elif NEON == 32
#define BLOCKED_BYTE_PIXELS 1
#define BLOCKED_BYTE_VECTORS 4
#elif RVV
#define BLOCKED_BYTE_PIXELS 3
#define BLOCKED_BYTE_VECTORS 1
#else
#define BLOCKED_BYTE_PIXELS 2
#define BLOCKED_BYTE_VECTORS 4
#endif

typedef mask loose_mask __attribute__((aligned(4), may_alias));
typedef int16_t halves __attribute__((vector_size(WIDTH * 4)));
typedef uint16_t unsigned_halves __attribute__((vector_size(WIDTH * 4)));

#if NEON && !defined(__ARM_FEATURE_DOTPROD)
/* Sums of pairs of products: a word of four products has two. */
typedef struct sums {
    int32x4_t low, high;
} sums;

INLINE sums add_products(sums acc, mask a, mask b) {
    const int8x16_t x = (int8x16_t)a, y = (int8x16_t)b;
    acc.low = vpadalq_s16(acc.low, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    acc.high = vpadalq_s16(acc.high, vmull_high_s8(x, y));
    return acc;
}

INLINE mask total(sums acc) {
    return (mask)vpaddq_s32(acc.low, acc.high);
}

INLINE sums add_sums(sums a, sums b) {
    return (sums){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
#else
typedef mask sums;

#if defined(__AVX512VNNI__)
INLINE mask multiply_add(mask acc, mask is_unsigned, mask is_signed) {
    return (mask)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)is_unsigned, (__m512i)is_signed);
}
#elif defined(__AVXVNNI__)
INLINE mask multiply_add(mask acc, mask is_unsigned, mask is_signed) {
    return (mask)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)is_unsigned, (__m256i)is_signed);
}
#elif NEON
INLINE mask multiply_add(mask acc, mask a, mask b) {
    return (mask)vdotq_s32((int32x4_t)acc, (int8x16_t)a, (int8x16_t)b);
}
#elif X86
INLINE mask pairs(halves a, halves b) {
#if X86 == 512
    return (mask)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif X86 == 256
    return (mask)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    return (mask)_mm_madd_epi16((__m128i)a, (__m128i)b);
#endif
}

INLINE mask multiply_add(mask acc, mask is_unsigned, mask is_signed) {
    const halves even = (halves)is_unsigned & 255, odd = (halves)((unsigned_halves)is_unsigned >> 8);
    const halves s = (halves)is_signed;
    return add_modulo(add_modulo(acc, pairs(even, (halves)((unsigned_halves)s << 8) >> 8)), pairs(odd, s >> 8));
}
#else
INLINE mask part_of(mask words, bool is_signed, int byte) {
    return is_signed ? (mask)((modulo)words << (24 - 8 * byte)) >> 24 : words >> 8 * byte & 255;
}

INLINE mask multiply_add(mask acc, mask is_unsigned, mask is_signed) {
    for (int i = 0; i < 4; i++) acc = add_modulo(acc, part_of(is_unsigned, false, i) * part_of(is_signed, true, i));
    return acc;
}
#endif

INLINE sums add_products(sums acc, mask is_unsigned, mask is_signed) {
    return multiply_add(acc, is_unsigned, is_signed);
}

INLINE mask total(sums acc) {
    return acc;
}

INLINE sums add_sums(sums a, sums b) {
    return add_modulo(a, b);
}
#endif

/* Four bytes of each of several columns. */
typedef struct column {
    mask word;
#if TURNED
    mask size, turn;
#endif
} column;

#if TURNED
INLINE column column_of(mask word) {
#if X86 == 512
    const __m512i below = _mm512_movm_epi8(_mm512_movepi8_mask((__m512i)word));
    return (column){word, (mask)_mm512_abs_epi8((__m512i)word), (mask)(below ^ _mm512_set1_epi8(-128))};
#elif X86 == 256
    const __m256i below = _mm256_cmpgt_epi8(_mm256_setzero_si256(), (__m256i)word);
    return (column){word, (mask)_mm256_abs_epi8((__m256i)word), (mask)(below ^ _mm256_set1_epi8(-128))};
#else
    const __m128i below = _mm_cmpgt_epi8(_mm_setzero_si128(), (__m128i)word);
    return (column){word, (mask)_mm_abs_epi8((__m128i)word), (mask)(below ^ _mm_set1_epi8(-128))};
#endif
}

/* Adds products of unsigned and signed bytes, of which no two neighbours may leave 16 bits. */
INLINE mask add_two_and_two(mask acc, mask is_unsigned, mask is_signed) {
#if X86 == 512
    const halves two = (halves)_mm512_maddubs_epi16((__m512i)is_unsigned, (__m512i)is_signed);
#elif X86 == 256
    const halves two = (halves)_mm256_maddubs_epi16((__m256i)is_unsigned, (__m256i)is_signed);
#else
    const halves two = (halves)_mm_maddubs_epi16((__m128i)is_unsigned, (__m128i)is_signed);
#endif
    return add_modulo(acc, pairs(two, 1 - (halves){0}));
}

/* True if some pair of signed bytes is above TORT_SAFE_PAIR in sum of sizes. */
INLINE bool has_large_pair(mask word) {
#if X86 == 512
    const __m512i sizes = _mm512_maddubs_epi16(_mm512_abs_epi8((__m512i)word), _mm512_set1_epi8(1));
    return _mm512_cmpgt_epi16_mask(sizes, _mm512_set1_epi16(TORT_SAFE_PAIR)) != 0;
#elif X86 == 256
    const __m256i sizes = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)word), _mm256_set1_epi8(1));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(sizes, _mm256_set1_epi16(TORT_SAFE_PAIR))) != 0;
#else
    const __m128i sizes = _mm_maddubs_epi16(_mm_abs_epi8((__m128i)word), _mm_set1_epi8(1));
    return _mm_movemask_epi8(_mm_cmpgt_epi16(sizes, _mm_set1_epi16(TORT_SAFE_PAIR))) != 0;
#endif
}

INLINE mask add_turned(mask acc, mask row, column c) {
    return add_two_and_two(acc, c.size, row ^ c.turn);
}
#else
INLINE column column_of(mask word) {
    return (column){word};
}
#endif

/* Products may be added in parts: byte after byte of all words, which leaves room in the registers for more sums. */
#ifdef RVV
#define EACH_PART for (int part = 0; part < 4; part++)

INLINE mask broadcast_part(const uint8_t *word, bool is_signed, int byte) {
    return (is_signed ? (int8_t)word[byte] : word[byte]) - (mask){0};
}

INLINE sums add_part(sums acc, mask a, mask b) {
    return add_modulo(acc, a * b);
}
#else
#define EACH_PART
#define part_of(words, is_signed, part) (words)
#define broadcast_part(word, is_signed, part) broadcast_word(word)
#define add_part add_products

INLINE mask broadcast_word(const uint8_t *from) {
    int32_t word;
    memcpy(&word, from, sizeof word);
    return word - (mask){0};
}
#endif

/* Adds the products of rows, which are unsigned unless ALL_SIGNED, and a signed column. add_safe: of a safe word, see
 * tort_byte_tile. */
#if TURNED
#define add_column(acc, row, column, part) add_turned(acc, row, column)
#define add_safe(acc, row, column, part) add_two_and_two(acc, row, (column).word)
#else
#define add_safe add_column
#define add_column(acc, row, column, part) add_part(acc, row, part_of((column).word, true, part))
#endif

#endif
