/* softmax.c - Softmax, LogSoftmax and Hardmax: normalisation of every lane along an axis.
 *
 * Until opset 12 the tensor is coerced to a matrix at `axis`, whose rows are the lanes; from 13 on the lanes lie along
 * `axis` alone. Both are one [outer, length, inner] view, which resolve computes; the loops know no versions. The loops
 * compute in double and round once to the element type. A lane with NaN, with +inf or with -inf only becomes NaN, which
 * exported models rely on (they test for it after a fully masked row). */
#include "ops/extent.h"
#include "ops/numeric.h"
#include "ops/softmax.h"

#include <math.h>

typedef enum softmax_kind { SOFTMAX, LOG_SOFTMAX, HARDMAX } softmax_kind; /* values of tort_op.variant */

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static tort_status resolve_along(tort_resolve *resolve, bool coerced) {
    const tort_info *input = &resolve->node->inputs[0];
    tort_softmax_params *params = resolve->params;
    if (input->rank < 0) return TORT_OK;
    int32_t axis = 0;
    int64_t wanted = tort_attr_int(resolve->node, "axis");
    /* A scalar is one lane of one element, whatever the axis. */
    if (input->rank > 0) {
        tort_status status = tort_normalize_axis(resolve->error, wanted, input->rank, &axis);
        if (status != TORT_OK) return status;
    }
    int32_t end = coerced || input->rank == 0 ? input->rank : axis + 1;
    /* Claims ask whether the lane is contiguous (inner 1) before shapes are known; 0: it is not, or not yet known. */
    params->inner = end == input->rank ? 1 : 0;
    if (!tort_shape_known(input)) return TORT_OK;
    params->outer = tort_extent(input->dims, 0, axis);
    params->length = tort_extent(input->dims, axis, end);
    params->inner = tort_extent(input->dims, end, input->rank);
    return TORT_OK;
}

tort_status tort_resolve_softmax_coerced(tort_resolve *resolve) {
    return resolve_along(resolve, true);
}

