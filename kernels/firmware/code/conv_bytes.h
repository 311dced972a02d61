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
    const int32_t way = s->downwards ? -1 : 1, first_h = s->downwards ? (s->window.at.out_h - 1) : 0,
                  first_v = s->downwards ? (s->window.at.out_w - 1) : 0;
    for (int32_t n = 0; n < (s->batch * s->groups); n++) {
        const int32_t batch = n / s->groups, group = n % s->groups, first = group * s->padded;
        const int8_t *from = (const int8_t *)x + (batch * image) + (group * s->window.channels);
        int8_t *to = (int8_t *)y + (((batch * pixels * s->groups) + group) * filters) +
                     ((s->downwards ? (pixels - 1) : 0) * apart);
        const void *ready[2];
        int32_t waiting = 0, h = first_h;
        for (int32_t i = 0; i < s->window.at.out_h; i++) {
            int32_t v = first_v;
            for (int32_t k = 0; k < s->window.at.out_w; k++) {
                ready[waiting] = tinyort_column(s, from, h, v, room, waiting);
                waiting++;
                if (waiting == 2) {
                    tinyort_rows(&s->rows, ready[0], ready[1], w + (first * s->rows.depth), bias + first,
                                 factors + first, to, to + (way * apart));
                    to += 2 * way * apart;
                    waiting = 0;
                }
                v += way;
            }
            h += way;
        }
        if (waiting != 0) {
            tinyort_rows(&s->rows, ready[0], ready[0], w + (first * s->rows.depth), bias + first, factors + first, to,
                         to);
        }
    }
}

#endif
