/* average_bytes.h - the average of a window over bytes whose channels are last, of another scale: of the positions that
 * lie in the image, or, with count_padding, in the padded image. room: an int32_t for each channel. A window without a
 * position gives the zero point. */
#ifndef TORT_FIRMWARE_CODE_AVERAGE_BYTES_H
#define TORT_FIRMWARE_CODE_AVERAGE_BYTES_H

#include "kernels/firmware/code/average_factor.h"
#include "kernels/firmware/code/requantize.h"
#include "kernels/firmware/code/sliding.h"

typedef struct tinyort_average_bytes_shape {
    tinyort_bytes_shape rows;
    tinyort_sliding window;
    int32_t batch, x_zero, count_padding;
} tinyort_average_bytes_shape;

/* Positions of a window of `kernel` from `at` on that are before `end`, and, if `inside`, not before 0. */
static int32_t tinyort_positions(int32_t at, int32_t kernel, int32_t dilation, int32_t end, int32_t inside) {
    int32_t count = 0;
    for (int32_t k = 0; k < kernel; k++) {
        count += (at < end) && ((at >= 0) || !inside);
        at += dilation;
    }
    return count;
}

static void tinyort_average_pixel(const tinyort_average_bytes_shape *s, const int8_t *image, int32_t top, int32_t left,
                                  int32_t *sums) {
    const tinyort_sliding *v = &s->window;
    const int32_t channels = s->rows.filters;
    for (int32_t c = 0; c < channels; c++) {
        sums[c] = 0;
    }
    int32_t h = top;
    for (int32_t kh = 0; kh < v->kernel_h; kh++) {
        int32_t w = left;
        for (int32_t kw = 0; (kw < v->kernel_w) && (h >= 0) && (h < v->height); kw++) {
            const int8_t *from = image + (((h * v->width) + w) * channels);
            for (int32_t c = 0; (c < channels) && (w >= 0) && (w < v->width); c++) {
                sums[c] += (int8_t)tinyort_flipped(from[c], s->rows.x_flip) - s->x_zero;
            }
            w += v->dilation_w;
        }
        h += v->dilation_h;
    }
}

static void tinyort_average_bytes(const tinyort_average_bytes_shape *s, const void *x, void *room, void *y,
                                  float x_scale, float y_scale) {
    const tinyort_sliding *v = &s->window;
    const int32_t channels = s->rows.filters, padded = s->count_padding;
    const int8_t *image = (const int8_t *)x;
    int32_t *sums = (int32_t *)room, before = 0;
    float factor = 0.0f;
    int8_t *to = (int8_t *)y;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t oh = 0; oh < v->out_h; oh++) {
            for (int32_t ow = 0; ow < v->out_w; ow++) {
                const int32_t top = (oh * v->stride_h) - v->top, left = (ow * v->stride_w) - v->left;
                const int32_t count =
                    tinyort_positions(top, v->kernel_h, v->dilation_h, v->height + (padded ? v->bottom : 0), !padded) *
                    tinyort_positions(left, v->kernel_w, v->dilation_w, v->width + (padded ? v->right : 0), !padded);
                if (count != before) {
                    factor = tinyort_average_factor(x_scale, y_scale, count);
                }
                before = count;
                tinyort_average_pixel(s, image, top, left, sums);
                for (int32_t c = 0; c < channels; c++) {
                    to[c] = tinyort_requantize(&s->rows, sums[c], factor);
                }
                to += channels;
            }
        }
        image += v->height * v->width * channels;
    }
}

#endif
