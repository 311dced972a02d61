/* pair_bytes.h - a sum or product of two tensors of bytes with scales, each broadcast to y of four axes d0 to d3, as
 * pair.h does it. flip is 0x80 for uint8.
 *
 * A sum is a * f0 + (b * f1 + f2), where f2 has all three zero points; a product is (a - f0) * (b - f1) * f2 + zero.
 * Both are rounded half to even: adding 1.5 * 2^23 rounds a float below 2^22 to an integer, which stands in the low
 * bits. */
#ifndef TORT_FIRMWARE_CODE_PAIR_BYTES_H
#define TORT_FIRMWARE_CODE_PAIR_BYTES_H

#include <stdint.h>
#include <string.h>

typedef struct tinyort_pair_bytes_shape {
    int32_t multiplies, flip, zero, d0, d1, d2, d3, a0, a1, a2, a3, b0, b1, b2, b3;
} tinyort_pair_bytes_shape;

static int8_t tinyort_round_byte(float value, int32_t flip, int32_t zero) {
    const float low = (float)(-128 + flip - zero), high = (float)(127 + flip - zero);
    int32_t bits;
    if (value < low) value = low;
    if (value > high) value = high;
    value += 12582912.0f;
    memcpy(&bits, &value, sizeof bits);
    return (int8_t)((bits - 0x4b400000 + zero) & 0xff);
}

static void tinyort_pair_bytes(const tinyort_pair_bytes_shape *s, const void *a, const void *b, void *y, float f0,
                               float f1, float f2) {
    const int32_t flip = s->flip;
    int8_t *to = (int8_t *)y;
    for (int32_t i = 0; i < s->d0; i++)
        for (int32_t j = 0; j < s->d1; j++)
            for (int32_t k = 0; k < s->d2; k++) {
                const int8_t *as = (const int8_t *)a + i * s->a0 + j * s->a1 + k * s->a2;
                const int8_t *bs = (const int8_t *)b + i * s->b0 + j * s->b1 + k * s->b2;
                for (int32_t l = 0; l < s->d3; l++, as += s->a3, bs += s->b3) {
                    const float p = (float)((int8_t)(*as ^ flip) + flip), q = (float)((int8_t)(*bs ^ flip) + flip);
                    float value, other;
                    if (s->multiplies) {
                        value = (p - f0) * (q - f1);
                        value *= f2;
                    } else {
                        other = q * f1;
                        other += f2;
                        value = p * f0;
                        value += other;
                    }
                    *to++ = tinyort_round_byte(value, flip, s->zero);
                }
            }
}

#endif
