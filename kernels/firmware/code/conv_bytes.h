/* conv_bytes.h - a convolution over bytes whose channels are last: two outputs at a time, all filters of each.
 *
 * The windows of the two are gathered into columns (window_bytes.h), unless a window is one pixel and can be read where
 * it is (`direct`), and multiplied with the filters (rows_*.h). So no image is stored in another form. room: two
 * columns of `depth` bytes; where rows want them `widened`, two of twice that, then one column. w has the filters of
 * each group in the form of the rows. */
#ifndef TORT_FIRMWARE_CODE_CONV_BYTES_H
#define TORT_FIRMWARE_CODE_CONV_BYTES_H

#include "kernels/firmware/code/window_bytes.h"

static void tinyort_conv_bytes(const tinyort_conv_bytes_shape *s, const void *x, const int8_t *w, const int32_t *bias,
                               const float *factors, void *room, void *y) {
    const int32_t filters = s->rows.filters, apart = s->groups * filters,
                  pixels = s->window.at.out_h * s->window.at.out_w;
    const int32_t image = s->window.at.height * s->window.at.width * s->window.pixel;
    const int32_t step = s->window.at.stride_w * s->window.pixel;
    const int32_t line = s->window.at.stride_h * s->window.at.width * s->window.pixel;
    const int32_t way = s->downwards ? -1 : 1, first_h = s->downwards ? s->window.at.out_h - 1 : 0,
                  first_v = s->downwards ? s->window.at.out_w - 1 : 0;
    int8_t *columns = (int8_t *)room + (s->widened ? 4 * s->rows.depth : 0);
    for (int32_t n = 0; n < s->batch * s->groups; n++) {
        const int32_t batch = n / s->groups, group = n % s->groups, first = group * s->padded;
        const int8_t *from = (const int8_t *)x + batch * image + group * s->window.channels;
        int8_t *to =
            (int8_t *)y + (batch * pixels * s->groups + group) * filters + (s->downwards ? pixels - 1 : 0) * apart;
        const void *ready[2];
        int32_t waiting = 0, h = first_h;
        for (int32_t i = 0; i < s->window.at.out_h; i++, h += way) {
            int32_t v = first_v;
            for (int32_t k = 0; k < s->window.at.out_w; k++, v += way) {
                int8_t *column = columns + (s->widened ? 0 : waiting * s->rows.depth);
                if (!s->direct) tinyort_window(&s->window, from, h, v, column);
                ready[waiting] =
                    tinyort_column(&s->rows, s->direct ? from + h * line + v * step : column, room, waiting);
                waiting++;
                if (waiting < 2) continue;
                tinyort_rows(&s->rows, ready[0], ready[1], w + first * s->rows.depth, bias + first, factors + first, to,
                             to + way * apart);
                to += 2 * way * apart;
                waiting = 0;
            }
        }
        if (waiting)
            tinyort_rows(&s->rows, ready[0], ready[0], w + first * s->rows.depth, bias + first, factors + first, to,
                         to);
    }
}

#endif
