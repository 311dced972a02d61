/* norm.c - LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization. And
 * SimplifiedLayerNormalization, which ONNX Runtime has in the main domain, though it is not in the standard.
 *
 * They differ in what a row is and in how scale and bias broadcast; resolve computes both (norm.h), one loop does the
 * rest. It computes in double, more precise than any stash_type, and rounds once. Over a batch: batch_norm.c. Along one
 * axis or over channels: norm_axis.c. */
#include "ops/extent.h"
#include "ops/norm.h"

#include <math.h>

/* Values of tort_op.variant: RMSNormalization and SimplifiedLayerNormalization subtract no mean. */
enum { NORM_CENTERED, NORM_RMS };

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Infers outputs first..last: X's shape with the normalised axes of size 1. */
static tort_status infer_statistics(tort_infer *infer, int32_t first, int32_t last) {
    const tort_info *input = &infer->node->inputs[0];
    tort_type stash = tort_attr_type(infer->node, "stash_type");
    for (int32_t o = first; o <= last; o++) infer->outputs[o].type = stash;
    if (input->rank < 0) return TORT_OK;
    int32_t axis;
    tort_dim dims[TORT_MAX_RANK];
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), input->rank, &axis);
    if (status != TORT_OK) return status;
    for (int32_t d = 0; d < input->rank; d++) dims[d] = d < axis ? input->dims[d] : 1;
    for (int32_t o = first; o <= last; o++) tort_infer_shape(infer, o, stash, input->rank, dims);
    return TORT_OK;
}

/* LayerNormalization: outputs 1 and 2 are Mean and InvStdDev. */
static tort_status infer_layer(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return infer_statistics(infer, 1, 2);
}

/* RMSNormalization: the output has the type of scale. */
static tort_status infer_rms(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = infer->node->inputs[1].type;
    return TORT_OK;
}

/* SimplifiedLayerNormalization is ONNX Runtime's name of RMSNormalization from before the standard had it; output 1 is
 * the inverse of the standard deviation. */
static tort_status infer_simplified(tort_infer *infer) {
    tort_status status = infer_rms(infer);
    return status ? status : infer_statistics(infer, 1, 1);
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

/* Strides of an input, broadcast to X. */
static tort_status broadcast_strides(tort_resolve *resolve, int32_t input, int64_t *strides) {
    const tort_info *x = &resolve->node->inputs[0], *tensor = &resolve->node->inputs[input];
    bool fits = tensor->rank <= x->rank;
    for (int32_t i = 1; fits && i <= tensor->rank; i++) {
        int64_t size = tensor->dims[tensor->rank - i];
        fits = size == 1 || size == x->dims[x->rank - i];
    }
    if (!fits)
        return tort_fail(resolve->error, TORT_E_MODEL, "the shape of input %d does not broadcast to that of input 0",
                         input);
    tort_broadcast_strides(tensor->rank, tensor->dims, x->rank, x->dims, strides);
    return TORT_OK;
}

static tort_status resolve_trailing(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0], *scale = &resolve->node->inputs[1];
    tort_norm_params *params = resolve->params;
    params->epsilon = (double)tort_attr_float(resolve->node, "epsilon");
    params->centered = resolve->node->op->variant == NORM_CENTERED;
    if (x->rank < 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), x->rank, &axis);
    if (status != TORT_OK || !tort_shape_known(x) || !tort_shape_known(scale)) return status;
    params->rows = tort_extent(x->dims, 0, axis);
    params->size = tort_extent(x->dims, axis, x->rank);
    params->rank = x->rank;
    for (int32_t d = 0; d < x->rank; d++) params->dims[d] = x->dims[d];
    status = broadcast_strides(resolve, 1, params->scale_strides);
    if (status != TORT_OK || !tort_has_input(resolve->node, 2) || !tort_shape_known(&resolve->node->inputs[2]))
        return status;
    return broadcast_strides(resolve, 2, params->bias_strides);
}

