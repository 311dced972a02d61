/* blocked_bytes.c - the inner loop of convolutions of bytes in the layout of ../blocked.h.
 *
 * A tile is some pixels by some vectors of filters, whose sums stay in registers: for four channels, each pixel
 * takes one broadcast word, and one product of four bytes per vector. Read next: byte_vector.h,
 * ../blocked_byte_conv.c. */
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/simd/byte_lanes.h"
#include "kernels/cpu/simd/byte_vector.h"

#include <string.h>

#define BLOCK_VECTORS (TORT_LANES / WIDTH)

/* Returns a word of pixel i; pointers are 4 pixels apart, as in blocked.c. */
INLINE const uint8_t *word_at(const uint8_t *const *groups, int64_t step, int i) {
    return groups[i / 4] + i % 4 * step;
}

INLINE mask made_at(const int32_t *made, int i, int v) {
    return *(const loose_mask *)(made + (i * BLOCKED_BYTE_VECTORS + v) * WIDTH);
}

void SIMD(tort_bytes_blocked_finish)(const tort_blocked_byte_tile *t, const int32_t *made);

/* Returns requantized sums, not rounded yet. No factor turns a sum into NaN. */
INLINE vector scaled(mask made, mask bias, vector factor) {
    return __builtin_convertvector(add_modulo(made, bias), vector) * factor;
}

/* Requantizes the sums of a block of filters. */
INLINE void finish_block(const tort_blocked_byte_tile *t, const int32_t *made, int block) {
    const bool is_signed = t->low < 0;
    const int32_t pixels = t->pixels, zero_point = t->zero_point;
    uint8_t *y = t->y + block * t->y_block;
    mask bias[BLOCK_VECTORS];
    vector factor[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        bias[v] = *(const loose_mask *)(t->bias + block * TORT_LANES + v * WIDTH);
        factor[v] = load(t->factors + block * TORT_LANES + v * WIDTH);
    }
    made += block * TORT_LANES;
    int32_t i = 0;
    for (; i + 4 / BLOCK_VECTORS <= pixels; i += 4 / BLOCK_VECTORS) {
        vector numbers[4];
        for (int n = 0; n < 4; n++) {
            const int v = n % BLOCK_VECTORS;
            numbers[n] = scaled(made_at(made, i + n / BLOCK_VECTORS, v), bias[v], factor[v]);
        }
        store_numbers(numbers, zero_point, is_signed, y + i * TORT_LANES);
    }
    for (; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++)
            store_number(scaled(made_at(made, i, v), bias[v], factor[v]), zero_point, is_signed,
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
        else
            finish_block(t, made, block);
    }
}

INLINE void finish_pixels(const tort_blocked_byte_tile *t, int pixels, int vectors, sums (*acc)[BLOCKED_BYTE_VECTORS]) {
    mask made[BLOCKED_BYTE_PIXELS][BLOCKED_BYTE_VECTORS];
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < vectors; v++) made[i][v] = total(acc[i][v]);
    SIMD(tort_bytes_blocked_finish)(t, (const int32_t *)(const void *)made);
}

/* Adds the products of a word at each pixel and the filters; `safe`: see tort_blocked_byte_tile. */
INLINE void add_word(int pixels, int vectors, bool safe, const uint8_t *const *groups, int64_t step, const uint8_t *w,
                     sums (*acc)[BLOCKED_BYTE_VECTORS]) {
    column filters[BLOCKED_BYTE_VECTORS];
    for (int v = 0; v < vectors; v++) filters[v] = column_of(*(const loose_mask *)(const void *)(w + v * WIDTH * 4));
    EACH_PART UNROLL for (int i = 0; i < pixels; i++) {
        const mask word = broadcast_part(word_at(groups, step, i), ALL_SIGNED, part);
        for (int v = 0; v < vectors; v++)
            acc[i][v] =
                safe ? add_safe(acc[i][v], word, filters[v], part) : add_column(acc[i][v], word, filters[v], part);
    }
}

