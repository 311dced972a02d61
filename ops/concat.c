/* concat.c - Concat and Split: join tensors along one axis, or split one.
 *
 * Both copy one contiguous run of elements, everything from the axis on, for each index before the axis. */
#include "ops/concat.h"

#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/strided.h"

/* ---- Concat -------------------------------------------------------------------------------------------------- */

static tort_status concat_axis(const tort_node_view *node, tort_error *error, int32_t rank, int32_t *axis) {
    /* Opset 1 has the default 1; later the attribute is required. */
    int64_t given = tort_attr(node, "axis") ? tort_attr_int(node, "axis") : 1;
    return tort_normalize_axis(error, given, rank, axis);
}

/* Joins lists of known integers: most shape arithmetic ends in a Concat. A list whose contents are unknown gives
 * unknown elements. */
static tort_status concat_elements(const tort_infer *infer) {
    tort_scalar values[TORT_MAX_ELEMENTS], part[TORT_MAX_ELEMENTS];
    int32_t total = 0;
    bool any = false;
    for (int32_t i = 0; i < infer->node->input_count; i++) {
        const tort_info *input = &infer->node->inputs[i];
        int32_t count = 0;
        bool known = tort_infer_integers(infer, i, part, &count);
        if (!known && (input->rank != 1 || !tort_dim_known(input->dims[0]) || input->dims[0] > TORT_MAX_ELEMENTS))
            return TORT_OK;
        if (!known) count = (int32_t)input->dims[0];
        if (count > TORT_MAX_ELEMENTS - total) return TORT_OK;
        for (int32_t k = 0; k < count; k++) values[total++] = known ? part[k] : tort_scalar_unknown(infer->dims, true);
        any = any || known;
    }
    return any ? tort_infer_set_integers(infer, 0, values, total) : TORT_OK;
}

tort_status tort_concat_join(const tort_infer *infer, const tort_info *input, int32_t axis, bool first,
                             tort_dim *dims) {
    tort_dim *length = &dims[axis];
    for (int32_t k = 0; k < input->rank; k++) {
        if (k == axis) continue;
        if (first) dims[k] = input->dims[k];
        tort_status status = tort_dim_unify(infer->error, k, dims[k], input->dims[k], &dims[k]);
        if (status) return status;
    }
    if (tort_dim_known(*length) && tort_dim_known(input->dims[axis]))
        return tort_size_add(infer->error, *length, input->dims[axis], length);
    *length = tort_dim_add(infer->dims, *length, input->dims[axis]);
    return TORT_OK;
}

/* Output dimensions, from the inputs of known rank; an input of unknown rank makes the length unknown. */
static tort_status concat_dims(const tort_infer *infer, int32_t rank, int32_t axis, tort_dim *dims) {
    const tort_node_view *node = infer->node;
    bool unknown = false, first = true;
    for (int32_t k = 0; k < rank; k++) dims[k] = tort_dim_fresh(infer->dims, true);
    dims[axis] = 0;
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_info *input = &node->inputs[i];
        unknown = unknown || input->rank < 0;
        if (input->rank < 0) continue;
        if (input->rank != rank)
            return tort_fail(infer->error, TORT_E_MODEL, "input %d has rank %d and another one rank %d", (int)i,
                             (int)input->rank, (int)rank);
        tort_status status = tort_concat_join(infer, input, axis, first, dims);
        if (status) return status;
        first = false;
    }
    if (unknown) dims[axis] = tort_dim_fresh(infer->dims, true);
    return TORT_OK;
}

static tort_status concat_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_type type = node->inputs[0].type;
    tort_dim dims[TORT_MAX_RANK];
    int32_t rank = -1, axis = 0;
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i].rank >= 0) rank = node->inputs[i].rank;
    tort_infer_unknown(infer, 0, type);
    if (rank < 0) return TORT_OK;
    tort_status status = concat_axis(node, infer->error, rank, &axis);
    if (!status) status = concat_dims(infer, rank, axis, dims);
    if (status) return status;
    tort_infer_shape(infer, 0, type, rank, dims);
    return rank == 1 ? concat_elements(infer) : TORT_OK;
}

