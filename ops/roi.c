/* roi.c - RoiAlign, CropAndResize and MaxRoiPool: regions of an image, each divided into a fixed number of bins.
 *
 * RoiAlign samples each bin bilinearly on a grid and takes the mean or the maximum; CropAndResize has one sample per
 * bin, the outermost in the corners of the region; MaxRoiPool takes the maximum of the elements that a bin covers. All
 * compute in double and round once. */
#include "ops/roi.h"

#include "ops/index.h"
#include "ops/shapes.h"

#include <math.h>

#define MAX_SAMPLES 1024 /* maximum of sampling_ratio */

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

static tort_status infer_roi(tort_infer *infer, tort_dim high, tort_dim wide) {
    const tort_info *x = &infer->node->inputs[0], *rois = &infer->node->inputs[1];
    if (x->rank >= 0 && x->rank != 4)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d; expected 4", x->rank);
    if (rois->rank >= 0 && rois->rank != 2)
        return tort_fail(infer->error, TORT_E_MODEL, "rois has rank %d; expected 2", rois->rank);
    tort_dim regions = rois->rank == 2 ? rois->dims[0] : tort_dim_fresh(infer->dims, true);
    tort_dim channels = x->rank == 4 ? x->dims[1] : tort_dim_fresh(infer->dims, true);
    const tort_dim dims[4] = {regions, channels, high, wide};
    tort_infer_shape(infer, 0, x->type, 4, dims);
    return TORT_OK;
}

/* Infers the output for numbers of bins that attributes give. */
static tort_status infer_bins(tort_infer *infer, int64_t high, int64_t wide) {
    if (high < 1 || wide < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "%lld x %lld bins; expected 1 or more each", (long long)high,
                         (long long)wide);
    return infer_roi(infer, high, wide);
}

static tort_status infer_align(tort_infer *infer) {
    return infer_bins(infer, tort_attr_int(infer->node, "output_height"), tort_attr_int(infer->node, "output_width"));
}

static tort_status infer_pool(tort_infer *infer) {
    int32_t count;
    const int64_t *bins = tort_attr_ints(infer->node, "pooled_shape", &count);
    if (count != 2) return tort_fail(infer->error, TORT_E_MODEL, "pooled_shape has %d entries; expected 2", count);
    return infer_bins(infer, bins[0], bins[1]);
}

static tort_status infer_crop(tort_infer *infer) {
    tort_symbols size;
    tort_status status = tort_read_shape(infer, 3, "crop_size", 1, &size);
    if (status == TORT_OK) status = tort_check_entries(infer->error, "crop_size", size.count, 2);
    if (status != TORT_OK) return status;
    tort_dim bins[2];
    for (int32_t i = 0; i < 2; i++)
        bins[i] = size.known == TORT_KNOWN ? tort_scalar_to_dim(infer->dims, size.values[i])
                                           : tort_dim_fresh(infer->dims, true);
    return infer_roi(infer, bins[0], bins[1]);
}

static tort_status resolve_roi(tort_resolve *resolve) {
    const int64_t columns = resolve->node->input_count > 2 ? 4 : 5; /* MaxRoiPool has the image in column 0 */
    const tort_info *x = &resolve->node->inputs[0], *rois = &resolve->node->inputs[1];
    const tort_info *output = &resolve->node->outputs[0];
    tort_roi_params *params = resolve->params;
    params->spatial_scale = (double)tort_attr_float(resolve->node, "spatial_scale");
    if (!tort_shape_known(x) || !tort_shape_known(rois) || !tort_shape_known(output)) return TORT_OK;
    if (rois->dims[1] != columns)
        return tort_fail(resolve->error, TORT_E_MODEL, "rois has %lld columns; expected %lld", (long long)rois->dims[1],
                         (long long)columns);
    params->batches = x->dims[0];
    params->channels = x->dims[1];
    params->height = x->dims[2];
    params->width = x->dims[3];
    params->regions = rois->dims[0];
    params->bins_high = output->dims[2];
    params->bins_wide = output->dims[3];
    return TORT_OK;
}

static tort_status check_batch_indices(const tort_resolve *resolve) {
    const tort_info *rois = &resolve->node->inputs[1], *batches = &resolve->node->inputs[2];
    if (!tort_shape_known(rois) || !tort_shape_known(batches) || rois->rank != 2) return TORT_OK;
    if (batches->rank == 1 && batches->dims[0] == rois->dims[0]) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "batch_indices must have shape [%lld], one a region",
                     (long long)rois->dims[0]);
}

