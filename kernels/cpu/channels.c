/* channels.c - normalizations in fp32 with scale and bias per channel, or without: BatchNormalization,
 * GroupNormalization, and LpNormalization along the last axis.
 *
 * Read next: simd/normalize.c; rows.c for normalizations of rows. */
#include "kernels/cpu/pieces.h"
#include "ops/norm.h"

#include <math.h>

typedef struct channel_job {
    const tort_call *call;
    const tort_simd *simd;
    const float *x, *scale, *bias, *mean, *variance;
    float *y, *factors; /* factors: one per channel */
} channel_job;

static channel_job job_of(const tort_call *call) {
    return (channel_job){.call = call,
                         .simd = ((const tort_cpu_device *)call->device)->simd,
                         .x = call->inputs[0].data,
                         .y = call->outputs[0].data};
}

static tort_verdict claim_all_float(const tort_target *target, const tort_node_view *node) {
    for (int32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i].type != TORT_FLOAT)
            return tort_no(TORT_NO_TYPE, "", "is for float, input %d is %s", i, tort_type_name(node->inputs[i].type));
    return tort_cpu_claim_float(target, node);
}

/* ---- BatchNormalization ------------------------------------------------------------------------------------------ */

static tort_verdict claim_batch_norm(const tort_target *target, const tort_node_view *node) {
    const tort_batch_norm_params *p = node->params;
    if (p->training) return tort_no(TORT_NO_ATTR, "", "is for inference, the statistics are the batch's own");
    for (int32_t o = 1; o < node->output_count; o++)
        if (tort_has_output(node, o)) return tort_no(TORT_NO_ATTR, "", "makes no statistics, output %d is wanted", o);
    return claim_all_float(target, node);
}

static tort_status size_batch_norm(const tort_target *target, const tort_node_view *node, size_t *scratch,
                                   tort_error *error) {
    const tort_batch_norm_params *p = node->params;
    (void)target;
    *scratch = 0;
    if (tort_cpu_reserve_floats(scratch, p->channels)) return TORT_OK;
    return tort_fail(error, TORT_E_MEMORY, "%lld channels do not fit in memory", (long long)p->channels);
}

/* Normalizes planes; items are channels of images. */
static void normalize_planes(void *arg, int64_t begin, int64_t end) {
    const channel_job *job = arg;
    const tort_batch_norm_params *p = job->call->params;
    for (int64_t i = begin; i < end; i++) {
        const int64_t c = i % p->channels;
        tort_shift_row(job->call, job->simd, job->x + i * p->inner, job->y + i * p->inner, p->inner, job->mean[c],
                       job->factors[c], job->bias[c]);
    }
}

/* Normalizes rows of one element per channel; items are such rows. */
static void normalize_columns(void *arg, int64_t begin, int64_t end) {
    const channel_job *job = arg;
    const tort_batch_norm_params *p = job->call->params;
    for (int64_t i = begin; i < end; i++)
        job->simd->shift_columns(job->x + i * p->channels, job->y + i * p->channels, p->channels, job->mean,
                                 job->factors, job->bias);
}

static tort_status run_batch_norm(const tort_call *call) {
    const tort_batch_norm_params *p = call->params;
    channel_job job = job_of(call);
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    job.scale = call->inputs[1].data;
    job.bias = call->inputs[2].data;
    job.mean = call->inputs[3].data;
    job.variance = call->inputs[4].data;
    job.factors = call->scratch;
    for (int64_t c = 0; c < p->channels; c++)
        job.factors[c] = job.scale[c] / sqrtf(job.variance[c] + (float)p->epsilon);
    if (p->inner == 1)
        tort_parallel(call, p->batch, p->channels / 8 + 1, normalize_columns, &job);
    else
        tort_parallel(call, p->batch * p->channels, p->inner / 8 + 8, normalize_planes, &job);
    return TORT_OK;
}

/* ---- GroupNormalization ------------------------------------------------------------------------------------------ */

/* Normalizes groups of images: each is a row with its own statistics, in which each channel has a scale and a bias. */
static void normalize_groups(void *arg, int64_t begin, int64_t end) {
    const channel_job *job = arg;
    const tort_norm_params *p = job->call->params;
    const int64_t groups = p->dims[1], channels = p->dims[2], inner = p->dims[3];
    for (int64_t i = begin; i < end; i++) {
        const float *x = job->x + i * p->size;
        float *y = job->y + i * p->size;
        const float mean = tort_row_sum(job->call, job->simd, x, p->size, 0, false) / (float)p->size;
        const float variance = tort_row_sum(job->call, job->simd, x, p->size, mean, true) / (float)p->size;
        const float inverse = 1 / sqrtf(variance + (float)p->epsilon);
        for (int64_t c = 0; c < channels; c++) {
            const int64_t at = i % groups * p->scale_strides[1] + c * p->scale_strides[2];
            tort_shift_row(job->call, job->simd, x + c * inner, y + c * inner, inner, mean, inverse * job->scale[at],
                           job->bias[at]);
        }
    }
}

static tort_status run_group_norm(const tort_call *call) {
    const tort_norm_params *p = call->params;
    channel_job job = job_of(call);
    job.scale = call->inputs[1].data;
    job.bias = call->inputs[2].data;
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->rows, p->size / 2 + 1, normalize_groups, &job);
    return TORT_OK;
}

/* ---- LpNormalization --------------------------------------------------------------------------------------------- */

static tort_verdict claim_lp_norm(const tort_target *target, const tort_node_view *node) {
    const tort_lp_norm_params *p = node->params;
    if (p->p != 2) return tort_no(TORT_NO_ATTR, "", "is for p=2, it is %d", p->p);
    if (p->inner == 0) return tort_no(TORT_NO_DYNAMIC, "", "it is not known whether axis is the last one");
    if (p->inner != 1) return tort_no(TORT_NO_ATTR, "", "is for the last axis, axis is another");
    return tort_cpu_claim_float(target, node);
}

/* Normalizes a row in double, as squares may leave the range of float, and so may the inverse of the length. A row
 * of zeros stays zero. */
static void normalize_exactly(const float *x, float *y, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    const double length = sum == 0 ? 1 : sqrt(sum);
    for (int64_t i = 0; i < count; i++) y[i] = (float)((double)x[i] / length);
}

static void normalize_lengths(void *arg, int64_t begin, int64_t end) {
    const channel_job *job = arg;
    const tort_lp_norm_params *p = job->call->params;
    for (int64_t i = begin; i < end; i++) {
        const float *x = job->x + i * p->length;
        float *y = job->y + i * p->length;
        const float sum = tort_row_sum(job->call, job->simd, x, p->length, 0, true);
        if (sum > 1e-30f && sum < 1e30f)
            tort_shift_row(job->call, job->simd, x, y, p->length, 0, 1 / sqrtf(sum), 0);
        else
            normalize_exactly(x, y, p->length);
    }
}

static tort_status run_lp_norm(const tort_call *call) {
    const tort_lp_norm_params *p = call->params;
    channel_job job = job_of(call);
    if (tort_count(&call->outputs[0]) > 0) tort_parallel(call, p->outer, p->length / 4 + 8, normalize_lengths, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_channels[] = {
    {"", "BatchNormalization", "batch_norm_planes", .claim = claim_batch_norm, .size = size_batch_norm,
     .run = run_batch_norm, .in_place = 1},
    {"", "GroupNormalization", "group_norm_planes", .claim = claim_all_float, .run = run_group_norm, .in_place = 1},
    {"", "LpNormalization", "lp_norm_rows", .claim = claim_lp_norm, .run = run_lp_norm, .in_place = 1},
    {.op = NULL},
};