static tort_status concat_resolve(tort_resolve *resolve) {
    tort_concat_params *params = resolve->params;
    const tort_node_view *node = resolve->node;
    for (int32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i].rank < 0) continue;
        return concat_axis(node, resolve->error, node->inputs[i].rank, &params->parts.axis);
    }
    return TORT_OK;
}

tort_status tort_move_concat(const tort_call *call, tort_box_mover move) {
    const tort_concat_params *params = call->params;
    const tort_tensor *output = &call->outputs[0];
    const int32_t axis = params->parts.axis;
    int64_t to[TORT_MAX_RANK], own[TORT_MAX_RANK], first = 0;
    tort_status status = TORT_OK;
    tort_strides(output->rank, output->dims, to);
    for (int32_t i = 0; !status && i < call->input_count; i++) {
        const tort_tensor *input = &call->inputs[i];
        const int64_t *from = i < TORT_CONCAT_STRIDED && params->strides[i][0] ? params->strides[i] : own;
        tort_box box = {.dst_first = first * to[axis]};
        tort_strides(input->rank, input->dims, own);
        for (int32_t k = 0; k < input->rank; k++) tort_box_add(&box, input->dims[k], to[k], from[k]);
        status = move(call, input->type, output->data, input->data, &box);
        first += input->dims[axis];
    }
    return status;
}

static tort_status concat_reference(const tort_call *call) {
    return tort_move_concat(call, tort_copy_box);
}

/* ---- Split --------------------------------------------------------------------------------------------------- */

static tort_status check_lengths(const tort_infer *infer, const tort_scalar *list, int32_t count, tort_dim length) {
    int64_t sum = 0;
    bool known = tort_dim_known(length);
    tort_status status = tort_check_entries(infer->error, "split", count, infer->node->output_count);
    if (status) return status;
    for (int32_t i = 0; i < count; i++) {
        known = known && !list[i].symbolic;
        if (list[i].symbolic) continue;
        if (list[i].value < 0 || __builtin_add_overflow(sum, list[i].value, &sum)) {
            return tort_fail(infer->error, TORT_E_MODEL, "split has length %lld at place %d", (long long)list[i].value,
                             (int)i);
        }
    }
    if (!known || sum == length) return TORT_OK;
    return tort_fail(infer->error, TORT_E_MODEL, "the lengths in split add up to %lld, the axis has %lld elements",
                     (long long)sum, (long long)length);
}

/* Lengths along an axis of symbolic length: part i has min(part, max(0, length - i * part)) elements. Two parts need no
 * bounds: the first is never longer than the axis. */
static void symbolic_lengths(tort_dims *dims, tort_dim length, tort_dim part, tort_dim *lengths, int32_t parts) {
    tort_scalar whole = tort_scalar_of_dim(length), one = tort_scalar_of_dim(part);
    lengths[0] = part;
    for (int32_t i = 1; i < parts; i++) {
        tort_scalar before = tort_scalar_mul(dims, tort_scalar_known(i), one),
                    rest = tort_scalar_sub(dims, whole, before);
        if (parts > 2) rest = tort_scalar_max(dims, rest, tort_scalar_known(0));
        lengths[i] = tort_scalar_to_dim(dims, i == parts - 1 ? rest : tort_scalar_min(dims, one, rest));
    }
}

