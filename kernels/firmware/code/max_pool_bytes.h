/* max_pool_bytes.h - the maximum of a window over bytes whose channels are last. flip is 0x80 for uint8, whose order it
 * turns into that of int8. A window that sees only padding gives the least byte. */
#ifndef TORT_FIRMWARE_CODE_MAX_POOL_BYTES_H
#define TORT_FIRMWARE_CODE_MAX_POOL_BYTES_H

#include "kernels/firmware/code/sliding.h"

typedef struct tinyort_max_pool_bytes_shape {
    tinyort_sliding window;
    int32_t batch, channels, flip;
} tinyort_max_pool_bytes_shape;

static void tinyort_max_pool_bytes(const tinyort_max_pool_bytes_shape *s, const void *x, void *y) {
    const int8_t *image = (const int8_t *)x;
    int8_t *to = (int8_t *)y;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t oh = 0; oh < s->window.out_h; oh++) {
            for (int32_t ow = 0; ow < s->window.out_w; ow++) {
                for (int32_t c = 0; c < s->channels; c++) {
                    to[c] = (int8_t)(-128 ^ s->flip);
                }
                for (int32_t kh = 0; kh < s->window.kernel_h; kh++) {
                    for (int32_t kw = 0; kw < s->window.kernel_w; kw++) {
                        const int32_t h = (oh * s->window.stride_h) - s->window.top + (kh * s->window.dilation_h);
                        const int32_t w = (ow * s->window.stride_w) - s->window.left + (kw * s->window.dilation_w);
                        const int8_t *from = image + (((h * s->window.width) + w) * s->channels);
                        if ((h < 0) || (h >= s->window.height) || (w < 0) || (w >= s->window.width)) {
                            continue;
                        }
                        for (int32_t c = 0; c < s->channels; c++) {
                            if ((int8_t)(from[c] ^ s->flip) > (int8_t)(to[c] ^ s->flip)) {
                                to[c] = from[c];
                            }
                        }
                    }
                }
                to += s->channels;
            }
        }
        image += s->window.height * s->window.width * s->channels;
    }
}

#endif
