/* nbits.c - inner loops of MatMulNBits: rows of A times a panel of columns whose numbers stay packed.
 *
 * A vector holds one word of each of its columns. If A is in floats, a number is masked in its place within the
 * word, not shifted, and converted: the float is 2^(bits * place) too large, which the caller has divided out of A.
 * That is two instructions per number beside the multiplication. If A is in bytes, four numbers of a column are
 * multiplied at once. Read next: ../matmul_nbits.c, which packs. */
#include "kernels/cpu/simd/intrinsics.h"

enum { MAX_ROWS = 4, CHAINS = 4 }; /* rows at a time; independent sums, so that additions overlap */

typedef uint32_t words __attribute__((vector_size(WIDTH * 4)));
typedef uint32_t loose_words __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

INLINE words load_words(const uint32_t *from) {
    return *(const loose_words *)from;
}

/* Returns number j of each word times 2^(bits * j); the last number is shifted instead, as its float would be
 * negative. */
INLINE vector masked_number(words word, int bits, int j) {
    const int last = 32 / bits - 1;
    const words masked = j == last ? word >> (32 - bits) : word & (((1u << bits) - 1) << (bits * j));
    return __builtin_convertvector((mask)masked, vector);
}

INLINE vector zero_of(const tort_nbits_panel *p, int64_t block) {
    return p->zeros ? load(p->zeros + block * WIDTH) : broadcast(p->zero);
}

/* ---- A in floats ------------------------------------------------------------------------------------------------- */

INLINE void float_rows(const tort_nbits_panel *p, const tort_nbits_rows *r, int64_t row, int rows, int bits) {
    const int numbers = 32 / bits, chains = CHAINS / rows;
    const float *a = r->floats + row * r->k;
    const uint32_t *from = p->words;
    vector total[MAX_ROWS] = {{0}};
    for (int64_t block = 0; block < p->blocks; block++) {
        vector sums[CHAINS] = {{0}};
        for (int64_t w = 0; w < p->block_words; w++, from += WIDTH, a += numbers) {
            const words word = load_words(from);
            for (int j = 0; j < numbers; j++) {
                const vector b = masked_number(word, bits, j);
                for (int i = 0; i < rows; i++) sums[i * chains + j % chains] += b * broadcast(a[i * r->k + j]);
            }
        }
        const vector scale = load(p->scales + block * WIDTH), zero = zero_of(p, block);
        for (int i = 0; i < rows; i++) {
            vector sum = sums[i * chains];
            for (int c = 1; c < chains; c++) sum += sums[i * chains + c];
            total[i] += scale * (sum - zero * broadcast(r->sums[(row + i) * p->blocks + block]));
        }
    }
    for (int i = 0; i < rows; i++) store(r->y + (row + i) * r->y_stride, total[i]);
}

/* ---- A in bytes -------------------------------------------------------------------------------------------------- */

/* Sums of 16 bits, two per word, and the 32-bit sums that they add up to. */
#if X86 == 512
typedef __m512i pairs;
#define PAIRS_OF(b, a) _mm512_maddubs_epi16(b, a)
#define PAIRS_ADD(x, y) _mm512_add_epi16(x, y)
#define PAIRS_SUM(x) _mm512_madd_epi16(x, _mm512_set1_epi16(1))
#elif X86 == 256
typedef __m256i pairs;
#define PAIRS_OF(b, a) _mm256_maddubs_epi16(b, a)
#define PAIRS_ADD(x, y) _mm256_add_epi16(x, y)
#define PAIRS_SUM(x) _mm256_madd_epi16(x, _mm256_set1_epi16(1))
#elif NEON
typedef int16x8_t pairs;
INLINE pairs pairs_of(pairs b, pairs a) {
    const int8x16_t x = (int8x16_t)b, y = (int8x16_t)a;
    return vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y));
}
#define PAIRS_OF(b, a) pairs_of(b, a)
#define PAIRS_ADD(x, y) vaddq_s16(x, y)
#define PAIRS_SUM(x) vpaddlq_s16(x)
#elif X86
typedef __m128i pairs;
#define PAIRS_OF(b, a) _mm_maddubs_epi16(b, a)
#define PAIRS_ADD(x, y) _mm_add_epi16(x, y)
#define PAIRS_SUM(x) _mm_madd_epi16(x, _mm_set1_epi16(1))
#else
typedef int16_t pairs __attribute__((vector_size(WIDTH * 4)));
#define PAIRS_OF(b, a) ((255 & (b)) * ((a) << 8 >> 8) + ((b) >> 8) * ((a) >> 8))
#define PAIRS_ADD(x, y) ((x) + (y))
#define PAIRS_SUM(x) (((mask)(x) << 16 >> 16) + ((mask)(x) >> 16))
#endif

INLINE words broadcast_word(const int8_t *bytes) {
    uint32_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return (words){0} + word;
}

/* Returns part g of a word, as bytes of at most 4 bits: of 8 / bits parts, or of the two halves of 8-bit numbers. */
INLINE words part_of(words word, int bits, int g) {
    const int width = bits == 8 ? 4 : bits;
    return (word >> (g * width)) & (0x01010101u * ((1u << width) - 1));
}

