/* bias.c - operators of com.microsoft that first add a bias, one row for all rows of a tensor: BiasAdd, BiasDropout,
 * BiasGelu, BiasSplitGelu and FastGelu. And BiasSoftmax, whose bias is a tensor.
 *
 * They compute in double and round once. BiasDropout is inference only: nothing is dropped. */
#include "ops/microsoft/bias.h"
#include "ops/epilogue.h"
#include "ops/extent.h"
#include "ops/shapes.h"

#include <math.h>

/* ---- infer and resolve ------------------------------------------------------------------------------------------- */

/* Checks that input 1, if present, has one element for each along the last axis of input 0. */
static tort_status check_bias(const tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0], *bias = &infer->node->inputs[1];
    if (!tort_has_input(infer->node, 1) || bias->rank < 0) return TORT_OK;
    if (bias->rank != 1)
        return tort_fail(infer->error, TORT_E_MODEL, "the bias has rank %d, expected 1", (int)bias->rank);
    if (x->rank == 0) return tort_fail(infer->error, TORT_E_MODEL, "input 0 is a scalar, expected rank 1 or more");
    const int64_t columns = tort_known_dim(x, x->rank - 1), size = tort_known_dim(bias, 0);
    if (columns < 0 || size < 0 || columns == size) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "the bias has %lld elements, expected %lld, one for each column",
                     (long long)size, (long long)columns);
}

/* Checks that input i, if present, has the shape of input 0. */
static tort_status check_same(const tort_infer *infer, int32_t i) {
    const tort_info *x = &infer->node->inputs[0], *other = &infer->node->inputs[i];
    if (!tort_has_input(infer->node, i) || x->rank < 0 || other->rank < 0) return TORT_OK;
    if (x->rank != other->rank)
        return tort_fail(infer->error, TORT_E_MODEL, "input %d has rank %d, expected %d as input 0 has", i,
                         (int)other->rank, (int)x->rank);
    tort_dim unified;
    tort_status status = TORT_OK;
    for (int32_t d = 0; !status && d < x->rank; d++)
        status = tort_dim_unify(infer->error, d, x->dims[d], other->dims[d], &unified);
    return status;
}

static tort_status infer_gelu(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return check_bias(infer);
}

static tort_status infer_add(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    tort_status status = check_bias(infer);
    return status ? status : check_same(infer, 2);
}

static tort_status infer_dropout(tort_infer *infer) {
    tort_infer_same(infer, 1, 0);
    infer->outputs[1].type = TORT_BOOL;
    return infer_add(infer);
}

static tort_status infer_split(tort_infer *infer) {
    const tort_info *x = &infer->node->inputs[0];
    tort_status status = check_bias(infer);
    infer->outputs[0].type = x->type;
    if (status || x->rank < 1) return status;
    const int64_t columns = tort_known_dim(x, x->rank - 1);
    if (columns >= 0 && columns % 2 != 0)
        return tort_fail(infer->error, TORT_E_MODEL, "the last dimension is %lld, expected an even number",
                         (long long)columns);
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t d = 0; d < x->rank; d++) dims[d] = x->dims[d];
    dims[x->rank - 1] = columns >= 0 ? columns / 2 : tort_dim_fresh(infer->dims, true);
    tort_infer_shape(infer, 0, x->type, x->rank, dims);
    return TORT_OK;
}

static tort_status resolve_rows(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0];
    tort_bias_params *params = resolve->params;
    if (!tort_shape_known(x)) return TORT_OK;
    params->columns = x->rank ? x->dims[x->rank - 1] : 1;
    params->rows = x->rank ? tort_extent(x->dims, 0, x->rank - 1) : 1;
    return TORT_OK;
}

static tort_status resolve_tanh(tort_resolve *resolve) {
    tort_bias_params *params = resolve->params;
    params->gelu.tanh = true;
    return resolve_rows(resolve);
}

