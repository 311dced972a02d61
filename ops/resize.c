/* resize.c - Resize and Upsample: interpolation along any axes of a tensor of any rank.
 *
 * This file infers shapes and decodes all versions into tort_resize_params; resize_taps.c finds the input elements of
 * an output coordinate; resize_loops.c combines them. */
#include "ops/extent.h"
#include "ops/resize.h"
#include "ops/shapes.h"

#include <math.h>

/* ---- attributes and inputs --------------------------------------------------------------------------------------- */

/* Input indices of a version; -1: it has no such input. */
typedef struct resize_inputs {
    int32_t roi, scales, sizes;
} resize_inputs;

static resize_inputs inputs_of(const tort_node_view *node) {
    if (strcmp(node->op->name, "Upsample") == 0) return (resize_inputs){-1, node->op->since < 9 ? -1 : 1, -1};
    if (node->op->since < 11) return (resize_inputs){-1, 1, -1};
    return (resize_inputs){1, 2, 3};
}

/* Scale, size and region requested for each of `axes`. */
typedef struct resize_request {
    int32_t count, axes[TORT_MAX_RANK];
    tort_floats scales; /* one of scales and sizes is given; the other is ABSENT */
    tort_numbers sizes;
    bool crops; /* tf_crop_and_resize, with roi known */
    tort_floats roi;
} resize_request;

static bool asks_for_crop(const tort_node_view *node) {
    return strcmp(tort_attr_string(node, "coordinate_transformation_mode"), "tf_crop_and_resize") == 0;
}

static tort_status read_axes(const tort_node_view *node, tort_error *error, resize_request *request) {
    const int32_t rank = node->inputs[0].rank;
    tort_numbers axes;
    tort_status status = tort_read_numbers(node, -1, "axes", &axes, error);
    for (int32_t i = 0; i < rank && axes.count == 0; i++) axes.values[i] = i;
    request->count = axes.count > 0 ? axes.count : rank;
    if (!status) status = tort_normalize_axes(error, axes.values, request->count, rank);
    for (int32_t i = 0; !status && i < request->count; i++) request->axes[i] = (int32_t)axes.values[i];
    return status;
}

/* Reads the scales of Upsample-1, an attribute for each side of an image. */
static tort_status read_sides(const tort_node_view *node, tort_error *error, resize_request *request) {
    if (request->count != 4)
        return tort_fail(error, TORT_E_MODEL, "the input has rank %d; Upsample-1 takes images of rank 4",
                         request->count);
    request->scales = (tort_floats){
        TORT_KNOWN, 4, {1, 1, tort_attr_float(node, "height_scale"), tort_attr_float(node, "width_scale")}};
    return TORT_OK;
}

/* Checks scales and sizes. Up to opset 12 an absent input is written as an empty tensor. */
static tort_status check_given(tort_error *error, resize_request *request) {
    tort_floats *scales = &request->scales;
    tort_numbers *sizes = &request->sizes;
    if (scales->count == 0) scales->known = TORT_ABSENT;
    if (sizes->count == 0) sizes->known = TORT_ABSENT;
    if (scales->known == TORT_ABSENT && sizes->known == TORT_ABSENT)
        return tort_fail(error, TORT_E_MODEL, "neither scales nor sizes are given; give one");
    if (scales->count > 0 && sizes->count > 0)
        return tort_fail(error, TORT_E_MODEL, "both scales and sizes are given; give one");
    if (scales->known != TORT_ABSENT) {
        tort_status status = tort_check_entries(error, "scales", scales->count, request->count);
        if (status != TORT_OK) return status;
    }
    for (int32_t i = 0; scales->known == TORT_KNOWN && i < request->count; i++)
        if (!(scales->values[i] > 0) || isinf(scales->values[i]))
            return tort_fail(error, TORT_E_MODEL, "scale %g of axis %d is not a positive number",
                             (double)scales->values[i], request->axes[i]);
    if (sizes->known != TORT_ABSENT) {
        tort_status status = tort_check_entries(error, "sizes", sizes->count, request->count);
        if (status != TORT_OK) return status;
    }
    for (int32_t i = 0; sizes->known == TORT_KNOWN && i < request->count; i++)
        if (sizes->values[i] < 0)
            return tort_fail(error, TORT_E_MODEL, "size %lld of axis %d is negative", (long long)sizes->values[i],
                             request->axes[i]);
    return TORT_OK;
}

