/* max_pool.h - the maximum of a window over two axes of `planes` images. NaN wins over everything. A window that sees
 * only padding gives -INFINITY. */
#ifndef TORT_FIRMWARE_CODE_MAX_POOL_H
#define TORT_FIRMWARE_CODE_MAX_POOL_H

#include <math.h>
#include <stdint.h>

typedef struct tinyort_max_pool_shape {
    int32_t planes, height, width, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom, right;
} tinyort_max_pool_shape;

static void tinyort_max_pool(const tinyort_max_pool_shape *s, const float *x, float *y) {
    for (int32_t plane = 0; plane < s->planes; plane++, x += s->height * s->width)
        for (int32_t oh = 0; oh < s->out_h; oh++)
            for (int32_t ow = 0; ow < s->out_w; ow++) {
                float best = -INFINITY;
                for (int32_t kh = 0; kh < s->kernel_h; kh++) {
                    const int32_t h = oh * s->stride_h - s->top + kh * s->dilation_h;
                    if (h < 0 || h >= s->height) continue;
                    for (int32_t kw = 0; kw < s->kernel_w; kw++) {
                        const int32_t w = ow * s->stride_w - s->left + kw * s->dilation_w;
                        if (w < 0 || w >= s->width) continue;
                        const float value = x[h * s->width + w];
                        if (value > best || value != value) best = value;
                        if (value != value) kh = s->kernel_h, kw = s->kernel_w;
                    }
                }
                *y++ = best;
            }
}

#endif
