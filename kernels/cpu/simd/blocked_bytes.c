/* blocked_bytes.c - the inner loop of convolutions of bytes in the layout of ../blocked.h.
 *
 * A tile is some pixels by some vectors of filters, whose sums stay in registers: for four channels, each pixel
 * takes one broadcast word, and one product of four bytes per vector. Read next: byte_vector.h,
 * ../blocked_byte_conv.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/simd/byte_lanes.h"
#include "kernels/cpu/simd/byte_vector.h"

#include <string.h>

#define UNROLL _Pragma("GCC unroll 16")

#define BLOCK_VECTORS (TORT_LANES / WIDTH)

/* Returns a word of pixel i; pointers are 4 pixels apart, as in blocked.c. */
INLINE mask word_at(const uint8_t *const *groups, int64_t step, int i) {
    int32_t word;
    memcpy(&word, groups[i / 4] + i % 4 * step, sizeof word);
    return word - (mask){0};
}

INLINE mask made_at(const int32_t *made, int i, int v) {
    return *(const loose_mask *)(made + (i * BLOCKED_BYTE_VECTORS + v) * WIDTH);
}

void SIMD(tort_bytes_blocked_finish)(const tort_blocked_byte_tile *t, const int32_t *made);

/* Requantizes or stores sums, of [pixels][BLOCKED_BYTE_VECTORS] vectors. One function for all sizes of tiles: not
 * inlined, so sums pass through memory. No factor turns a sum into NaN. Adding 1.5 * 2^23 rounds numbers below 2^22 to
 * an integer. */
__attribute__((noinline)) void SIMD(tort_bytes_blocked_finish)(const tort_blocked_byte_tile *t, const int32_t *made) {
    const int pixels = t->pixels, vectors = BLOCK_VECTORS * (BLOCKED_BYTE_VECTORS > BLOCK_VECTORS ? t->blocks : 1);
    const union {
        float number;
        int32_t bits;
    } round = {0x1.8p23f};
    const vector low = broadcast((float)(t->low - t->zero_point)), high = broadcast((float)(t->high - t->zero_point));
    const int32_t shift = t->zero_point - round.bits;
    for (int v = 0; v < vectors; v++) {
        const int block = v / BLOCK_VECTORS, within = v % BLOCK_VECTORS * WIDTH;
        const mask bias = *(const loose_mask *)(t->bias + v * WIDTH);
        const vector factor = load(t->factors + v * WIDTH);
        uint8_t *y = t->y + block * t->y_block + within;
        for (int i = 0; t->sums && i < pixels; i++)
            *(loose_mask *)(t->sums + (block * pixels + i) * TORT_LANES + within) =
                add_modulo(made_at(made, i, v), bias);
        for (int i = 0; !t->sums && i < pixels; i++) {
            const vector scaled = __builtin_convertvector(add_modulo(made_at(made, i, v), bias), vector) * factor;
            narrow_bytes((mask)(clamp(scaled, low, high) + round.number) + shift, y + i * TORT_LANES);
        }
    }
}

/* pixels and vectors are constants after inlining, so acc lives in registers. */
INLINE void multiply_pixels(const tort_blocked_byte_tile *t, int pixels, int vectors) {
    sums acc[BLOCKED_BYTE_PIXELS][BLOCKED_BYTE_VECTORS];
    const int64_t step = t->x_step;
    const uint8_t *w = t->weights, *later = t->later;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) acc[i][v] = (sums){0};
    for (int64_t s = 0; s < t->span_count; s++) {
        const uint8_t *groups[(BLOCKED_BYTE_PIXELS + 3) / 4];
        for (int g = 0; g < (pixels + 3) / 4; g++) groups[g] = t->x + t->spans[s].offset + 4 * g * step;
        for (int64_t c = t->spans[s].count; c > 0; c--) {
            mask row[BLOCKED_BYTE_VECTORS];
            for (int v = 0; v < vectors; v++) row[v] = *(const loose_mask *)(const void *)(w + v * WIDTH * 4);
            __builtin_prefetch(later, 0, 2);
            UNROLL
            for (int i = 0; i < pixels; i++) {
                const mask word = word_at(groups, step, i);
                for (int v = 0; v < vectors; v++) acc[i][v] = add_products(acc[i][v], word, row[v]);
            }
            for (int g = 0; g < (pixels + 3) / 4; g++) groups[g] += 4;
            w += vectors * WIDTH * 4;
            later += TORT_LANES * 4;
        }
    }
    mask made[BLOCKED_BYTE_PIXELS][BLOCKED_BYTE_VECTORS];
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) made[i][v] = total(acc[i][v]);
    SIMD(tort_bytes_blocked_finish)(t, (const int32_t *)(const void *)made);
}

#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        if (BLOCKED_BYTE_VECTORS > BLOCK_VECTORS && t->blocks > 1)                                                     \
            multiply_pixels(t, n, BLOCKED_BYTE_VECTORS);                                                               \
        else                                                                                                           \
            multiply_pixels(t, n, BLOCK_VECTORS);                                                                      \
        return;

void SIMD(tort_bytes_blocked_tile)(const tort_blocked_byte_tile *t) {
    switch (t->pixels) {
        CASE(1)
        CASE(2)
#if BLOCKED_BYTE_PIXELS > 2
        CASE(3)
        CASE(4)
#endif
#if BLOCKED_BYTE_PIXELS > 4
        CASE(5)
        CASE(6)
#endif
#if BLOCKED_BYTE_PIXELS > 6
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
#endif
    default: return;
    }
}
