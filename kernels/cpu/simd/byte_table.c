/* byte_table.c - y[i] = table[x[i]] for bytes: the table is sixteen tables of sixteen bytes, and a shuffle looks up
 * all bytes of a vector in one of them. A byte finds its entry in the table of its upper half and reads 0 in the
 * others. Read next: ../byte_table.c. */
#include "kernels/cpu/simd/intrinsics.h"

#include <string.h>

#if defined(__AVX512BW__)
typedef __m512i byte_vector;
#define VECTOR_BYTES 64
#define SHUFFLE _mm512_shuffle_epi8
#define ADD_SATURATED _mm512_adds_epu8
#define ALL(byte) _mm512_set1_epi8((char)(byte))
#define REPEAT(table) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(table)))
#elif defined(__AVX2__)
typedef __m256i byte_vector;
#define VECTOR_BYTES 32
#define SHUFFLE _mm256_shuffle_epi8
#define ADD_SATURATED _mm256_adds_epu8
#define ALL(byte) _mm256_set1_epi8((char)(byte))
#define REPEAT(table) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table)))
#endif

#ifdef VECTOR_BYTES
/* Shuffles index by the lower half of a byte below 128 and give 0 for other bytes: after adding 0x70 with
 * saturation, only bytes whose upper half was 0 remain below 128. */
INLINE void look_up(const byte_vector *tables, const uint8_t *x, uint8_t *y) {
    byte_vector bytes, found = ALL(0);
    memcpy(&bytes, x, sizeof bytes);
    UNROLL
    for (int h = 0; h < 16; h++) {
        const byte_vector place = ADD_SATURATED(bytes ^ ALL(h << 4), ALL(0x70));
        found |= SHUFFLE(tables[h], place);
    }
    memcpy(y, &found, sizeof found);
}

static int64_t look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count) {
    byte_vector tables[16];
    int64_t i = 0;
    if (count < VECTOR_BYTES) return 0;
    for (int h = 0; h < 16; h++) tables[h] = REPEAT(table + 16 * h);
    for (; i + VECTOR_BYTES <= count; i += VECTOR_BYTES) look_up(tables, x + i, y + i);
    return i;
}
#elif NEON == 64
/* Looks up in four tables of 64; a byte beyond its table reads 0. */
static int64_t look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count) {
    uint8x16x4_t tables[4];
    int64_t i = 0;
    for (int t = 0; t < 4; t++) tables[t] = vld1q_u8_x4(table + 64 * t);
    for (; i + 16 <= count; i += 16) {
        const uint8x16_t bytes = vld1q_u8(x + i);
        uint8x16_t found = vqtbl4q_u8(tables[0], bytes);
        for (int t = 1; t < 4; t++)
            found = vorrq_u8(found, vqtbl4q_u8(tables[t], vsubq_u8(bytes, vdupq_n_u8((uint8_t)(64 * t)))));
        vst1q_u8(y + i, found);
    }
    return i;
}
#else
/* A shuffle of 16 bytes is not faster than single bytes. */
static int64_t look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count) {
    (void)table, (void)x, (void)y, (void)count;
    return 0;
}
#endif

void SIMD(tort_simd_byte_table)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count) {
    for (int64_t i = look_up_vectors(table, x, y, count); i < count; i++) y[i] = table[x[i]];
}
