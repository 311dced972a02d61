/* grid_sample.c - GridSample: samples X at the coordinates of a grid, by interpolation.
 *
 * Each axis contributes 1, 2 or 4 input elements ("taps") to a point; a point is the sum over all combinations.
 * Coordinates are computed in float, as other runtimes do, so that nearest breaks ties alike. */
#include "ops/extent.h"
#include "ops/grid_sample.h"

#include <math.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_grid_sample(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *grid = &infer->node->inputs[1];
    infer->outputs[0].type = x->type;
    if (infer->node->op->domain[0] && !tort_type_is_float(x->type))
        return tort_fail(infer->error, TORT_E_UNSUPPORTED, "X is %s, expected a float", tort_type_name(x->type));
    if (x->rank < 0 || grid->rank < 0) return TORT_OK;
    if (x->rank < 3 || grid->rank != x->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d and grid %d; expected the same rank, 3 or more",
                         x->rank, grid->rank);
    tort_dim last = grid->dims[grid->rank - 1];
    if (tort_dim_known(last) && last != x->rank - 2)
        return tort_fail(infer->error, TORT_E_MODEL, "the last dimension of grid is %lld; expected %d, one an axis",
                         (long long)last, x->rank - 2);
    if (tort_dim_known(x->dims[0]) && tort_dim_known(grid->dims[0]) && x->dims[0] != grid->dims[0])
        return tort_fail(infer->error, TORT_E_MODEL, "X has a batch of %lld and grid of %lld", (long long)x->dims[0],
                         (long long)grid->dims[0]);
    tort_dim dims[TORT_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (int32_t d = 2; d < x->rank; d++) dims[d] = grid->dims[d - 1];
    tort_infer_shape(infer, 0, x->type, x->rank, dims);
    return TORT_OK;
}

static tort_status resolve_grid_sample(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *x = &node->inputs[0], *grid = &node->inputs[1];
    const char *mode = tort_attr_string(node, "mode"), *padding = tort_attr_string(node, "padding_mode");
    tort_grid_params *params = resolve->params;
    if (strcmp(mode, "nearest") == 0)
        params->mode = TORT_GRID_NEAREST;
    else if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0) /* the names of versions 20 and 16 */
        params->mode = TORT_GRID_LINEAR;
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        params->mode = TORT_GRID_CUBIC;
    else
        return tort_fail(resolve->error, TORT_E_MODEL, "mode \"%s\" is not known", mode);
    if (strcmp(padding, "zeros") == 0)
        params->padding = TORT_GRID_ZEROS;
    else if (strcmp(padding, "border") == 0)
        params->padding = TORT_GRID_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        params->padding = TORT_GRID_REFLECTION;
    else
        return tort_fail(resolve->error, TORT_E_MODEL, "padding_mode \"%s\" is not known", padding);
    if (params->mode != TORT_GRID_NEAREST &&
        (x->type == TORT_STRING || x->type == TORT_COMPLEX64 || x->type == TORT_COMPLEX128))
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "interpolation of %s elements; mode nearest moves them",
                         tort_type_name(x->type));
    params->align_corners = tort_attr_int(node, "align_corners") != 0;
    if (!tort_shape_known(x) || !tort_shape_known(grid)) return TORT_OK;
    params->spatial = x->rank - 2;
    params->batch = x->dims[0];
    params->channels = x->dims[1];
    params->points = tort_extent(grid->dims, 1, grid->rank - 1);
    for (int32_t d = 0; d < params->spatial; d++) params->sizes[d] = x->dims[d + 2];
    return TORT_OK;
}

/* ---- coordinates ------------------------------------------------------------------------------------------------- */

/* Maps -1..1 to 0..size-1 (the centres of the outer elements), or to -0.5..size-0.5 (their edges). */
static double to_element(const tort_tensor *grid, int64_t i, int64_t size, bool align_corners) {
    if (grid->type == TORT_DOUBLE) {
        double n = ((const double *)grid->data)[i], length = (double)size;
        return align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    }
    float n, length = (float)size;
    tort_load_floats(grid->type, grid->data, i, 1, &n);
    return (double)(align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2);
}

