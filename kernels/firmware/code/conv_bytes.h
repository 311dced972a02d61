/* conv_bytes.h - a convolution over bytes whose channels are last: two outputs at a time, all filters of each.
 *
 * Columns of the two (column_*.h) are multiplied with the filters (rows_*.h), so no image is stored in another form. w
 * has the filters of each group in the form of the rows. */
#ifndef TORT_FIRMWARE_CODE_CONV_BYTES_H
#define TORT_FIRMWARE_CODE_CONV_BYTES_H

#include "kernels/firmware/code/conv_bytes_shape.h"

static void tinyort_conv_bytes(const tinyort_conv_bytes_shape *s, const void *x, const int8_t *w, const int32_t *bias,
                               const float *factors, void *room, void *y) {
    const int32_t filters = s->rows.filters, apart = s->groups * filters,
                  pixels = s->window.at.out_h * s->window.at.out_w;
    const int32_t image = s->window.at.height * s->window.at.width * s->window.pixel;
    const int32_t way = s->downwards ? -1 : 1, rows = s->window.at.out_h, columns = s->window.at.out_w;
    const int32_t first_h = s->downwards ? (rows - 1) : 0, end_h = s->downwards ? -1 : rows;
    const int32_t first_v = s->downwards ? (columns - 1) : 0, end_v = s->downwards ? -1 : columns;
    for (int32_t n = 0; n < (s->batch * s->groups); n++) {
        const int32_t batch = n / s->groups, group = n % s->groups, first = group * s->padded;
        const int8_t *from = (const int8_t *)x + (batch * image) + (group * s->window.channels);
        int8_t *to = (int8_t *)y + (((batch * pixels * s->groups) + group) * filters) +
                     ((s->downwards ? (pixels - 1) : 0) * apart);
        const void *ready[2];
        int32_t waiting = 0;
        for (int32_t h = first_h; h != end_h; h += way) {
            for (int32_t v = first_v; v != end_v; v += way) {
                ready[waiting] = tinyort_column(s, from, h, v, room, waiting);
                waiting++;
                if (waiting == 2) {
                    tinyort_rows(&s->rows, ready[0], ready[1], w + (first * s->rows.depth), bias + first,
                                 factors + first, to, to + (way * apart));
                    to += 2 * way * apart;
                    waiting = 0;
                }
            }
        }
        if (waiting != 0) {
            tinyort_rows(&s->rows, ready[0], ready[0], w + (first * s->rows.depth), bias + first, factors + first, to,
                         to);
        }
    }
}

#endif
