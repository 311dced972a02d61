/* rows.c - normalization of contiguous rows in fp32: Softmax and LogSoftmax along the last axis, LayerNormalization,
 * InstanceNormalization, RMSNormalization and SimplifiedLayerNormalization, also of a sum (SkipLayerNormalization).
 *
 * Read next: simd/normalize.c. */
#include "kernels/cpu/pieces.h"
#include "ops/microsoft/skip_norm.h"
#include "ops/softmax.h"

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_softmax(const tort_target *target, const tort_node_view *node) {
    const tort_softmax_params *p = node->params;
    if (p->inner == 0) return tort_no(TORT_NO_DYNAMIC, "", "it is not known whether axis is the last one");
    if (p->inner != 1) return tort_no(TORT_NO_ATTR, "", "is for the last axis, axis is another");
    return tort_cpu_claim_float(target, node);
}

typedef void softmax_row(const tort_call *call, const tort_simd *simd, const float *x, float *y, int64_t n);

typedef struct row_job {
    const tort_call *call;
    const tort_simd *simd;
    softmax_row *softmax;
    const tort_norm_params *norm;
    const float *x, *scale, *bias;
    float *y;
    int64_t length, channels;
} row_job;

static void softmax_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        job->softmax(job->call, job->simd, job->x + row * job->length, job->y + row * job->length, job->length);
}

static tort_status run_rows(const tort_call *call, softmax_row *softmax) {
    const tort_softmax_params *p = call->params;
    row_job job = {.call = call,
                   .simd = ((const tort_cpu_device *)call->device)->simd,
                   .softmax = softmax,
                   .x = call->inputs[0].data,
                   .y = call->outputs[0].data,
                   .length = p->length};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->outer, p->length + 1, softmax_rows, &job);
    return TORT_OK;
}

static tort_status run_softmax(const tort_call *call) {
    return run_rows(call, tort_softmax_row);
}

static tort_status run_log_softmax(const tort_call *call) {
    return run_rows(call, tort_log_softmax_row);
}

/* ---- LayerNormalization ------------------------------------------------------------------------------------------ */

/* True if a tensor with these strides is one dense row, shared by all rows of X. */
static bool is_row(const tort_norm_params *p, const int64_t *strides) {
    int64_t dense = 1;
    for (int32_t i = p->rank - 1; i >= 0; i--) {
        const int64_t expected = dense < p->size ? dense : 0;
        if (p->dims[i] != 1 && strides[i] != expected) return false;
        dense *= p->dims[i];
    }
    return true;
}

/* True if is_row will be true once shapes are known: a tensor that broadcasts to X is such a row if it has as many axes
 * as are normalized, and none of them can be repeated. */
static bool is_row_of(const tort_node_view *node, int32_t input) {
    const tort_norm_params *p = node->params;
    const tort_info *x = &node->inputs[0], *row = &node->inputs[input];
    const int64_t axis = tort_attr_int(node, "axis"), first = axis < 0 ? -axis : x->rank - axis;
    if (p->size > 0) return is_row(p, input == 1 ? p->scale_strides : p->bias_strides);
    if ((axis >= 0 && x->rank < 0) || row->rank != first) return false;
    for (int32_t i = 1; i <= row->rank; i++) {
        const bool single = x->rank >= i && x->dims[x->rank - i] == 1;
        if (!tort_dim_known(row->dims[row->rank - i]) || (row->dims[row->rank - i] == 1 && !single)) return false;
    }
    return true;
}

static tort_verdict claim_layer_norm(const tort_target *target, const tort_node_view *node) {
    if (tort_has_output(node, 1) || tort_has_output(node, 2))
        return tort_no(TORT_NO_ATTR, "", "does not make Mean and InvStdDev");
    if (!is_row_of(node, 1) || (tort_has_input(node, 2) && !is_row_of(node, 2)))
        return tort_no(TORT_NO_SHAPE, "", "Scale and B must be known to have the shape of the normalised axes");
    return tort_cpu_claim_float(target, node);
}

static void norm_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        tort_normalize_row(job->call, job->simd, job->x + row * job->length, job->y + row * job->length, job->length,
                           (float)job->norm->epsilon, job->norm->centered, job->scale, job->bias, false);
}

static tort_status run_layer_norm(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tort_cpu_device *device = call->device;
    row_job job = {.call = call,
                   .simd = device->simd,
                   .norm = p,
                   .x = call->inputs[0].data,
                   .scale = call->inputs[1].data,
                   .y = call->outputs[0].data,
                   .length = p->size};
    if (call->input_count > 2 && tort_present(&call->inputs[2])) job.bias = call->inputs[2].data;
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->rows, p->size / 2 + 1, norm_rows, &job);
    return TORT_OK;
}

/* Claims RMSNormalization: it has no bias, and its output has the type of the scale. */
static tort_verdict claim_rms_norm(const tort_target *target, const tort_node_view *node) {
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make inv_std_var");
    if (!is_row_of(node, 1))
        return tort_no(TORT_NO_SHAPE, "", "scale must be known to have the shape of the normalised axes");
    if (node->inputs[1].type != TORT_FLOAT)
        return tort_no(TORT_NO_TYPE, "", "is for float, the scale is %s", tort_type_name(node->inputs[1].type));
    return tort_cpu_claim_float(target, node);
}

