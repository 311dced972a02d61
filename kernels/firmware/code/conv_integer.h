/* conv_integer.h - the convolution over two axes of bytes, each less its zero point, as sums of 32 bits that wrap: x is
 * (batch, channels, height, width), w is (filters, channels / groups, kernel_h, kernel_w). Zero points may be NULL;
 * that of filter m is m * w_zero elements behind the first. flips are 0x80 for uint8. Padding counts as the zero point.
 */
#ifndef TORT_FIRMWARE_CODE_CONV_INTEGER_H
#define TORT_FIRMWARE_CODE_CONV_INTEGER_H

#include "kernels/firmware/code/sliding.h"

typedef struct tinyort_conv_integer_shape {
    tinyort_sliding window;
    int32_t batch, channels, filters, groups, x_flip, w_flip, w_zero;
} tinyort_conv_integer_shape;

static void tinyort_conv_integer(const tinyort_conv_integer_shape *s, const void *x, const void *w, const void *x_zero,
                                 const void *w_zero, int32_t *y) {
    const uint8_t *from = (const uint8_t *)x, *weights = (const uint8_t *)w, *zero = (const uint8_t *)x_zero;
    const uint8_t *zeros = (const uint8_t *)w_zero;
    const tinyort_sliding *f = &s->window;
    const int32_t depth = s->channels / s->groups, filters = s->filters / s->groups, pixels = f->out_h * f->out_w;
    const int32_t left = (int8_t)((zero ? *zero : 0) ^ s->x_flip), plane = f->kernel_h * f->kernel_w;
    for (int32_t at = 0; at < (s->batch * s->filters * pixels); at++) {
        const int32_t m = at / pixels % s->filters, n = at / pixels / s->filters;
        const int32_t row = (at % pixels / f->out_w * f->stride_h) - f->top,
                      column = (at % f->out_w * f->stride_w) - f->left;
        const int32_t right = (int8_t)((zeros ? zeros[m * s->w_zero] : 0) ^ s->w_flip);
        const uint8_t *image = from + (((n * s->channels) + (m / filters * depth)) * f->height * f->width);
        uint32_t sum = 0;
        for (int32_t i = 0; i < (depth * plane); i++) {
            const int32_t h = row + (i % plane / f->kernel_w * f->dilation_h);
            const int32_t v = column + (i % f->kernel_w * f->dilation_w);
            if ((h < 0) || (h >= f->height) || (v < 0) || (v >= f->width)) {
                continue;
            }
            sum += (uint32_t)(((int8_t)(image[(((i / plane * f->height) + h) * f->width) + v] ^ s->x_flip) - left) *
                              ((int8_t)(weights[(m * depth * plane) + i] ^ s->w_flip) - right));
        }
        y[at] = (int32_t)sum;
    }
}

#endif
