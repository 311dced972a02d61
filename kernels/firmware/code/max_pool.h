/* max_pool.h - the maximum of a window over two axes of `planes` images. NaN wins over everything. A window that sees
 * only padding gives -INFINITY. */
#ifndef TORT_FIRMWARE_CODE_MAX_POOL_H
#define TORT_FIRMWARE_CODE_MAX_POOL_H

#include <math.h>
#include "kernels/firmware/code/clip_window.h"

typedef struct tinyort_max_pool_shape {
    tinyort_sliding window;
    int32_t planes;
} tinyort_max_pool_shape;

static void tinyort_max_pool(const tinyort_max_pool_shape *s, const float *x, float *y) {
    for (int32_t plane = 0; plane < s->planes; plane++) {
        for (int32_t oh = 0; oh < s->window.out_h; oh++) {
            for (int32_t ow = 0; ow < s->window.out_w; ow++) {
                int32_t top = (oh * s->window.stride_h) - s->window.top,
                        left = (ow * s->window.stride_w) - s->window.left;
                int32_t bottom = top + (s->window.kernel_h * s->window.dilation_h),
                        right = left + (s->window.kernel_w * s->window.dilation_w);
                float best = -INFINITY;
                tinyort_clip_window(&s->window, &top, &left, &bottom, &right);
                for (int32_t h = top; h < bottom; h += s->window.dilation_h) {
                    for (int32_t w = left; w < right; w += s->window.dilation_w) {
                        const float value = x[(h * s->window.width) + w];
                        if ((value > best) || (value != value)) {
                            best = value;
                        }
                    }
                }
                *y++ = best;
            }
        }
        x += s->window.height * s->window.width;
    }
}

#endif