/* Splits into equal parts; from opset 18 the last ones may be shorter or empty. */
static tort_status equal_lengths(const tort_infer *infer, tort_dim length, tort_dim *lengths) {
    const tort_node_view *node = infer->node;
    tort_dims *dims = infer->dims;
    int32_t parts = node->output_count;
    bool uneven = node->op->since >= 18;
    if (tort_attr(node, "num_outputs") && tort_attr_int(node, "num_outputs") != parts) {
        return tort_fail(infer->error, TORT_E_MODEL, "num_outputs is %lld, the node has %d outputs",
                         (long long)tort_attr_int(node, "num_outputs"), (int)parts);
    }
    if (tort_dim_known(length) && length % parts && !uneven) {
        return tort_fail(infer->error, TORT_E_MODEL, "%lld elements do not split into %d equal parts",
                         (long long)length, (int)parts);
    }
    tort_dim part = uneven ? tort_dim_ceildiv(dims, length, parts) : tort_dim_floordiv(dims, length, parts);
    if (uneven && !tort_dim_known(length) && tort_dim_mul(dims, part, parts) != length) {
        symbolic_lengths(dims, length, part, lengths, parts);
        return TORT_OK;
    }
    for (int32_t i = 0; i < parts; i++) {
        lengths[i] = part;
        if (!tort_dim_known(length)) continue;
        if (length < part) lengths[i] = length;
        length -= lengths[i];
    }
    return TORT_OK;
}

/* Reads the lengths from input 1 (floats in opset 1) or the attribute; without both, parts are equal. */
static tort_status split_lengths(const tort_infer *infer, tort_dim length, tort_scalar *list, tort_dim *lengths) {
    int32_t outputs = infer->node->output_count, count = 0;
    tort_known known;
    tort_status status =
        tort_read_long_list(infer->node, infer->dims, 1, "split", outputs, list, &count, &known, infer->error);
    if (status) return status;
    if (known == TORT_ABSENT) return equal_lengths(infer, length, lengths);
    if (tort_attr(infer->node, "num_outputs"))
        return tort_fail(infer->error, TORT_E_MODEL, "both split and num_outputs are given; give one");
    if (known == TORT_KNOWN) status = check_lengths(infer, list, count, length);
    for (int32_t i = 0; i < outputs && !status; i++)
        lengths[i] = known == TORT_KNOWN ? tort_scalar_to_dim(infer->dims, list[i]) : tort_dim_fresh(infer->dims, true);
    return status;
}

static tort_status split_outputs(const tort_infer *infer, int32_t axis, const tort_dim *lengths) {
    const tort_info *data = &infer->node->inputs[0];
    tort_scalar values[TORT_MAX_ELEMENTS];
    int32_t count = 0, first = 0;
    bool contents = data->rank == 1 && tort_infer_integers(infer, 0, values, &count);
    tort_dim dims[TORT_MAX_RANK];
    for (int32_t k = 0; k < data->rank; k++) dims[k] = data->dims[k];
    for (int32_t i = 0; i < infer->node->output_count; i++) {
        dims[axis] = lengths[i];
        tort_infer_shape(infer, i, data->type, data->rank, dims);
        contents = contents && tort_dim_known(lengths[i]) && lengths[i] <= count - first;
        if (!contents) continue;
        tort_status status = tort_infer_set_integers(infer, i, values + first, (int32_t)lengths[i]);
        if (status) return status;
        first += (int32_t)lengths[i];
    }
    return TORT_OK;
}

static tort_status split_infer(tort_infer *infer) {
    const tort_node_view *node = infer->node;
    const tort_info *data = &node->inputs[0];
    size_t outputs = (size_t)node->output_count;
    int32_t axis = 0;
    for (int32_t i = 0; i < node->output_count; i++) tort_infer_unknown(infer, i, data->type);
    if (data->rank < 0) return TORT_OK;
    tort_status status = tort_normalize_axis(infer->error, tort_attr_int(node, "axis"), data->rank, &axis);
    if (status) return status;
    tort_scalar *list = tort_arena_array(infer->arena, outputs, sizeof *list);
    tort_dim *lengths = tort_arena_array(infer->arena, outputs, sizeof *lengths);
    if (!list || !lengths) return tort_out_of_memory(infer->error, outputs * (sizeof *list + sizeof *lengths));
    status = split_lengths(infer, data->dims[axis], list, lengths);
    return status ? status : split_outputs(infer, axis, lengths);
}

