/* depthwise.h - the loop over the outputs of a depthwise convolution: pixels where they are, or, at the border,
 * gathered into `room`, kernel_h * kernel_w * channels bytes. */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_H

#include "kernels/firmware/code/window_bytes.h"

static void tinyort_depthwise(const tinyort_depthwise_shape *s, const void *x, const int8_t *w, const int32_t *bias,
                              const float *factors, void *room, void *y) {
    const tinyort_sliding *v = &s->window.at;
    const int32_t channels = s->window.pixel, line = v->width * channels, pixels = v->out_h * v->out_w;
    const int32_t tall = (v->kernel_h - 1) * v->dilation_h, wide = (v->kernel_w - 1) * v->dilation_w;
    const int32_t way = s->downwards ? -1 : 1;
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *image = (const int8_t *)x + (n * v->height * line);
        int8_t *to = (int8_t *)y + (((n * pixels) + (s->downwards ? (pixels - 1) : 0)) * channels);
        for (int32_t i = 0; i < v->out_h; i++) {
            const int32_t oh = s->downwards ? (v->out_h - 1 - i) : i, h = (oh * v->stride_h) - v->top;
            for (int32_t k = 0; k < v->out_w; k++) {
                const int32_t ow = s->downwards ? (v->out_w - 1 - k) : k, column = (ow * v->stride_w) - v->left;
                const int32_t inside =
                    (h >= 0) && ((h + tall) < v->height) && (column >= 0) && ((column + wide) < v->width);
                if (!inside) {
                    tinyort_window(&s->window, image, oh, ow, (int8_t *)room);
                }
                tinyort_depthwise_pixel(s, inside ? (image + (h * line) + (column * channels)) : (const int8_t *)room,
                                        inside ? (v->dilation_h * line) : (v->kernel_w * channels),
                                        inside ? (v->dilation_w * channels) : channels, w, bias, factors, to);
                to += way * channels;
            }
        }
    }
}

#endif
