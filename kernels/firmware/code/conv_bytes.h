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
    int8_t *columns = (int8_t *)room + (s->widened ? 4 * s->rows.depth : 0);
    for (int32_t n = 0; n < s->batch * s->groups; n++) {
        const int32_t batch = n / s->groups, group = n % s->groups;
        const int8_t *from = (const int8_t *)x + batch * image + group * s->window.channels;
        int8_t *to = (int8_t *)y + (batch * pixels * s->groups + group) * filters;
        for (int32_t p = 0; p < pixels; p += 2) {
            const void *ready[2];
            int8_t *out[2];
            for (int32_t i = 0; i < 2; i++) {
                const int32_t at = p + i < pixels ? p + i : p, h = at / s->out_w, v = at % s->out_w;
                int8_t *column = columns + (s->widened ? 0 : i * s->rows.depth);
                const int8_t *source = column;
                if (s->direct)
                    source =
                        from + (h * s->window.stride_h * s->window.width + v * s->window.stride_w) * s->window.pixel;
                else
                    tinyort_window(&s->window, from, h, v, column);
                ready[i] = tinyort_column(&s->rows, source, room, i);
                out[i] = to + at * s->groups * filters;
            }
            tinyort_rows(&s->rows, ready[0], ready[1], w + group * padded * s->rows.depth, bias + group * padded,
                         factors + group * padded, out[0], out[1]);
        }
    }
}

#endif
