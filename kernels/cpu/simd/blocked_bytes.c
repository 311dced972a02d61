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

/* Returns requantized sums, not rounded yet. No factor turns a sum into NaN. */
INLINE vector scaled(const tort_blocked_byte_tile *t, const int32_t *made, int i, int v) {
    const mask sum = add_modulo(made_at(made, i, v), *(const loose_mask *)(t->bias + v * WIDTH));
    return __builtin_convertvector(sum, vector) * load(t->factors + v * WIDTH);
}

/* Requantizes the sums of a block of filters. */
INLINE void finish_block(const tort_blocked_byte_tile *t, const int32_t *made, int block, bool is_signed) {
    uint8_t *y = t->y + block * t->y_block;
    int i = 0;
    for (; i + 4 / BLOCK_VECTORS <= t->pixels; i += 4 / BLOCK_VECTORS) {
        vector numbers[4];
        for (int n = 0; n < 4; n++)
            numbers[n] = scaled(t, made, i + n / BLOCK_VECTORS, block * BLOCK_VECTORS + n % BLOCK_VECTORS);
        store_numbers(numbers, t->zero_point, is_signed, y + i * TORT_LANES);
    }
    for (; i < t->pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++)
            store_number(scaled(t, made, i, block * BLOCK_VECTORS + v), t->zero_point, is_signed,
                         y + i * TORT_LANES + v * WIDTH);
}

/* Requantizes or stores sums, of [pixels][BLOCKED_BYTE_VECTORS] vectors. One function for all sizes of tiles: not
 * inlined, so sums pass through memory. */
__attribute__((noinline)) void SIMD(tort_bytes_blocked_finish)(const tort_blocked_byte_tile *t, const int32_t *made) {
    for (int block = 0; block < t->blocks; block++) {
        if (t->sums)
            for (int i = 0; i < t->pixels; i++)
                for (int v = 0; v < BLOCK_VECTORS; v++) {
                    const mask bias = *(const loose_mask *)(t->bias + block * TORT_LANES + v * WIDTH);
                    *(loose_mask *)(t->sums + (block * t->pixels + i) * TORT_LANES + v * WIDTH) =
                        add_modulo(made_at(made, i, block * BLOCK_VECTORS + v), bias);
                }
        else if (t->low < 0)
            finish_block(t, made, block, true);
        else
            finish_block(t, made, block, false);
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
