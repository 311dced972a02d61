/* planes_dsp.h - a convolution over bytes with a filter for each channel, channels last, for a processor with the DSP
 * extension: one channel at a time, whatever their number is. y may be x, as a channel is read before it is written.
 *
 * The channel is copied with its padding into `room`, as numbers of 16 bits, so that SMLAD multiplies two taps at a
 * time; bytes of uint8 as they are. w has `taps` weights for each row of a filter, zeros behind the last; four
 * neighbours (a, b, c, d) in the order (a, c, b, d), so that SXTB16 gives (a, b) and (c, d). Rows of a kernel of 3 x 3
 * are (a, b, b, c), for steps of 1 and 2. A processor without vectors takes planes for these: weights and pixels of two
 * outputs stay in its registers. */
#ifndef TORT_FIRMWARE_CODE_PLANES_DSP_H
#define TORT_FIRMWARE_CODE_PLANES_DSP_H

#include "kernels/firmware/code/lanes.h"
#include "kernels/firmware/code/planes_shape.h"
#include "kernels/firmware/code/requantize_two.h"

/* Two numbers of 16 bits at any address. */
static uint32_t tinyort_pair_at(const int16_t *from) {
    uint32_t pair;
    (void)memcpy(&pair, from, sizeof pair);
    return pair;
}

/* A plane: numbers `pitch` apart for each row, and what of it lies inside of the image. */
typedef struct tinyort_plane {
    int16_t *from, *inside;
    int32_t pitch, rows, columns;
} tinyort_plane;

/* Fills the plane with the zero point, and finds what of it lies inside of the image. */
static tinyort_plane tinyort_find_plane(const tinyort_planes_dsp_shape *s, int16_t *room) {
    const tinyort_sliding *v = &s->window.at;
    const int32_t pitch = ((v->out_w * v->stride_w) + s->taps + 1) / 2 * 2;
    const int32_t tall = ((v->out_h - 1) * v->stride_h) + v->kernel_h;
    const int32_t rows = (v->height < (tall - v->top)) ? v->height : (tall - v->top);
    const int32_t columns = (v->width < (pitch - v->left)) ? v->width : (pitch - v->left);
    const int32_t fill = tinyort_flips(s->rows.x_flip) ? (s->window.fill & 0xff) : (int8_t)(s->window.fill & 0xff);
    const int32_t sees = (rows > 0) && (columns > 0);
    for (int32_t i = 0; i < (tall * pitch); i++) {
        room[i] = (int16_t)fill;
    }
    return (tinyort_plane){.from = room,
                           .inside = room + (sees ? ((v->top * pitch) + v->left) : 0),
                           .pitch = pitch,
                           .rows = sees ? rows : 0,
                           .columns = columns};
}

/* Copies a channel into the plane; `type` is that of a byte. */
#define TINYORT_TAKE_CHANNEL(type)                                                                                     \
    for (int32_t row = p->rows; row > 0; row--) {                                                                      \
        const type *x = (const type *)image;                                                                           \
        int16_t *to = inside;                                                                                          \
        int32_t k = columns;                                                                                           \
        for (; k >= 4; k -= 4) {                                                                                       \
            to[0] = x[0];                                                                                              \
            to[1] = x[pixel];                                                                                          \
            to[2] = x[2 * pixel];                                                                                      \
            to[3] = x[3 * pixel];                                                                                      \
            x += 4 * pixel;                                                                                            \
            to += 4;                                                                                                   \
        }                                                                                                              \
        if (k & 2) {                                                                                                   \
            to[0] = x[0];                                                                                              \
            to[1] = x[pixel];                                                                                          \
            x += 2 * pixel;                                                                                            \
            to += 2;                                                                                                   \
        }                                                                                                              \
        if (k & 1) {                                                                                                   \
            *to = *x;                                                                                                  \
        }                                                                                                              \
        image += line;                                                                                                 \
        inside += p->pitch;                                                                                            \
    }

