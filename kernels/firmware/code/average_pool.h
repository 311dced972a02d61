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
    for (int32_t plane = 0; plane < s->planes; plane++, x += s->height * s->width)
        for (int32_t oh = 0; oh < s->out_h; oh++)
            for (int32_t ow = 0; ow < s->out_w; ow++) {
                int32_t top = oh * s->stride_h - s->top, left = ow * s->stride_w - s->left, seen = 0, rows = 0,
                        columns = 0;
                int32_t bottom = top + s->kernel_h * s->dilation_h, right = left + s->kernel_w * s->dilation_w;
                float sum = 0.0f;
                for (int32_t h = top; h < bottom && h < s->height + s->bottom; h += s->dilation_h) rows++;
                for (int32_t w = left; w < right && w < s->width + s->right; w += s->dilation_w) columns++;
                if (bottom > s->height) bottom = s->height;
                if (right > s->width) right = s->width;
                while (top < 0) top += s->dilation_h;
                while (left < 0) left += s->dilation_w;
                for (int32_t h = top; h < bottom; h += s->dilation_h)
                    for (int32_t w = left; w < right; w += s->dilation_w, seen++) sum += x[h * s->width + w];
                if (s->count_padding) seen = rows * columns;
                *y++ = seen ? sum / (float)seen : 0.0f;
            }
}

#endif