static tort_status resolve_align(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    tort_roi_params *params = resolve->params;
    const char *mode = tort_attr_string(node, "mode");
    /* RoiAlign-10 has no such attribute, and no half pixels. */
    const char *transform =
        node->op->since < 16 ? "output_half_pixel" : tort_attr_string(node, "coordinate_transformation_mode");
    params->max = strcmp(mode, "max") == 0;
    if (!params->max && strcmp(mode, "avg") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "mode \"%s\" is not known", mode);
    bool half_pixel = strcmp(transform, "half_pixel") == 0;
    if (!half_pixel && strcmp(transform, "output_half_pixel") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "coordinate_transformation_mode \"%s\" is not known", transform);
    params->offset = half_pixel ? 0.5 : 0;
    params->sampling_ratio = tort_attr_int(node, "sampling_ratio");
    if (params->sampling_ratio < 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "sampling_ratio is %lld, expected 0 or more",
                         (long long)params->sampling_ratio);
    if (params->sampling_ratio > MAX_SAMPLES)
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "sampling_ratio is %lld; at most %d is supported",
                         (long long)params->sampling_ratio, MAX_SAMPLES);
    tort_status status = check_batch_indices(resolve);
    return status ? status : resolve_roi(resolve);
}

static tort_status resolve_crop(tort_resolve *resolve) {
    tort_roi_params *params = resolve->params;
    const char *mode = tort_attr_string(resolve->node, "mode");
    params->nearest = strcmp(mode, "nearest") == 0;
    if (!params->nearest && strcmp(mode, "bilinear") != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "mode \"%.40s\" is not known; expected bilinear or nearest",
                         mode);
    params->outside = (double)tort_attr_float(resolve->node, "extrapolation_value");
    tort_status status = check_batch_indices(resolve);
    return status ? status : resolve_roi(resolve);
}

/* ---- RoiAlign ---------------------------------------------------------------------------------------------------- */

/* Rounds to float unless the regions are doubles, as torchvision and onnxruntime do: the number of samples of a bin
 * (its length rounded up), and which of them are in the image, depend on the last bit. */
static double as_float(tort_type type, double value) {
    return type == TORT_DOUBLE ? value : (double)(float)value;
}

/* Image of a region, which was checked. */
static int64_t region_batch(const tort_call *call, int64_t r) {
    const tort_roi_params *params = call->params;
    return tort_index_wrapped(&call->inputs[2], r, params->batches);
}

