/* rows.c - normalisation of contiguous rows in fp32: Softmax and LogSoftmax along the last axis, LayerNormalization,
 * InstanceNormalization.
 *
 * Read next: simd/normalize.c. */
#include "kernels/cpu/cpu.h"
#include "ops/norm.h"
#include "ops/softmax.h"

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_softmax(const tort_target *target, const tort_node_view *node) {
    const tort_softmax_params *p = node->params;
    if (p->inner == 0) return tort_no(TORT_NO_DYNAMIC, "", "it is not known whether axis is the last one");
    if (p->inner != 1) return tort_no(TORT_NO_ATTR, "", "is for the last axis, axis is another");
    return tort_cpu_claim_float(target, node);
}

typedef struct row_job {
    const tort_simd *simd;
    void (*softmax)(const float *x, float *y, int64_t count);
    const tort_norm_params *norm;
    const float *x, *scale, *bias;
    float *y;
    int64_t length, channels;
} row_job;

static void softmax_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        job->softmax(job->x + row * job->length, job->y + row * job->length, job->length);
}

static tort_status run_rows(const tort_call *call, void (*softmax)(const float *x, float *y, int64_t count)) {
    const tort_softmax_params *p = call->params;
    row_job job = {.softmax = softmax, .x = call->inputs[0].data, .y = call->outputs[0].data, .length = p->length};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->outer, p->length + 1, softmax_rows, &job);
    return TORT_OK;
}

static tort_status run_softmax(const tort_call *call) {
    return run_rows(call, ((const tort_cpu_device *)call->device)->simd->softmax_row);
}

static tort_status run_log_softmax(const tort_call *call) {
    return run_rows(call, ((const tort_cpu_device *)call->device)->simd->log_softmax_row);
}

/* ---- LayerNormalization ------------------------------------------------------------------------------------------ */

/* Is a tensor, read with these strides, one dense row for all rows of X? */
static bool is_row(const tort_norm_params *p, const int64_t *strides) {
    int64_t dense = 1;
    for (int32_t i = p->rank - 1; i >= 0; i--) {
        const int64_t expected = dense < p->size ? dense : 0;
        if (p->dims[i] != 1 && strides[i] != expected) return false;
        dense *= p->dims[i];
    }
    return true;
}

static tort_verdict claim_layer_norm(const tort_target *target, const tort_node_view *node) {
    const tort_norm_params *p = node->params;
    if (p->size < 1) return tort_no(TORT_NO_DYNAMIC, "", "the shape of X is not known");
    if (tort_has_output(node, 1) || tort_has_output(node, 2))
        return tort_no(TORT_NO_ATTR, "", "does not make Mean and InvStdDev");
    if (!is_row(p, p->scale_strides) || (tort_has_input(node, 2) && !is_row(p, p->bias_strides)))
        return tort_no(TORT_NO_SHAPE, "", "Scale and B must have the shape of the normalised axes");
    return tort_cpu_claim_float(target, node);
}

static void norm_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        job->simd->normalize_row(job->x + row * job->length, job->y + row * job->length, job->length,
                                 (float)job->norm->epsilon, job->norm->centered, job->scale, job->bias, false);
}

static tort_status run_layer_norm(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tort_cpu_device *device = call->device;
    row_job job = {.simd = device->simd,
                   .norm = p,
                   .x = call->inputs[0].data,
                   .scale = call->inputs[1].data,
                   .y = call->outputs[0].data,
                   .length = p->size};
    if (call->input_count > 2 && tort_present(&call->inputs[2])) job.bias = call->inputs[2].data;
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->rows, p->size / 2 + 1, norm_rows, &job);
    return TORT_OK;
}

/* ---- InstanceNormalization --------------------------------------------------------------------------------------- */

static void instance_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        job->simd->normalize_row(job->x + row * job->length, job->y + row * job->length, job->length,
                                 (float)job->norm->epsilon, true, job->scale + row % job->channels,
                                 job->bias + row % job->channels, true);
}

/* A row is a channel, whose scale and bias are one number each. */
static tort_status run_instance_norm(const tort_call *call) {
    const tort_norm_params *p = call->params;
    const tort_cpu_device *device = call->device;
    row_job job = {.simd = device->simd,
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
    {.domain = "", .op = "Softmax", .name = "softmax_rows", .claim = claim_softmax, .run = run_softmax, .in_place = 1},
    {.domain = "", .op = "LogSoftmax", .name = "log_softmax_rows", .claim = claim_softmax, .run = run_log_softmax},
    {.domain = "",
     .op = "InstanceNormalization",
     .name = "instance_norm_rows",
     .claim = tort_cpu_claim_float,
     .run = run_instance_norm,
     .in_place = 1},
    {.domain = "",
     .op = "LayerNormalization",
     .name = "layer_norm_rows",
     .claim = claim_layer_norm,
     .run = run_layer_norm,
     .in_place = 1},
    {.op = NULL},
};
