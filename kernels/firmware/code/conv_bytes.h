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
    const int32_t filters = s->rows.filters, padded = s->padded, pixels = s->out_h * s->out_w;
    const int32_t image = s->window.height * s->window.width * s->window.pixel;
    const int32_t step = s->window.stride_w * s->window.pixel, apart = s->groups * filters;
    const int32_t line = s->window.stride_h * s->window.width * s->window.pixel;
    int8_t *columns = (int8_t *)room + (s->widened ? 4 * s->rows.depth : 0);
    for (int32_t n = 0; n < s->batch * s->groups; n++) {
        const int32_t batch = n / s->groups, group = n % s->groups;
        const int8_t *from = (const int8_t *)x + batch * image + group * s->window.channels;
        int8_t *to = (int8_t *)y + (batch * pixels * s->groups + group) * filters;
        const void *ready[2];
        int32_t waiting = 0;
        for (int32_t h = 0; h < s->out_h; h++)
            for (int32_t v = 0; v < s->out_w; v++) {
                int8_t *column = columns + (s->widened ? 0 : waiting * s->rows.depth);
                const int8_t *source = from + h * line + v * step;
                if (!s->direct) tinyort_window(&s->window, from, h, v, column);
                ready[waiting] = tinyort_column(&s->rows, s->direct ? source : column, room, waiting);
                waiting++;
                if (waiting < 2) continue;
                tinyort_rows(&s->rows, ready[0], ready[1], w + group * padded * s->rows.depth, bias + group * padded,
                             factors + group * padded, to, to + apart);
                to += 2 * apart;
                waiting = 0;
            }
        if (waiting)
            tinyort_rows(&s->rows, ready[0], ready[0], w + group * padded * s->rows.depth, bias + group * padded,
                         factors + group * padded, to, to);
    }
}

#endif