/* Adds the products of words that have an order. */
INLINE void add_ordered(const tort_blocked_byte_tile *t, int pixels, int vectors, sums (*acc)[BLOCKED_BYTE_VECTORS]) {
    const int64_t step = t->x_step;
    const uint8_t *w = t->weights, *later = t->later;
    const int32_t *word = t->order, *safe = word + t->safe, *end = word + t->words;
    for (int part = 0; part < 2; part++)
        for (; word < (part ? end : safe); word++, w += vectors * WIDTH * 4, later += TORT_LANES * 4) {
            const uint8_t *groups[(BLOCKED_BYTE_PIXELS + 3) / 4];
            for (int g = 0; g < (pixels + 3) / 4; g++) groups[g] = t->x + t->places[*word] + 4 * g * step;
            __builtin_prefetch(later, 0, 2);
            add_word(pixels, vectors, part == 0, groups, step, w, acc);
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
    if (TURNED && t->order) {
        add_ordered(t, pixels, vectors, acc);
        finish_pixels(t, pixels, vectors, acc);
        return;
    }
    for (int64_t s = 0; s < t->span_count; s++) {
        const uint8_t *groups[(BLOCKED_BYTE_PIXELS + 3) / 4];
        for (int g = 0; g < (pixels + 3) / 4; g++) groups[g] = t->x + t->spans[s].offset + 4 * g * step;
        for (int64_t c = t->spans[s].count; c > 0; c--) {
            __builtin_prefetch(later, 0, 2);
            add_word(pixels, vectors, false, groups, step, w, acc);
            for (int g = 0; g < (pixels + 3) / 4; g++) groups[g] += 4;
            w += vectors * WIDTH * 4;
            later += TORT_LANES * 4;
        }
    }
    finish_pixels(t, pixels, vectors, acc);
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
#if BLOCKED_BYTE_PIXELS > 1
        CASE(2)
#endif
#if BLOCKED_BYTE_PIXELS > 2
        CASE(3)
        CASE(4)
#endif
#if BLOCKED_BYTE_PIXELS > 4
        CASE(5)
#endif
#if BLOCKED_BYTE_PIXELS > 5
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

/* ---- depthwise filters ------------------------------------------------------------------------------------------- */

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
/* From the end of the row: a quad is that of the pixel to the right, moved by one, and the pixel. */
void SIMD(tort_bytes_quads)(const uint8_t *row, int64_t pixels, uint8_t *quads);

void SIMD(tort_bytes_quads)(const uint8_t *row, int64_t pixels, uint8_t *quads) {
    mask quad[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) quad[v] = (mask){0};
    for (int64_t i = pixels - 1; i >= 0; i--)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            quad[v] = quad[v] << 8 | widen_bytes(row + i * TORT_LANES + v * WIDTH, false);
            *(loose_mask *)(void *)(quads + (i * BLOCK_VECTORS + v) * WIDTH * 4) = quad[v];
        }
}

/* pixels is a constant after inlining, so acc lives in registers. */
INLINE void sum_quads(const tort_depthwise_bytes *d, int pixels, mask (*made)[BLOCKED_BYTE_VECTORS]) {
    sums acc[TORT_DEPTHWISE_PIXELS][BLOCK_VECTORS];
    const uint8_t *row = d->x, *w = d->weights;
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) acc[i][v] = (sums){0};
    for (int64_t r = 0; r < d->rows; r++, row += d->row_step) {
        const uint8_t *x = row;
        for (int64_t q = 0; q < d->quads; q++, x += 16 * TORT_LANES, w += 4 * TORT_LANES) {
            mask weights[BLOCK_VECTORS];
            for (int v = 0; v < BLOCK_VECTORS; v++) weights[v] = *(const loose_mask *)(const void *)(w + v * WIDTH * 4);
            UNROLL
            for (int i = 0; i < pixels; i++)
                for (int v = 0; v < BLOCK_VECTORS; v++) {
                    const mask quad = *(const loose_mask *)(const void *)(x + i * d->x_step + v * WIDTH * 4);
                    acc[i][v] = add_products(acc[i][v], quad, weights[v]);
                }
        }
    }
    UNROLL
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) made[i][v] = total(acc[i][v]);
}

void SIMD(tort_bytes_depthwise)(const tort_depthwise_bytes *d, const tort_blocked_byte_tile *t);

void SIMD(tort_bytes_depthwise)(const tort_depthwise_bytes *d, const tort_blocked_byte_tile *t) {
    mask made[TORT_DEPTHWISE_PIXELS][BLOCKED_BYTE_VECTORS];
    switch (t->pixels) {
    case 1: sum_quads(d, 1, made); break;
    case 2: sum_quads(d, 2, made); break;
    case 3: sum_quads(d, 3, made); break;
    case 4: sum_quads(d, 4, made); break;
    case 5: sum_quads(d, 5, made); break;
    case 6: sum_quads(d, 6, made); break;
    case 7: sum_quads(d, 7, made); break;
    default: sum_quads(d, TORT_DEPTHWISE_PIXELS, made); break;
    }
    SIMD(tort_bytes_blocked_finish)(t, (const int32_t *)(const void *)made);
}
#endif
