/* conv.h - the convolution over two axes: x is (batch, channels, height, width), w is (filters, channels / groups,
 * kernel_h, kernel_w), y is (batch, filters, out_h, out_w). z, of the shape of y, is added before the bounds.
 *
 * A product has a statement of its own, so that a compiler that contracts within expressions makes no FMA of it. */
#ifndef TORT_FIRMWARE_CODE_CONV_H
#define TORT_FIRMWARE_CODE_CONV_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/sliding.h"

typedef struct tinyort_conv_shape {
    tinyort_sliding window;
    int32_t batch, channels, filters, groups;
} tinyort_conv_shape;

static void tinyort_conv(const tinyort_conv_shape *s, const float *x, const float *w, const float *bias, const float *z,
                         float *y, float low, float high) {
    const int32_t depth = s->channels / s->groups, filters = s->filters / s->groups;
    const int32_t plane = s->window.height * s->window.width, window = s->window.kernel_h * s->window.kernel_w;
    int32_t at = 0;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t m = 0; m < s->filters; m++) {
            const float *image = x + (((n * s->channels) + (m / filters * depth)) * plane);
            const float *filter = w + (m * depth * window);
            for (int32_t oh = 0; oh < s->window.out_h; oh++) {
                for (int32_t ow = 0; ow < s->window.out_w; ow++) {
                    const int32_t row = (oh * s->window.stride_h) - s->window.top,
                                  column = (ow * s->window.stride_w) - s->window.left;
                    float sum = bias ? bias[m] : 0.0f;
                    for (int32_t c = 0; c < depth; c++) {
                        for (int32_t kh = 0; kh < s->window.kernel_h; kh++) {
                            const int32_t h = row + (kh * s->window.dilation_h);
                            if ((h < 0) || (h >= s->window.height)) {
                                continue;
                            }
                            const float *line = image + (c * plane) + (h * s->window.width);
                            const float *taps = filter + (c * window) + (kh * s->window.kernel_w);
                            for (int32_t kw = 0; kw < s->window.kernel_w; kw++) {
                                const int32_t i = column + (kw * s->window.dilation_w);
                                if ((i < 0) || (i >= s->window.width)) {
                                    continue;
                                }
                                const float product = line[i] * taps[kw];
                                sum += product;
                            }
                        }
                    }
                    if (z != NULL) {
                        sum += z[at];
                    }
                    y[at] = tinyort_clamp(sum, low, high);
                    at++;
                }
            }
        }
    }
}

#endif
