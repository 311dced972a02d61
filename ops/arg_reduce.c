/* arg_reduce.c - ArgMax and ArgMin: the index of the largest or smallest element along an axis.
 *
 * Of equal elements the first wins, or the last with select_last_index (opset 12). NaN wins over every number in both
 * operators, as in numpy. Read first: reduce.c. */
#include "ops/extent.h"
#include "ops/reduce.h"

/* Values of tort_op.variant: the factor that turns the wanted element into the largest one. */
enum { ARG_MAX = 1, ARG_MIN = -1 };

static tort_status infer_arg(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    bool keep = tort_attr_int(infer->node, "keepdims") != 0;
    infer->outputs[0].type = TORT_INT64;
    if (data->rank < 0) return TORT_OK;
    tort_dim dims[TORT_MAX_RANK];
    int32_t rank = 0, axis = -1;
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"),
                                             data->rank > 0 ? data->rank : 1, &axis); /* scalar: axis 0 or -1 */
    if (status != TORT_OK) return status;
    if (data->rank > 0) {
        if (data->dims[axis] == 0)
            return tort_fail(infer->error, TORT_E_MODEL, "axis %d has size 0: it has no largest element", axis);
    }
    for (int32_t d = 0; d < data->rank; d++) {
        if (d != axis)
            dims[rank++] = data->dims[d];
        else if (keep)
            dims[rank++] = 1;
    }
    tort_infer_shape(infer, 0, TORT_INT64, rank, dims);
    return TORT_OK;
}

static tort_status resolve_arg(tort_resolve *resolve) {
    const tort_info *data = &resolve->node->inputs[0];
    tort_arg_reduce_params *params = resolve->params;
    params->select_last = tort_attr_int(resolve->node, "select_last_index") != 0;
    params->outer = params->length = params->inner = 1;
    if (data->rank <= 0) return TORT_OK;
    int32_t axis;
    tort_status status = tort_normalize_axis(resolve->error, tort_attr_int(resolve->node, "axis"), data->rank, &axis);
    if (status != TORT_OK || !tort_shape_known(data)) return status;
    params->outer = tort_extent(data->dims, 0, axis);
    params->length = data->dims[axis];
    params->inner = tort_extent(data->dims, axis + 1, data->rank);
    return TORT_OK;
}

typedef struct arg_task {
    const tort_call *call;
    const tort_arg_reduce_params *params;
    double sign; /* ARG_MAX or ARG_MIN */
    bool integers;
} arg_task;

/* Best element of a lane so far, and its index along the axis. */
typedef struct arg_best {
    double value;
    int64_t integer, index;
} arg_best;

static void observe_float(arg_best *best, double x, int64_t index, bool select_last) {
    bool nan = x != x, best_nan = best->value != best->value;
    bool better = nan ? !best_nan || select_last : !best_nan && (x > best->value || (select_last && x == best->value));
    if (!better && index > 0) return;
    best->value = x;
    best->index = index;
}

static void observe_integer(arg_best *best, int64_t x, int64_t index, bool select_last) {
    if (index > 0 && !(x > best->integer || (select_last && x == best->integer))) return;
    best->integer = x;
    best->index = index;
}

/* Compares `count` elements of the input from `first` on with the best so far: elements of one lane if `along`, else
 * one element of each of `count` neighbouring lanes. */
static void observe_block(const arg_task *task, int64_t first, int64_t count, int64_t index, bool along,
                          arg_best *best) {
    const tort_tensor *data = &task->call->inputs[0];
    const bool last = task->params->select_last;
    if (task->integers) {
        int64_t x[TORT_BLOCK];
        /* A flipped sign bit orders uint64 as int64; flipping all bits reverses the order, so that ArgMin seeks the
         * largest too. */
        int64_t flip = (data->type == TORT_UINT64 ? INT64_MIN : 0) ^ (task->sign < 0 ? -1 : 0);
        tort_load_integers(data->type, data->data, first, count, x);
        for (int64_t i = 0; i < count; i++)
            observe_integer(&best[along ? 0 : i], x[i] ^ flip, along ? index + i : index, last);
    } else {
        double x[TORT_BLOCK];
        tort_load_doubles(data->type, data->data, first, count, x);
        for (int64_t i = 0; i < count; i++)
            observe_float(&best[along ? 0 : i], x[i] * task->sign, along ? index + i : index, last);
    }
}

