/* average_pool.h - the average of a window over two axes of `planes` images, of the positions that lie in the image,
 * or, with count_padding, in the padded image. A window without one gives 0. */
#ifndef TORT_FIRMWARE_CODE_AVERAGE_POOL_H
#define TORT_FIRMWARE_CODE_AVERAGE_POOL_H

#include <stdint.h>

typedef struct tinyort_average_pool_shape {
    int32_t planes, height, width, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left, bottom, right, count_padding;
} tinyort_average_pool_shape;

static void tinyort_average_pool(const tinyort_average_pool_shape *s, const float *x, float *y) {
    const int32_t bottom = s->height + s->bottom, right = s->width + s->right;
    for (int32_t plane = 0; plane < s->planes; plane++, x += s->height * s->width)
        for (int32_t oh = 0; oh < s->out_h; oh++)
            for (int32_t ow = 0; ow < s->out_w; ow++) {
                int32_t seen = 0, counted = 0;
                float sum = 0.0f;
                for (int32_t kh = 0; kh < s->kernel_h; kh++)
                    for (int32_t kw = 0; kw < s->kernel_w; kw++) {
                        const int32_t h = oh * s->stride_h - s->top + kh * s->dilation_h;
                        const int32_t w = ow * s->stride_w - s->left + kw * s->dilation_w;
                        if (h < bottom && w < right) counted++;
                        if (h < 0 || h >= s->height || w < 0 || w >= s->width) continue;
                        sum += x[h * s->width + w];
                        seen++;
                    }
                if (s->count_padding) seen = counted;
                *y++ = seen ? sum / (float)seen : 0.0f;
            }
}

#endif
