/* strided.c - Softmax, LogSoftmax and CumSum of floats along an inner axis, ArgMax and ArgMin along any.
 *
 * The view is [outer, length, inner] (ops/softmax.h, ops/reduce.h). Along an inner axis up to TORT_COLUMNS neighbouring
 * lanes are taken together: a row of them is contiguous. Long lanes are taken in parts, between which a run may end.
 * Read first: rows.c, which has the last axis of Softmax; read next: simd/strided.c. */
#include "kernels/cpu/cpu.h"
#include "ops/cumulative.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

#include <math.h>

enum { ROWS = 1024 }; /* of TORT_COLUMNS columns at a time: some 100 microseconds */

/* A block of columns: item `item` of outer * the blocks of inner columns. */
typedef struct column_block {
    int64_t first, count; /* its first element of the view, and its columns */
    int64_t lane;         /* the number of its first lane: outer * inner + column */
} column_block;

static int64_t blocks_of(int64_t inner) {
    return (inner + TORT_COLUMNS - 1) / TORT_COLUMNS;
}

static column_block block_of(int64_t item, int64_t length, int64_t inner) {
    const int64_t outer = item / blocks_of(inner), column = item % blocks_of(inner) * TORT_COLUMNS;
    return (column_block){outer * length * inner + column, tort_min(TORT_COLUMNS, inner - column),
                          outer * inner + column};
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static tort_verdict claim_softmax(const tort_target *target, const tort_node_view *node) {
    const tort_softmax_params *p = node->params;
    if (p->inner == 1) return tort_no(TORT_NO_ATTR, "", "is for inner axes, axis is the last one");
    return tort_cpu_claim_float(target, node);
}

typedef struct softmax_job {
    const tort_call *call;
    const tort_simd *simd;
    const tort_softmax_params *view;
    const float *x;
    float *y;
    bool log;
} softmax_job;

/* Softmax multiplies the exponentials, which are in y; LogSoftmax computes x - max - log(sum). */
static void finish_block(const softmax_job *job, const column_block *b, const float *max, const double *sum) {
    float mean[TORT_COLUMNS], factor[TORT_COLUMNS], bias[TORT_COLUMNS];
    const int64_t inner = job->view->inner;
    const float *source = job->log ? job->x : job->y;
    for (int64_t i = 0; i < b->count; i++) {
        mean[i] = job->log ? max[i] : 0;
        factor[i] = job->log ? 1 : (float)(1 / sum[i]);
        bias[i] = job->log ? (float)-log(sum[i]) : 0;
    }
    for (int64_t row = 0; row < job->view->length && tort_row_goes_on(job->call->watch, row * TORT_COLUMNS); row++) {
        const int64_t at = b->first + row * inner;
        job->simd->shift_columns(source + at, job->y + at, b->count, mean, factor, bias);
    }
}

static void softmax_blocks(void *arg, int64_t begin, int64_t end) {
    const softmax_job *job = arg;
    const int64_t length = job->view->length, inner = job->view->inner;
    for (int64_t item = begin; item < end; item++) {
        const column_block b = block_of(item, length, inner);
        float max[TORT_COLUMNS];
        double sum[TORT_COLUMNS] = {0};
        for (int64_t i = 0; i < TORT_COLUMNS; i++) max[i] = -INFINITY;
        for (int64_t row = 0; row < length && tort_row_goes_on(job->call->watch, row * TORT_COLUMNS); row += ROWS)
            job->simd->columns_max(max, job->x + b.first + row * inner, inner, tort_min(ROWS, length - row), b.count);
        for (int64_t row = 0; row < length && tort_row_goes_on(job->call->watch, row * TORT_COLUMNS); row += ROWS) {
            const int64_t at = b.first + row * inner;
            float part[TORT_COLUMNS] = {0};
            job->simd->columns_exp(max, part, job->x + at, job->y + at, inner, tort_min(ROWS, length - row), b.count);
            for (int64_t i = 0; i < b.count; i++) sum[i] += (double)part[i];
        }
        finish_block(job, &b, max, sum);
    }
}

static tort_status run_softmax(const tort_call *call) {
    const tort_softmax_params *p = call->params;
    softmax_job job = {.call = call,
                       .simd = ((const tort_cpu_device *)call->device)->simd,
                       .view = p,
                       .x = call->inputs[0].data,
                       .y = call->outputs[0].data,
                       .log = call->kernel->variant};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    tort_parallel(call, p->outer * blocks_of(p->inner), tort_min(p->inner, TORT_COLUMNS) * p->length, softmax_blocks,
                  &job);
    return TORT_OK;
}

/* ---- ArgMax, ArgMin ---------------------------------------------------------------------------------------------- */

static tort_verdict claim_arg(const tort_target *target, const tort_node_view *node) {
    const tort_arg_reduce_params *p = node->params;
    const tort_type type = node->inputs[0].type;
    if (p->select_last) return tort_no(TORT_NO_ATTR, "", "returns the first of equal elements, select_last_index is 1");
    if (type != TORT_FLOAT) return tort_no(TORT_NO_TYPE, "", "is for float, the input is %s", tort_type_name(type));
    return tort_cpu_claim_processor(target);
}

typedef struct arg_job {
    const tort_call *call;
    const tort_simd *simd;
    const tort_arg_reduce_params *view;
    const float *x;
    int64_t *y;
    float sign; /* 1: the largest, -1: the smallest */
} arg_job;

/* True if b, which comes after a, is in its place: NaN is before all numbers. */
static bool is_better(float a, float b, float sign) {
    return a == a && (b != b || sign * b > sign * a);
}

static void arg_rows(void *arg, int64_t begin, int64_t end) {
    enum { PART = 1 << 18 };
    const arg_job *job = arg;
    const int64_t length = job->view->length;
    for (int64_t row = begin; row < end; row++) {
        const float *x = job->x + row * length;
        int64_t best = 0;
        for (int64_t at = 0; at < length && (at == 0 || tort_call_goes_on(job->call, 0)); at += PART) {
            const int64_t found = at + job->simd->row_arg(x + at, tort_min(PART, length - at), job->sign);
            if (at == 0 || is_better(x[best], x[found], job->sign)) best = found;
        }
        job->y[row] = best;
    }
}

static void arg_blocks(void *arg, int64_t begin, int64_t end) {
    const arg_job *job = arg;
    const int64_t length = job->view->length, inner = job->view->inner;
    for (int64_t item = begin; item < end; item++) {
        const column_block b = block_of(item, length, inner);
        float best[TORT_COLUMNS] = {0};
        int32_t index[TORT_COLUMNS];
        int64_t *y = job->y + b.lane;
        for (int64_t i = 0; i < b.count; i++) {
            best[i] = job->sign * job->x[b.first + i];
            y[i] = 0;
        }
        for (int64_t row = 1; row < length && tort_row_goes_on(job->call->watch, row * TORT_COLUMNS); row += ROWS) {
            for (int64_t i = 0; i < TORT_COLUMNS; i++) index[i] = -1;
            job->simd->columns_arg(best, index, job->x + b.first + row * inner, inner, tort_min(ROWS, length - row),
                                   b.count, job->sign);
            for (int64_t i = 0; i < b.count; i++) y[i] = index[i] < 0 ? y[i] : row + index[i];
        }
    }
}

static tort_status run_arg(const tort_call *call) {
    const tort_arg_reduce_params *p = call->params;
    arg_job job = {.call = call,
                   .simd = ((const tort_cpu_device *)call->device)->simd,
                   .view = p,
                   .x = call->inputs[0].data,
                   .y = call->outputs[0].data,
                   .sign = (float)call->kernel->variant};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (p->inner == 1)
        tort_parallel(call, p->outer, 10 + p->length / 4, arg_rows, &job);
    else
        tort_parallel(call, p->outer * blocks_of(p->inner), 20 + tort_min(p->inner, TORT_COLUMNS) * p->length / 4,
                      arg_blocks, &job);
    return TORT_OK;
}

/* ---- CumSum ------------------------------------------------------------------------------------------------------ */

static tort_verdict claim_sums(const tort_target *target, const tort_node_view *node) {
    const tort_cumulative_params *p = node->params;
    const tort_type type = node->inputs[0].type;
    if (p->exclusive) return tort_no(TORT_NO_ATTR, "", "is for sums that have their own element, exclusive is 1");
    if (type != TORT_FLOAT) return tort_no(TORT_NO_TYPE, "", "is for float, the input is %s", tort_type_name(type));
    return tort_cpu_claim_processor(target);
}

typedef struct sums_job {
    const tort_call *call;
    const tort_simd *simd;
    tort_cumulative_view view;
    bool reverse;
} sums_job;

static void sum_blocks(void *arg, int64_t begin, int64_t end) {
    const sums_job *job = arg;
    const int64_t length = job->view.length, inner = job->view.inner;
    const float *x = job->call->inputs[0].data;
    float *y = job->call->outputs[0].data;
    for (int64_t item = begin; item < end; item++) {
        const column_block b = block_of(item, length, inner);
        double sums[TORT_COLUMNS] = {0};
        for (int64_t row = 0; row < length && tort_row_goes_on(job->call->watch, row * TORT_COLUMNS); row += ROWS) {
            const int64_t at = b.first + (job->reverse ? length - 1 - row : row) * inner;
            job->simd->columns_sum(sums, x + at, y + at, job->reverse ? -inner : inner, tort_min(ROWS, length - row),
                                   b.count);
        }
    }
}

static tort_status run_sums(const tort_call *call) {
    const tort_cumulative_params *p = call->params;
    sums_job job = {.call = call, .simd = ((const tort_cpu_device *)call->device)->simd, .reverse = p->reverse};
    tort_status status = tort_cumulative_view_of(call, &job.view);
    if (status || tort_count(&call->inputs[0]) == 0) return status;
    const int64_t work = 5 + tort_min(job.view.inner, TORT_COLUMNS) * job.view.length / 2;
    tort_parallel(call, job.view.outer * blocks_of(job.view.inner), work, sum_blocks, &job);
    return TORT_OK;
}

const tort_kernel tort_cpu_strided[] = {
    {"", "Softmax", "softmax_columns", .claim = claim_softmax, .run = run_softmax, .in_place = 1},
    {"", "LogSoftmax", "log_softmax_columns", .claim = claim_softmax, .run = run_softmax, .variant = 1},
    {"", "ArgMax", "arg_vectors", .claim = claim_arg, .run = run_arg, .variant = 1},
    {"", "ArgMin", "arg_vectors", .claim = claim_arg, .run = run_arg, .variant = -1},
    {"", "CumSum", "cumsum_columns", .claim = claim_sums, .run = run_sums, .in_place = 1},
    {.op = NULL},
};