static tort_status read_request(const tort_node_view *node, tort_error *error, resize_request *request) {
    const resize_inputs inputs = inputs_of(node);
    *request = (resize_request){0};
    tort_status status = read_axes(node, error, request);
    if (status != TORT_OK) return status;
    if (tort_attr(node, "height_scale"))
        status = read_sides(node, error, request);
    else
        status = tort_read_floats(node, inputs.scales, "scales", &request->scales, error);
    if (!status && inputs.sizes > 0) status = tort_read_numbers(node, inputs.sizes, "sizes", &request->sizes, error);
    if (!status) status = check_given(error, request);
    if (status != TORT_OK || !asks_for_crop(node)) return status;
    if (!tort_has_input(node, inputs.roi))
        return tort_fail(error, TORT_E_MODEL, "tf_crop_and_resize needs the input roi");
    status = tort_read_floats(node, inputs.roi, "roi", &request->roi, error);
    request->crops = request->roi.known == TORT_KNOWN;
    return status ? status : tort_check_entries(error, "roi", request->roi.count, 2 * request->count);
}

/* Common scale of all axes under keep_aspect_ratio_policy; 0 for "stretch", where each axis has its own. */
static double common_scale(const tort_node_view *node, const resize_request *request, const tort_dim *in) {
    const char *policy = tort_attr_string(node, "keep_aspect_ratio_policy");
    bool larger = strcmp(policy, "not_smaller") == 0;
    double common = 0;
    if (request->sizes.known != TORT_KNOWN || (!larger && strcmp(policy, "not_larger") != 0)) return 0;
    for (int32_t i = 0; i < request->count; i++) {
        double scale = (double)request->sizes.values[i] / (double)in[request->axes[i]];
        if (i == 0 || (larger ? scale > common : scale < common)) common = scale;
    }
    return common;
}

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* floor(in * scale), in float; for a symbolic dimension only if the scale is a binary fraction. */
static tort_status scaled_dim(const tort_infer *infer, int32_t axis, tort_dim in, float scale, tort_dim *out) {
    *out = tort_dim_fresh(infer->dims, tort_dim_dynamic(infer->dims, in));
    if (tort_dim_known(in)) {
        double size = floor((double)((float)in * scale));
        if (!(size < 1e18))
            return tort_fail(infer->error, TORT_E_MODEL, "axis %d of %lld elements times %g does not fit", (int)axis,
                             (long long)in, (double)scale);
        *out = (tort_dim)size;
        return TORT_OK;
    }
    for (int64_t divisor = 1; divisor <= 64; divisor *= 2) {
        double factor = (double)scale * (double)divisor;
        if (factor > 1e6) break;
        if (factor != floor(factor)) continue;
        *out = tort_dim_floordiv(infer->dims, tort_dim_mul(infer->dims, in, (tort_dim)factor), divisor);
        break;
    }
    return TORT_OK;
}

/* Output dimensions from sizes, which may be expressions of shapes; keeping the aspect ratio needs numbers. */
static tort_status sized_dims(tort_infer *infer, const resize_request *request, tort_dim *dims) {
    const char *policy = tort_attr_string(infer->node, "keep_aspect_ratio_policy");
    const tort_dim *in = infer->node->inputs[0].dims;
    const bool stretches = policy[0] == '\0' || strcmp(policy, "stretch") == 0;
    tort_symbols sizes = {.known = TORT_UNKNOWN};
    tort_status status = TORT_OK;
    bool known = request->sizes.known == TORT_KNOWN;
    if (stretches)
        status =
            tort_read_symbols(infer->node, infer->dims, inputs_of(infer->node).sizes, "sizes", &sizes, infer->error);
    for (int32_t i = 0; i < request->count; i++) {
        const int32_t d = request->axes[i];
        if (!stretches && in[d] == 0)
            return tort_fail(infer->error, TORT_E_MODEL, "axis %d is empty and has no aspect ratio to keep", (int)d);
        known = known && in[d] > 0;
    }
    double scale = known && !stretches ? common_scale(infer->node, request, in) : 0;
    for (int32_t i = 0; i < request->count; i++) {
        const int32_t d = request->axes[i];
        if (sizes.known == TORT_KNOWN)
            dims[d] = tort_scalar_to_dim(infer->dims, sizes.values[i]);
        else if (known && !stretches)
            dims[d] = (tort_dim)floor(scale * (double)in[d] + 0.5);
        else
            dims[d] = tort_dim_fresh(infer->dims, request->sizes.known != TORT_KNOWN);
    }
    return status;
}

