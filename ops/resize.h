/* resize.h - params of Resize and Upsample, for every provider. */
#ifndef TORT_OPS_RESIZE_H
#define TORT_OPS_RESIZE_H

#include "runtime/include/tinyort.h"

typedef enum tort_resize_mode { TORT_RESIZE_NEAREST, TORT_RESIZE_LINEAR, TORT_RESIZE_CUBIC } tort_resize_mode;

/* Attribute coordinate_transformation_mode: the map from an output to an input coordinate. */
typedef enum tort_resize_transform {
    TORT_RESIZE_HALF_PIXEL,
    TORT_RESIZE_HALF_PIXEL_SYMMETRIC,
    TORT_RESIZE_PYTORCH_HALF_PIXEL,
    TORT_RESIZE_ALIGN_CORNERS,
    TORT_RESIZE_ASYMMETRIC,
    TORT_RESIZE_TF_HALF_PIXEL_FOR_NN,
    TORT_RESIZE_TF_CROP_AND_RESIZE
} tort_resize_transform;

typedef enum tort_resize_rounding {
    TORT_RESIZE_ROUND_PREFER_FLOOR,
    TORT_RESIZE_ROUND_PREFER_CEIL,
    TORT_RESIZE_FLOOR,
    TORT_RESIZE_CEIL,
    TORT_RESIZE_FLOOR_OR_CEIL /* Upsample, Resize-10: floor, but ceil along axes that shrink */
} tort_resize_rounding;

/* An axis of the view in tort_resize_params. */
typedef struct tort_resize_axis {
    int64_t in, out;
    bool identity;     /* the axis is not resized */
    double scale;      /* out / in, or as the model gives it */
    double width;      /* scale * in, before it was rounded down to `out`; for HALF_PIXEL_SYMMETRIC */
    double start, end; /* region of TF_CROP_AND_RESIZE, as fractions of the axis */
    int64_t taps;      /* input elements that go into each output element */
} tort_resize_axis;

/* Neighbouring axes that are not resized are merged: NCHW images are [N*C, H, W]. rank 0: a scalar, or unknown. */
typedef struct tort_resize_params {
    tort_resize_mode mode;
    tort_resize_transform transform;
    tort_resize_rounding rounding;
    bool exclude_outside, antialias;
    double cubic_a, extrapolation;
    int32_t rank;
    tort_resize_axis axes[TORT_MAX_RANK];
} tort_resize_params;

/* Input coordinate of output coordinate `out`. */
double tort_resize_coordinate(const tort_resize_params *params, const tort_resize_axis *axis, int64_t out);
/* Finds the input elements of output coordinate `out` along one axis, and their weights: axis->taps of each; indices
 * are clamped to the axis. False if the coordinate lies outside, where the output is the extrapolation value. */
bool tort_resize_taps(const tort_resize_params *params, const tort_resize_axis *axis, int64_t out, int64_t *indices,
                      double *weights);

/* In resize_loops.c: the plain loop, and its scratch if rank is not 0: tables of taps of all axes, then a row of
 * doubles for each worker. */
struct tort_resolve;
struct tort_call;
tort_status tort_resize_scratch(struct tort_resolve *resolve, const tort_resize_params *params);
tort_status tort_resize_reference(const struct tort_call *call);

#endif
