/* reduce.c - ReduceSum, ReduceMean, ReduceMax and the other reductions over axes.
 *
 * Axes are an attribute in old versions and an input in new ones; resolve makes both one view (reduce.h). Floats
 * accumulate in double, integers in 64 bits that wrap; each result is rounded once. A reduction over no elements gives
 * its identity. ArgMax and ArgMin are in arg_reduce.c. */
#include "ops/contents.h"
#include "ops/extent.h"
#include "ops/reduce.h"

#include <math.h>

typedef enum reduction {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP,
    REDUCE_SUM_SQUARE
} reduction;

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* Reads the reduced axes as a mask. *known is false if they are an input whose contents are not known yet. */
static tort_status reduced_axes(const tort_node_view *node, tort_error *error, uint32_t *mask, bool *known) {
    const int32_t rank = node->inputs[0].rank;
    tort_numbers axes;
    tort_status status = tort_read_numbers(node, 1, "axes", &axes, error);
    *known = axes.known != TORT_UNKNOWN;
    *mask = 0;
    if (status || !*known || rank < 0) return status;
    for (int32_t i = 0; i < axes.count; i++) {
        int32_t axis;
        status = tort_normalize_axis(error, axes.values[i], rank > 0 ? rank : 1, &axis); /* scalar: axis 0 or -1 */
        if (status != TORT_OK) return status;
        *mask |= 1u << axis;
    }
    if (rank == 0) *mask = 0;
    /* With noop_with_empty_axes every element is reduced alone: what else the operator does (square, log) remains. */
    if (axes.count == 0 && tort_attr_int(node, "noop_with_empty_axes") == 0) *mask = (1u << rank) - 1;
    return TORT_OK;
}

void tort_reduce_view(const tort_info *input, uint32_t mask, tort_reduce_params *params) {
    int64_t strides[TORT_MAX_RANK];
    params->kept_count = params->reduced_count = 1;
    for (int32_t d = input->rank - 1; d >= 0; d--) strides[d] = tort_extent(input->dims, d + 1, input->rank);
    for (int32_t d = 0; d < input->rank; d++) {
        bool reduced = (mask >> d & 1) != 0;
        int64_t size = input->dims[d];
        int64_t *count = reduced ? &params->reduced_count : &params->kept_count;
        if (__builtin_mul_overflow(*count, size, count)) *count = INT64_MAX;
        if (size == 1) continue;
        int32_t last = params->rank - 1;
        if (last >= 0 && params->reduced[last] == reduced) {
            if (__builtin_mul_overflow(params->dims[last], size, &params->dims[last])) params->dims[last] = INT64_MAX;
            params->strides[last] = strides[d];
            continue;
        }
        params->dims[params->rank] = size;
        params->strides[params->rank] = strides[d];
        params->reduced[params->rank++] = reduced;
    }
}

tort_status tort_infer_reduce(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    uint32_t mask;
    bool known;
    bool keep = tort_attr_int(infer->node, "keepdims") != 0;
    infer->outputs[0].type = data->type;
    tort_status status = reduced_axes(infer->node, infer->error, &mask, &known);
    if (status != TORT_OK || data->rank < 0) return status;
    tort_dim dims[TORT_MAX_RANK];
    int32_t rank = 0;
    if (!known) {
        if (!keep) return TORT_OK;
        for (int32_t d = 0; d < data->rank; d++) dims[d] = tort_dim_fresh(infer->dims, true);
        tort_infer_shape(infer, 0, data->type, data->rank, dims);
        return TORT_OK;
    }
    for (int32_t d = 0; d < data->rank; d++) {
        if (!(mask >> d & 1))
            dims[rank++] = data->dims[d];
        else if (keep)
            dims[rank++] = 1;
    }
    tort_infer_shape(infer, 0, data->type, rank, dims);
    return TORT_OK;
}

