/* byte_pool.c - MaxPool of 8-bit integers, with 1 or 2 spatial axes.
 *
 * Separable: first the maximum of the rows that a row of outputs sees, then of neighbours within it. With a stride
 * of s along the row, every s-th element is gathered first, so that neighbouring outputs read neighbouring elements.
 * int8 is compared as uint8 with the highest bit flipped. Read next: ops/pool.h. */
#include "kernels/cpu/pieces.h"
#include "ops/microsoft/qlinear.h"
#include "ops/pool.h"

#include <string.h>

#define MAX_POSITIONS 4096 /* per axis: the input is stored with its padding */

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_pool_params *p = node->params;
    const tort_type type = node->inputs[0].type;
    const tort_verdict fits = tort_cpu_claim_processor(target);
    if (fits.code != TORT_YES) return fits;
    if (type != TORT_INT8 && type != TORT_UINT8)
        return tort_no(TORT_NO_TYPE, "", "is for int8 and uint8, the input is %s", tort_type_name(type));
    if (p->window.axes != 1 && p->window.axes != 2)
        return tort_no(TORT_NO_SHAPE, "", "is for 1 or 2 spatial axes, the input has %d", (int)p->window.axes);
    for (int32_t i = 0; i < p->window.axes; i++)
        if (p->window.kernel[i] > MAX_POSITIONS)
            return tort_no(TORT_NO_SHAPE, "", "is for windows of at most %d positions along an axis", MAX_POSITIONS);
    if (tort_has_output(node, 1)) return tort_no(TORT_NO_ATTR, "", "does not make Indices");
    return tort_yes();
}

/* Axes are height and width; a missing height has the size 1. */
typedef struct axis {
    int64_t input, output, kernel, stride, dilation, begin;
} axis;

static axis axis_of(const tort_sliding *w, int32_t from_end) {
    const int32_t i = w->axes - from_end;
    if (i < 0) return (axis){1, 1, 1, 1, 1, 0};
    return (axis){w->input[i], w->output[i], w->kernel[i], w->strides[i], w->dilations[i], w->begin[i]};
}

/* Computes the elements that the windows of a row see, and those of each of the `stride` rows that they are split
 * into. */
static bool row_lengths(const axis *x, int64_t *seen, int64_t *phase) {
    int64_t reach;
    if (__builtin_mul_overflow(tort_max(1, x->output) - 1, x->stride, seen) ||
        __builtin_mul_overflow(x->kernel - 1, x->dilation, &reach) || __builtin_add_overflow(*seen, reach + 1, seen) ||
        *seen > INT64_MAX / 8 || x->stride > INT64_MAX / 16)
        return false;
    *phase = *seen / x->stride + 1;
    return true;
}

typedef struct pool_job {
    const tort_call *call;
    const uint8_t *from;
    uint8_t *to, *buffers;
    axis y, x;
    int64_t seen, phase, planes;
    uint8_t flip;
    int32_t parts;
} pool_job;

static bool buffer_size(const pool_job *job, size_t *bytes) {
    size_t phases;
    *bytes = 0;
    return tort_cpu_reserve(bytes, (size_t)job->seen + (size_t)job->x.input) &&
           tort_mul_size((uint64_t)job->phase, (uint64_t)job->x.stride, &phases) && tort_cpu_reserve(bytes, phases);
}

static bool fill_job(const tort_pool_params *p, pool_job *job) {
    job->y = axis_of(&p->window, 2);
    job->x = axis_of(&p->window, 1);
    job->planes = p->batch * p->channels;
    return row_lengths(&job->x, &job->seen, &job->phase);
}

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    pool_job job;
    size_t bytes, all;
    *scratch = 0;
    if (fill_job(node->params, &job) && buffer_size(&job, &bytes) &&
        tort_mul_size(bytes, (uint64_t)target->threads, &all) && tort_cpu_reserve(scratch, all))
        return TORT_OK;
    return tort_out_of_memory(error, SIZE_MAX);
}

