/* column_plain.h - the column of an output of a convolution over bytes: its window, read where it is if it is one
 * pixel, else gathered into `room`, which has two. */
#ifndef TORT_FIRMWARE_CODE_COLUMN_PLAIN_H
#define TORT_FIRMWARE_CODE_COLUMN_PLAIN_H

#include "kernels/firmware/code/window_bytes.h"

static const void *tinyort_column(const tinyort_conv_bytes_shape *s, const int8_t *image, int32_t h, int32_t w,
                                  void *room, int32_t column) {
    int8_t *to = (int8_t *)room + (column * s->rows.depth);
    if (s->direct != 0) {
        return image +
               (((h * s->window.at.stride_h * s->window.at.width) + (w * s->window.at.stride_w)) * s->window.pixel);
    }
    tinyort_window(&s->window, image, h, w, to);
    return to;
}

#endif
