/* resize_taps.c - the input elements of an output coordinate of Resize, and their weights, along one axis.
 *
 * The formulas are those of ONNX's description of Resize-19; the cubic kernel is that of Keys (1981) with parameter a.
 * The file must not know tensors: resize.c and the kernels of devices use it to fill their tables. */
#include "ops/resize.h"

#include <math.h>

double tort_resize_coordinate(const tort_resize_params *params, const tort_resize_axis *axis, int64_t out) {
    const double x = (double)out, in = (double)axis->in;
    switch (params->transform) {
    case TORT_RESIZE_HALF_PIXEL: return (x + 0.5) / axis->scale - 0.5;
    case TORT_RESIZE_HALF_PIXEL_SYMMETRIC: {
        double offset = in / 2 * (1 - (double)axis->out / axis->width);
        return offset + (x + 0.5) / axis->scale - 0.5;
    }
    case TORT_RESIZE_PYTORCH_HALF_PIXEL: return axis->out > 1 ? (x + 0.5) / axis->scale - 0.5 : 0;
    case TORT_RESIZE_ALIGN_CORNERS: return axis->out == 1 ? 0 : x * (in - 1) / (double)(axis->out - 1);
    case TORT_RESIZE_ASYMMETRIC: return x / axis->scale;
    case TORT_RESIZE_TF_HALF_PIXEL_FOR_NN: return (x + 0.5) / axis->scale;
    case TORT_RESIZE_TF_CROP_AND_RESIZE:
        if (axis->out == 1) return 0.5 * (axis->start + axis->end) * (in - 1);
        return x * (axis->end - axis->start) * (in - 1) / (double)(axis->out - 1) + axis->start * (in - 1);
    }
    return 0;
}

static double linear_kernel(double distance) {
    distance = fabs(distance);
    return distance < 1 ? 1 - distance : 0;
}

static double cubic_kernel(double distance, double a) {
    double x = fabs(distance);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

static double nearest(const tort_resize_params *params, const tort_resize_axis *axis, double x) {
    double fraction = x - floor(x);
    switch (params->rounding) {
    case TORT_RESIZE_ROUND_PREFER_FLOOR: return fraction <= 0.5 ? floor(x) : ceil(x);
    case TORT_RESIZE_ROUND_PREFER_CEIL: return fraction < 0.5 ? floor(x) : ceil(x);
    case TORT_RESIZE_FLOOR: return floor(x);
    case TORT_RESIZE_CEIL: return ceil(x);
    case TORT_RESIZE_FLOOR_OR_CEIL: return axis->scale < 1 ? ceil(x) : floor(x);
    }
    return floor(x);
}

static int64_t clamp(double index, int64_t size) {
    if (!(index > 0)) return 0;
    return index < (double)(size - 1) ? (int64_t)index : size - 1;
}

bool tort_resize_taps(const tort_resize_params *params, const tort_resize_axis *axis, int64_t out, int64_t *indices,
                      double *weights) {
    weights[0] = 1;
    indices[0] = out;
    if (axis->identity) return true;
    const double x = tort_resize_coordinate(params, axis, out);
    if (params->transform == TORT_RESIZE_TF_CROP_AND_RESIZE && (x < 0 || x > (double)(axis->in - 1))) return false;
    if (params->mode == TORT_RESIZE_NEAREST) {
        indices[0] = clamp(nearest(params, axis, x), axis->in);
        return true;
    }
    /* Along a shrinking axis an antialiasing kernel is stretched to cover all elements between two output elements. */
    const bool stretched = params->antialias && axis->scale < 1;
    const double stretch = stretched ? axis->scale : 1;
    double sum = 0;
    for (int64_t t = 0; t < axis->taps; t++) {
        double index = floor(x) + (double)(t + 1 - axis->taps / 2);
        double distance = (index - x) * stretch;
        weights[t] =
            params->mode == TORT_RESIZE_LINEAR ? linear_kernel(distance) : cubic_kernel(distance, params->cubic_a);
        if (params->exclude_outside && (index < 0 || index > (double)(axis->in - 1))) weights[t] = 0;
        indices[t] = clamp(index, axis->in);
        sum += weights[t];
    }
    /* The plain kernels sum to 1; the weights of a stretched or cut one are normalized. */
    if ((stretched || params->exclude_outside) && sum != 0)
        for (int64_t t = 0; t < axis->taps; t++) weights[t] /= sum;
    return true;
}
