/* average_pool.h - the average of a window over two axes of `planes` images, of the positions that lie in the image,
 * or, with count_padding, in the padded image. A window without one gives 0. */
#ifndef TORT_FIRMWARE_CODE_AVERAGE_POOL_H
#define TORT_FIRMWARE_CODE_AVERAGE_POOL_H

#include "kernels/firmware/code/clip_window.h"

typedef struct tinyort_average_pool_shape {
    tinyort_sliding window;
    int32_t planes, count_padding;
} tinyort_average_pool_shape;

static void tinyort_average_pool(const tinyort_average_pool_shape *s, const float *x, float *y) {
    for (int32_t plane = 0; plane < s->planes; plane++) {
        for (int32_t oh = 0; oh < s->window.out_h; oh++) {
            for (int32_t ow = 0; ow < s->window.out_w; ow++) {
                int32_t top = (oh * s->window.stride_h) - s->window.top,
                        left = (ow * s->window.stride_w) - s->window.left, seen = 0, rows = 0, columns = 0;
                int32_t bottom = top + (s->window.kernel_h * s->window.dilation_h),
                        right = left + (s->window.kernel_w * s->window.dilation_w);
                float sum = 0.0f;
                for (int32_t h = top; (h < bottom) && (h < (s->window.height + s->window.bottom));
                     h += s->window.dilation_h) {
                    rows++;
                }
                for (int32_t w = left; (w < right) && (w < (s->window.width + s->window.right));
                     w += s->window.dilation_w) {
                    columns++;
                }
                tinyort_clip_window(&s->window, &top, &left, &bottom, &right);
                for (int32_t h = top; h < bottom; h += s->window.dilation_h) {
                    for (int32_t w = left; w < right; w += s->window.dilation_w) {
                        sum += x[(h * s->window.width) + w];
                        seen++;
                    }
                }
                if (s->count_padding != 0) {
                    seen = rows * columns;
                }
                *y++ = seen ? (sum / (float)seen) : 0.0f;
            }
        }
        x += s->window.height * s->window.width;
    }
}

#endif