static void arg_rows(void *arg, int64_t begin, int64_t end) {
    const arg_task *task = arg;
    const int64_t length = task->params->length;
    int64_t *output = task->call->outputs[0].data;
    for (int64_t row = begin; row < end; row++) {
        arg_best best = {0};
        for (int64_t first = 0; first < length && tort_row_goes_on(task->call->watch, first); first += TORT_BLOCK)
            observe_block(task, row * length + first, tort_block_count(length, first), first, true, &best);
        output[row] = best.index;
    }
}

static void arg_columns(void *arg, int64_t begin, int64_t end) {
    const arg_task *task = arg;
    const int64_t length = task->params->length, inner = task->params->inner;
    const int64_t groups = (inner + TORT_BLOCK - 1) / TORT_BLOCK;
    int64_t *output = task->call->outputs[0].data;
    arg_best best[TORT_BLOCK] = {{0}};
    for (int64_t item = begin; item < end; item++) {
        int64_t outer = item / groups, first = item % groups * TORT_BLOCK, count = tort_block_count(inner, first);
        for (int64_t k = 0; k < length && tort_row_goes_on(task->call->watch, k * TORT_BLOCK); k++)
            observe_block(task, (outer * length + k) * inner + first, count, k, false, best);
        for (int64_t i = 0; i < count; i++) output[outer * inner + first + i] = best[i].index;
    }
}

static tort_status run(const tort_call *call) {
    const tort_arg_reduce_params *params = call->params;
    arg_task task = {call, params, call->op->variant, !tort_type_is_float(call->inputs[0].type)};
    if (tort_count(&call->outputs[0]) == 0) return TORT_OK;
    if (params->inner == 1) {
        tort_parallel(call, params->outer, params->length * 2, arg_rows, &task);
    } else {
        int64_t groups = (params->inner + TORT_BLOCK - 1) / TORT_BLOCK;
        int64_t lanes = tort_block_count(params->inner, 0);
        tort_parallel(call, params->outer * groups, params->length * lanes * 2, arg_columns, &task);
    }
    return TORT_OK;
}

#define AXIS "axis:int=0 keepdims:int=1"
#define AXIS_AND_LAST "axis:int=0 keepdims:int=1 select_last_index:int=0"
#define BY(sign)                                                                                                       \
    .variant = sign, .params_size = sizeof(tort_arg_reduce_params), .infer = infer_arg, .resolve = resolve_arg,        \
    .reference = run

const tort_op tort_ops_arg_reduce[] = {
    {"", "ArgMax", 1, 10, "data:T", "reduced:int64", "T=numeric", AXIS, BY(ARG_MAX)},
    {"", "ArgMax", 11, 11, "data:T", "reduced:int64", "T=numeric", AXIS, BY(ARG_MAX)},
    {"", "ArgMax", 12, 12, "data:T", "reduced:int64", "T=numeric", AXIS_AND_LAST, BY(ARG_MAX)},
    {"", "ArgMax", 13, TORT_NEWEST_OPSET, "data:T", "reduced:int64", "T=numeric13", AXIS_AND_LAST, BY(ARG_MAX)},
    {"", "ArgMin", 1, 10, "data:T", "reduced:int64", "T=numeric", AXIS, BY(ARG_MIN)},
    {"", "ArgMin", 11, 11, "data:T", "reduced:int64", "T=numeric", AXIS, BY(ARG_MIN)},
    {"", "ArgMin", 12, 12, "data:T", "reduced:int64", "T=numeric", AXIS_AND_LAST, BY(ARG_MIN)},
    {"", "ArgMin", 13, TORT_NEWEST_OPSET, "data:T", "reduced:int64", "T=numeric13", AXIS_AND_LAST, BY(ARG_MIN)},
    {0},
};
