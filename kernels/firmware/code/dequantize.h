/* dequantize.h - bytes as floats: (x - zero) * scale. flip is 0x80 for uint8. */
#ifndef TORT_FIRMWARE_CODE_DEQUANTIZE_H
#define TORT_FIRMWARE_CODE_DEQUANTIZE_H

#include <stdint.h>

typedef struct tinyort_dequantize_shape {
    int32_t count, zero, flip;
} tinyort_dequantize_shape;

static void tinyort_dequantize(const tinyort_dequantize_shape *s, const void *x, float *y, float scale) {
    const int8_t *from = (const int8_t *)x;
    for (int32_t i = 0; i < s->count; i++) {
        y[i] = (float)((int8_t)(from[i] ^ s->flip) + s->flip - s->zero) * scale;
    }
}

#endif