/* Shape arithmetic: reduces known integers of rank 1 to one number (the product of Shape's output, say). */
static tort_status infer_folding(tort_infer *infer) {
    typedef tort_scalar fold(tort_dims *, tort_scalar, tort_scalar);
    static fold *const folds[] = {[REDUCE_SUM] = tort_scalar_add,
                                  [REDUCE_MAX] = tort_scalar_max,
                                  [REDUCE_MIN] = tort_scalar_min,
                                  [REDUCE_PROD] = tort_scalar_mul};
    const int32_t kind = infer->node->op->variant;
    tort_scalar values[TORT_MAX_ELEMENTS];
    int32_t count;
    tort_status status = tort_infer_reduce(infer);
    const tort_info *output = &infer->outputs[0];
    if (status != TORT_OK || infer->node->inputs[0].rank != 1) return status;
    if (output->rank < 0 || output->rank > 1 || (output->rank == 1 && output->dims[0] != 1)) return TORT_OK;
    if (!tort_infer_integers(infer, 0, values, &count) || count == 0) return TORT_OK;
    tort_scalar result = values[0];
    bool symbolic = values[0].symbolic;
    for (int32_t i = 1; i < count; i++) {
        result = folds[kind](infer->dims, result, values[i]);
        symbolic |= values[i].symbolic;
    }
    if (result.symbolic && !symbolic) return TORT_OK; /* the sum overflowed: its value is left to the kernel */
    return tort_infer_set_integers(infer, 0, &result, 1);
}

/* com.microsoft's ReduceSumInteger: 32-bit sums, signed as the elements are. */
static tort_status infer_integer_sum(tort_infer *infer) {
    tort_status status = tort_infer_reduce(infer);
    infer->outputs[0].type = infer->node->inputs[0].type == TORT_INT8 ? TORT_INT32 : TORT_UINT32;
    return status;
}

tort_status tort_resolve_reduce(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0];
    tort_reduce_params *params = resolve->params;
    uint32_t mask;
    bool known;
    if (data->rank < 0) return TORT_OK;
    tort_status status = reduced_axes(resolve->node, resolve->error, &mask, &known);
    if (status != TORT_OK || !known || !tort_shape_known(data)) return status;
    tort_reduce_view(data, mask, params);
    return TORT_OK;
}

/* ---- accumulating floats ----------------------------------------------------------------------------------------- */

static double initial_float(reduction kind) {
    switch (kind) {
    case REDUCE_MAX: return -INFINITY;
    case REDUCE_MIN: return INFINITY;
    case REDUCE_PROD: return 1;
    default: return 0;
    }
}

/* Accumulates x[i] in into[i]. REDUCE_LOG_SUM_EXP subtracts `shift`, the maxima, which an earlier pass has found. */
static void accumulate_floats(reduction kind, double *into, const double *x, const double *shift, int64_t count) {
    switch (kind) {
    case REDUCE_SUM:
    case REDUCE_MEAN:
    case REDUCE_LOG_SUM:
        for (int64_t i = 0; i < count; i++) into[i] += x[i];
        break;
    case REDUCE_MAX: /* NaN wins, and stays */
        for (int64_t i = 0; i < count; i++) into[i] = into[i] >= x[i] || into[i] != into[i] ? into[i] : x[i];
        break;
    case REDUCE_MIN:
        for (int64_t i = 0; i < count; i++) into[i] = into[i] <= x[i] || into[i] != into[i] ? into[i] : x[i];
        break;
    case REDUCE_PROD:
        for (int64_t i = 0; i < count; i++) into[i] *= x[i];
        break;
    case REDUCE_L1:
        for (int64_t i = 0; i < count; i++) into[i] += fabs(x[i]);
        break;
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        for (int64_t i = 0; i < count; i++) into[i] += x[i] * x[i];
        break;
    case REDUCE_LOG_SUM_EXP:
        for (int64_t i = 0; i < count; i++) into[i] += exp(x[i] - shift[i]);
        break;
    }
}

/* Merges two partial results. */
static double merge_floats(reduction kind, double a, double b) {
    switch (kind) {
    case REDUCE_MAX: return a >= b || a != a ? a : b;
    case REDUCE_MIN: return a <= b || a != a ? a : b;
    case REDUCE_PROD: return a * b;
    default: return a + b;
    }
}