static tort_status requested_dims(tort_infer *infer, const resize_request *request, tort_dim *dims) {
    /* Even with sizes given, resolve needs the contents of roi: until they are known, the shape is not either. */
    const bool waits = asks_for_crop(infer->node) && !request->crops;
    if (!waits && request->sizes.known != TORT_ABSENT && request->scales.known != TORT_UNKNOWN)
        return sized_dims(infer, request, dims);
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < request->count && !status; i++) {
        const int32_t d = request->axes[i];
        if (waits || request->scales.known != TORT_KNOWN)
            dims[d] = tort_dim_fresh(infer->dims, true);
        else
            status = scaled_dim(infer, d, dims[d], request->scales.values[i], &dims[d]);
    }
    return status;
}

static tort_status infer_resize(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    resize_request request;
    infer->outputs[0].type = input->type;
    if (input->rank < 0) return TORT_OK;
    tort_status status = read_request(infer->node, infer->error, &request);
    if (status != TORT_OK) return status;
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t d = 0; d < input->rank; d++) dims[d] = input->dims[d];
    status = requested_dims(infer, &request, dims);
    for (int32_t d = 0; d < input->rank && !status; d++)
        if (input->dims[d] == 0 && dims[d] > 0)
            status = tort_fail(infer->error, TORT_E_MODEL, "axis %d is empty and cannot be resized to %lld", d,
                               (long long)dims[d]);
    if (!status) tort_infer_shape(infer, 0, input->type, input->rank, dims);
    return status;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

typedef struct resize_name {
    const char *name;
    int value;
} resize_name;

/* Reads an attribute whose values are words; `absent` if the version has no such attribute. */
static tort_status resolve_word(tort_resolve *resolve, const char *attribute, const resize_name *names, int absent,
                                int *value) {
    const char *word = tort_attr_string(resolve->node, attribute);
    *value = absent;
    if (!tort_attr(resolve->node, attribute)) return TORT_OK;
    for (; names->name; names++) {
        if (strcmp(names->name, word) != 0) continue;
        *value = names->value;
        return TORT_OK;
    }
    return tort_fail(resolve->error, TORT_E_MODEL, "%s \"%s\" is not known", attribute, word);
}

static tort_status resolve_words(tort_resolve *resolve, tort_resize_params *params) {
    static const resize_name modes[] = {{"nearest", TORT_RESIZE_NEAREST},
                                        {"linear", TORT_RESIZE_LINEAR},
                                        {"bilinear", TORT_RESIZE_LINEAR}, /* Upsample-1 */
                                        {"cubic", TORT_RESIZE_CUBIC},
                                        {NULL, 0}};
    static const resize_name transforms[] = {{"half_pixel", TORT_RESIZE_HALF_PIXEL},
                                             {"half_pixel_symmetric", TORT_RESIZE_HALF_PIXEL_SYMMETRIC},
                                             {"pytorch_half_pixel", TORT_RESIZE_PYTORCH_HALF_PIXEL},
                                             {"align_corners", TORT_RESIZE_ALIGN_CORNERS},
                                             {"asymmetric", TORT_RESIZE_ASYMMETRIC},
                                             {"tf_half_pixel_for_nn", TORT_RESIZE_TF_HALF_PIXEL_FOR_NN},
                                             {"tf_crop_and_resize", TORT_RESIZE_TF_CROP_AND_RESIZE},
                                             {NULL, 0}};
    static const resize_name roundings[] = {{"round_prefer_floor", TORT_RESIZE_ROUND_PREFER_FLOOR},
                                            {"round_prefer_ceil", TORT_RESIZE_ROUND_PREFER_CEIL},
                                            {"floor", TORT_RESIZE_FLOOR},
                                            {"ceil", TORT_RESIZE_CEIL},
                                            {NULL, 0}};
    static const resize_name policies[] = {{"stretch", 0}, {"not_larger", 1}, {"not_smaller", 2}, {NULL, 0}};
    int mode, transform, rounding, policy;
    tort_status status = resolve_word(resolve, "mode", modes, TORT_RESIZE_NEAREST, &mode);
    if (status == TORT_OK)
        status =
            resolve_word(resolve, "coordinate_transformation_mode", transforms, TORT_RESIZE_ASYMMETRIC, &transform);
    if (status == TORT_OK)
        status = resolve_word(resolve, "nearest_mode", roundings, TORT_RESIZE_FLOOR_OR_CEIL, &rounding);
    if (status == TORT_OK) status = resolve_word(resolve, "keep_aspect_ratio_policy", policies, 0, &policy);
    if (status != TORT_OK) return status;
    params->mode = (tort_resize_mode)mode;
    params->transform = (tort_resize_transform)transform;
    params->rounding = (tort_resize_rounding)rounding;
    return TORT_OK;
}

