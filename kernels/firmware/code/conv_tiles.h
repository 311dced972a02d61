/* conv_tiles.h - a convolution in tiles of four pixels and four filters: each number that is loaded takes part in four
 * products.
 *
 * w has filters in fours, whose weights take turns. The windows of four pixels are gathered into `room`, four floats
 * for each weight of a filter, unless a window is one pixel (`direct`): then the pixels of a channel are read where
 * they are, and the last four overlap those before them. */
#ifndef TORT_FIRMWARE_CODE_CONV_TILES_H
#define TORT_FIRMWARE_CODE_CONV_TILES_H

#include "kernels/firmware/code/clamp.h"
#include "kernels/firmware/code/floats_shape.h"

/* Gathers the windows of four pixels of y from p on; in place of pixels beyond the last, that of the last. */
static void tinyort_gather_windows(const tinyort_conv_tiles_shape *s, const float *x, int32_t p, float *room) {
    const int32_t last = (s->window.out_h * s->window.out_w) - 1, plane = s->window.height * s->window.width;
    for (int32_t i = 0; i < 4; i++) {
        const int32_t at = ((p + i) < last) ? (p + i) : last;
        const int32_t row = (at / s->window.out_w * s->window.stride_h) - s->window.top,
                      column = (at % s->window.out_w * s->window.stride_w) - s->window.left;
        float *to = room + i;
        for (int32_t c = 0; c < s->channels; c++) {
            for (int32_t kh = 0; kh < s->window.kernel_h; kh++) {
                const int32_t h = row + (kh * s->window.dilation_h), line = (c * plane) + (h * s->window.width);
                const uint32_t width = ((h >= 0) && (h < s->window.height)) ? (uint32_t)s->window.width : 0;
                for (int32_t kw = 0, v = column; kw < s->window.kernel_w; kw++) {
                    *to = ((uint32_t)v < width) ? x[line + v] : 0.0f;
                    v += s->window.dilation_w;
                    to += 4;
                }
            }
        }
    }
}

/* sums: (filter, pixel); the pixels of a channel are next to each other, channels `step` floats apart. */
static void tinyort_tile(const float *x, int32_t step, const float *w, int32_t depth, float *sums) {
    tinyort_four a = tinyort_zeros, b = a, c = a, d = a;
    for (const float *end = w + (4 * depth); w < end; w += 4) {
        const tinyort_four pixels = tinyort_load_four(x);
        tinyort_multiply_add(a, pixels, w[0]);
        tinyort_multiply_add(b, pixels, w[1]);
        tinyort_multiply_add(c, pixels, w[2]);
        tinyort_multiply_add(d, pixels, w[3]);
        x += step;
    }
    tinyort_store_four(sums, a);
    tinyort_store_four(sums + 4, b);
    tinyort_store_four(sums + 8, c);
    tinyort_store_four(sums + 12, d);
}

static void tinyort_conv_tiles(const tinyort_conv_tiles_shape *s, const float *x, const float *w, const float *bias,
                               const float *z, void *room, float *y, float low, float high) {
    const int32_t depth = s->channels * s->window.kernel_h * s->window.kernel_w,
                  plane = s->window.height * s->window.width;
    const int32_t pixels = s->window.out_h * s->window.out_w, fours = (s->filters + 3) / 4;
    float sums[16];
    for (int32_t n = 0; n < (s->batch * s->groups); n++) {
        const int32_t group = n % s->groups;
        for (int32_t p = 0; p < pixels; p += 4) {
            const int32_t count = ((pixels - p) < 4) ? (pixels - p) : 4, known = s->direct ? (4 - count) : 0;
            const float *from = s->direct ? (x + p - known) : (const float *)room;
            if (!s->direct) {
                tinyort_gather_windows(s, x, p, (float *)room);
            }
            for (int32_t m = 0; m < s->filters; m++) {
                if ((m % 4) == 0) {
                    tinyort_tile(from, s->direct ? plane : 4, w + (((group * fours * 4) + m) * depth), depth, sums);
                }
                const float *sum = sums + (m % 4 * 4);
                const float added = bias ? bias[(group * s->filters) + m] : 0.0f;
                const int32_t at = (((n * s->filters) + m) * pixels) + p - known;
                for (int32_t i = known; i < (known + count); i++) {
                    y[at + i] = tinyort_clamp(z ? (sum[i] + added + z[at + i]) : (sum[i] + added), low, high);
                }
            }
        }
        x += s->channels * plane;
    }
}

#endif