/* Makes the maximum of the rows that output row `out` sees. `row` begins x->begin elements before the input. */
static void largest_rows(const pool_job *job, const uint8_t *plane, int64_t out, uint8_t *restrict row) {
    const axis *x = &job->x, *y = &job->y;
    const int64_t skipped = x->begin < 0 ? -x->begin : 0, lead = x->begin > 0 ? x->begin : 0;
    int64_t count = x->input - skipped;
    if (count > job->seen - lead) count = job->seen - lead;
    memset(row, 0, (size_t)job->seen);
    const int64_t work = tort_work(count, 1, 1);
    for (int64_t k = 0; k < y->kernel; k++) {
        if (!tort_piece_goes_on(job->call, k, work)) return;
        const int64_t at = out * y->stride - y->begin + k * y->dilation;
        if (at < 0 || at >= y->input) continue;
        const uint8_t *restrict from = plane + at * x->input + skipped;
        uint8_t *restrict to = row + lead;
        for (int64_t i = 0; i < count; i++) {
            const uint8_t value = from[i] ^ job->flip;
            to[i] = to[i] > value ? to[i] : value;
        }
    }
}

static void cut(const uint8_t *restrict row, int64_t stride, int64_t count, uint8_t *restrict to) {
    if (stride == 2)
        for (int64_t i = 0; i < count; i++) to[i] = row[2 * i];
    else
        for (int64_t i = 0; i < count; i++) to[i] = row[i * stride];
}

static void largest_neighbours(const pool_job *job, const uint8_t *row, uint8_t *phases, uint8_t *restrict to) {
    const axis *x = &job->x;
    for (int64_t p = 0; x->stride > 1 && p < x->stride && p < job->seen; p++)
        cut(row + p, x->stride, (job->seen - p + x->stride - 1) / x->stride, phases + p * job->phase);
    memset(to, 0, (size_t)x->output);
    const int64_t work = tort_work(x->output, 1, 1);
    for (int64_t k = 0; k < x->kernel; k++) {
        if (!tort_piece_goes_on(job->call, k, work)) return;
        const int64_t at = k * x->dilation;
        const uint8_t *restrict from =
            x->stride == 1 ? row + at : phases + at % x->stride * job->phase + at / x->stride;
        for (int64_t i = 0; i < x->output; i++) to[i] = to[i] > from[i] ? to[i] : from[i];
    }
    for (int64_t i = 0; i < x->output; i++) to[i] ^= job->flip;
}

static void pool_part(void *arg, int64_t begin, int64_t end) {
    const pool_job *job = arg;
    const int64_t work = tort_work(job->seen, job->x.kernel + job->y.kernel + 8, 1);
    size_t bytes;
    if (!buffer_size(job, &bytes)) return;
    for (int64_t part = begin; part < end; part++) {
        uint8_t *row = job->buffers + (size_t)part * bytes;
        uint8_t *phases = row + (job->seen + job->x.input + TORT_HOST_ALIGN - 1) / TORT_HOST_ALIGN * TORT_HOST_ALIGN;
        int64_t first, last;
        tort_cpu_share(job->planes, 1, part, job->parts, &first, &last);
        for (int64_t plane = first; plane < last; plane++)
            for (int64_t out = 0; out < job->y.output; out++) {
                if (!tort_piece_goes_on(job->call, plane * job->y.output + out, work)) return;
                largest_rows(job, job->from + plane * job->y.input * job->x.input, out, row);
                largest_neighbours(job, row, phases, job->to + (plane * job->y.output + out) * job->x.output);
            }
    }
}

static tort_status run(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    pool_job job = {.call = call,
                    .from = call->inputs[0].data,
                    .to = call->outputs[0].data,
                    .buffers = call->scratch,
                    .flip = call->inputs[0].type == TORT_INT8 ? 128 : 0,
                    .parts = device->threads};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (!fill_job(call->params, &job)) return tort_out_of_memory(call->error, SIZE_MAX);
    tort_cpu_parts(call, job.parts, pool_part, &job);
    return TORT_OK;
}

/* ---- QLinearGlobalAveragePool ------------------------------------------------------------------------------------ */

static tort_status run_mean(const tort_call *call) {
    const tort_cpu_device *device = call->device;
    return tort_run_linear_mean(call, device->simd ? device->simd->byte_sum : NULL);
}

const tort_kernel tort_cpu_byte_pool[] = {
    {"", "MaxPool", "max_pool_bytes", .claim = claim, .size = size, .run = run},
    {"com.microsoft", "QLinearGlobalAveragePool", "mean_bytes", .claim = tort_cpu_claim_any, .run = run_mean},
    {.op = NULL},
};