static double finish_float(reduction kind, double sum, double shift, int64_t count) {
    switch (kind) {
    case REDUCE_MEAN: return sum / (double)count;
    case REDUCE_L2: return sqrt(sum);
    case REDUCE_LOG_SUM: return log(sum);
    case REDUCE_LOG_SUM_EXP: return log(sum) + shift;
    default: return sum;
    }
}

/* Reduces a contiguous run, in eight partial results so that the compiler can vectorize it. */
static double reduce_float_run(reduction kind, double into, const double *x, double shift, int64_t count) {
    enum { LANES = 8 };
    double lanes[LANES], shifts[LANES];
    int64_t i = 0;
    for (int32_t k = 0; k < LANES; k++) {
        lanes[k] = initial_float(kind);
        shifts[k] = shift;
    }
    for (; i + LANES <= count; i += LANES) accumulate_floats(kind, lanes, x + i, shifts, LANES);
    accumulate_floats(kind, lanes, x + i, shifts, count - i);
    for (int32_t k = 0; k < LANES; k++) into = merge_floats(kind, into, lanes[k]);
    return into;
}

/* ---- accumulating integers --------------------------------------------------------------------------------------- */

/* True if the reduction accumulates integers; REDUCE_L2 and the logarithms of integers use the float loops. */
static bool in_integers(reduction kind, tort_type type) {
    return !tort_type_is_float(type) && kind != REDUCE_L2 && kind != REDUCE_LOG_SUM && kind != REDUCE_LOG_SUM_EXP;
}

/* Least or greatest value of an integer type, as the 64 bits that the loops hold. */
static int64_t integer_limit(tort_type type, bool greatest) {
    if (type == TORT_BOOL) return greatest;
    int bits = tort_type_bits(type);
    if (!tort_type_is_signed(type)) return greatest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0;
    int64_t high = (int64_t)(UINT64_MAX >> (65 - bits));
    return greatest ? high : -high - 1;
}

static int64_t initial_integer(reduction kind, tort_type type) {
    switch (kind) {
    case REDUCE_MAX: return integer_limit(type, false);
    case REDUCE_MIN: return integer_limit(type, true);
    case REDUCE_PROD: return 1;
    default: return 0;
    }
}

/* `flip` is the sign bit for uint64, so that signed comparisons order it, and 0 otherwise. */
static int64_t accumulate_integer(reduction kind, int64_t into, int64_t x, int64_t flip) {
    switch (kind) {
    case REDUCE_MAX: return (into ^ flip) >= (x ^ flip) ? into : x;
    case REDUCE_MIN: return (into ^ flip) <= (x ^ flip) ? into : x;
    case REDUCE_PROD: return (int64_t)((uint64_t)into * (uint64_t)x);
    case REDUCE_SUM_SQUARE: return (int64_t)((uint64_t)into + (uint64_t)x * (uint64_t)x);
    case REDUCE_L1: return (int64_t)((uint64_t)into + (x < 0 && !flip ? 0 - (uint64_t)x : (uint64_t)x));
    default: return (int64_t)((uint64_t)into + (uint64_t)x);
    }
}

static int64_t finish_integer(reduction kind, int64_t sum, int64_t flip, int64_t count) {
    if (kind != REDUCE_MEAN || count == 0) return sum;
    return flip ? (int64_t)((uint64_t)sum / (uint64_t)count) : sum / count;
}

/* ---- the loops --------------------------------------------------------------------------------------------------- */

typedef struct reduce_task {
    const tort_call *call;
    const tort_reduce_params *params;
    reduction kind;
} reduce_task;

/* A block of outputs that one sweep over the reduced elements fills: one output, or neighbours along the last view
 * dimension if that is kept. */
typedef struct output_block {
    int64_t output, input; /* index of the first output element, and of the first element that goes into it */
    int64_t lanes;         /* outputs in the block; their inputs are neighbours */
    int64_t run;           /* contiguous elements that go into the same output */
    int32_t outer_rank;    /* view dimensions before the last, which a sweep walks */
} output_block;