/* ---- SkipLayerNormalization -------------------------------------------------------------------------------------- */

static tort_verdict claim_skip_norm(const tort_target *target, const tort_node_view *node) {
    if (tort_has_output(node, 1) || tort_has_output(node, 2))
        return tort_no(TORT_NO_ATTR, "", "does not make mean and inv_std_var");
    return tort_cpu_claim_float(target, node);
}

typedef struct skip_job {
    row_job rows;
    const float *skip, *sum_bias;
    float *sums; /* rows of the output for sums, or Y */
    int64_t skip_rows;
} skip_job;

/* Normalizes rows of sums. A row of Y may overwrite one of an input, which has been read by then. */
static void skip_norm_rows(void *arg, int64_t begin, int64_t end) {
    const skip_job *job = arg;
    const row_job *rows = &job->rows;
    const tort_epilogue sum = {.activation = TORT_ACTIVATION_NONE};
    for (int64_t row = begin; row < end; row++) {
        const float *x = rows->x + row * rows->length, *skip = job->skip + row % job->skip_rows * rows->length;
        float *sums = job->sums + row * rows->length;
        for (int64_t at = 0; at < rows->length && tort_row_goes_on(rows->call->watch, at); at += TORT_PART) {
            const int64_t count = tort_part_count(rows->length, at);
            for (int64_t i = at; i < at + count; i++) sums[i] = x[i] + skip[i];
            if (job->sum_bias) rows->simd->finish(&sum, job->sum_bias + at, sums + at, count);
        }
        tort_normalize_row(rows->call, rows->simd, sums, rows->y + row * rows->length, rows->length,
                           (float)rows->norm->epsilon, rows->norm->centered, rows->scale, rows->bias, false);
    }
}

static const float *data_of(const tort_tensor *tensor) {
    return tensor ? tensor->data : NULL;
}

static tort_status run_skip_norm(const tort_call *call) {
    const tort_skip_norm_params *p = call->params;
    const tort_cpu_device *device = call->device;
    const tort_tensor *sums = tort_call_output(call, TORT_SKIP_NORM_SUM), *y = &call->outputs[0];
    skip_job job = {.rows = {.call = call,
                             .simd = device->simd,
                             .norm = &p->norm,
                             .x = call->inputs[0].data,
                             .scale = call->inputs[2].data,
                             .bias = data_of(tort_skip_norm_beta(call)),
                             .y = y->data,
                             .length = p->norm.size},
                    .skip = call->inputs[1].data,
                    .sum_bias = data_of(tort_skip_norm_bias(call)),
                    .sums = sums ? sums->data : y->data,
                    .skip_rows = p->skip_rows};
    if (tort_count(y) > 0) tort_parallel(call, p->norm.rows, p->norm.size, skip_norm_rows, &job);
    return TORT_OK;
}

/* ---- InstanceNormalization --------------------------------------------------------------------------------------- */

static void instance_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        tort_normalize_row(job->call, job->simd, job->x + row * job->length, job->y + row * job->length, job->length,
                           (float)job->norm->epsilon, true, job->scale + row % job->channels,
                           job->bias + row % job->channels, true);
}

/* Normalizes channels as rows; scale and bias are one number per channel. */
static tort_status run_instance_norm(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tort_cpu_device *device = call->device;
    row_job job = {.call = call,
                   .simd = device->simd,
                   .norm = p,
                   .x = call->inputs[0].data,
                   .scale = call->inputs[1].data,
                   .bias = call->inputs[2].data,
                   .y = call->outputs[0].data,
                   .length = p->size,
                   .channels = call->inputs[0].dims[1]};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->rows, p->size / 2 + 1, instance_rows, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_rows[] = {
    {"", "Softmax", "softmax_rows", .claim = claim_softmax, .run = run_softmax, .in_place = 1},
    {"", "LogSoftmax", "log_softmax_rows", .claim = claim_softmax, .run = run_log_softmax},
    {"", "InstanceNormalization", "instance_norm_rows", .claim = tort_cpu_claim_float, .run = run_instance_norm,
     .in_place = 1},
    {"", "LayerNormalization", "layer_norm_rows", .claim = claim_layer_norm, .run = run_layer_norm, .in_place = 1},
    {"", "RMSNormalization", "rms_norm_rows", .claim = claim_rms_norm, .run = run_layer_norm, .in_place = 1},
    {"", "SimplifiedLayerNormalization", "rms_norm_rows", .claim = claim_rms_norm, .run = run_layer_norm,
     .in_place = 1},
    {"com.microsoft", "SkipLayerNormalization", "skip_norm_rows", .claim = claim_skip_norm, .run = run_skip_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", "skip_norm_rows", .claim = claim_skip_norm,
     .run = run_skip_norm},
    {.op = NULL},
};
