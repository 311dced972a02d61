/* rows.c - normalisation of contiguous rows in fp32: Softmax along the last axis, LayerNormalization.
 *
 * Read next: simd/maps.c. */
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
    const tort_norm_params *norm;
    const float *x, *scale, *bias;
    float *y;
    int64_t length;
} row_job;

static void softmax_rows(void *arg, int64_t begin, int64_t end) {
    const row_job *job = arg;
    for (int64_t row = begin; row < end; row++)
        job->simd->softmax_row(job->x + row * job->length, job->y + row * job->length, job->length);
}

static tort_status run_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    const tort_cpu_device *device = call->device;
    row_job job = {.simd = device->simd, .x = call->inputs[0].data, .y = call->outputs[0].data, .length = p->length};
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->outer, p->length + 1, softmax_rows, &job);
    return TORT_OK;
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
                                 (float)job->norm->epsilon, job->norm->centered, job->scale, job->bias);
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

const tort_kernel tort_cpu_rows[] = {
    {.domain = "", .op = "Softmax", .name = "softmax_rows", .claim = claim_softmax, .run = run_softmax},
    {.domain = "",
     .op = "LayerNormalization",
     .name = "layer_norm_rows",
     .claim = claim_layer_norm,
     .run = run_layer_norm},
    {.op = NULL},
};