tort_roi_region tort_roi_region_of(const tort_call *call, int64_t r) {
    const tort_roi_params *params = call->params;
    const tort_type type = call->inputs[1].type;
    double corners[4];
    tort_load_doubles(type, call->inputs[1].data, 4 * r, 4, corners);
    for (int32_t i = 0; i < 4; i++)
        corners[i] = as_float(type, as_float(type, corners[i] * params->spatial_scale) - params->offset);
    double width = as_float(type, corners[2] - corners[0]), height = as_float(type, corners[3] - corners[1]);
    if (params->offset == 0) { /* output_half_pixel: a region is at least 1 x 1 */
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    tort_roi_region region = {.batch = region_batch(call, r), .x = corners[0], .y = corners[1]};
    region.bin_width = as_float(type, width / (double)params->bins_wide);
    region.bin_height = as_float(type, height / (double)params->bins_high);
    region.samples_wide = region.samples_high = (double)params->sampling_ratio;
    if (params->sampling_ratio == 0) {
        region.samples_wide = fmax(ceil(region.bin_width), 0);
        region.samples_high = fmax(ceil(region.bin_height), 0);
    }
    return region;
}

/* Samples first .. first+count-1 of a bin along an axis; all others are outside of the image, and zero. A region may be
 * too large to walk all of them. Sample s is at start + (s + 0.5) * step. */
typedef struct roi_span {
    double first;
    int64_t count;
} roi_span;

static roi_span samples_inside(double start, double bin, double samples, int64_t size) {
    const double step = bin / samples;
    if (samples <= MAX_SAMPLES) return (roi_span){0, (int64_t)samples};
    if (!isfinite(start) || !isfinite(step)) return (roi_span){0, 0};
    double first = fmax(floor((-1 - start) / step) - 1, 0);
    double last = fmin(ceil(((double)size - start) / step) + 1, samples);
    if (!(first < last)) return (roi_span){0, 0};
    return (roi_span){first, (int64_t)fmin(last - first, 2 * (double)size + 8)}; /* step is above 0.5 */
}

/* Finds the elements around a sample; false: it is outside of the image, where all is 0. */
static bool sample_at(const tort_roi_params *params, double y, double x, tort_roi_sample *sample) {
    const double high = (double)params->height, wide = (double)params->width;
    if (!(y >= -1 && y <= high && x >= -1 && x <= wide)) return false;
    y = fmin(fmax(y, 0), high - 1);
    x = fmin(fmax(x, 0), wide - 1);
    int64_t top = (int64_t)y, left = (int64_t)x;
    int64_t bottom = top + 1 < params->height ? top + 1 : top, right = left + 1 < params->width ? left + 1 : left;
    double down = y - (double)top, across = x - (double)left;
    const int64_t offsets[4] = {top * params->width + left, top * params->width + right, bottom * params->width + left,
                                bottom * params->width + right};
    const double weights[4] = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
    memcpy(sample->offsets, offsets, sizeof offsets);
    memcpy(sample->weights, weights, sizeof weights);
    return true;
}

/* Position of sample `index` of a bin along an axis. */
static double sample_place(tort_type type, double start, double bin, double samples, double index) {
    return as_float(type, start + as_float(type, as_float(type, (index + 0.5) * bin) / samples));
}

void tort_roi_each_sample(const tort_call *call, const tort_roi_region *region, int64_t by, int64_t bx, int64_t *done,
                          void (*take)(void *arg, const tort_roi_sample *sample), void *arg) {
    const tort_roi_params *params = call->params;
    const tort_type type = call->inputs[1].type;
    const double start_y = as_float(type, region->y + as_float(type, (double)by * region->bin_height));
    const double start_x = as_float(type, region->x + as_float(type, (double)bx * region->bin_width));
    const double high = region->samples_high, wide = region->samples_wide;
    const roi_span down = samples_inside(start_y, region->bin_height, high, params->height);
    const roi_span across = samples_inside(start_x, region->bin_width, wide, params->width);
    for (int64_t i = 0; i < down.count; i++) {
        double at_y = sample_place(type, start_y, region->bin_height, high, down.first + (double)i);
        for (int64_t k = 0; k < across.count; k++) {
            if (!tort_row_goes_on(call->watch, ++*done)) return;
            double at_x = sample_place(type, start_x, region->bin_width, wide, across.first + (double)k);
            tort_roi_sample sample;
            if (sample_at(params, at_y, at_x, &sample)) take(arg, &sample);
        }
    }
}

/* Accumulator of one bin, in the channel whose first element is `base`. */
typedef struct roi_bin {
    const tort_tensor *x;
    int64_t base;
    double sum, max, seen;
} roi_bin;

/* The maximum is over the weighted elements, not over the interpolated samples, as ONNX defines it. */
static void take_sample(void *arg, const tort_roi_sample *sample) {
    roi_bin *bin = arg;
    for (int32_t n = 0; n < 4; n++) {
        double value = sample->weights[n] * tort_element_at(bin->x, bin->base + sample->offsets[n]);
        bin->sum += value;
        if ((bin->seen == 0 && n == 0) || value > bin->max) bin->max = value;
    }
    bin->seen++;
}

static double align_bin(const tort_call *call, const tort_roi_region *region, int64_t base, int64_t by, int64_t bx,
                        int64_t *done) {
    const tort_roi_params *params = call->params;
    const double samples = region->samples_high * region->samples_wide;
    roi_bin bin = {.x = &call->inputs[0], .base = base};
    tort_roi_each_sample(call, region, by, bx, done, take_sample, &bin);
    if (bin.seen < samples && bin.max < 0) bin.max = 0; /* samples outside are 0 */
    return params->max ? bin.max : bin.sum / fmax(samples, 1);
}

/* Fills items (region, channel) begin .. end-1. */
static void align_items(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_roi_params *params = call->params;
    const tort_tensor *y = &call->outputs[0];
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        tort_roi_region region = tort_roi_region_of(call, item / params->channels);
        int64_t channel = region.batch * params->channels + item % params->channels;
        for (int64_t bin = 0; bin < params->bins_high * params->bins_wide; bin++) {
            if (!tort_row_goes_on(call->watch, ++done)) return;
            double value = align_bin(call, &region, channel * params->height * params->width, bin / params->bins_wide,
                                     bin % params->bins_wide, &done);
            tort_store_doubles(y->type, y->data, item * params->bins_high * params->bins_wide + bin, 1, &value);
        }
    }
}

static tort_status check_batch(const tort_call *call, int64_t region, double batch) {
    const tort_roi_params *params = call->params;
    if (batch >= 0 && batch < (double)params->batches) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN, "region %lld is of batch %g, which is not in [0, %lld)",
                     (long long)region, batch, (long long)params->batches);
}