/* Number of input elements of an output element along the axis. */
static int64_t tap_count(const tort_resize_params *params, const tort_resize_axis *axis) {
    if (axis->identity || params->mode == TORT_RESIZE_NEAREST) return 1;
    double radius = params->mode == TORT_RESIZE_LINEAR ? 1 : 2;
    if (params->antialias && axis->scale < 1) radius /= axis->scale;
    radius = fmin(radius, 2 * (double)axis->in + 2); /* a scale may be absurdly small */
    return 2 * (int64_t)ceil(radius);
}

static void add_axis(tort_resize_params *params, const tort_resize_axis *axis) {
    tort_resize_axis *last = params->rank > 0 ? &params->axes[params->rank - 1] : NULL;
    if (axis->identity && last && last->identity) {
        last->in *= axis->in;
        last->out = last->in;
        return;
    }
    last = &params->axes[params->rank++];
    *last = *axis;
    last->taps = tap_count(params, axis);
}

static tort_status resolve_attributes(tort_resolve *resolve, tort_resize_params *params) {
    const tort_node_view *node = resolve->node;
    const tort_type type = node->inputs[0].type;
    tort_status status = resolve_words(resolve, params);
    if (status != TORT_OK) return status;
    const bool computes = params->mode != TORT_RESIZE_NEAREST ||
                          params->transform == TORT_RESIZE_TF_CROP_AND_RESIZE; /* extrapolation_value */
    if (computes && (type == TORT_STRING || type == TORT_COMPLEX64 || type == TORT_COMPLEX128))
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "interpolation of %s elements; mode nearest moves them",
                         tort_type_name(type));
    params->exclude_outside = tort_attr_int(node, "exclude_outside") != 0;
    params->antialias = tort_attr_int(node, "antialias") != 0;
    params->cubic_a = (double)tort_attr_float(node, "cubic_coeff_a");
    params->extrapolation = (double)tort_attr_float(node, "extrapolation_value");
    return TORT_OK;
}

/* Fills an axis that is not resized. */
static void keep_axis(tort_resize_axis *axis, int64_t in, int64_t out) {
    axis->in = in;
    axis->out = out;
    axis->identity = true;
    axis->scale = axis->end = 1;
    axis->width = (double)out;
}

/* Fills the i-th requested axis; common: the scale of all of them, 0 where each has its own. */
static void resize_axis(const tort_resize_params *params, const resize_request *request, int32_t i, double common,
                        tort_resize_axis *axis) {
    const bool scaled = request->scales.known == TORT_KNOWN;
    bool crops = request->crops && (request->roi.values[i] != 0 || request->roi.values[request->count + i] != 1);
    if (scaled)
        axis->scale = (double)request->scales.values[i];
    else
        axis->scale = common > 0 ? common : (double)axis->out / (double)axis->in;
    /* The width of a crop is that of its output; elsewhere it includes the fraction that was rounded away. */
    if ((scaled || common > 0) && params->transform != TORT_RESIZE_TF_CROP_AND_RESIZE)
        axis->width = axis->scale * (double)axis->in;
    if (request->crops) {
        axis->start = (double)request->roi.values[i];
        axis->end = (double)request->roi.values[request->count + i];
    }
    axis->identity =
        axis->in == axis->out && axis->scale == 1 && !crops && params->transform != TORT_RESIZE_TF_HALF_PIXEL_FOR_NN;
}

