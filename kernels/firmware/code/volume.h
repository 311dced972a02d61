/* volume.h - a window over three axes: kind 0 a convolution, 1 a maximum, 2 an average, 3 a norm, for which w, bias and
 * z are NULL and every channel is a group. x is (batch, channels, in...), w is (filters, channels / groups, kernel...),
 * y and z are (batch, filters, out...). NaN wins as a maximum; an average is of the positions in the image, or, with
 * count_padding, in the padded image; a norm is the sum of the powers p, to the power 1 / p. */
#ifndef TORT_FIRMWARE_CODE_VOLUME_H
#define TORT_FIRMWARE_CODE_VOLUME_H

#include "kernels/firmware/code/clamp.h"

typedef struct tinyort_volume_shape {
    int32_t kind, count_padding, batch, channels, filters, groups;
    int32_t in[3], out[3], kernel[3], stride[3], dilation[3], begin[3], end[3];
} tinyort_volume_shape;

static void tinyort_volume(const tinyort_volume_shape *s, const float *x, const float *w, const float *bias,
                           const float *z, float *y, float (*power)(float, float), float low, float high, float p) {
    const int32_t depth = s->channels / s->groups, filters = s->filters / s->groups;
    const int32_t plane = s->in[0] * s->in[1] * s->in[2], window = s->kernel[0] * s->kernel[1] * s->kernel[2];
    const int32_t outputs = s->out[0] * s->out[1] * s->out[2];
    for (int32_t at = 0; at < (s->batch * s->filters * outputs); at++) {
        const int32_t m = at / outputs % s->filters, n = at / outputs / s->filters;
        const float *image = x + (((n * s->channels) + (m / filters * depth)) * plane);
        float sum = (s->kind == 1) ? -INFINITY : bias ? bias[m] : 0.0f;
        int32_t seen = 0;
        for (int32_t k = 0; k < window; k++) {
            int32_t outer = at % outputs, rest = k, step = 1, from = 0, inside = 1, padded = 1;
            for (int32_t axis = 2; axis >= 0; axis--) {
                const int32_t first = (outer % s->out[axis] * s->stride[axis]) - s->begin[axis];
                const int32_t i = first + (rest % s->kernel[axis] * s->dilation[axis]);
                inside &= (i >= 0) && (i < s->in[axis]);
                padded &= i < (s->in[axis] + s->end[axis]);
                from += i * step;
                step *= s->in[axis];
                outer /= s->out[axis];
                rest /= s->kernel[axis];
            }
            seen += s->count_padding ? padded : inside;
            for (int32_t c = 0; (c < depth) && inside; c++) {
                const float value = image[(c * plane) + from];
                const float term = w                ? (value * w[(((m * depth) + c) * window) + k])
                                   : (s->kind == 3) ? power(fabsf(value), p)
                                                    : value;
                if (s->kind != 1) {
                    sum += term;
                } else if ((value > sum) || (value != value)) {
                    sum = value;
                }
                if ((sum != sum) && (s->kind == 1)) {
                    k = window; /* NaN stays */
                }
            }
        }
        if (s->kind == 2) {
            sum = seen ? (sum / (float)seen) : 0.0f;
        }
        if (s->kind == 3) {
            sum = power(sum, 1.0f / p);
        }
        if (z != NULL) {
            sum += z[at];
        }
        y[at] = tinyort_clamp(sum, low, high);
    }
}

#endif
