/* generate.c - operators that make a tensor of a few numbers: EyeLike, Range, OneHot. */
#include "ops/generate.h"

#include "ops/extent.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#include <math.h>

/* ---- EyeLike ------------------------------------------------------------------------------------------------- */

static tort_status eye_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *input = &node->inputs[0];
    tort_type type = tort_attr(node, "dtype") ? tort_attr_type(node, "dtype") : input->type;
    if (input->rank < 0) {
        tort_infer_unknown_dims(infer, 0, type, 2);
        return TORT_OK;
    }
    if (input->rank != 2) {
        return tort_fail(infer->error, TORT_E_MODEL, "the input must have rank 2; it has rank %d", (int)input->rank);
    }
    tort_infer_shape(infer, 0, type, 2, input->dims);
    return TORT_OK;
}

static tort_status eye_resolve(tort_resolve *resolve) {
    ((tort_eye_params *)resolve->params)->diagonal = tort_attr_int(resolve->node, "k");
    return TORT_OK;
}

static tort_status eye_reference(const tort_call *call) {
    const tort_tensor *output = &call->outputs[0];
    int64_t k = ((const tort_eye_params *)call->params)->diagonal, rows = output->dims[0], columns = output->dims[1];
    const int64_t zero = 0, one = 1;
    if (rows == 0 || columns == 0) return TORT_OK;
    int64_t zero_element[2] = {0, 0};
    tort_store_integers(output->type, zero_element, 0, 1, &zero);
    tort_fill_tensor(call, output, zero_element, 0);
    int64_t first = k >= 0 ? 0 : k > -rows ? -k : rows;
    for (int64_t row = first; row < rows && k < columns - row; row++) {
        tort_store_integers(output->type, output->data, row * columns + row + k, 1, &one);
    }
    return TORT_OK;
}

/* ---- Range --------------------------------------------------------------------------------------------------- */

/* Number of steps of delta from start to limit, which is excluded. Exact for all of int64. */
static int64_t integer_steps(int64_t start, int64_t limit, int64_t delta) {
    if (delta == 0 || (delta > 0 && limit <= start) || (delta < 0 && limit >= start)) return 0;
    uint64_t distance = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta, steps = (distance - 1) / step + 1;
    return steps > INT64_MAX ? INT64_MAX : (int64_t)steps;
}

/* The same for floats, from a difference rounded to the type (at least float). -1: not a number of steps. */
static int64_t float_steps(tort_type type, const double *bounds) {
    double difference = bounds[1] - bounds[0];
    if (type != TORT_DOUBLE) difference = (double)((float)bounds[1] - (float)bounds[0]);
    double steps = ceil(difference / bounds[2]);
    if (bounds[2] == 0 || !(steps <= 9e18)) return -1;
    return steps > 0 ? (int64_t)steps : 0;
}

static tort_status range_integers(const tort_infer *infer, const tort_scalar *bounds) {
    tort_scalar start = bounds[0], limit = bounds[1], delta = bounds[2], values[TORT_MAX_ELEMENTS];
    tort_dim count;
    if (!delta.symbolic && delta.value == 0) return tort_fail(infer->error, TORT_E_MODEL, "delta is 0");
    if (!start.symbolic && !limit.symbolic && !delta.symbolic) {
        count = integer_steps(start.value, limit.value, delta.value);
    } else if (!delta.symbolic && delta.value > -INT32_MAX) {
        tort_scalar span =
            delta.value > 0 ? tort_scalar_sub(infer->dims, limit, start) : tort_scalar_sub(infer->dims, start, limit);
        if (!tort_scalar_nonnegative(infer->dims, span)) {
            span = tort_scalar_max(infer->dims, tort_scalar_known(0), span);
        }
        tort_dim length = tort_scalar_to_dim(infer->dims, span);
        count = tort_dim_ceildiv(infer->dims, length, delta.value > 0 ? delta.value : -delta.value);
    } else {
        count = tort_dim_fresh(infer->dims, true);
    }
    tort_infer_shape(infer, 0, infer->node->inputs[0].type, 1, &count);
    if (!tort_dim_known(count) || count > TORT_MAX_ELEMENTS) return TORT_OK;
    for (int64_t k = 0; k < count; k++) {
        tort_scalar offset = tort_scalar_mul(infer->dims, tort_scalar_known(k), delta);
        values[k] = tort_scalar_add(infer->dims, start, offset);
        if (values[k].symbolic && !start.symbolic && !delta.symbolic) return TORT_OK; /* it overflows */
    }
    return tort_infer_set_integers(infer, 0, values, (int32_t)count);
}

