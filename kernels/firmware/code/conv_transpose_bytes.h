/* conv_transpose_bytes.h - a transposed convolution over bytes whose channels are last. Outputs that are a stride apart
 * see the same taps of a filter: they are a convolution with a stride of 1 over the input, of which there is one for
 * each phase (h, w) below the strides. Its columns are gathered and multiplied as those of conv_bytes.h; w has the
 * filters of each phase and group, tap (phase + stride * t) before that of t - 1, and bias theirs. */
#ifndef TORT_FIRMWARE_CODE_CONV_TRANSPOSE_BYTES_H
#define TORT_FIRMWARE_CODE_CONV_TRANSPOSE_BYTES_H

#include "kernels/firmware/code/conv_bytes_shape.h"

/* Along one axis: taps of the phase, its first output, and the input that this sees first. */
static int32_t tinyort_phase(int32_t phase, int32_t kernel, int32_t stride, int32_t begin, int32_t *first,
                             int32_t *before) {
    const int32_t taps = (phase < kernel) ? ((kernel - phase + stride - 1) / stride) : 1;
    *first = (((phase - begin) % stride) + stride) % stride;
    *before = taps - 1 - ((*first + begin - phase) / stride);
    return taps;
}

/* All outputs of one phase and group, which lie `line` and `pixel` bytes apart. */
static void tinyort_phase_bytes(const tinyort_conv_bytes_shape *s, const int8_t *x, const int8_t *w,
                                const int32_t *bias, const float *factors, void *room, int8_t *y, int32_t line,
                                int32_t pixel) {
    int8_t *places[2];
    const void *ready[2];
    int32_t waiting = 0;
    for (int32_t h = 0; h < s->window.at.out_h; h++) {
        for (int32_t v = 0; v < s->window.at.out_w; v++) {
            ready[waiting] = tinyort_column(s, x, h, v, room, waiting);
            places[waiting++] = y + (h * line) + (v * pixel);
            if (waiting < 2) {
                continue;
            }
            tinyort_rows(&s->rows, ready[0], ready[1], w, bias, factors, places[0], places[1]);
            waiting = 0;
        }
    }
    if (waiting != 0) {
        tinyort_rows(&s->rows, ready[0], ready[0], w, bias, factors, places[0], places[0]);
    }
}

static void tinyort_conv_transpose_bytes(const tinyort_conv_transpose_bytes_shape *s, const void *x, const int8_t *w,
                                         const int32_t *bias, const float *factors, void *room, void *y) {
    const tinyort_sliding *all = &s->conv.window.at;
    const int32_t groups = s->conv.groups, filters = s->conv.rows.filters, padded = s->conv.padded;
    const int32_t image = all->height * all->width * s->conv.window.pixel, line = all->out_w * groups * filters;
    for (int32_t phase = 0; phase < (all->stride_h * all->stride_w); phase++) {
        tinyort_conv_bytes_shape own = s->conv;
        tinyort_sliding *at = &own.window.at;
        int32_t first_h, first_w;
        at->kernel_h = tinyort_phase(phase / all->stride_w, all->kernel_h, all->stride_h, all->top, &first_h, &at->top);
        at->kernel_w =
            tinyort_phase(phase % all->stride_w, all->kernel_w, all->stride_w, all->left, &first_w, &at->left);
        at->stride_h = 1;
        at->stride_w = 1;
        at->out_h = (all->out_h - first_h + all->stride_h - 1) / all->stride_h;
        at->out_w = (all->out_w - first_w + all->stride_w - 1) / all->stride_w;
        own.rows.length = at->kernel_h * at->kernel_w * own.window.channels;
        own.rows.depth = (own.rows.length + s->multiple - 1) / s->multiple * s->multiple;
        for (int32_t i = 0; i < (groups * own.batch); i++) {
            const int32_t group = i / own.batch, n = i % own.batch;
            tinyort_phase_bytes(
                &own, (const int8_t *)x + (n * image) + (group * own.window.channels),
                w + (group * padded * own.rows.depth), bias + (group * padded), factors + (group * padded), room,
                (int8_t *)y + (((n * all->out_h) + first_h) * line) + (((first_w * groups) + group) * filters),
                all->stride_h * line, all->stride_w * groups * filters);
        }
        w += groups * padded * own.rows.depth;
        bias += groups * padded;
        factors += groups * padded;
    }
}

#endif
