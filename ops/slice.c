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

/* The first position and the number of elements of start:end:step in a dimension of known size. */
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

/* A position in a dimension of unknown size, clamped to it. False: nothing can be said. */
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

/* ---- what the node asks for --------------------------------------------------------------------------------- */

typedef struct slice_list {
    int32_t count;
    tort_scalar starts[TORT_MAX_RANK], ends[TORT_MAX_RANK], steps[TORT_MAX_RANK];
    int64_t axes[TORT_MAX_RANK];
} slice_list;

static bool read_scalars(const tort_infer *infer, int32_t i, const char *name, tort_scalar *values, int32_t *count) {
    if (tort_has_input(infer->node, i)) return tort_infer_entries(infer, i, values, TORT_MAX_RANK, count);
    const int64_t *list = tort_attr_ints(infer->node, name, count);
    if (*count > TORT_MAX_RANK) return false;
    for (int32_t k = 0; k < *count; k++) values[k] = tort_scalar_known(list[k]);
    return true;
}

/* *known false: not even the axes are known. */
static tort_status read_list(const tort_infer *infer, slice_list *list, bool *known) {
    int32_t ends = 0, axes = 0, steps = 0, rank = infer->node->inputs[0].rank;
    *known = read_scalars(infer, 1, "starts", list->starts, &list->count) &&
             read_scalars(infer, 2, "ends", list->ends, &ends);
    if (!*known) return TORT_OK;
    tort_known given = tort_read_list(infer->node, 3, "axes", list->axes, TORT_MAX_RANK, &axes);
    if (given == TORT_UNKNOWN) *known = false;
    if (given == TORT_ABSENT || (axes == 0 && list->count > 0 && given == TORT_KNOWN)) {
        for (axes = 0; axes < list->count; axes++) list->axes[axes] = axes;
    }
    if (!tort_has_input(infer->node, 4)) {
        for (steps = 0; steps < list->count; steps++) list->steps[steps] = tort_scalar_known(1);
    } else if (!tort_infer_entries(infer, 4, list->steps, TORT_MAX_RANK, &steps)) {
        *known = false;
    }
    if (!*known) return TORT_OK;
    if (ends != list->count || axes != list->count || steps != list->count) {
        return tort_fail(infer->error, TORT_E_MODEL, "%d starts, %d ends, %d axes, %d steps; they must be as many",
                         (int)list->count, (int)ends, (int)axes, (int)steps);
    }
    return tort_normalize_axes(infer->error, list->axes, axes, rank);
}

/* Passes on the part of a list of known contents that the slice takes. */
static tort_status slice_elements(const tort_infer *infer, const slice_list *list) {
    tort_scalar values[TORT_MAX_ELEMENTS], taken[TORT_MAX_ELEMENTS];
    int32_t count = 0;
    if (infer->node->inputs[0].rank != 1 || list->count != 1) return TORT_OK;
    if (list->starts[0].symbolic || list->ends[0].symbolic || list->steps[0].symbolic) return TORT_OK;
    if (!tort_infer_integers(infer, 0, values, TORT_MAX_ELEMENTS, &count)) return TORT_OK;
    int64_t first, step = list->steps[0].value;
    int64_t length = slice_axis(count, list->starts[0].value, list->ends[0].value, step, &first);
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
    tort_status status = read_list(infer, &list, &known);
    if (status) return status;
    if (!known) {
        tort_infer_unknown_dims(infer, 0, data->type, data->rank);
        return TORT_OK;
    }
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < data->rank; k++) dims[k] = data->dims[k];
    for (int32_t k = 0; k < list.count; k++) {
        tort_dim *d = &dims[list.axes[k]];
        tort_scalar start = list.starts[k], end = list.ends[k], step = list.steps[k];
        int64_t first;
        if (!step.symbolic && step.value == 0) return tort_fail(infer->error, TORT_E_MODEL, "a step is 0");
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

static tort_status slice_resolve(tort_resolve *resolve) {
    const tort_node_view *node = resolve->node;
    const tort_info *data = &node->inputs[0];
    tort_slice_params *slice = resolve->params;
    int64_t starts[TORT_MAX_RANK], ends[TORT_MAX_RANK], axes[TORT_MAX_RANK], steps[TORT_MAX_RANK];
    int32_t count = 0, axis_count = 0, step_count = 0;
    slice->rank = data->rank;
    for (int32_t k = 0; k < TORT_MAX_RANK; k++) slice->steps[k] = 1;
    if (data->rank < 0) return TORT_OK;
    if (tort_read_list(node, 1, "starts", starts, TORT_MAX_RANK, &count) != TORT_KNOWN) return TORT_OK;
    if (tort_read_list(node, 2, "ends", ends, TORT_MAX_RANK, &count) != TORT_KNOWN) return TORT_OK;
    if (tort_read_list(node, 3, "axes", axes, TORT_MAX_RANK, &axis_count) == TORT_UNKNOWN) return TORT_OK;
    if (tort_read_list(node, 4, NULL, steps, TORT_MAX_RANK, &step_count) == TORT_UNKNOWN) return TORT_OK;
    for (; axis_count < count; axis_count++) axes[axis_count] = axis_count;
    for (; step_count < count; step_count++) steps[step_count] = 1;
    tort_status status = tort_normalize_axes(resolve->error, axes, count, data->rank);
    if (status) return status;
    for (int32_t k = 0; k < count; k++) {
        int64_t axis = axes[k];
        slice->steps[axis] = steps[k];
        if (!tort_dim_known(data->dims[axis])) continue;
        slice_axis(data->dims[axis], starts[k], ends[k], steps[k], &slice->starts[axis]);
    }
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
        int64_t stride = output->dims[k] > 1 ? slice->steps[k] * src_strides[k] : 0; /* a lone step may be huge */
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
            "T=" ALL " Tind=int32|int64", "", 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, 0, sizeof(tort_slice_params),     \
            slice_infer, slice_resolve, slice_reference                                                                \
    }

const tort_op tort_ops_slice[] = {
    {"", "Slice", 1, 9, "data:T", "output:T", "T=all", "axes:ints ends:ints! starts:ints!", 0, 0,
     sizeof(tort_slice_params), slice_infer, slice_resolve, slice_reference},
    SLICE(10, 10, "all"),
    SLICE(11, 12, "all"),
    SLICE(13, 28, "all13"),
    {0},
};
