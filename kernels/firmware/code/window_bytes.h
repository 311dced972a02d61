/* window_bytes.h - the window of a convolution over bytes whose channels are last: rows of the kernel one after the
 * other, the zero point where the window is outside of the image. */
#ifndef TORT_FIRMWARE_CODE_WINDOW_BYTES_H
#define TORT_FIRMWARE_CODE_WINDOW_BYTES_H

#include "kernels/firmware/code/bytes_shape.h"

static void tinyort_window(const tinyort_window_shape *s, const int8_t *image, int32_t out_h, int32_t out_w,
                           int8_t *to) {
    const int32_t first = out_w * s->stride_w - s->left, n = s->channels;
    for (int32_t kh = 0; kh < s->kernel_h; kh++) {
        const int32_t h = out_h * s->stride_h - s->top + kh * s->dilation_h;
        for (int32_t kw = 0; kw < s->kernel_w; kw++, to += n) {
            const int32_t w = first + kw * s->dilation_w;
            const int8_t *from = image + (h * s->width + w) * s->pixel;
            if (h < 0 || h >= s->height || w < 0 || w >= s->width)
                for (int32_t i = 0; i < n; i++) to[i] = (int8_t)s->fill;
            else
                for (int32_t i = 0; i < n; i++) to[i] = (int8_t)(from[i] ^ s->flip);
        }
    }
}

#endif