static tort_status range_floats(const tort_infer *infer) {
    const tort_node_view *node = infer->node;
    tort_type type = node->inputs[0].type;
    double bounds[] = {0, 0, 1}; /* default of delta */
    tort_infer_unknown_dims(infer, 0, type, 1);
    for (int32_t i = 0; i < node->input_count && tort_has_input(node, i); i++) {
        if (!node->inputs[i].data) return TORT_OK;
        tort_load_doubles(type, node->inputs[i].data, 0, 1, &bounds[i]);
    }
    tort_dim count = float_steps(type, bounds);
    if (count < 0) {
        return tort_fail(infer->error, TORT_E_MODEL, "start %g, limit %g, delta %g: not a number of steps", bounds[0],
                         bounds[1], bounds[2]);
    }
    tort_infer_shape(infer, 0, type, 1, &count);
    return TORT_OK;
}

static tort_status range_infer(tort_infer *infer) {
    static const char *const names[] = {"start", "limit", "delta"};
    /* The default of delta, which com.microsoft allows to be absent. */
    tort_scalar bounds[3] = {[2] = tort_scalar_known(1)};
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < 3 && !status; i++)
        if (tort_has_input(infer->node, i)) status = tort_read_symbol(infer, i, names[i], &bounds[i]);
    if (status) return status;
    return tort_type_is_float(infer->node->inputs[0].type) ? range_floats(infer) : range_integers(infer, bounds);
}

/* output[i] = start + i * delta. */
static tort_status range_reference(const tort_call *call) {
    const tort_tensor *output = &call->outputs[0], *step = tort_call_input(call, 2);
    tort_type type = output->type;
    int64_t count = output->dims[0];
    if (tort_type_is_float(type)) {
        const double start = tort_element_at(&call->inputs[0], 0), delta = step ? tort_element_at(step, 0) : 1;
        for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
            double value = start + (double)i * delta;
            tort_store_doubles(type, output->data, i, 1, &value);
        }
    } else {
        int64_t start, delta = 1;
        tort_load_integers(type, call->inputs[0].data, 0, 1, &start);
        if (step) tort_load_integers(type, step->data, 0, 1, &delta);
        for (int64_t i = 0; i < count && tort_row_goes_on(call->watch, i); i++) {
            int64_t value = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
            tort_store_integers(type, output->data, i, 1, &value);
        }
    }
    return TORT_OK;
}

/* ---- OneHot -------------------------------------------------------------------------------------------------- */

static tort_status one_hot_axis(const tort_node_view *node, tort_error *error, int32_t *axis) {
    return tort_normalize_axis(error, tort_attr_int(node, "axis"), node->inputs[0].rank + 1, axis);
}

static tort_status one_hot_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *indices = &node->inputs[0];
    int32_t axis = 0;
    tort_scalar depth; /* of any number type */
    tort_infer_unknown(infer, 0, node->inputs[2].type);
    tort_status status = tort_read_symbol(infer, 1, "depth", &depth);
    const tort_info *pair = &node->inputs[2];
    if (!status && pair->rank >= 0 && (pair->rank != 1 || (tort_dim_known(pair->dims[0]) && pair->dims[0] != 2)))
        status = tort_fail(infer->error, TORT_E_MODEL, "values must be a list of two, [off, on]");
    if (status || indices->rank < 0) return status;
    status = tort_check_rank(infer->error, indices->rank + 1);
    if (!status) status = one_hot_axis(node, infer->error, &axis);
    if (status) return status;
    if (!depth.symbolic && depth.value < 0) {
        return tort_fail(infer->error, TORT_E_MODEL, "depth is %lld", (long long)depth.value);
    }
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0, from = 0; k <= indices->rank; k++) {
        dims[k] = k == axis ? tort_scalar_to_dim(infer->dims, depth) : indices->dims[from++];
    }
    tort_infer_shape(infer, 0, node->inputs[2].type, indices->rank + 1, dims);
    return TORT_OK;
}