static output_block block_at(const tort_reduce_params *params, int64_t item) {
    output_block block = {.lanes = 1, .run = 1};
    int64_t rest = item;
    if (params->rank == 0) return block;
    const int32_t last = params->rank - 1;
    block.outer_rank = last;
    if (params->reduced[last]) {
        block.run = params->dims[last];
        block.output = item;
    } else {
        int64_t blocks = (params->dims[last] + TORT_BLOCK - 1) / TORT_BLOCK;
        int64_t first = item % blocks * TORT_BLOCK;
        rest = item / blocks;
        block.lanes = tort_block_count(params->dims[last], first);
        block.input = first;
        block.output = rest * params->dims[last] + first;
    }
    for (int32_t d = last - 1; d >= 0; d--) {
        if (params->reduced[d]) continue;
        block.input += rest % params->dims[d] * params->strides[d];
        rest /= params->dims[d];
    }
    return block;
}

static int64_t block_count(const tort_reduce_params *params) {
    const int32_t last = params->rank - 1;
    if (last < 0 || params->reduced[last]) return params->kept_count;
    return params->kept_count / params->dims[last] * ((params->dims[last] + TORT_BLOCK - 1) / TORT_BLOCK);
}

/* Steps through the reduced dims before the last; false after the last position. */
static bool next_position(const tort_reduce_params *params, int32_t outer_rank, int64_t *coordinates, int64_t *input) {
    for (int32_t d = outer_rank - 1; d >= 0; d--) {
        if (!params->reduced[d]) continue;
        *input += params->strides[d];
        if (++coordinates[d] < params->dims[d]) return true;
        *input -= params->dims[d] * params->strides[d];
        coordinates[d] = 0;
    }
    return false;
}

static void sweep_floats(const reduce_task *task, const output_block *block, reduction kind, const double *shift,
                         double *into) {
    const tort_tensor *data = &task->call->inputs[0];
    int64_t coordinates[TORT_MAX_RANK] = {0}, input = block->input, at = 0;
    double x[TORT_BLOCK];
    for (int64_t i = 0; i < block->lanes; i++) into[i] = initial_float(kind);
    if (task->params->reduced_count == 0) return;
    do {
        if (block->lanes > 1 || block->run == 1) {
            tort_load_doubles(data->type, data->data, input, block->lanes, x);
            accumulate_floats(kind, into, x, shift, block->lanes);
            at += TORT_BLOCK;
            continue;
        }
        for (int64_t first = 0; first < block->run && tort_row_goes_on(task->call->watch, at); first += TORT_BLOCK) {
            int64_t count = tort_block_count(block->run, first);
            at += TORT_BLOCK;
            tort_load_doubles(data->type, data->data, input + first, count, x);
            into[0] = reduce_float_run(kind, into[0], x, shift[0], count);
        }
    } while (tort_row_goes_on(task->call->watch, at) &&
             next_position(task->params, block->outer_rank, coordinates, &input));
}

static void reduce_floats(void *arg, int64_t begin, int64_t end) {
    const reduce_task *task = arg;
    const tort_tensor *output = &task->call->outputs[0];
    double into[TORT_BLOCK] = {0}, shift[TORT_BLOCK] = {0};
    for (int64_t item = begin; item < end; item++) {
        output_block block = block_at(task->params, item);
        if (task->kind == REDUCE_LOG_SUM_EXP) {
            sweep_floats(task, &block, REDUCE_MAX, shift, shift);
            for (int64_t i = 0; i < block.lanes; i++)
                if (isinf(shift[i])) shift[i] = 0;
        }
        sweep_floats(task, &block, task->kind, shift, into);
        for (int64_t i = 0; i < block.lanes; i++)
            into[i] = finish_float(task->kind, into[i], shift[i], task->params->reduced_count);
        tort_store_doubles(output->type, output->data, block.output, block.lanes, into);
    }
}

