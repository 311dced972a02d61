/* depthwise_float.h - a convolution whose filters have one channel each, four pixels of a row at a time.
 *
 * A plane of x is copied into `room` with its padding, and so wide that four pixels can always be read. w is (channels,
 * filters, kernel_h, kernel_w). */
#ifndef TORT_FIRMWARE_CODE_DEPTHWISE_FLOAT_H
#define TORT_FIRMWARE_CODE_DEPTHWISE_FLOAT_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/floats_shape.h"

static void tinyort_pad_plane(const tinyort_depthwise_float_shape *s, const float *x, float *to) {
    for (int32_t row = 0; row < s->rows; row++) {
        const int32_t h = row - s->window.top, line = h * s->window.width;
        const uint32_t width = ((h >= 0) && (h < s->window.height)) ? (uint32_t)s->window.width : 0;
        for (int32_t v = -s->window.left; v < (s->pitch - s->window.left); v++) {
            *to++ = ((uint32_t)v < width) ? x[line + v] : 0.0f;
        }
    }
}

/* Four pixels; three neighbouring taps share the loads of a row. */
static tinyort_four tinyort_window_sum(const tinyort_depthwise_float_shape *s, const float *x, const float *w) {
    const int32_t stride = s->window.stride_w;
    tinyort_four sum = tinyort_zeros;
    for (int32_t kh = 0; kh < s->window.kernel_h; kh++) {
        const float *from = x;
        if (s->dense != 0) {
            tinyort_multiply_add(sum, tinyort_load_four(x), w[0]);
            tinyort_multiply_add(sum, tinyort_load_four(x + 1), w[1]);
            tinyort_multiply_add(sum, tinyort_load_four(x + 2), w[2]);
            w += 3;
        } else {
            for (const float *end = w + s->window.kernel_w; w < end; w++) {
                const tinyort_four apart = {from[0], from[stride], from[2 * stride], from[3 * stride]};
                tinyort_multiply_add(sum, apart, *w);
                from += s->window.dilation_w;
            }
        }
        x += s->window.dilation_h * s->pitch;
    }
    return sum;
}

static void tinyort_depthwise_float(const tinyort_depthwise_float_shape *s, const float *x, const float *w,
                                    const float *bias, void *room, float *y, float low, float high) {
    const int32_t window = s->window.kernel_h * s->window.kernel_w;
    for (int32_t n = 0; n < (s->batch * s->channels * s->filters); n++) {
        const int32_t m = n % (s->channels * s->filters);
        if ((n % s->filters) == 0) {
            tinyort_pad_plane(s, x + (n / s->filters * s->window.height * s->window.width), (float *)room);
        }
        for (int32_t h = 0; h < s->window.out_h; h++) {
            for (int32_t v = 0; v < s->window.out_w; v += 4) {
                const float *from =
                    (const float *)room + (h * s->window.stride_h * s->pitch) + (v * s->window.stride_w);
                const tinyort_four four = tinyort_window_sum(s, from, w + (m * window));
                float sums[4];
                tinyort_store_four(sums, four);
                for (int32_t i = 0; (i < 4) && ((v + i) < s->window.out_w); i++) {
                    *y++ = tinyort_clamp(bias ? (sums[i] + bias[m]) : sums[i], low, high);
                }
            }
        }
    }
}

#endif
