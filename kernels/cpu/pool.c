/* pool.c - MaxPool without Indices and AveragePool in fp32, with 1 to 3 spatial axes, channel by channel.
 *
 * A channel is stored with its padding (-infinity, or 0), so that a row of outputs is the maximum or the sum of rows.
 * Read next: planes.h. */
#include "ops/pool.h"
#include "kernels/cpu/planes.h"

#include <math.h>

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (p->window.axes < 1 || p->window.axes > 3)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to 3 spatial axes, the input has %d", (int)p->window.axes);
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return tort_cpu_claim_float(target, node);
}

typedef struct pool_job {
    const tort_pool_params *params;
    const tort_simd *simd;
    tort_planes planes;
    const int64_t *offsets;
    float *stored; /* one channel a part */
    const float *x;
    float *y;
    int32_t parts;
} pool_job;

static int64_t stored_channel(const tort_planes *planes) {
    return (planes->plane + 2 * TORT_PLANE_TAIL - 1) / TORT_PLANE_TAIL * TORT_PLANE_TAIL;
}

static tort_status size_pool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_pool_params *p = node->params;
    tort_planes planes;
    int64_t stored;
    *scratch = 0;
    tort_planes_init(&planes, &p->window);
    if (tort_cpu_reserve(scratch, (size_t)planes.kernel_size * sizeof(int64_t)) &&
        !__builtin_mul_overflow(stored_channel(&planes), (int64_t)target->threads, &stored) &&
        tort_cpu_reserve_floats(scratch, stored))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Divides the sums of row `row` by what their windows count. */
static void divide_row(const pool_job *job, int64_t row, float *y) {
    const tort_pool_params *p = job->params;
    const int32_t x = p->window.axes - 1;
    int64_t rest = row, rows = 1;
    for (int32_t i = x - 1; i >= 0; i--) {
        rows *= tort_pool_divisor(p, i, rest % p->window.output[i]);
        rest /= p->window.output[i];
    }
    for (int64_t i = 0; i < p->window.output[x]; i++) {
        const int64_t count = rows * tort_pool_divisor(p, x, i);
        y[i] = count ? y[i] / (float)count : 0;
    }
}

static void pool_part(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_planes *planes = &job->planes;
    const int64_t input = planes->input[0] * planes->input[1] * planes->input[2], width = planes->output[2];
    const bool max = job->params->kind == TORT_POOL_MAX;
    for (int64_t part = begin; part < end; part++) {
        float *stored = job->stored + part * stored_channel(planes);
        int64_t first, last;
        tort_cpu_share(job->params->batch * job->params->channels, 1, part, job->parts, &first, &last);
        for (int64_t channel = first; channel < last; channel++) {
            tort_planes_store(planes, job->x + channel * input, max ? -INFINITY : 0, stored);
            for (int64_t row = 0; row < planes->output[0] * planes->output[1]; row++) {
                const float *source = stored + tort_planes_row(planes, row);
                float *y = job->y + channel * planes->outputs + row * width;
                if (max) {
                    job->simd->maximum(y, width, source, job->offsets, planes->kernel_size);
                } else {
                    job->simd->weighted_sum(y, width, source, job->offsets, NULL, planes->kernel_size, 0);
                    divide_row(job, row, y);
                }
            }
        }
    }
}

static tort_status run_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    pool_job job = {.params = p,
                    .simd = device->simd,
                    .parts = device->threads,
                    .x = call->inputs[0].data,
                    .y = call->outputs[0].data};
    int64_t *offsets = call->scratch;
    tort_planes_init(&job.planes, &p->window);
    tort_planes_offsets(&job.planes, offsets);
    job.offsets = offsets;
    const int64_t unit = TORT_HOST_ALIGN / (int64_t)sizeof *offsets;
    job.stored = (float *)(offsets + (job.planes.kernel_size + unit - 1) / unit * unit);
    tort_cpu_parts(call, job.parts, pool_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_pool[] = {
    {.domain = "", .op = "MaxPool", .name = "max_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {.domain = "",
     .op = "AveragePool",
     .name = "average_pool_rows",
     .claim = claim_pool,
     .size = size_pool,
     .run = run_pool},
    {.op = NULL},
};
