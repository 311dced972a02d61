/* pool.c - MaxPool without Indices and AveragePool in fp32, with 1 to 3 spatial axes, channel by channel.
 *
 * A channel is stored with its padding (-infinity, or 0), so that a row of outputs is the maximum or the sum of
 * rows.
 * Read next: planes.h. */
#include "ops/pool.h"
#include "kernels/cpu/pieces.h"
#include "kernels/cpu/planes.h"

#include <math.h>

/* Positions of a window: they need a list of offsets, and planes are stored with their padding. */
#define MAX_POSITIONS (1 << 16)

static bool is_small(const tort_sliding *window) {
    int64_t positions = 1;
    for (int32_t i = 0; i < window->axes; i++)
        if (window->kernel[i] > MAX_POSITIONS || (positions *= window->kernel[i]) > MAX_POSITIONS) return false;
    return true;
}

static tort_verdict claim_pool(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    if (p->window.axes < 1 || p->window.axes > 3)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 to 3 spatial axes, the input has %d", (int)p->window.axes);
    if (!is_small(&p->window))
        return tort_no(TORT_NO_SHAPE, "", "is for windows of at most %d positions", MAX_POSITIONS);
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return tort_cpu_claim_float(target, node);
}

typedef struct pool_job {
    const tort_call *call;
    const tort_pool_params *params;
    const tort_simd *simd;
    tort_planes planes;
    const int64_t *offsets;
    tort_weighted sum; /* of a window */
    float *buffers;    /* one per part */
    const float *x;
    float *y;
    int32_t parts;
} pool_job;

static tort_status size_pool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_pool_params *p = node->params;
    return tort_planes_size(target, &p->window, scratch, error);
}

/* Divides the sums of row `row` by the elements that their windows count. */
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

static void pool_outputs(const void *arg, int64_t channel, float *out, int64_t width, const float *source) {
    const pool_job *job = arg;
    (void)channel;
    if (job->params->kind == TORT_POOL_MAX)
        tort_maximum(job->call, job->simd, out, width, source, job->offsets, job->planes.kernel_size);
    else
        tort_weighted_sum(job->call, job->simd, out, width, source, &job->sum);
}

static void pool_part(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const tort_planes *planes = &job->planes;
    const int64_t input = planes->input[0] * planes->input[1] * planes->input[2];
    const bool max = job->params->kind == TORT_POOL_MAX;
    const int64_t work = tort_work(planes->outputs, planes->kernel_size + 16, 1);
    for (int64_t part = begin; part < end; part++) {
        float *buffer = job->buffers + part * tort_planes_buffer(planes);
        int64_t first, last;
        tort_cpu_share(job->params->batch * job->params->channels, 1, part, job->parts, &first, &last);
        for (int64_t channel = first; channel < last && tort_piece_goes_on(job->call, channel - first, work);
             channel++) {
            float *y = job->y + channel * planes->outputs;
            tort_planes_store(job->call, planes, job->x + channel * input, max ? -INFINITY : 0, buffer);
            tort_planes_each(job->call, planes, pool_outputs, NULL, job, channel, buffer, y);
            if (max) continue;
            for (int64_t row = 0; row < planes->output[0] * planes->output[1]; row++)
                divide_row(job, row, y + row * planes->output[2]);
        }
    }
}

static tort_status run_pool(const tort_call *call) {
    const tort_pool_params *p = call->params;
    const tort_cpu_device *device = call->device;
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    pool_job job = {.call = call,
                    .params = p,
                    .simd = device->simd,
                    .parts = device->threads,
                    .x = call->inputs[0].data,
                    .y = call->outputs[0].data};
    char *scratch = call->scratch;
    tort_planes_init(&job.planes, &p->window);
    int64_t *offsets = tort_cpu_take(&scratch, (size_t)job.planes.kernel_size * sizeof(int64_t));
    tort_planes_offsets(&job.planes, 1, offsets);
    job.offsets = offsets;
    job.sum = (tort_weighted){.offsets = offsets, .count = job.planes.kernel_size};
    tort_simd_bounds(NULL, &job.sum.bounds);
    job.buffers = (float *)scratch;
    tort_cpu_parts(call, job.parts, pool_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_pool[] = {
    {"", "MaxPool", "max_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {"", "AveragePool", "average_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {.op = NULL},
};
