/* norm_bytes.h - (x - mean) / sqrt(variance + epsilon) * scale + bias of `rows` rows of `size` bytes, as bytes of
 * another scale, in whole numbers; y may be x.
 *
 * With d = size * x - sum and D = size * sum of squares - sum^2 + epsilon, in squares of x's steps, the quotient is
 * d / sqrt(D); D has 8 bits of fraction. `scales` and `biases` are in steps of y and 2^-20: one for each element of a
 * row, or, `by_row`, for each of `channels` rows in turn. */
#ifndef TORT_FIRMWARE_CODE_NORM_BYTES_H
#define TORT_FIRMWARE_CODE_NORM_BYTES_H

#include "kernels/firmware/code/whole.h"

typedef struct tinyort_norm_bytes_shape {
    int32_t rows, size, by_row, channels, x_flip, flip, zero, epsilon_low, epsilon_high;
} tinyort_norm_bytes_shape;

/* 2^61 / sqrt(x * 2^(2 * shift)) for the shift that makes it a number of 31 bits; 0 for 0. The root is found bit by
 * bit. */
static int64_t tinyort_inverse_root(uint64_t x, int32_t *shift) {
    uint64_t root = 0;
    *shift = 0;
    if (!x) {
        return 0;
    }
    for (; x < ((uint64_t)1 << 60); x <<= 2) {
        ++*shift;
    }
    for (int32_t bit = 30; bit >= 0; bit--) {
        const uint64_t next = root | ((uint64_t)1 << bit);
        if ((next * next) <= x) {
            root = next;
        }
    }
    return (int64_t)(((uint64_t)1 << 61) / root);
}

static void tinyort_norm_bytes(const tinyort_norm_bytes_shape *s, const void *x, const int32_t *scales,
                               const int32_t *biases, void *y) {
    const int8_t *from = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    const uint64_t epsilon = ((uint64_t)(uint32_t)s->epsilon_high << 32) | (uint32_t)s->epsilon_low;
    for (int32_t row = 0; row < s->rows; row++) {
        int32_t sum = 0, squares = 0, shift;
        for (int32_t i = 0; i < s->size; i++) {
            const int32_t value = (int8_t)(from[i] ^ s->x_flip);
            sum += value;
            squares += value * value;
        }
        const uint64_t spread = (uint64_t)(((int64_t)s->size * squares) - ((int64_t)sum * sum));
        const int64_t inverse = tinyort_inverse_root((spread << 8) + epsilon, &shift);
        const int32_t down = 35 - shift;
        for (int32_t i = 0; i < s->size; i++) {
            const int32_t k = s->by_row ? (row % s->channels) : i;
            const int32_t away = (s->size * (int8_t)(from[i] ^ s->x_flip)) - sum;
            const int64_t normal = ((away * inverse) + ((int64_t)1 << (down - 1))) >> down; /* in 2^-22 */
            to[i] =
                tinyort_whole((normal * scales[k]) + ((int64_t)biases[k] * ((int64_t)1 << 22)), 42, s->zero, s->flip);
        }
        from += s->size;
        to += s->size;
    }
}

#endif
