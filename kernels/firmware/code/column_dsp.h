/* column_dsp.h - the column of an output of a convolution over bytes, for a processor with the DSP extension: its
 * window, widened into `room`, which has 4 * depth bytes for two columns, whose words take turns, so that one pointer
 * walks both. Numbers of channels that are not `straight`, multiples of 4, are gathered as bytes behind them first. */
#ifndef TORT_FIRMWARE_CODE_COLUMN_DSP_H
#define TORT_FIRMWARE_CODE_COLUMN_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/window_bytes.h"

#define TINYORT_WIDEN(at)                                                                                              \
    word = tinyort_flipped(tinyort_word(from + (at)), flip);                                                           \
    to[at] = tinyort_even(word);                                                                                       \
    to[(at) + 2] = tinyort_odd(word);

/* Widens `count` bytes, a multiple of 4. */
static uint32_t *tinyort_widen_bytes(uint32_t *to, const int8_t *from, int32_t count, uint32_t flip) {
    uint32_t word;
    (void)flip;
    for (; count >= 16; count -= 16) {
        TINYORT_WIDEN(0)
        TINYORT_WIDEN(4)
        TINYORT_WIDEN(8)
        TINYORT_WIDEN(12)
        from += 16;
        to += 16;
    }
    for (; count > 0; count -= 4) {
        TINYORT_WIDEN(0)
        from += 4;
        to += 4;
    }
    return to;
}

/* A window whose number of channels is a multiple of 4. */
TINYORT_OWN_FRAME static void tinyort_widen_window(const tinyort_window_shape *s, const int8_t *image, int32_t out_h,
                                                   int32_t out_w, uint32_t *to, uint32_t flip) {
    const int32_t first = (out_w * s->at.stride_w) - s->at.left,
                  last = first + ((s->at.kernel_w - 1) * s->at.dilation_w);
    const int32_t n = s->channels,
                  near = (s->at.dilation_w == 1) && (n == s->pixel) && (first >= 0) && (last < s->at.width);
    const uint32_t fill = tinyort_even(tinyort_flipped((uint32_t)s->fill, flip));
    int32_t h = (out_h * s->at.stride_h) - s->at.top;
    for (int32_t kh = s->at.kernel_h; kh > 0; kh--) {
        const int32_t inside = (h >= 0) && (h < s->at.height);
        const int8_t *line = image + (h * s->at.width * s->pixel);
        if (near && inside) {
            to = tinyort_widen_bytes(to, line + (first * n), s->at.kernel_w * n, flip);
        } else {
            for (int32_t w = first; w <= last; w += s->at.dilation_w) {
                if (inside && (w >= 0) && (w < s->at.width)) {
                    to = tinyort_widen_bytes(to, line + (w * s->pixel), n, flip);
                } else {
                    for (const uint32_t *end = to + n; to < end; to += 4) {
                        to[0] = fill;
                        to[2] = fill;
                    }
                }
            }
        }
        h += s->at.dilation_h;
    }
}

static const void *tinyort_column(const tinyort_conv_bytes_shape *s, const int8_t *image, int32_t h, int32_t w,
                                  void *room, int32_t column) {
    const tinyort_sliding *at = &s->window.at;
    const uint32_t flip = (uint32_t)s->rows.x_flip;
    uint32_t *to = (uint32_t *)room + column;
    int8_t *bytes = (int8_t *)room + (4 * s->rows.depth);
    if (s->straight && !s->direct) {
        tinyort_widen_window(&s->window, image, h, w, to, flip);
        return room;
    }
    if (!s->direct) {
        tinyort_window(&s->window, image, h, w, bytes);
    }
    (void)tinyort_widen_bytes(
        to, s->direct ? (image + (((h * at->stride_h * at->width) + (w * at->stride_w)) * s->window.pixel)) : bytes,
        s->rows.depth, flip);
    return room;
}

#endif