/* Views X as [batch, groups, channels of a group, inner]; scale and bias have one entry per group or per channel. */
static tort_status resolve_groups(tort_resolve *resolve, int64_t groups, bool per_channel) {
    const tort_info *x = &resolve->node->inputs[0];
    tort_norm_params *params = resolve->params;
    if (!tort_shape_known(x)) return TORT_OK;
    const int64_t channels = x->dims[1];
    if (groups < 1 || channels % groups != 0)
        return tort_fail(resolve->error, TORT_E_MODEL, "%lld channels cannot be divided into %lld groups",
                         (long long)channels, (long long)groups);
    const int64_t entries = per_channel ? channels : groups;
    for (int32_t i = 1; i <= 2; i++) {
        const tort_info *info = &resolve->node->inputs[i];
        if (tort_shape_known(info) && (info->rank != 1 || info->dims[0] != entries))
            return tort_fail(resolve->error, TORT_E_MODEL, "input %d must have shape [%lld]", i, (long long)entries);
    }
    const int64_t dims[4] = {x->dims[0], groups, channels / groups, tort_extent(x->dims, 2, x->rank)};
    const int64_t strides[4] = {0, per_channel ? dims[2] : 1, per_channel ? 1 : 0, 0};
    params->rows = dims[0] * groups;
    params->size = tort_extent(dims, 2, 4);
    params->rank = 4;
    for (int32_t d = 0; d < 4; d++) {
        params->dims[d] = dims[d];
        params->scale_strides[d] = params->bias_strides[d] = strides[d];
    }
    return TORT_OK;
}

static tort_status check_channels(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    tort_norm_params *params = resolve->params;
    params->epsilon = (double)tort_attr_float(resolve->node, "epsilon");
    params->centered = true;
    if (x->rank < 0 || x->rank >= 2) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "input 0 has rank %d; expected 2 or more (batch, channels, ...)",
                     x->rank);
}

static tort_status resolve_instance(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    tort_status status = check_channels(resolve);
    if (status != TORT_OK || !tort_shape_known(x)) return status;
    return resolve_groups(resolve, x->dims[1] > 0 ? x->dims[1] : 1, true);
}

/* GroupNormalization-18 has a scale for each group, -21 one for each channel. */
static tort_status resolve_group(tort_resolve *resolve) {
    tort_status status = check_channels(resolve);
    if (status != TORT_OK) return status;
    return resolve_groups(resolve, tort_attr_int(resolve->node, "num_groups"), resolve->node->op->since >= 21);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Loads elements first .. first+count-1 of X's view from a tensor with broadcast strides. */
static void load_strided(const tort_norm_params *params, const tort_tensor *tensor, const int64_t *strides,
                         int64_t first, int64_t count, double *out) {
    const int32_t last = params->rank - 1;
    if (last < 0) {
        tort_load_doubles(tensor->type, tensor->data, 0, 1, out);
        return;
    }
    const int64_t length = params->dims[last];
    while (count > 0) {
        int64_t within = first % length, rest = first / length, from = within * strides[last];
        int64_t run = length - within < count ? length - within : count;
        for (int32_t d = last - 1; d >= 0; d--) {
            from += rest % params->dims[d] * strides[d];
            rest /= params->dims[d];
        }
        if (strides[last] != 0) {
            tort_load_doubles(tensor->type, tensor->data, from, run, out);
        } else {
            tort_load_doubles(tensor->type, tensor->data, from, 1, out);
            for (int64_t i = 1; i < run; i++) out[i] = out[0];
        }
        out += run;
        first += run;
        count -= run;
    }
}

static void load_row(const tort_norm_rows *rows, int64_t row, int64_t first, int64_t count, double *values) {
    tort_load_doubles(rows->x->type, rows->x->data, row * rows->params->size + first, count, values);
}

/* Sum of (x - mean)^power over a row, in eight partial sums so that the compiler can vectorize it. */
static double row_sum(const tort_norm_rows *rows, int64_t row, double mean, int power) {
    enum { LANES = 8 };
    const int64_t size = rows->params->size;
    double sums[LANES] = {0}, block[TORT_BLOCK], total = 0;
    for (int64_t at = 0; at < size && tort_row_goes_on(rows->call->watch, at); at += TORT_BLOCK) {
        int64_t count = tort_block_count(size, at);
        rows->load(rows, row, at, count, block);
        for (int64_t i = 0; i < count; i++) block[i] -= mean;
        if (power == 2)
            for (int64_t i = 0; i < count; i++) block[i] *= block[i];
        for (int64_t i = count; i % LANES != 0; i++) block[i] = 0;
        for (int64_t i = 0; i < count; i += LANES)
            for (int32_t k = 0; k < LANES; k++) sums[k] += block[i + k];
    }
    for (int32_t k = 0; k < LANES; k++) total += sums[k];
    return total;
}

static void normalize_rows(void *arg, int64_t begin, int64_t end) {
    const tort_norm_rows *rows = arg;
    const tort_norm_params *params = rows->params;
    const tort_tensor *y = rows->y, *means = rows->means, *inverses = rows->inverses, *sums = rows->sums;
    double block[TORT_BLOCK], factors[TORT_BLOCK], offsets[TORT_BLOCK] = {0};
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = row * params->size;
        const double size = (double)params->size;
        double mean = params->centered ? row_sum(rows, row, 0, 1) / size : 0;
        double variance = row_sum(rows, row, mean, 2) / size;
        double inverse = 1 / sqrt(variance + params->epsilon);
        if (means) tort_store_doubles(means->type, means->data, row, 1, &mean);
        if (inverses) tort_store_doubles(inverses->type, inverses->data, row, 1, &inverse);
        for (int64_t at = 0; at < params->size && tort_row_goes_on(rows->call->watch, at); at += TORT_BLOCK) {
            int64_t count = tort_block_count(params->size, at);
            rows->load(rows, row, at, count, block);
            if (sums) tort_store_doubles(sums->type, sums->data, first + at, count, block);
            load_strided(params, rows->scale, params->scale_strides, first + at, count, factors);
            if (rows->bias) load_strided(params, rows->bias, params->bias_strides, first + at, count, offsets);
            for (int64_t i = 0; i < count; i++) block[i] = (block[i] - mean) * inverse * factors[i] + offsets[i];
            tort_store_doubles(y->type, y->data, first + at, count, block);
        }
    }
}

