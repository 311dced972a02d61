/* conv_transpose.h - the transposed convolution over two axes: x is (batch, channels, height, width), w is (channels,
 * filters / groups, kernel_h, kernel_w), y is (batch, filters, out_h, out_w). Element i of x adds to the outputs at
 * i * stride + k * dilation - begin; here each output collects what is added to it. */
#ifndef TORT_FIRMWARE_CODE_CONV_TRANSPOSE_H
#define TORT_FIRMWARE_CODE_CONV_TRANSPOSE_H

#include <stdint.h>

typedef struct tinyort_conv_transpose_shape {
    int32_t batch, channels, height, width, filters, groups, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
} tinyort_conv_transpose_shape;

static void tinyort_conv_transpose(const tinyort_conv_transpose_shape *s, const float *x, const float *w,
                                   const float *bias, float *y) {
    const int32_t depth = s->channels / s->groups, filters = s->filters / s->groups;
    const int32_t plane = s->height * s->width, window = s->kernel_h * s->kernel_w;
    for (int32_t row = 0; row < s->batch * s->filters; row++) {
        const int32_t m = row % s->filters, first = m / filters * depth;
        const float *image = x + (row / s->filters * s->channels + first) * plane;
        const float *taps = w + (first * filters + m % filters) * window;
        for (int32_t at = 0; at < s->out_h * s->out_w; at++) {
            float sum = bias ? bias[m] : 0.0f;
            for (int32_t k = 0; k < window; k++) {
                const int32_t h = at / s->out_w + s->top - k / s->kernel_w * s->dilation_h;
                const int32_t v = at % s->out_w + s->left - k % s->kernel_w * s->dilation_w;
                if (h < 0 || v < 0 || h % s->stride_h || v % s->stride_w) continue;
                if (h / s->stride_h >= s->height || v / s->stride_w >= s->width) continue;
                const float *from = image + h / s->stride_h * s->width + v / s->stride_w;
                for (int32_t c = 0; c < depth; c++) {
                    const float product = from[c * plane] * taps[c * filters * window + k];
                    sum += product;
                }
            }
            *y++ = sum;
        }
    }
}

#endif