static void reduce_integers(void *arg, int64_t begin, int64_t end) {
    const reduce_task *task = arg;
    const reduction kind = task->kind;
    const tort_tensor *data = &task->call->inputs[0], *output = &task->call->outputs[0];
    const int64_t flip = data->type == TORT_UINT64 ? INT64_MIN : 0;
    int64_t into[TORT_BLOCK] = {0}, x[TORT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        output_block block = block_at(task->params, item);
        int64_t coordinates[TORT_MAX_RANK] = {0}, input = block.input, at = 0;
        for (int64_t i = 0; i < block.lanes; i++) into[i] = initial_integer(kind, data->type);
        if (task->params->reduced_count > 0) do {
                for (int64_t first = 0; first < block.run && tort_row_goes_on(task->call->watch, at);
                     first += TORT_BLOCK) {
                    int64_t count = block.run == 1 ? block.lanes : tort_block_count(block.run, first);
                    at += TORT_BLOCK;
                    tort_load_integers(data->type, data->data, input + first, count, x);
                    for (int64_t i = 0; i < count; i++) {
                        int64_t lane = block.run == 1 ? i : 0;
                        into[lane] = accumulate_integer(kind, into[lane], x[i], flip);
                    }
                }
            } while (next_position(task->params, block.outer_rank, coordinates, &input));
        for (int64_t i = 0; i < block.lanes; i++)
            into[i] = finish_integer(kind, into[i], flip, task->params->reduced_count);
        tort_store_integers(output->type, output->data, block.output, block.lanes, into);
    }
}

static tort_status reduce(const tort_call *call, reduction kind) {
    const tort_reduce_params *params = call->params;
    reduce_task task = {call, params, kind};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (params->kept_count == 0) return tort_fail(call->error, TORT_E_INTERNAL, "the axes were not known in time");
    int64_t blocks = block_count(params);
    int64_t lanes = params->kept_count / blocks;
    int64_t work = params->reduced_count < INT32_MAX ? params->reduced_count * (lanes + 1) : INT32_MAX;
    tort_parallel(call, blocks, work, in_integers(kind, call->inputs[0].type) ? reduce_integers : reduce_floats, &task);
    return TORT_OK;
}

static tort_status run(const tort_call *call) {
    return reduce(call, (reduction)call->op->variant);
}