/* Adds the products of `count` words: at most 32 numbers, so that sums of 15 * 127 fit 16 bits. */
INLINE void byte_words(const uint32_t *from, const int8_t *a, int64_t stride, int64_t count, int rows, int bits,
                       mask *sums) {
    const int parts = bits == 8 ? 2 : 8 / bits, numbers = 32 / bits;
    pairs low[MAX_ROWS], high[MAX_ROWS];
    for (int i = 0; i < rows; i++) low[i] = high[i] = (pairs){0};
    for (int64_t w = 0; w < count; w++, from += WIDTH, a += numbers) {
        const words word = load_words(from);
        for (int g = 0; g < parts; g++) {
            const words b = part_of(word, bits, g);
            for (int i = 0; i < rows; i++) {
                const words x = broadcast_word(a + i * stride + (bits == 8 ? 0 : 4 * g));
                pairs *sum = bits == 8 && g == 1 ? &high[i] : &low[i];
                *sum = PAIRS_ADD(*sum, PAIRS_OF((pairs)b, (pairs)x));
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        sums[i] += (mask)PAIRS_SUM(low[i]);
        if (bits == 8) sums[i] += (mask)PAIRS_SUM(high[i]) * 16;
    }
}

INLINE void byte_rows(const tort_nbits_panel *p, const tort_nbits_rows *r, int64_t row, int rows, int bits) {
    const int64_t max = bits, numbers = 32 / bits; /* words of 32 numbers */
    const int8_t *a = r->bytes + row * r->k;
    const uint32_t *from = p->words;
    vector total[MAX_ROWS] = {{0}};
    for (int64_t block = 0; block < p->blocks; block++) {
        mask sums[MAX_ROWS] = {{0}};
        for (int64_t w = 0; w < p->block_words; w += max) {
            const int64_t count = p->block_words - w < max ? p->block_words - w : max;
            byte_words(from, a, r->k, count, rows, bits, sums);
            from += count * WIDTH;
            a += count * numbers;
        }
        const vector scale = load(p->scales + block * WIDTH), zero = zero_of(p, block);
        for (int i = 0; i < rows; i++) {
            const int64_t at = (row + i) * p->blocks + block;
            const vector whole = __builtin_convertvector(sums[i], vector) - zero * broadcast(r->sums[at]);
            total[i] += scale * broadcast(r->scales[at]) * whole;
        }
    }
    for (int i = 0; i < rows; i++) store(r->y + (row + i) * r->y_stride, total[i]);
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

INLINE void some_rows(const tort_nbits_panel *p, const tort_nbits_rows *r, int64_t row, int rows, int bits) {
    if (r->scales)
        byte_rows(p, r, row, rows, bits);
    else
        float_rows(p, r, row, rows, bits);
}

INLINE void all_rows(const tort_nbits_panel *p, const tort_nbits_rows *r, int bits) {
    int64_t row = 0;
    for (; row + 4 <= r->count; row += 4) some_rows(p, r, row, 4, bits);
    if (row + 2 <= r->count) {
        some_rows(p, r, row, 2, bits);
        row += 2;
    }
    if (row < r->count) some_rows(p, r, row, 1, bits);
}

void SIMD(tort_simd_nbits_rows)(const tort_nbits_panel *panel, const tort_nbits_rows *rows) {
    switch (panel->bits) {
    case 2: all_rows(panel, rows, 2); return;
    case 4: all_rows(panel, rows, 4); return;
    default: all_rows(panel, rows, 8); return;
    }
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

INLINE void unpack_word(words word, int bits, int count, vector scale, vector less, float *out, int64_t stride) {
    for (int j = 0; j < count; j++) {
        const words number = (word >> (bits * j)) & ((1u << bits) - 1);
        store(out + j * stride, __builtin_convertvector((mask)number, vector) * scale - less);
    }
}

INLINE void unpack(const tort_nbits_panel *p, int64_t first, int64_t count, float *out, int64_t stride, int bits) {
    const int numbers = 32 / bits;
    const uint32_t *from = p->words + first * WIDTH;
    for (int64_t w = first; count > 0; w++, count -= numbers, from += WIDTH, out += numbers * stride) {
        const int64_t block = w / p->block_words;
        const vector scale = load(p->scales + block * WIDTH), less = scale * zero_of(p, block);
        if (count >= numbers)
            unpack_word(load_words(from), bits, numbers, scale, less, out, stride);
        else
            unpack_word(load_words(from), bits, (int)count, scale, less, out, stride);
    }
}

void SIMD(tort_simd_nbits_unpack)(const tort_nbits_panel *panel, int64_t first, int64_t count, float *out,
                                  int64_t stride) {
    switch (panel->bits) {
    case 2: unpack(panel, first, count, out, stride, 2); return;
    case 4: unpack(panel, first, count, out, stride, 4); return;
    default: unpack(panel, first, count, out, stride, 8); return;
    }
}