static tort_status resolve_dropout(tort_resolve *resolve) {
    const tort_info *training = &resolve->node->inputs[4];
    if (tort_has_input(resolve->node, 4) && training->data && *(const bool *)training->data)
        return tort_fail(resolve->error, TORT_E_UNSUPPORTED, "training_mode is true; tinyort drops nothing");
    return resolve_rows(resolve);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

enum { ADD, GELU, SPLIT_GELU }; /* variants of the rows */

typedef struct bias_job {
    const tort_call *call;
    const tort_bias_params *params;
    const tort_tensor *x, *bias, *skip, *y; /* bias and skip: NULL if absent */
    tort_epilogue epilogue;                 /* its activation alone */
    bool split;                             /* the left half of a row times the activation of the right one */
} bias_job;

/* Loads elements of a row from `column` on, plus bias and skip. */
static void load_sums(const bias_job *job, int64_t row, int64_t column, int64_t count, double *values) {
    const int64_t first = row * job->params->columns + column;
    tort_load_doubles(job->x->type, job->x->data, first, count, values);
    if (job->bias) tort_add_elements(job->bias, column, count, values);
    if (job->skip) tort_add_elements(job->skip, first, count, values);
}

static void run_bias_rows(void *arg, int64_t begin, int64_t end) {
    const bias_job *job = arg;
    const int64_t columns = job->params->columns / (job->split ? 2 : 1);
    double values[TORT_BLOCK], left[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < columns && tort_row_goes_on(job->call->watch, first); first += TORT_BLOCK) {
            const int64_t count = tort_block_count(columns, first);
            load_sums(job, row, first + (job->split ? columns : 0), count, values);
            for (int64_t i = 0; i < count; i++) values[i] = tort_epilogue_activate(&job->epilogue, values[i]);
            if (job->split) {
                load_sums(job, row, first, count, left);
                for (int64_t i = 0; i < count; i++) values[i] *= left[i];
            }
            tort_store_doubles(job->y->type, job->y->data, row * columns + first, count, values);
        }
}

static tort_status run_rows(const tort_call *call) {
    const tort_bias_params *params = call->params;
    const tort_activation gelu = params->gelu.tanh ? TORT_ACTIVATION_GELU_TANH : TORT_ACTIVATION_GELU;
    bias_job job = {.call = call,
                    .params = params,
                    .x = &call->inputs[0],
                    .bias = tort_call_input(call, 1),
                    .skip = tort_call_input(call, 2),
                    .y = &call->outputs[0],
                    .epilogue.activation = call->op->variant == ADD ? TORT_ACTIVATION_NONE : gelu,
                    .split = call->op->variant == SPLIT_GELU};
    if (tort_count(job.y) > 0)
        tort_parallel(call, params->rows, params->columns * (job.epilogue.activation ? 20 : 2), run_bias_rows, &job);
    return TORT_OK;
}

static tort_status run_dropout(const tort_call *call) {
    const tort_tensor *training = tort_call_input(call, 4), *mask = tort_call_output(call, 1);
    if (training && *(const bool *)training->data)
        return tort_fail(call->error, TORT_E_UNSUPPORTED, "training_mode is true; tinyort drops nothing");
    if (mask && tort_count(mask) > 0) memset(mask->data, 1, (size_t)tort_count(mask));
    return run_rows(call);
}

/* ---- BiasSoftmax ------------------------------------------------------------------------------------------------- */

static tort_status resolve_softmax(tort_resolve *resolve) {
    const tort_info *x = &resolve->node->inputs[0], *bias = &resolve->node->inputs[1];
    tort_bias_softmax_params *params = resolve->params;
    int32_t axis;
    if (x->rank < 0) return TORT_OK;
    tort_status status = tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), x->rank, &axis);
    if (status || !tort_shape_known(x) || !tort_shape_known(bias)) return status;
    params->lanes = tort_extent(x->dims, 0, axis);
    params->length = tort_extent(x->dims, axis, x->rank);
    params->inner = tort_attr_int(resolve->node, "is_inner_broadcast") != 0;
    const int64_t size = tort_extent(bias->dims, 0, bias->rank);
    if (params->lanes == 0 || params->length == 0) return TORT_OK;
    params->bias_lanes = size / params->length;
    if (params->bias_lanes > 0 && size % params->length == 0 && params->lanes % params->bias_lanes == 0) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL,
                     "the bias has %lld elements, expected some of the %lld lanes of %lld elements that the data has",
                     (long long)size, (long long)params->lanes, (long long)params->length);
}

