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
    const int64_t *offsets; /* of a window's positions; of one row of them, if maxima are taken in two steps */
    int64_t positions;
    const int64_t *row_offsets; /* NULL: all in one step */
    tort_weighted sum;          /* of a window */
    float *counts;              /* for each column of outputs, the columns that its window counts */
    float *buffers;             /* one per part */
    const float *x;
    float *y;
    int32_t parts;
} pool_job;

static tort_status size_pool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_pool_params *p = node->params;
    const int64_t columns = p->window.output[p->window.axes - 1];
    tort_status status = tort_planes_size(target, &p->window, scratch, error);
    if (!status && p->kind != TORT_POOL_MAX && !tort_cpu_reserve_floats(scratch, columns))
        return tort_fail(error, TORT_E_MODEL, "a row of %lld outputs is too large", (long long)columns);
    return status;
}

/* Divides the sums of row `row` by the elements that their windows count. */
static void divide_row(const pool_job *job, int64_t row, float *restrict y) {
    const tort_pool_params *p = job->params;
    int64_t rest = row, rows = 1;
    for (int32_t i = p->window.axes - 2; i >= 0; i--) {
        rows *= tort_pool_divisor(p, i, rest % p->window.output[i]);
        rest /= p->window.output[i];
    }
    const float *restrict counts = job->counts;
    const int64_t columns = job->planes.output[2];
    for (int64_t at = 0; at < columns && tort_row_goes_on(job->call->watch, at); at += TORT_PART) {
        for (int64_t i = at; i < at + tort_part_count(columns, at); i++) {
            const float count = (float)rows * counts[i], quotient = y[i] / count;
            y[i] = count > 0 ? quotient : 0;
        }
    }
}

static void pool_outputs(const void *arg, int64_t channel, float *out, int64_t width, const float *source) {
    const pool_job *job = arg;
    (void)channel;
    if (job->params->kind == TORT_POOL_MAX)
        tort_maximum(job->call, job->simd, out, width, source, job->offsets, job->positions);
    else
        tort_weighted_sum(job->call, job->simd, out, width, source, &job->sum);
}

/* Maxima in two steps: here each stored element becomes the maximum of those in its column that its window has, in
 * place, since all of them come later; then a window is one row. 5x5 positions are 10 so. */
static void columns_first(const pool_job *job, float *buffer) {
    const tort_planes *p = &job->planes;
    const int64_t elements = p->output[1] * p->length[2];
    for (int64_t d = 0; d < p->output[0]; d++) {
        float *slice = buffer + tort_planes_row(p, d * p->output[1]);
        tort_maximum(job->call, job->simd, slice, elements, slice, job->row_offsets, p->kernel[1]);
    }
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
            if (job->row_offsets) columns_first(job, buffer);
            tort_planes_each(job->call, planes, pool_outputs, NULL, job, channel, buffer, y);
            if (max || planes->kernel_size == 1) continue; /* windows of one element count that, or nothing but 0 */
            const int64_t rows = planes->output[0] * planes->output[1];
            const int64_t row_work = tort_work(planes->output[2], 8, 1);
            for (int64_t row = 0; row < rows && tort_piece_goes_on(job->call, row, row_work); row++)
                divide_row(job, row, y + row * planes->output[2]);
        }
    }
}

static bool in_two_steps(const tort_pool_params *params, const tort_planes *p) {
    return params->kind == TORT_POOL_MAX && p->phases[1] == 1 && p->phases[2] == 1 && p->kernel[0] == 1 &&
           p->kernel[1] > 2 && p->kernel[2] > 2;
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
    job.positions = job.planes.kernel_size;
    if (in_two_steps(p, &job.planes)) {
        job.positions = job.planes.kernel[2];
        job.row_offsets = offsets + job.positions;
        for (int64_t h = 0; h < job.planes.kernel[1]; h++)
            offsets[job.positions + h] = h * job.planes.dilations[1] * job.planes.length[2];
    }
    job.sum = (tort_weighted){.offsets = offsets, .count = job.planes.kernel_size};
    tort_simd_bounds(NULL, &job.sum.bounds);
    if (p->kind != TORT_POOL_MAX) {
        const int64_t columns = p->window.output[p->window.axes - 1];
        job.counts = tort_cpu_take(&scratch, (size_t)columns * sizeof(float));
        for (int64_t i = 0; i < columns && tort_row_goes_on(call->watch, i); i++)
            job.counts[i] = (float)tort_pool_divisor(p, p->window.axes - 1, i);
    }
    job.buffers = (float *)scratch;
    tort_cpu_parts(call, job.parts, pool_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_pool[] = {
    {"", "MaxPool", "max_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {"", "AveragePool", "average_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {.op = NULL},
};