static tort_status resolve_resize(tort_resolve *resolve) {
    const tort_info *input = &resolve->node->inputs[0], *output = &resolve->node->outputs[0];
    tort_resize_params *params = resolve->params;
    resize_request request;
    tort_status status = resolve_attributes(resolve, params);
    if (status || input->rank < 0 || !tort_shape_known(input) || !tort_shape_known(output)) return status;
    status = read_request(resolve->node, resolve->error, &request);
    if (status != TORT_OK) return status;
    if (request.scales.known != TORT_KNOWN && request.sizes.known != TORT_KNOWN) return TORT_OK;

    tort_resize_axis axes[TORT_MAX_RANK];
    memset(axes, 0, sizeof axes); /* padding bytes too: they become params */
    for (int32_t d = 0; d < input->rank; d++) keep_axis(&axes[d], input->dims[d], output->dims[d]);
    double common = common_scale(resolve->node, &request, input->dims);
    for (int32_t i = 0; i < request.count; i++) resize_axis(params, &request, i, common, &axes[request.axes[i]]);
    if (tort_extent(output->dims, 0, output->rank) == 0) return TORT_OK;
    for (int32_t d = 0; d < input->rank; d++) add_axis(params, &axes[d]);
    return params->rank > 0 ? tort_resize_scratch(resolve, params) : TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY .params_size = sizeof(tort_resize_params), infer_resize, resolve_resize, tort_resize_reference
#define ATTRIBUTES_11                                                                                                  \
    "coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 exclude_outside:int=0 "                \
    "extrapolation_value:float=0 mode:string=nearest nearest_mode:string=round_prefer_floor"
#define ATTRIBUTES_18 ATTRIBUTES_11 " antialias:int=0 axes:ints keep_aspect_ratio_policy:string=stretch"
#define ROI_SCALES_SIZES (1u << 1 | 1u << 2 | 1u << 3)

const tort_op tort_ops_resize[] = {
    {"", "Resize", 10, 10, "X:T scales:float", "Y:T", "T=all", "mode:string=nearest", 1u << 1, BY},
    {"", "Resize", 11, 12, "X:T1 roi:T2 scales:float sizes?:int64", "Y:T1", "T1=all T2=floats", ATTRIBUTES_11,
     ROI_SCALES_SIZES, BY},
    {"", "Resize", 13, 17, "X:T1 roi?:T2 scales?:float sizes?:int64", "Y:T1", "T1=all13 T2=floats", ATTRIBUTES_11,
     ROI_SCALES_SIZES, BY},
    {"", "Resize", 18, 18, "X:T1 roi?:T2 scales?:float sizes?:int64", "Y:T1", "T1=all13 T2=floats", ATTRIBUTES_18,
     ROI_SCALES_SIZES, BY},
    {"", "Resize", 19, TORT_NEWEST_OPSET, "X:T1 roi?:T2 scales?:float sizes?:int64", "Y:T1", "T1=all13 T2=floats",
     ATTRIBUTES_18, ROI_SCALES_SIZES, BY},
    {"", "Upsample", 1, 6, "X:T", "Y:T", "T=floats|bool|int32|int64",
     "height_scale:float! mode:string=nearest width_scale:float!", 0, BY},
    {"", "Upsample", 7, 8, "X:T", "Y:T", "T=all", "mode:string=nearest scales:floats!", 0, BY},
    /* Upsample: deprecated from opset 10 on, with the same meaning. */
    {"", "Upsample", 9, TORT_NEWEST_OPSET, "X:T scales:float", "Y:T", "T=all", "mode:string=nearest", 1u << 1, BY},
    {0},
};
