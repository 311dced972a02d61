/* max_pool_bytes.h - the maximum of a window over bytes whose channels are last. flip is 0x80 for uint8, whose order it
 * turns into that of int8. A window that sees only padding gives the least byte. */
#ifndef TORT_FIRMWARE_CODE_MAX_POOL_BYTES_H
#define TORT_FIRMWARE_CODE_MAX_POOL_BYTES_H

#include <stdint.h>

typedef struct tinyort_max_pool_bytes_shape {
    int32_t batch, channels, flip, height, width, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
} tinyort_max_pool_bytes_shape;

static void tinyort_max_pool_bytes(const tinyort_max_pool_bytes_shape *s, const void *x, void *y) {
    const int8_t *image = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    for (int32_t n = 0; n < s->batch; n++, image += s->height * s->width * s->channels)
        for (int32_t oh = 0; oh < s->out_h; oh++)
            for (int32_t ow = 0; ow < s->out_w; ow++, to += s->channels) {
                for (int32_t c = 0; c < s->channels; c++) to[c] = (int8_t)(-128 ^ s->flip);
                for (int32_t kh = 0; kh < s->kernel_h; kh++)
                    for (int32_t kw = 0; kw < s->kernel_w; kw++) {
                        const int32_t h = oh * s->stride_h - s->top + kh * s->dilation_h;
                        const int32_t w = ow * s->stride_w - s->left + kw * s->dilation_w;
                        const int8_t *from = image + (h * s->width + w) * s->channels;
                        if (h < 0 || h >= s->height || w < 0 || w >= s->width) continue;
                        for (int32_t c = 0; c < s->channels; c++)
                            if ((int8_t)(from[c] ^ s->flip) > (int8_t)(to[c] ^ s->flip)) to[c] = from[c];
                    }
            }
}

#endif