static tort_status check_batches(const tort_call *call) {
    const tort_roi_params *params = call->params;
    tort_status status = TORT_OK;
    for (int64_t r = 0; r < params->regions && status == TORT_OK; r++)
        status = check_batch(call, r, (double)tort_index_at(&call->inputs[2], r));
    return status;
}

tort_status tort_roi_check(const tort_call *call) {
    const tort_roi_params *params = call->params;
    if (params->height == 0 || params->width == 0)
        return tort_fail(call->error, TORT_E_RUN, "X is an empty image: there is nothing to sample");
    return check_batches(call);
}

static tort_status roi_align(const tort_call *call) {
    const tort_roi_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_status status = tort_roi_check(call);
    if (status != TORT_OK) return status;
    int64_t work = params->bins_high * params->bins_wide * 100;
    tort_parallel(call, params->regions * params->channels, work, align_items, (void *)call);
    return TORT_OK;
}

/* ---- CropAndResize ----------------------------------------------------------------------------------------------- */

/* Position of sample i of `bins` along an axis of `size` elements. Corners of the region are 0 to 1 from the first
 * element to the last; a single sample is in the middle. Rounded to float unless the regions are doubles, as in
 * onnxruntime: whether the last sample is still in the image depends on the last bit. */
static double crop_place(tort_type type, double start, double end, int64_t size, int64_t bins, int64_t i) {
    const double last = (double)(size - 1);
    if (bins == 1) return as_float(type, 0.5 * as_float(type, start + end) * last);
    if (i == bins - 1) return as_float(type, end * last);
    const double span = as_float(type, as_float(type, end - start) * last);
    const double step = as_float(type, span / (double)(bins - 1));
    return as_float(type, as_float(type, start * last) + as_float(type, (double)i * step));
}

/* Interpolates at position `at` of the row that begins at element `row`. */
static double between_columns(const tort_tensor *x, int64_t row, double at) {
    const double left = tort_element_at(x, row + (int64_t)at), right = tort_element_at(x, row + (int64_t)ceil(at));
    return left + (right - left) * (at - floor(at));
}

/* Sample at (at_y, at_x) of the channel whose first element is `base`. Unlike in sample_at, elements with weight 0 do
 * not count: 0 times infinity would be NaN. */
static double crop_sample(const tort_call *call, int64_t base, double at_y, double at_x) {
    const tort_roi_params *params = call->params;
    const tort_tensor *x = &call->inputs[0];
    if (!(at_y >= 0 && at_y <= (double)(params->height - 1) && at_x >= 0 && at_x <= (double)(params->width - 1)))
        return params->outside;
    if (params->nearest) return tort_element_at(x, base + (int64_t)round(at_y) * params->width + (int64_t)round(at_x));
    const double top = between_columns(x, base + (int64_t)at_y * params->width, at_x);
    const double bottom = between_columns(x, base + (int64_t)ceil(at_y) * params->width, at_x);
    return top + (bottom - top) * (at_y - floor(at_y));
}

/* Fills items (region, channel) begin .. end-1. */
static void crop_items(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_roi_params *params = call->params;
    const tort_tensor *rois = &call->inputs[1], *y = &call->outputs[0];
    for (int64_t item = begin; item < end; item++) {
        const int64_t r = item / params->channels;
        const int64_t channel = region_batch(call, r) * params->channels + item % params->channels;
        double corners[4]; /* y1, x1, y2, x2 */
        tort_load_doubles(rois->type, rois->data, 4 * r, 4, corners);
        for (int64_t bin = 0; bin < params->bins_high * params->bins_wide; bin++) {
            if (!tort_row_goes_on(call->watch, bin)) return;
            double at_y = crop_place(rois->type, corners[0], corners[2], params->height, params->bins_high,
                                     bin / params->bins_wide);
            double at_x = crop_place(rois->type, corners[1], corners[3], params->width, params->bins_wide,
                                     bin % params->bins_wide);
            double value = crop_sample(call, channel * params->height * params->width, at_y, at_x);
            tort_store_doubles(y->type, y->data, item * params->bins_high * params->bins_wide + bin, 1, &value);
        }
    }
}

static tort_status crop_and_resize(const tort_call *call) {
    const tort_roi_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_status status = check_batches(call);
    if (status != TORT_OK) return status;
    int64_t work = params->bins_high * params->bins_wide * 50;
    tort_parallel(call, params->regions * params->channels, work, crop_items, (void *)call);
    return TORT_OK;
}

