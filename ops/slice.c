/* slice.c - Slice, with attributes (opset 1) and with inputs (10 and later).
 *
 * Positions count from the end when negative and are clamped, so that INT64_MAX means "to the end"; on a symbolic
 * dimension such a slice keeps the dimension's own expression. Read next: strided.h. */
#include "ops/slice.h"

#include "ops/numeric.h"
#include "ops/shapes.h"
#include "ops/strided.h"

#define FAR_AWAY INT32_MAX /* exporters write INT32_MAX or INT64_MAX for "to the end" */

/* ---- one axis ----------------------------------------------------------------------------------------------- */

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    if (value < low) return low;
    return value > high ? high : value;
}

/* Number of elements of start:end:step in a dimension of known size; *first: position of the first one. */
static int64_t slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first) {
    *first = 0;
    if (dim == 0) return 0;
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    if (step > 0) {
        *first = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        return end > *first ? (end - *first - 1) / step + 1 : 0;
    }
    *first = clamp(start, 0, dim - 1);
    end = clamp(end, -1, dim - 1);
    return end < *first ? (int64_t)((uint64_t)(*first - end - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

/* Clamps a position to a dimension of unknown size. False: nothing is known of it. */
static bool symbolic_position(tort_dims *dims, tort_dim d, tort_scalar position, tort_dim *out) {
    bool to_end = !position.symbolic && position.value >= FAR_AWAY;
    if (to_end || tort_scalar_same(position, tort_scalar_of_dim(d))) {
        *out = d;
    } else if (tort_scalar_nonnegative(dims, position)) {
        *out = !position.symbolic && position.value == 0 ? 0 : tort_dim_min(dims, position.value, d);
    } else if (!position.symbolic) {
        *out = position.value <= -FAR_AWAY ? 0 : tort_dim_max(dims, 0, tort_dim_add_const(dims, d, position.value));
    } else {
        return false;
    }
    return true;
}

static bool is_dynamic(const tort_dims *dims, tort_scalar scalar) {
    return scalar.symbolic && tort_dim_dynamic(dims, scalar.value);
}

static tort_dim symbolic_slice(tort_dims *dims, tort_dim d, tort_scalar start, tort_scalar end, int64_t step) {
    bool to_end = !end.symbolic && end.value >= FAR_AWAY, known_start = !start.symbolic;
    bool dynamic = is_dynamic(dims, start) || is_dynamic(dims, end) || is_dynamic(dims, tort_scalar_of_dim(d));
    if (step < 0) {
        bool whole =
            known_start && (start.value == -1 || start.value >= FAR_AWAY) && !end.symbolic && end.value <= -FAR_AWAY;
        return whole && step > -FAR_AWAY ? tort_dim_ceildiv(dims, d, -step) : tort_dim_fresh(dims, dynamic);
    }
    tort_dim first = 0, last = 0, length;
    if (known_start && start.value < 0 && start.value > -FAR_AWAY && to_end) {
        length = tort_dim_min(dims, -start.value, d); /* the last few */
    } else if (!symbolic_position(dims, d, start, &first) || !symbolic_position(dims, d, end, &last)) {
        return tort_dim_fresh(dims, dynamic);
    } else if (known_start && start.value >= 0 && start.value < FAR_AWAY && last == d) {
        length = tort_dim_add_const(dims, d, -start.value); /* without the first few */
    } else if (first == 0 && !end.symbolic && end.value < 0) {
        length = tort_dim_add_const(dims, d, end.value); /* without the last few */
    } else {
        tort_scalar difference = tort_scalar_sub(dims, tort_scalar_of_dim(last), tort_scalar_of_dim(first));
        length = tort_scalar_to_dim(dims, tort_scalar_max(dims, tort_scalar_known(0), difference));
    }
    return step == 1 ? length : tort_dim_ceildiv(dims, length, step);
}

/* ---- attributes and inputs ---------------------------------------------------------------------------------- */

typedef struct slice_list {
    int32_t count;
    tort_symbols starts, ends, steps;
    int64_t axes[TORT_MAX_RANK];
} slice_list;

static tort_status check_counts(const slice_list *list, const tort_numbers *axes, tort_error *error) {
    const int32_t counts[4] = {list->starts.count, list->ends.count, axes->count, list->steps.count};
    for (int32_t i = 1; i < 4; i++) {
        bool given = i == 1 || (i == 2 ? axes->known : list->steps.known) != TORT_ABSENT;
        if (!given || counts[0] < 0 || counts[i] < 0 || counts[i] == counts[0]) continue;
        return tort_fail(error, TORT_E_MODEL, "%d starts, %d ends, %d axes, %d steps; they must be as many",
                         (int)counts[0], (int)counts[1], (int)counts[2], (int)counts[3]);
    }
    return TORT_OK;
}

/* Reads the lists. *known is false if the number of entries or an axis is not known yet; with `dims` NULL, also if an
 * entry is not a number. */
static tort_status read_slices(const tort_node_view *node, tort_dims *dims, slice_list *list, bool *known,
                               tort_error *error) {
    tort_numbers axes;
    tort_status status = tort_read_symbols(node, dims, 1, "starts", &list->starts, error);
    if (!status) status = tort_read_symbols(node, dims, 2, "ends", &list->ends, error);
    if (!status) status = tort_read_numbers(node, 3, "axes", &axes, error);
    if (!status) status = tort_read_symbols(node, dims, 4, "steps", &list->steps, error);
    if (status) return status;
    list->count = list->starts.count;
    if (axes.known == TORT_KNOWN && axes.count == 0) axes.known = TORT_ABSENT; /* an empty list counts as absent */
    status = check_counts(list, &axes, error);
    *known = list->starts.known == TORT_KNOWN && list->ends.known == TORT_KNOWN && axes.known != TORT_UNKNOWN &&
             list->steps.known != TORT_UNKNOWN;
    if (status || !*known) return status;
    if (list->count > node->inputs[0].rank)
        return tort_fail(error, TORT_E_MODEL, "%d axes to slice in an input of rank %d", (int)list->count,
                         (int)node->inputs[0].rank);
    for (int32_t k = 0; k < list->count; k++) {
        list->axes[k] = axes.known == TORT_ABSENT ? k : axes.values[k];
        if (list->steps.known == TORT_ABSENT) list->steps.values[k] = tort_scalar_known(1);
        if (!list->steps.values[k].symbolic && list->steps.values[k].value == 0)
            return tort_fail(error, TORT_E_MODEL, "the step at place %d is 0", (int)k);
    }
    return tort_normalize_axes(error, list->axes, list->count, node->inputs[0].rank);
}

/* Gives the output the part of a list of known contents that the slice takes. */
static tort_status slice_elements(const tort_infer *infer, const slice_list *list) {
    tort_scalar values[TORT_MAX_ELEMENTS], taken[TORT_MAX_ELEMENTS];
    int32_t count = 0;
    if (infer->node->inputs[0].rank != 1 || list->count != 1) return TORT_OK;
    tort_scalar start = list->starts.values[0], end = list->ends.values[0], by = list->steps.values[0];
    if (start.symbolic || end.symbolic || by.symbolic) return TORT_OK;
    if (!tort_infer_integers(infer, 0, values, &count)) return TORT_OK;
    int64_t first, step = by.value, length = slice_axis(count, start.value, end.value, step, &first);
    for (int64_t k = 0; k < length; k++) taken[k] = values[first + k * step];
    return tort_infer_set_integers(infer, 0, taken, (int32_t)length);
}

static tort_status slice_infer(tort_infer *infer) {
    const tort_info *data = &infer->node->inputs[0];
    slice_list list;
    bool known = false;
    if (data->rank < 0) {
        tort_infer_unknown(infer, 0, data->type);
        return TORT_OK;
    }
    tort_status status = read_slices(infer->node, infer->dims, &list, &known, infer->error);
    if (status) return status;
    if (!known) {
        tort_infer_unknown_dims(infer, 0, data->type, data->rank);
        return TORT_OK;
    }
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < data->rank; k++) dims[k] = data->dims[k];
    for (int32_t k = 0; k < list.count; k++) {
        tort_dim *d = &dims[list.axes[k]];
        tort_scalar start = list.starts.values[k], end = list.ends.values[k], step = list.steps.values[k];
        int64_t first;
        if (step.symbolic) {
            *d = tort_dim_fresh(infer->dims, true);
        } else if (tort_dim_known(*d) && !start.symbolic && !end.symbolic) {
            *d = slice_axis(*d, start.value, end.value, step.value, &first);
        } else {
            *d = symbolic_slice(infer->dims, *d, start, end, step.value);
        }
    }
    tort_infer_shape(infer, 0, data->type, data->rank, dims);
    return slice_elements(infer, &list);
}

/* ---- resolve and loop --------------------------------------------------------------------------------------- */

/* Describes the output as a part of the input, if it is sliced along one axis, in steps of 1. */
static void find_part(const tort_node_view *node, tort_slice_params *slice) {
    const tort_info *data = &node->inputs[0], *output = &node->outputs[0];
    int32_t sliced = 0, axis = 0;
    slice->parts.axis = -1;
    if (!tort_shape_known(data) || !tort_shape_known(output)) return;
    for (int32_t k = 0; k < data->rank; k++) {
        if (data->dims[k] == output->dims[k] && slice->steps[k] == 1) continue;
        if (slice->steps[k] != 1 && output->dims[k] != 1) return;
        sliced++;
        axis = k;
    }
    if (sliced > 1) return;
    slice->parts.axis = axis;
    slice->parts.start = slice->starts[axis];
}

static tort_status slice_resolve(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *data = &node->inputs[0];
    tort_slice_params *slice = resolve->params;
    slice_list list;
    bool known;
    slice->rank = data->rank;
    for (int32_t k = 0; k < TORT_MAX_RANK; k++) slice->steps[k] = 1;
    slice->parts.axis = -1;
    if (data->rank < 0) return TORT_OK;
    tort_status status = read_slices(node, NULL, &list, &known, resolve->error);
    if (status || !known) return status;
    for (int32_t k = 0; k < list.count; k++) {
        int64_t axis = list.axes[k];
        slice->steps[axis] = list.steps.values[k].value;
        if (!tort_dim_known(data->dims[axis])) continue;
        slice_axis(data->dims[axis], list.starts.values[k].value, list.ends.values[k].value, slice->steps[axis],
                   &slice->starts[axis]);
    }
    find_part(node, slice);
    return TORT_OK;
}

tort_status tort_move_slice(const tort_call *call, tort_box_mover move) {
    const tort_slice_params *slice = call->params;
    const tort_tensor *data = &call->inputs[0], *output = &call->outputs[0];
    int64_t src_strides[TORT_MAX_RANK], dst_strides[TORT_MAX_RANK];
    tort_strides(data->rank, data->dims, src_strides);
    tort_strides(output->rank, output->dims, dst_strides);
    tort_box box = {0};
    for (int32_t k = 0; k < data->rank; k++) {
        box.src_first += slice->starts[k] * src_strides[k];
        int64_t stride = output->dims[k] > 1 ? slice->steps[k] * src_strides[k] : 0; /* a single step may be huge */
        tort_box_add(&box, output->dims[k], dst_strides[k], stride);
    }
    return move(call, data->type, output->data, data->data, &box);
}

static tort_status slice_reference(const tort_call *call) {
    return tort_move_slice(call, tort_copy_box);
}

#define SLICE(SINCE, UNTIL, ALL)                                                                                       \
    {                                                                                                                  \
        "", "Slice", SINCE, UNTIL, "data:T starts:Tind ends:Tind axes?:Tind steps?:Tind", "output:T",                  \
            "T=" ALL " Tind=int32|int64", "",                                                                          \
            .shape_inputs = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, .flags = TORT_OP_PARTS | TORT_OP_CHOOSES,           \
            .params_size = sizeof(tort_slice_params), slice_infer, slice_resolve, slice_reference                      \
    }

const tort_op tort_ops_slice[] = {
    {"", "Slice", 1, 9, "data:T", "output:T", "T=all", "axes:ints ends:ints! starts:ints!",
     .flags = TORT_OP_PARTS | TORT_OP_CHOOSES, .params_size = sizeof(tort_slice_params), slice_infer, slice_resolve,
     slice_reference},
    SLICE(10, 10, "all"),
    SLICE(11, 12, "all"),
    SLICE(13, TORT_NEWEST_OPSET, "all13"),
    {0},
};