static tort_status split_resolve(tort_resolve *resolve) {
    tort_split_params *params = resolve->params;
    const tort_node_view *node = resolve->node;
    const tort_info *data = &node->inputs[0];
    if (!tort_has_input(node, 1)) params->lengths = tort_resolve_list(resolve, "split");
    if (data->rank < 0) return TORT_OK;
    tort_status status =
        tort_normalize_axis(resolve->error, tort_attr_int(node, "axis"), data->rank, &params->parts.axis);
    if (status) return status;
    int64_t length = data->dims[params->parts.axis], parts = node->output_count;
    if (tort_dim_known(length)) params->part = length / parts + (length % parts != 0);
    return TORT_OK;
}

/* Length of part i along the axis, of an absent output, which has no shape. */
static int64_t part_length(const tort_call *call, int32_t i) {
    const tort_split_params *params = call->params;
    int64_t length = params->part;
    if (tort_call_input(call, 1)) {
        tort_load_integers(call->inputs[1].type, call->inputs[1].data, i, 1, &length);
    } else if (params->lengths.count > 0) {
        length = ((const int64_t *)tort_list_at(params, params->lengths))[i];
    }
    return length;
}

tort_status tort_move_split(const tort_call *call, tort_box_mover move) {
    const tort_split_params *params = call->params;
    const tort_tensor *input = &call->inputs[0];
    int64_t outer = tort_extent(input->dims, 0, params->parts.axis),
            inner = tort_extent(input->dims, params->parts.axis + 1, input->rank);
    const int64_t size = input->dims[params->parts.axis];
    int64_t first = 0;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < call->output_count; i++) {
        const tort_tensor *output = &call->outputs[i];
        const bool present = tort_present(output);
        const int64_t length =
            present ? output->dims[params->parts.axis] : tort_index_within(part_length(call, i), size + 1);
        if (first > size - length) first = size - length; /* lengths have changed since they were added up */
        tort_box box = {.src_first = first * inner};
        tort_box_add(&box, outer, length * inner, size * inner);
        tort_box_add(&box, length * inner, 1, 1);
        if (present) status = move(call, input->type, output->data, input->data, &box);
        first += length;
    }
    return status;
}

static tort_status split_reference(const tort_call *call) {
    return tort_move_split(call, tort_copy_box);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

#define CONCAT(SINCE, UNTIL, ALL, ATTRIBUTES)                                                                          \
    {                                                                                                                  \
        "", "Concat", SINCE, UNTIL, "inputs*:T", "concat_result:T", "T=" ALL, ATTRIBUTES,                              \
            .flags = TORT_OP_JOINS, .params_size = sizeof(tort_concat_params), concat_infer, concat_resolve,           \
            concat_reference                                                                                           \
    }
#define SPLIT(SINCE, UNTIL, INPUTS, ALL, ATTRIBUTES, SHAPE_INPUTS)                                                     \
    {                                                                                                                  \
        "", "Split", SINCE, UNTIL, INPUTS, "outputs*:T", "T=" ALL, ATTRIBUTES,                                         \
            .shape_inputs = SHAPE_INPUTS, .flags = TORT_OP_LISTS | TORT_OP_PARTS | TORT_OP_CHOOSES,                    \
            .params_size = sizeof(tort_split_params), split_infer, split_resolve, split_reference                      \
    }

const tort_op tort_ops_concat[] = {
    CONCAT(1, 3, "floats", "axis:int"),
    CONCAT(4, 10, "all", "axis:int!"),
    CONCAT(11, 12, "all", "axis:int!"),
    CONCAT(13, TORT_NEWEST_OPSET, "all13", "axis:int!"),
    SPLIT(1, 1, "input:T split?:T", "floats", "axis:int split:ints", 1u << 1),
    SPLIT(2, 10, "input:T", "all", "axis:int=0 split:ints", 0),
    SPLIT(11, 12, "input:T", "all", "axis:int=0 split:ints", 0),
    SPLIT(13, 17, "input:T split?:int64", "all13", "axis:int=0", 1u << 1),
    SPLIT(18, TORT_NEWEST_OPSET, "input:T split?:int64", "all13", "axis:int=0 num_outputs:int", 1u << 1),
    {0},
};