/* ---- MaxRoiPool -------------------------------------------------------------------------------------------------- */

/* Range of elements of bin `i` along an axis, inside 0 .. size. */
static void bin_range(double start, double end, int64_t i, int64_t bins, int64_t size, int64_t *from, int64_t *to) {
    double bin = fmax(end - start + 1, 1) / (double)bins;
    double low = fmin(fmax(floor((double)i * bin) + start, 0), (double)size);
    double high = fmin(fmax(ceil((double)(i + 1) * bin) + start, 0), (double)size);
    *from = low == low ? (int64_t)low : 0;
    *to = high == high ? (int64_t)high : 0;
}

static void pool_items(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_roi_params *params = call->params;
    const tort_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    int64_t done = 0;
    for (int64_t item = begin; item < end; item++) {
        double region[5];
        tort_load_doubles(call->inputs[1].type, call->inputs[1].data, item / params->channels * 5, 5, region);
        for (int32_t i = 1; i < 5; i++) region[i] = round(region[i] * params->spatial_scale);
        const int64_t batch = tort_index_within(tort_double_to_int64(region[0]), params->batches);
        int64_t channel = batch * params->channels + item % params->channels;
        for (int64_t bin = 0; bin < params->bins_high * params->bins_wide; bin++) {
            int64_t top, bottom, left, right;
            bin_range(region[2], region[4], bin / params->bins_wide, params->bins_high, params->height, &top, &bottom);
            bin_range(region[1], region[3], bin % params->bins_wide, params->bins_wide, params->width, &left, &right);
            double max = top < bottom && left < right ? -INFINITY : 0; /* an empty bin is 0 */
            if (!tort_row_goes_on(call->watch, ++done)) return;
            for (int64_t h = top; h < bottom; h++)
                for (int64_t w = left; w < right && tort_row_goes_on(call->watch, ++done); w++)
                    max = fmax(max, tort_element_at(x, (channel * params->height + h) * params->width + w));
            tort_store_doubles(y->type, y->data, item * params->bins_high * params->bins_wide + bin, 1, &max);
        }
    }
}

static tort_status max_roi_pool(const tort_call *call) {
    const tort_roi_params *params = call->params;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    for (int64_t r = 0; r < params->regions; r++) {
        tort_status status = check_batch(call, r, tort_element_at(&call->inputs[1], 5 * r));
        if (status != TORT_OK) return status;
    }
    int64_t work = params->height * params->width * 4;
    tort_parallel(call, params->regions * params->channels, work, pool_items, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ALIGN .params_size = sizeof(tort_roi_params), infer_align, resolve_align, roi_align
#define POOL .params_size = sizeof(tort_roi_params), infer_pool, resolve_roi, max_roi_pool
#define ALIGN_INPUTS "X:T1 rois:T1 batch_indices:T2", "Y:T1"
#define ALIGN_ATTRIBUTES                                                                                               \
    "mode:string=avg output_height:int=1 output_width:int=1 sampling_ratio:int=0 spatial_scale:float=1"
#define TRANSFORM " coordinate_transformation_mode:string=half_pixel"

const tort_op tort_ops_roi[] = {
    {"", "RoiAlign", 10, 15, ALIGN_INPUTS, "T1=floats T2=int64", ALIGN_ATTRIBUTES, ALIGN},
    {"", "RoiAlign", 16, 21, ALIGN_INPUTS, "T1=floats T2=int64", ALIGN_ATTRIBUTES TRANSFORM, ALIGN},
    {"", "RoiAlign", 22, TORT_NEWEST_OPSET, ALIGN_INPUTS, "T1=floats13 T2=int64", ALIGN_ATTRIBUTES TRANSFORM, ALIGN},
    {"", "MaxRoiPool", 1, 21, "X:T rois:T", "Y:T", "T=floats", "pooled_shape:ints! spatial_scale:float=1", POOL},
    {"", "MaxRoiPool", 22, TORT_NEWEST_OPSET, "X:T rois:T", "Y:T", "T=floats13",
     "pooled_shape:ints! spatial_scale:float=1", POOL},
    {"com.microsoft", "CropAndResize", 1, 1, "X:T1 rois:T1 batch_indices:T2 crop_size:T2", "Y:T1", "T1=floats T2=int32",
     "mode:string=bilinear extrapolation_value:float=0", .shape_inputs = 1u << 3,
     .params_size = sizeof(tort_roi_params), infer_crop, resolve_crop, crop_and_resize},
    {0},
};