/* Rows may be empty: then their mean and standard deviation, if asked for, are NaN. */
void tort_norm_run(const tort_norm_rows *rows) {
    tort_parallel(rows->call, rows->params->rows, rows->params->size * 4, normalize_rows, (void *)rows);
}

/* Outputs behind Y: the mean if one is subtracted, then the inverse of the standard deviation. */
static tort_status run(const tort_call *call) {
    const int32_t inverses = call->op->variant == NORM_CENTERED ? 2 : 1;
    const tort_norm_rows rows = {.call = call,
                                 .params = call->params,
                                 .load = load_row,
                                 .x = &call->inputs[0],
                                 .scale = &call->inputs[1],
                                 .bias = tort_call_input(call, 2),
                                 .y = &call->outputs[0],
                                 .means = inverses > 1 ? tort_call_output(call, inverses - 1) : NULL,
                                 .inverses = tort_call_output(call, inverses)};
    tort_norm_run(&rows);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PARAMS .params_size = sizeof(tort_norm_params)
#define INSTANCE PARAMS, tort_infer_elementwise, resolve_instance, run
#define GROUP PARAMS, tort_infer_elementwise, resolve_group, run

const tort_op tort_ops_norm[] = {
    {"", "InstanceNormalization", 1, 5, "input:T scale:T B:T", "output:T", "T=floats",
     "consumed_inputs:ints epsilon:float=1e-05", INSTANCE},
    {"", "InstanceNormalization", 6, 21, "input:T scale:T B:T", "output:T", "T=floats", "epsilon:float=1e-05",
     INSTANCE},
    {"", "InstanceNormalization", 22, TORT_NEWEST_OPSET, "input:T scale:T B:T", "output:T", "T=floats13",
     "epsilon:float=1e-05", INSTANCE},
    {"", "LayerNormalization", 17, TORT_NEWEST_OPSET, "X:T Scale:T B?:T", "Y:T Mean?:U InvStdDev?:U",
     "T=floats13 U=bfloat16|float", "axis:int=-1 epsilon:float=1e-05 stash_type:int(U)=1", .flags = TORT_OP_EARLY,
     .params_size = sizeof(tort_norm_params), infer_layer, resolve_trailing, run},
    {"", "GroupNormalization", 18, 20, "X:T scale:T bias:T", "Y:T", "T=floats13", "epsilon:float=1e-05 num_groups:int!",
     GROUP},
    {"", "GroupNormalization", 21, TORT_NEWEST_OPSET, "X:T scale:T bias:T", "Y:T", "T=floats13",
     "epsilon:float=1e-05 num_groups:int! stash_type:int(floats13)=1", GROUP},
    {"", "RMSNormalization", 23, TORT_NEWEST_OPSET, "X:T scale:V", "Y:V", "T=floats13 V=floats13",
     "axis:int=-1 epsilon:float=1e-05 stash_type:int(floats13)=1", .variant = NORM_RMS,
     .params_size = sizeof(tort_norm_params), .infer = infer_rms, .resolve = resolve_trailing, .reference = run},
    {"", "SimplifiedLayerNormalization", 1, TORT_NEWEST_OPSET, "X:T scale:V", "Y:V inv_std_var?:U",
     "T=floats13 V=floats13 U=float|double", "axis:int=-1 epsilon:float=1e-05 stash_type:int(U)=1", .variant = NORM_RMS,
     .params_size = sizeof(tort_norm_params), .infer = infer_simplified, .resolve = resolve_trailing, .reference = run},
    {0},
};