tort_status tort_resolve_softmax_axis(tort_resolve *resolve) {
    return resolve_along(resolve, false);
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

/* Statistics of one lane. */
typedef struct softmax_lane {
    double max, sum, log_sum; /* the largest element; the sum of exp(x - max), and its logarithm */
    int64_t max_index;        /* of the first largest element */
} softmax_lane;

static void lane_observe_max(softmax_lane *lane, double x, int64_t index) {
    if (x > lane->max || index == 0) {
        lane->max = x;
        lane->max_index = index;
    }
}

static double element_of(softmax_kind kind, const softmax_lane *lane, double x, int64_t index) {
    switch (kind) {
    case SOFTMAX: return exp(x - lane->max) / lane->sum;
    case LOG_SOFTMAX: return x - lane->max - lane->log_sum;
    default: return index == lane->max_index ? 1.0 : 0.0;
    }
}

typedef struct softmax_task {
    const tort_call *call;
    const tort_softmax_params *params;
    softmax_kind kind;
} softmax_task;

/* Normalises contiguous lanes: a block is a part of one lane. */
static void normalize_rows(void *arg, int64_t begin, int64_t end) {
    const softmax_task *task = arg;
    const int64_t length = task->params->length;
    const tort_tensor *input = &task->call->inputs[0];
    const tort_tensor *output = &task->call->outputs[0];
    double block[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++) {
        softmax_lane lane = {0};
        for (int64_t first = 0; first < length && tort_row_goes_on(task->call->watch, first); first += TORT_BLOCK) {
            int64_t count = tort_block_count(length, first);
            tort_load_doubles(input->type, input->data, row * length + first, count, block);
            for (int64_t i = 0; i < count; i++) lane_observe_max(&lane, block[i], first + i);
        }
        for (int64_t first = 0; first < length && task->kind != HARDMAX && tort_row_goes_on(task->call->watch, first);
             first += TORT_BLOCK) {
            int64_t count = tort_block_count(length, first);
            tort_load_doubles(input->type, input->data, row * length + first, count, block);
            for (int64_t i = 0; i < count; i++) lane.sum += exp(block[i] - lane.max);
        }
        lane.log_sum = log(lane.sum);
        for (int64_t first = 0; first < length && tort_row_goes_on(task->call->watch, first); first += TORT_BLOCK) {
            int64_t count = tort_block_count(length, first);
            tort_load_doubles(input->type, input->data, row * length + first, count, block);
            for (int64_t i = 0; i < count; i++) block[i] = element_of(task->kind, &lane, block[i], first + i);
            tort_store_doubles(output->type, output->data, row * length + first, count, block);
        }
    }
}

/* Normalises lanes whose elements are `inner` apart: a block holds one element each of neighbouring lanes. */
static void normalize_columns(void *arg, int64_t begin, int64_t end) {
    const softmax_task *task = arg;
    const int64_t length = task->params->length, inner = task->params->inner;
    const int64_t groups = (inner + TORT_BLOCK - 1) / TORT_BLOCK; /* blocks of lanes in each outer index */
    const tort_tensor *input = &task->call->inputs[0];
    const tort_tensor *output = &task->call->outputs[0];
    double block[TORT_BLOCK];
    softmax_lane lanes[TORT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item % groups * TORT_BLOCK;
        int64_t count = tort_block_count(inner, first);
        int64_t base = item / groups * length * inner + first;
        for (int64_t i = 0; i < count; i++) lanes[i] = (softmax_lane){0};
        for (int64_t k = 0; k < length && tort_row_goes_on(task->call->watch, k * TORT_BLOCK); k++) {
            tort_load_doubles(input->type, input->data, base + k * inner, count, block);
            for (int64_t i = 0; i < count; i++) lane_observe_max(&lanes[i], block[i], k);
        }
        for (int64_t k = 0; k < length && task->kind != HARDMAX && tort_row_goes_on(task->call->watch, k * TORT_BLOCK);
             k++) {
            tort_load_doubles(input->type, input->data, base + k * inner, count, block);
            for (int64_t i = 0; i < count; i++) lanes[i].sum += exp(block[i] - lanes[i].max);
        }
        for (int64_t i = 0; i < count; i++) lanes[i].log_sum = log(lanes[i].sum);
        for (int64_t k = 0; k < length && tort_row_goes_on(task->call->watch, k * TORT_BLOCK); k++) {
            tort_load_doubles(input->type, input->data, base + k * inner, count, block);
            for (int64_t i = 0; i < count; i++) block[i] = element_of(task->kind, &lanes[i], block[i], k);
            tort_store_doubles(output->type, output->data, base + k * inner, count, block);
        }
    }
}

static tort_status run(const tort_call *call) {
    const tort_softmax_params *params = call->params;
    softmax_task task = {call, params, (softmax_kind)call->op->variant};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    const int64_t element_cost = 12; /* nanoseconds: two exponentials */
    if (params->inner == 1) {
        tort_parallel(call, params->outer, params->length * element_cost, normalize_rows, &task);
    } else {
        int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
        int64_t lanes = tort_block_count(params->inner, 0);
        tort_parallel(call, params->outer * groups, params->length * lanes * element_cost, normalize_columns, &task);
    }
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define BY(kind, resolve_)                                                                                             \
    .variant = kind, .params_size = sizeof(tort_softmax_params), .infer = tort_infer_elementwise, .resolve = resolve_, \
    .reference = run

const tort_op tort_ops_softmax[] = {
    {"", "Softmax", 1, 10, "input:T", "output:T", "T=floats", "axis:int=1", BY(SOFTMAX, tort_resolve_softmax_coerced)},
    {"", "Softmax", 11, 12, "input:T", "output:T", "T=floats", "axis:int=1", BY(SOFTMAX, tort_resolve_softmax_coerced)},
    {"", "Softmax", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "axis:int=-1",
     BY(SOFTMAX, tort_resolve_softmax_axis)},
    {"", "LogSoftmax", 1, 10, "input:T", "output:T", "T=floats", "axis:int=1",
     BY(LOG_SOFTMAX, tort_resolve_softmax_coerced)},
    {"", "LogSoftmax", 11, 12, "input:T", "output:T", "T=floats", "axis:int=1",
     BY(LOG_SOFTMAX, tort_resolve_softmax_coerced)},
    {"", "LogSoftmax", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "axis:int=-1",
     BY(LOG_SOFTMAX, tort_resolve_softmax_axis)},
    {"", "Hardmax", 1, 10, "input:T", "output:T", "T=floats", "axis:int=1", BY(HARDMAX, tort_resolve_softmax_coerced)},
    {"", "Hardmax", 11, 12, "input:T", "output:T", "T=floats", "axis:int=1", BY(HARDMAX, tort_resolve_softmax_coerced)},
    {"", "Hardmax", 13, TORT_NEWEST_OPSET, "input:T", "output:T", "T=floats13", "axis:int=-1",
     BY(HARDMAX, tort_resolve_softmax_axis)},
    {0},
};
