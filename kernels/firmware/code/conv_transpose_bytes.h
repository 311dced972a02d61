/* conv_transpose_bytes.h - a transposed convolution over bytes whose channels are last. Outputs that are a stride apart
 * see the same taps of a filter: they are a convolution with a stride of 1 over the input, of which there is one for
 * each phase (h, w) below the strides. Its columns are gathered and multiplied as those of conv_bytes.h; w has the
 * filters of each phase and group, tap (phase + stride * t) before that of t - 1, and bias theirs. */
#ifndef TORT_FIRMWARE_CODE_CONV_TRANSPOSE_BYTES_H
#define TORT_FIRMWARE_CODE_CONV_TRANSPOSE_BYTES_H

#include "kernels/firmware/code/window_bytes.h"

/* Along one axis: taps of the phase, its first output, and the input that this sees first. */
static int32_t tinyort_phase(int32_t phase, int32_t kernel, int32_t stride, int32_t begin, int32_t *first,
                             int32_t *before) {
    const int32_t taps = phase < kernel ? (kernel - phase + stride - 1) / stride : 1;
    *first = ((phase - begin) % stride + stride) % stride;
    *before = taps - 1 - (*first + begin - phase) / stride;
    return taps;
}

/* All outputs of one phase and group. */
static void tinyort_phase_bytes(const tinyort_conv_transpose_bytes_shape *s, const tinyort_bytes_shape *rows,
                                const tinyort_window_shape *window, const int8_t *x, const int8_t *w,
                                const int32_t *bias, const float *factors, int8_t *room, int8_t *y) {
    const int32_t pixel = s->groups * rows->filters;
    int8_t *columns = room + (s->widened ? 4 * rows->depth : 0), *places[2];
    const void *ready[2];
    int32_t waiting = 0;
    for (int32_t h = 0; h < window->at.out_h; h++)
        for (int32_t v = 0; v < window->at.out_w; v++) {
            int8_t *column = columns + (s->widened ? 0 : waiting * rows->depth);
            tinyort_window(window, x, h, v, column);
            ready[waiting] = tinyort_column(rows, column, room, waiting);
            places[waiting++] =
                y + (h * s->window.at.stride_h * s->window.at.out_w + v * s->window.at.stride_w) * pixel;
            if (waiting < 2) continue;
            tinyort_rows(rows, ready[0], ready[1], w, bias, factors, places[0], places[1]);
            waiting = 0;
        }
    if (waiting) tinyort_rows(rows, ready[0], ready[0], w, bias, factors, places[0], places[0]);
}

static void tinyort_conv_transpose_bytes(const tinyort_conv_transpose_bytes_shape *s, const void *x, const int8_t *w,
                                         const int32_t *bias, const float *factors, void *room, void *y) {
    const tinyort_sliding *all = &s->window.at;
    const int32_t image = all->height * all->width * s->window.pixel, pixel = s->groups * s->rows.filters;
    for (int32_t phase = 0; phase < all->stride_h * all->stride_w; phase++) {
        tinyort_bytes_shape rows = s->rows;
        tinyort_window_shape window = s->window;
        int32_t first_h, first_w;
        window.at.kernel_h =
            tinyort_phase(phase / all->stride_w, all->kernel_h, all->stride_h, all->top, &first_h, &window.at.top);
        window.at.kernel_w =
            tinyort_phase(phase % all->stride_w, all->kernel_w, all->stride_w, all->left, &first_w, &window.at.left);
        window.at.stride_h = window.at.stride_w = 1;
        window.at.out_h = (all->out_h - first_h + all->stride_h - 1) / all->stride_h;
        window.at.out_w = (all->out_w - first_w + all->stride_w - 1) / all->stride_w;
        rows.depth = (window.at.kernel_h * window.at.kernel_w * s->window.channels + s->multiple - 1) / s->multiple *
                     s->multiple;
        for (int32_t group = 0; group < s->groups;
             group++, w += s->padded * rows.depth, bias += s->padded, factors += s->padded)
            for (int32_t n = 0; n < s->batch; n++)
                tinyort_phase_bytes(s, &rows, &window, (const int8_t *)x + n * image + group * s->window.channels, w,
                                    bias, factors, (int8_t *)room,
                                    (int8_t *)y + ((n * all->out_h + first_h) * all->out_w + first_w) * pixel +
                                        group * s->rows.filters);
    }
}

#endif