static tort_status one_hot_resolve(tort_resolve *resolve) {
    if (resolve->node->inputs[0].rank < 0) return TORT_OK;
    return one_hot_axis(resolve->node, resolve->error, &((tort_one_hot_params *)resolve->params)->axis);
}

/* Indices outside [-depth, depth) leave their row at "off". */
static tort_status one_hot_reference(const tort_call *call) {
    const tort_tensor *indices = &call->inputs[0], *values = &call->inputs[2], *output = &call->outputs[0];
    int32_t axis = ((const tort_one_hot_params *)call->params)->axis;
    int64_t depth = output->dims[axis], inner = 1, count = tort_count(indices);
    for (int32_t k = axis; k < indices->rank; k++) inner *= indices->dims[k];
    tort_fill_tensor(call, output, values->data, 0);
    for (int64_t first = 0; first < count && tort_row_goes_on(call->watch, first); first += TORT_BLOCK) {
        int64_t block[TORT_BLOCK], size = tort_block_count(count, first);
        tort_load_integers(indices->type, indices->data, first, size, block);
        for (int64_t k = 0; k < size; k++) {
            int64_t hot = block[k], at = first + k;
            if (indices->type == TORT_UINT64 && hot < 0) continue; /* above every depth, since unsigned */
            if (hot < -depth || hot >= depth) continue;
            if (hot < 0) hot += depth;
            int64_t place = (at / inner * depth + hot) * inner + at % inner;
            tort_copy_elements(output->type, output->data, place, values->data, 1, 1);
        }
    }
    return TORT_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define EYE_LIKE(SINCE, UNTIL, NUMBERS)                                                                                \
    {                                                                                                                  \
        "", "EyeLike", SINCE, UNTIL, "input:T1", "output:T2", "T1=" NUMBERS "|bool T2=" NUMBERS "|bool",               \
            "dtype:int(T2) k:int=0", .params_size = sizeof(tort_eye_params), eye_infer, eye_resolve, eye_reference     \
    }
#define RANGE(SINCE, UNTIL, T, ATTRIBUTES)                                                                             \
    {                                                                                                                  \
        "", "Range", SINCE, UNTIL, "start:T limit:T delta:T", "output:T", "T=int16|int32|int64|" T, ATTRIBUTES,        \
            .shape_inputs = 1u << 0 | 1u << 1 | 1u << 2, .flags = TORT_OP_BULKY, .infer = range_infer,                 \
            .reference = range_reference                                                                               \
    }
#define ONE_HOT(SINCE, UNTIL, ALL)                                                                                     \
    {                                                                                                                  \
        "", "OneHot", SINCE, UNTIL, "indices:T1 depth:T2 values:T3", "output:T3", "T1=numeric T2=numeric T3=" ALL,     \
            "axis:int=-1", .shape_inputs = 1u << 1, .flags = TORT_OP_BULKY,                                            \
                           .params_size = sizeof(tort_one_hot_params), one_hot_infer, one_hot_resolve,                 \
                           one_hot_reference                                                                           \
    }

const tort_op tort_ops_generate[] = {
    {"com.microsoft", "Range", 1, 1, "start:T limit:T delta?:T", "Y:T", "T=float|double|int16|int32|int64", "",
     .shape_inputs = 1u << 0 | 1u << 1 | 1u << 2, .flags = TORT_OP_BULKY, .infer = range_infer,
     .reference = range_reference},
    EYE_LIKE(9, 21, "numeric"),
    EYE_LIKE(22, TORT_NEWEST_OPSET, "numeric13"),
    RANGE(11, 26, "float|double", ""),
    RANGE(27, TORT_NEWEST_OPSET, "floats13", "stash_type:int(floats13)=1"),
    ONE_HOT(9, 10, "all"),
    ONE_HOT(11, 27, "all"),
    ONE_HOT(28, TORT_NEWEST_OPSET, "all13"),
    {0},
};