tort_status tort_reduce_sum(const tort_call *call) {
    return reduce(call, REDUCE_SUM);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Axes are an attribute up to opset 17 (ReduceSum: 12), then an input. */
#define AXES_ATTRIBUTE(types) "data:T", "reduced:T", "T=" types, "axes:ints keepdims:int=1", 0
#define AXES_INPUT(types)                                                                                              \
    "data:T axes?:int64", "reduced:T", "T=" types, "keepdims:int=1 noop_with_empty_axes:int=0", 1u << 1
#define BY(infer_, kind)                                                                                               \
    .variant = REDUCE_##kind, .params_size = sizeof(tort_reduce_params), .infer = infer_,                              \
    .resolve = tort_resolve_reduce, .reference = run

const tort_op tort_ops_reduce[] = {
    {"", "ReduceSum", 1, 10, AXES_ATTRIBUTE("high"), BY(infer_folding, SUM)},
    {"", "ReduceSum", 11, 12, AXES_ATTRIBUTE("high"), BY(infer_folding, SUM)},
    {"", "ReduceSum", 13, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(infer_folding, SUM)},
    {"", "ReduceMean", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, MEAN)},
    {"", "ReduceMean", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, MEAN)},
    {"", "ReduceMean", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, MEAN)},
    {"", "ReduceMean", 18, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(tort_infer_reduce, MEAN)},
    {"", "ReduceMax", 1, 10, AXES_ATTRIBUTE("high"), BY(infer_folding, MAX), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMax", 11, 11, AXES_ATTRIBUTE("high"), BY(infer_folding, MAX), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMax", 12, 12, AXES_ATTRIBUTE("numeric|-int16|-uint16"), BY(infer_folding, MAX),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceMax", 13, 17, AXES_ATTRIBUTE("numeric13|-int16|-uint16"), BY(infer_folding, MAX),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceMax", 18, 19, AXES_INPUT("numeric13|-int16|-uint16"), BY(infer_folding, MAX), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMax", 20, TORT_NEWEST_OPSET, AXES_INPUT("numeric13|bool|-int16|-uint16"), BY(infer_folding, MAX),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 1, 10, AXES_ATTRIBUTE("high"), BY(infer_folding, MIN), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 11, 11, AXES_ATTRIBUTE("high"), BY(infer_folding, MIN), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 12, 12, AXES_ATTRIBUTE("numeric|-int16|-uint16"), BY(infer_folding, MIN),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 13, 17, AXES_ATTRIBUTE("numeric13|-int16|-uint16"), BY(infer_folding, MIN),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 18, 19, AXES_INPUT("numeric13|-int16|-uint16"), BY(infer_folding, MIN), .flags = TORT_OP_CHOOSES},
    {"", "ReduceMin", 20, TORT_NEWEST_OPSET, AXES_INPUT("numeric13|bool|-int16|-uint16"), BY(infer_folding, MIN),
     .flags = TORT_OP_CHOOSES},
    {"", "ReduceProd", 1, 10, AXES_ATTRIBUTE("high"), BY(infer_folding, PROD)},
    {"", "ReduceProd", 11, 12, AXES_ATTRIBUTE("high"), BY(infer_folding, PROD)},
    {"", "ReduceProd", 13, 17, AXES_ATTRIBUTE("high13"), BY(infer_folding, PROD)},
    {"", "ReduceProd", 18, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(infer_folding, PROD)},
    {"", "ReduceL1", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, L1)},
    {"", "ReduceL1", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, L1)},
    {"", "ReduceL1", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, L1)},
    {"", "ReduceL1", 18, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(tort_infer_reduce, L1)},
    {"", "ReduceL2", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, L2)},
    {"", "ReduceL2", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, L2)},
    {"", "ReduceL2", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, L2)},
    {"", "ReduceL2", 18, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(tort_infer_reduce, L2)},
    {"", "ReduceLogSum", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, LOG_SUM)},
    {"", "ReduceLogSum", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, LOG_SUM)},
    {"", "ReduceLogSum", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, LOG_SUM)},
    {"", "ReduceLogSum", 18, 27, AXES_INPUT("high13"), BY(tort_infer_reduce, LOG_SUM)},
    {"", "ReduceLogSum", 28, TORT_NEWEST_OPSET, AXES_INPUT("floats13"), BY(tort_infer_reduce, LOG_SUM)},
    {"", "ReduceLogSumExp", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, LOG_SUM_EXP)},
    {"", "ReduceLogSumExp", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, LOG_SUM_EXP)},
    {"", "ReduceLogSumExp", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, LOG_SUM_EXP)},
    {"", "ReduceLogSumExp", 18, 27, AXES_INPUT("high13"), BY(tort_infer_reduce, LOG_SUM_EXP)},
    {"", "ReduceLogSumExp", 28, TORT_NEWEST_OPSET, AXES_INPUT("floats13"), BY(tort_infer_reduce, LOG_SUM_EXP)},
    {"", "ReduceSumSquare", 1, 10, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, SUM_SQUARE)},
    {"", "ReduceSumSquare", 11, 12, AXES_ATTRIBUTE("high"), BY(tort_infer_reduce, SUM_SQUARE)},
    {"", "ReduceSumSquare", 13, 17, AXES_ATTRIBUTE("high13"), BY(tort_infer_reduce, SUM_SQUARE)},
    {"", "ReduceSumSquare", 18, TORT_NEWEST_OPSET, AXES_INPUT("high13"), BY(tort_infer_reduce, SUM_SQUARE)},
    {"com.microsoft", "ReduceSumInteger", 1, 1, "data:T1", "reduced:T2", "T1=int8|uint8 T2=int32|uint32",
     "axes:ints! keepdims:int!", 0, BY(infer_integer_sum, SUM)},
    {0},
};
