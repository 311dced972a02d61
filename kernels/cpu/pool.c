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
    tort_weighted window; /* one row of it, if maxima are taken in two steps */
    tort_weighted column; /* of a window; count 0: all in one step */
    float *buffers;       /* one per part */
    const float *x;
    float *y;
    int32_t parts;
} pool_job;

/* Floats of a job's lists for averages: a weight of 1 for each position, and what windows count along rows of outputs
 * and along columns, behind which loops read as far as behind a plane. */
static bool list_floats(const tort_planes *planes, int64_t *floats) {
    int64_t rows;
    return !__builtin_mul_overflow(planes->output[0], planes->output[1], &rows) &&
           !__builtin_add_overflow(rows, planes->output[2], &rows) &&
           !__builtin_add_overflow(rows, planes->kernel_size + TORT_PLANE_TAIL, floats);
}

static tort_status size_pool(const tort_target *target, const tort_node_view *node, size_t *scratch,
                             tort_error *error) {
    const tort_pool_params *p = node->params;
    tort_planes planes;
    int64_t floats;
    tort_planes_init(&planes, &p->window);
    tort_status status = tort_planes_size(target, &p->window, scratch, error);
    if (!status && p->kind != TORT_POOL_MAX &&
        !(list_floats(&planes, &floats) && tort_cpu_reserve_floats(scratch, floats)))
        return tort_fail(error, TORT_E_MODEL, "%lld outputs are too many", (long long)planes.outputs);
    return status;
}

static void pool_outputs(const void *arg, int64_t channel, const tort_window_rows *rows) {
    const pool_job *job = arg;
    (void)channel;
    if (job->params->kind == TORT_POOL_MAX)
        tort_window(job->call, job->simd, job->simd->maximum, rows, &job->window);
    else {
        tort_weighted sum = job->window;
        sum.row_divisors += (rows->out - job->y) / rows->width % (job->planes.output[0] * job->planes.output[1]);
        tort_window(job->call, job->simd, job->simd->weighted_sum, rows, &sum);
    }
}

/* Maxima in two steps: here each stored element becomes the maximum of those in its column that its window has, in
 * place, since all of them come later; then a window is one row. 5x5 positions are 10 so. */
static void columns_first(const pool_job *job, float *buffer) {
    const tort_planes *p = &job->planes;
    const int64_t elements = p->output[1] * p->length[2];
    for (int64_t d = 0; d < p->output[0]; d++) {
        float *slice = buffer + tort_planes_row(p, d * p->output[1]);
        const tort_window_rows all = {.out = slice, .source = slice, .rows = 1, .width = elements};
        tort_window(job->call, job->simd, job->simd->maximum, &all, &job->column);
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
            if (job->column.count > 0) columns_first(job, buffer);
            tort_planes_each(job->call, planes, pool_outputs, NULL, job, channel, buffer, y);
        }
    }
}

static bool in_two_steps(const tort_pool_params *params, const tort_planes *p) {
    return params->kind == TORT_POOL_MAX && p->phases[1] == 1 && p->phases[2] == 1 && p->kernel[0] == 1 &&
           p->kernel[1] > 2 && p->kernel[2] > 2;
}

/* Returns how many rows of elements windows count in row `row` of outputs; 1 if none, as their sum is 0. */
static float row_divisor(const tort_pool_params *p, int64_t row) {
    int64_t count = 1;
    for (int32_t i = p->window.axes - 2; i >= 0; i--, row /= p->window.output[i + 1])
        count *= tort_pool_divisor(p, i, row % p->window.output[i]);
    return (float)tort_max(count, 1);
}

static void prepare_averages(pool_job *job, char **scratch) {
    const tort_pool_params *p = job->params;
    const tort_planes *planes = &job->planes;
    const int64_t rows = planes->output[0] * planes->output[1], columns = planes->output[2];
    int64_t floats;
    if (!list_floats(planes, &floats)) return; /* size_pool has refused it */
    float *weights = tort_cpu_take(scratch, (size_t)floats * sizeof(float));
    float *row_divisors = weights + planes->kernel_size, *column_divisors = row_divisors + rows;
    for (int64_t i = 0; i < planes->kernel_size; i++) weights[i] = 1;
    for (int64_t i = 0; i < rows && tort_row_goes_on(job->call->watch, i); i++) row_divisors[i] = row_divisor(p, i);
    for (int64_t i = 0; i < columns && tort_row_goes_on(job->call->watch, i); i++)
        column_divisors[i] = (float)tort_max(tort_pool_divisor(p, p->window.axes - 1, i), 1);
    job->window.weights = weights;
    job->window.row_divisors = row_divisors;
    job->window.column_divisors = column_divisors;
    job->window.shared = tort_planes_shared(planes);
    tort_simd_bounds(NULL, &job->window.bounds);
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
    job.window = (tort_weighted){.offsets = offsets, .count = job.planes.kernel_size};
    if (in_two_steps(p, &job.planes)) {
        job.window.count = job.planes.kernel[2];
        job.column = (tort_weighted){.offsets = offsets + job.window.count, .count = job.planes.kernel[1]};
        for (int64_t h = 0; h < job.planes.kernel[1]; h++)
            offsets[job.window.count + h] = h * job.planes.dilations[1] * job.planes.length[2];
    }
    if (p->kind != TORT_POOL_MAX) prepare_averages(&job, &scratch);
    job.buffers = (float *)scratch;
    tort_cpu_parts(call, job.parts, pool_part, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_pool[] = {
    {"", "MaxPool", "max_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {"", "AveragePool", "average_pool_rows", .claim = claim_pool, .size = size_pool, .run = run_pool},
    {.op = NULL},
};