typedef struct softmax_lane {
    const tort_tensor *x, *bias;
    int64_t x_first, bias_first;
} softmax_lane;

static void load_lane(const softmax_lane *lane, int64_t at, int64_t count, double *values) {
    tort_load_doubles(lane->x->type, lane->x->data, lane->x_first + at, count, values);
    tort_add_elements(lane->bias, lane->bias_first + at, count, values);
}

static void softmax_lanes(void *arg, int64_t begin, int64_t end) {
    const tort_call *call = arg;
    const tort_bias_softmax_params *p = call->params;
    const tort_tensor *y = &call->outputs[0];
    double values[TORT_BLOCK];
    for (int64_t row = begin; row < end; row++) {
        const int64_t bias_row = p->inner ? row / (p->lanes / p->bias_lanes) : row % p->bias_lanes;
        const softmax_lane lane = {&call->inputs[0], &call->inputs[1], row * p->length, bias_row * p->length};
        double max = -INFINITY, sum = 0;
        for (int64_t at = 0; at < p->length && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->length, at);
            load_lane(&lane, at, count, values);
            for (int64_t i = 0; i < count; i++) max = values[i] > max ? values[i] : max;
        }
        for (int64_t at = 0; at < p->length && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->length, at);
            load_lane(&lane, at, count, values);
            for (int64_t i = 0; i < count; i++) sum += exp(values[i] - max);
        }
        for (int64_t at = 0; at < p->length && tort_row_goes_on(call->watch, at); at += TORT_BLOCK) {
            const int64_t count = tort_block_count(p->length, at);
            load_lane(&lane, at, count, values);
            for (int64_t i = 0; i < count; i++) values[i] = exp(values[i] - max) / sum;
            tort_store_doubles(y->type, y->data, lane.x_first + at, count, values);
        }
    }
}

static tort_status run_softmax(const tort_call *call) {
    const tort_bias_softmax_params *params = call->params;
    if (tort_count(&call->outputs[0]) > 0)
        tort_parallel(call, params->lanes, params->length * 20, softmax_lanes, (void *)call);
    return TORT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define MICROSOFT(name_) "com.microsoft", name_, 1, 1
#define BY(kind_) .variant = kind_, .params_size = sizeof(tort_bias_params)

const tort_op tort_ops_microsoft_bias[] = {
    {MICROSOFT("BiasAdd"), "X:T bias:T skip:T", "Y:T", "T=float16|float", "", BY(ADD), infer_add, resolve_rows,
     run_rows},
    {MICROSOFT("BiasDropout"), "data:T bias:T residual?:T ratio?:T1 training_mode?:T2", "output:T mask?:T2",
     "T=floats13 T1=floats13 T2=bool", "seed:int", BY(ADD), infer_dropout, resolve_dropout, run_dropout},
    {MICROSOFT("BiasGelu"), "A:T B:T", "C:T", "T=floats13", "", BY(GELU), infer_gelu, resolve_rows, run_rows},
    {MICROSOFT("BiasSoftmax"), "data:T bias:T", "output:T", "T=floats", "axis:int=1 is_inner_broadcast:int!",
     .params_size = sizeof(tort_bias_softmax_params), tort_infer_elementwise, resolve_softmax, run_softmax},
    {MICROSOFT("BiasSplitGelu"), "X:T bias:T", "Y:T", "T=float16|float", "", BY(SPLIT_GELU), infer_split, resolve_rows,
     run_rows},
    {MICROSOFT("FastGelu"), "X:T bias?:T", "Y:T", "T=floats13", "", BY(GELU), infer_gelu, resolve_tanh, run_rows},
    {0},
};