static void tinyort_take_channel(const tinyort_plane *p, const int8_t *image, int32_t pixel, int32_t line,
                                 int32_t flip) {
    const int32_t columns = p->columns;
    int16_t *inside = p->inside;
    if (tinyort_flips(flip) != 0) {
        TINYORT_TAKE_CHANNEL(uint8_t)
    } else {
        TINYORT_TAKE_CHANNEL(int8_t)
    }
    (void)flip;
}

/* Outputs of a filter of 3 x 3, two at a time; callers know `stride`. */
static inline void tinyort_three_by_three(const tinyort_planes_dsp_shape *s, const tinyort_plane *p, const int8_t *w,
                                          int32_t bias, float factor, int8_t *y, const int32_t stride) {
    const tinyort_bytes_shape own = s->rows;
    const int32_t pitch = p->pitch, pixel = own.filters;
    const int16_t *line = p->from;
    TINYORT_TAKE_TAPS(w)
    for (int32_t row = s->window.at.out_h; row > 0; row--) {
        const int16_t *x0 = line, *x1 = x0 + pitch, *x2 = x1 + pitch;
        int8_t *to = y;
        for (int32_t left = s->window.at.out_w; left > 0; left -= 2) {
            int32_t y0, y1 = bias;
            TINYORT_NINE_TAPS(x0, x1, x2, stride, y0, y1)
            if (left > 1) {
                tinyort_requantize_two(&own, y0, y1, factor, factor, to, to + pixel);
            } else {
                *to = tinyort_requantize(&own, y0, factor);
            }
            to += 2 * pixel;
        }
        y += s->window.at.out_w * own.filters;
        line += s->window.at.stride_h * pitch;
    }
}

/* Outputs of any filter. */
static void tinyort_filter_plane(const tinyort_planes_dsp_shape *s, const tinyort_plane *p, const int8_t *w,
                                 int32_t bias, float factor, int8_t *y) {
    const tinyort_bytes_shape own = s->rows;
    const int32_t pixel = own.filters;
    for (int32_t i = 0; i < s->window.at.out_h; i++) {
        for (int32_t k = 0; k < s->window.at.out_w; k++) {
            const int16_t *x = p->from + (i * s->window.at.stride_h * p->pitch) + (k * s->window.at.stride_w);
            const int8_t *weights = w;
            int32_t sum = bias;
            for (int32_t kh = s->window.at.kernel_h; kh > 0; kh--) {
                for (const int16_t *end = x + s->taps; x < end; x += 4) {
                    const uint32_t four = tinyort_word(weights);
                    sum = tinyort_multiply_pairs(tinyort_pair_at(x), tinyort_even(four), sum);
                    sum = tinyort_multiply_pairs(tinyort_pair_at(x + 2), tinyort_odd(four), sum);
                    weights += 4;
                }
                x += p->pitch - s->taps;
            }
            y[(i * s->window.at.out_w * own.filters) + (k * pixel)] = tinyort_requantize(&own, sum, factor);
        }
    }
}

static void tinyort_planes_dsp(const tinyort_planes_dsp_shape *s, const void *x, const int8_t *w, const int32_t *bias,
                               const float *factors, void *room, void *y) {
    const tinyort_sliding *v = &s->window.at;
    const int32_t channels = s->rows.filters, depth = v->kernel_h * s->taps, line = v->width * channels;
    const tinyort_plane plane = tinyort_find_plane(s, (int16_t *)room);
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t c = 0; c < channels; c++) {
            int8_t *to = (int8_t *)y + (n * v->out_h * v->out_w * channels) + c;
            tinyort_take_channel(&plane, (const int8_t *)x + (n * v->height * line) + c, channels, line,
                                 s->rows.x_flip);
            if (s->three && (v->stride_w == 1)) {
                tinyort_three_by_three(s, &plane, w + (c * depth), bias[c], factors[c], to, 1);
            } else if (s->three != 0) {
                tinyort_three_by_three(s, &plane, w + (c * depth), bias[c], factors[c], to, 2);
            } else {
                tinyort_filter_plane(s, &plane, w + (c * depth), bias[c], factors[c], to);
            }
        }
    }
}

#endif