/* Mirrors x at both borders until it is between them. */
static double reflect(double x, double low, double high) {
    double span = high - low;
    if (!(span > 0) || !isfinite(x)) return low > 0 ? low : 0;
    double offset = fmod(fabs(x - low), 2 * span);
    return offset <= span ? low + offset : high - (offset - span);
}

typedef struct grid_taps {
    int32_t count;
    int64_t indices[4]; /* -1: outside, counts as zero */
    double weights[4];
} grid_taps;

/* Index of the input element at index i of an axis, after padding; -1: zero. */
static int64_t padded_index(const tort_grid_params *params, double i, int64_t size) {
    const double last = (double)(size - 1), edge = params->align_corners ? 0 : 0.5;
    if (params->padding == TORT_GRID_ZEROS && !(i >= 0 && i <= last)) return -1;
    if (params->padding == TORT_GRID_REFLECTION && !(i >= 0 && i <= last)) i = reflect(i, -edge, last + edge);
    return !(i > 0) ? 0 : i > last ? size - 1 : (int64_t)i;
}

static void cubic_weights(double fraction, double *weights) {
    const double a = -0.75, t = fraction, u = 1 - fraction, t1 = t + 1, u1 = u + 1;
    weights[0] = ((a * t1 - 5 * a) * t1 + 8 * a) * t1 - 4 * a;
    weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weights[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    weights[3] = ((a * u1 - 5 * a) * u1 + 8 * a) * u1 - 4 * a;
}

static grid_taps taps_at(const tort_grid_params *params, double x, int64_t size) {
    const double last = (double)(size - 1), edge = params->align_corners ? 0 : 0.5;
    grid_taps taps = {.count = 1, .weights = {1}};
    if (params->mode == TORT_GRID_NEAREST) x = nearbyint(x);
    /* Cubic keeps its coordinate, as PyTorch does; padded_index moves single taps to the border. */
    if (params->padding == TORT_GRID_BORDER && params->mode != TORT_GRID_CUBIC && !(x >= -edge && x <= last + edge))
        x = x > last ? last : 0;
    if (params->padding == TORT_GRID_REFLECTION && !(x >= -edge && x <= last + edge))
        x = reflect(x, -edge, last + edge);
    if (params->mode == TORT_GRID_NEAREST) {
        /* A reflected coordinate may lie between two elements. */
        taps.indices[0] = padded_index(params, trunc(x), size);
        return taps;
    }
    if (!isfinite(x)) x = x > 0 ? last + 8 : -8; /* any tap is outside */
    double base = floor(x), fraction = x - base;
    int32_t before = 0;
    if (params->mode == TORT_GRID_LINEAR) {
        taps.count = 2;
        taps.weights[0] = 1 - fraction;
        taps.weights[1] = fraction;
    } else {
        taps.count = 4;
        before = 1;
        cubic_weights(fraction, taps.weights);
    }
    for (int32_t t = 0; t < taps.count; t++) taps.indices[t] = padded_index(params, base + (double)(t - before), size);
    return taps;
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

/* Computes the taps of a point for each axis, from the first; the grid has the coordinate of the last axis first. */
static void point_taps(const tort_call *call, int64_t item, grid_taps *taps) {
    const tort_grid_params *params = call->params;
    for (int32_t d = 0; d < params->spatial; d++) {
        int64_t entry = item * params->spatial + params->spatial - 1 - d;
        double x = to_element(&call->inputs[1], entry, params->sizes[d], params->align_corners);
        taps[d] = taps_at(params, x, params->sizes[d]);
    }
}

/* Adds weight times the element at `offset` of each channel from `first` on (counted over all batches) to sums. */
static void add_channels(const tort_grid_params *params, const tort_tensor *x, int64_t first, int64_t count,
                         int64_t offset, double weight, double *sums) {
    const int64_t elements = tort_extent(params->sizes, 0, params->spatial);
    for (int64_t c = 0; c < count; c++) sums[c] += weight * tort_element_at(x, (first + c) * elements + offset);
}

/* Computes the sums over all combinations of taps, for `count` channels. */
static void interpolate(const tort_grid_params *params, const tort_tensor *x, const grid_taps *taps, int64_t first,
                        int64_t count, double *sums) {
    int32_t at[TORT_MAX_RANK] = {0}, d;
    for (int64_t c = 0; c < count; c++) sums[c] = 0;
    do {
        int64_t offset = 0;
        double weight = 1;
        bool inside = true;
        for (d = 0; d < params->spatial; d++) {
            int64_t index = taps[d].indices[at[d]];
            inside = inside && index >= 0;
            offset = offset * params->sizes[d] + index;
            weight *= taps[d].weights[at[d]];
        }
        if (inside) add_channels(params, x, first, count, offset, weight, sums);
        d = params->spatial - 1;
        while (d >= 0 && ++at[d] == taps[d].count) at[d--] = 0;
    } while (d >= 0);
}

/* Copies the element that the taps of mode nearest select, for each channel; zeros if it is outside. */
static void copy_nearest(const tort_call *call, const grid_taps *taps, int64_t first, int64_t count, int64_t point) {
    const tort_grid_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t elements = tort_extent(params->sizes, 0, params->spatial);
    const size_t size = (size_t)tort_type_bits(x->type) / 8;
    int64_t offset = 0;
    bool inside = true;
    for (int32_t d = 0; d < params->spatial; d++) {
        inside = inside && taps[d].indices[0] >= 0;
        offset = offset * params->sizes[d] + taps[d].indices[0];
    }
    for (int64_t c = first; c < first + count; c++) {
        char *to = (char *)y->data + (size_t)(c * params->points + point) * size;
        if (inside)
            tort_copy_element(to, (const char *)x->data + (size_t)(c * elements + offset) * size, size);
        else
            memset(to, 0, size);
    }
}

/* Number of elements of a channel that a point is made of. */
static int64_t taps_of(const tort_grid_params *params) {
    static const int64_t per_axis[] = {1, 2, 4}; /* by mode */
    int64_t taps = 1;
    for (int32_t d = 0; d < params->spatial; d++) taps *= per_axis[params->mode];
    return taps;
}

/* Samples points begin .. end-1, counted over all batches. */
static void sample_points(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_grid_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    grid_taps taps[TORT_MAX_RANK];
    double sums[TORT_BLOCK];
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / params->points, point = item % params->points;
        point_taps(call, item, taps);
        for (int64_t first = 0; first < params->channels; first += TORT_BLOCK) {
            int64_t count = tort_block_count(params->channels, first), channel = batch * params->channels + first;
            if (!tort_work_goes_on(call->watch, &done, count * taps_of(params))) return;
            if (params->mode == TORT_GRID_NEAREST) {
                copy_nearest(call, taps, channel, count, point);
                continue;
            }
            interpolate(params, &call->inputs[0], taps, channel, count, sums);
            for (int64_t c = 0; c < count; c++)
                tort_store_doubles(y->type, y->data, (channel + c) * params->points + point, 1, &sums[c]);
        }
    }
}

static tort_status grid_sample(const tort_call *call) {
    const tort_grid_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    for (int32_t d = 0; d < params->spatial; d++)
        if (params->sizes[d] == 0)
            return tort_fail(call->error, TORT_E_RUN, "axis %d of X is empty: there is nothing to sample", d + 2);
    const int64_t work = 20 * params->spatial * taps_of(params);
    tort_parallel(call, params->batch * params->points, work * params->channels / 4, sample_points, (void *)call);
    return TORT_OK;
}

#define BY .params_size = sizeof(tort_grid_params), infer_grid_sample, resolve_grid_sample, grid_sample

const tort_op tort_ops_grid_sample[] = {
    {"", "GridSample", 16, 19, "X:T1 grid:T2", "Y:T1", "T1=all T2=floats",
     "align_corners:int=0 mode:string=bilinear padding_mode:string=zeros", BY},
    {"", "GridSample", 20, 21, "X:T1 grid:T2", "Y:T1", "T1=all T2=floats",
     "align_corners:int=0 mode:string=linear padding_mode:string=zeros", BY},
    {"", "GridSample", 22, TORT_NEWEST_OPSET, "X:T1 grid:T2", "Y:T1", "T1=all13 T2=floats13",
     "align_corners:int=0 mode:string=linear padding_mode:string=zeros", BY},
    {"com.microsoft", "GridSample", 1, 1, "X:T1 Grid:T1", "Y:T2", "T1=all T2=floats",
     "align_corners:int=0 mode:string=bilinear padding_mode:string=zeros", BY},
    {0},
};
