/* conv_transpose.h - the transposed convolution over two axes: x is (batch, channels, height, width), w is (channels,
 * filters / groups, kernel_h, kernel_w), y is (batch, filters, out_h, out_w). Element i of x adds to the outputs at
 * i * stride + k * dilation - begin; here each output collects what is added to it. */
#ifndef TORT_FIRMWARE_CODE_CONV_TRANSPOSE_H
#define TORT_FIRMWARE_CODE_CONV_TRANSPOSE_H

#include "kernels/firmware/code/sliding.h"

typedef struct tinyort_conv_transpose_shape {
    tinyort_sliding window;
    int32_t batch, channels, filters, groups;
} tinyort_conv_transpose_shape;

static void tinyort_conv_transpose(const tinyort_conv_transpose_shape *s, const float *x, const float *w,
                                   const float *bias, float *y) {
    const int32_t depth = s->channels / s->groups, filters = s->filters / s->groups;
    const int32_t plane = s->window.height * s->window.width, window = s->window.kernel_h * s->window.kernel_w;
    for (int32_t row = 0; row < (s->batch * s->filters); row++) {
        const int32_t m = row % s->filters, first = m / filters * depth;
        const float *image = x + (((row / s->filters * s->channels) + first) * plane);
        const float *taps = w + (((first * filters) + (m % filters)) * window);
        for (int32_t at = 0; at < (s->window.out_h * s->window.out_w); at++) {
            float sum = bias ? bias[m] : 0.0f;
            for (int32_t k = 0; k < window; k++) {
                const int32_t h =
                    (at / s->window.out_w) + s->window.top - (k / s->window.kernel_w * s->window.dilation_h);
                const int32_t v =
                    (at % s->window.out_w) + s->window.left - (k % s->window.kernel_w * s->window.dilation_w);
                if ((h < 0) || (v < 0) || (h % s->window.stride_h) || (v % s->window.stride_w)) {
                    continue;
                }
                if (((h / s->window.stride_h) >= s->window.height) || ((v / s->window.stride_w) >= s->window.width)) {
                    continue;
                }
                const float *from = image + (h / s->window.stride_h * s->window.width) + (v / s->window.stride_w);
                for (int32_t c = 0; c < depth; c++) {
                    const float product = from[c * plane] * taps[(c * filters * window) + k];
                    sum += product;
                }
            }
            *y++ = sum;
        }
    }
}

#endif
