/* sequence.c - sequences of tensors: making, reading and changing them, splitting a tensor into one and joining it.
 *
 * Inputs and outputs are values (value.h); the element at a position is known only when the node runs. */
#include "ops/contents.h"
#include "ops/index.h"
#include "ops/strided.h"
#include "ops/values.h"

/* ---- shared by all ----------------------------------------------------------------------------------------------- */

static tort_status give_integer(const tort_call *call, int64_t number) {
    const tort_tensor tensor = {.type = TORT_INT64, .data = &number};
    return tort_give_value(call, tort_value_tensor(call->env, &tensor));
}

/* Reads a position in `sequence` from input i, counted from the end if it is negative: 0 to `last`. */
static tort_status read_position(const tort_call *call, int32_t i, const tort_value *sequence, int32_t last,
                                 int32_t *position) {
    const tort_tensor *input = tort_call_input(call, i);
    const int32_t count = tort_value_count(sequence);
    if (tort_count(input) != 1)
        return tort_fail(call->error, TORT_E_RUN, "position has %lld elements, expected one",
                         (long long)tort_count(input));
    const int64_t given = tort_index_at(input, 0);
    if (given < -count || given > last)
        return tort_fail(call->error, TORT_E_RUN, "position %lld is not in [-%d, %d], the sequence has %d elements",
                         (long long)given, count, last, count);
    *position = (int32_t)(given < 0 ? given + count : given);
    return TORT_OK;
}

/* Sequence of input 0, to be changed: itself if nobody else needs it, else a copy. */
static tort_value *changeable(const tort_call *call) {
    const tort_value *sequence = tort_call_value(call, 0);
    if (call->last_reads & 1 && tort_value_single(sequence)) return (tort_value *)sequence;
    return tort_value_copy(sequence);
}

/* Makes the sequence from `changeable` the output, or after a failure releases it. */
static tort_status give_changed(const tort_call *call, tort_value *sequence, bool ok) {
    const bool itself = sequence == tort_call_value(call, 0);
    if (ok) return tort_give_value(call, itself ? tort_value_retain(sequence) : sequence);
    if (!itself) tort_value_release(sequence);
    return tort_out_of_memory(call->error, sizeof sequence);
}

/* Type of the tensors in the sequence of input i. */
static tort_value_type element_of(const tort_node_view *node, int32_t i) {
    return tort_type_element(tort_info_type(&node->inputs[i]));
}

/* ---- SequenceEmpty, SequenceConstruct ---------------------------------------------------------------------------- */

typedef struct empty_params {
    tort_type type;
} empty_params;

static tort_type empty_type(const tort_node_view *node) {
    return tort_attr(node, "dtype") ? tort_attr_type(node, "dtype") : TORT_FLOAT;
}

static tort_status empty_infer(tort_infer *infer) {
    tort_infer_value(infer, 0, tort_sequence_type(tort_tensor_type(empty_type(infer->node))));
    return TORT_OK;
}

static tort_status empty_resolve(tort_resolve *resolve) {
    ((empty_params *)resolve->params)->type = empty_type(resolve->node);
    return TORT_OK;
}

static tort_status empty_reference(const tort_call *call) {
    const empty_params *params = call->params;
    return tort_give_value(call, tort_value_sequence(call->env, tort_tensor_type(params->type)));
}

static tort_status construct_infer(tort_infer *infer) {
    tort_infer_value(infer, 0, tort_sequence_type(tort_tensor_type(infer->node->inputs[0].type)));
    return TORT_OK;
}

static bool append_new(tort_value *sequence, tort_value *element) {
    const bool ok = element && tort_value_append(sequence, element);
    tort_value_release(element);
    return ok;
}

static tort_status construct_reference(const tort_call *call) {
    tort_value *sequence = tort_value_sequence(call->env, tort_tensor_type(call->inputs[0].type));
    bool ok = sequence != NULL;
    for (int32_t i = 0; ok && i < call->input_count; i++) ok = append_new(sequence, tort_call_element(call, i));
    return give_changed(call, sequence, ok);
}

/* ---- SequenceAt, SequenceLength, SequenceInsert, SequenceErase --------------------------------------------------- */

static tort_status at_infer(tort_infer *infer) {
    tort_infer_value(infer, 0, element_of(infer->node, 0));
    return tort_check_single(infer->node, 1, "position", infer->error);
}

static tort_status at_reference(const tort_call *call) {
    const tort_value *sequence = tort_call_value(call, 0);
    int32_t position = 0;
    tort_status status = read_position(call, 1, sequence, tort_value_count(sequence) - 1, &position);
    return status ? status : tort_give_value(call, tort_value_retain(tort_value_at(sequence, position)));
}

static tort_status length_infer(tort_infer *infer) {
    tort_infer_shape(infer, 0, TORT_INT64, 0, NULL);
    return TORT_OK;
}

static tort_status length_reference(const tort_call *call) {
    return give_integer(call, tort_value_count(tort_call_value(call, 0)));
}

static tort_status insert_infer(tort_infer *infer) {
    const tort_info *inputs = infer->node->inputs;
    tort_infer_same(infer, 0, 0);
    if (inputs[0].type != inputs[1].type)
        return tort_fail(infer->error, TORT_E_MODEL, "a tensor of %s cannot be put into a sequence of %s",
                         tort_type_name(inputs[1].type), tort_type_name(inputs[0].type));
    return tort_check_single(infer->node, 2, "position", infer->error);
}

static tort_status insert_reference(const tort_call *call) {
    int32_t position = tort_value_count(tort_call_value(call, 0));
    if (tort_call_input(call, 2)) {
        tort_status status = read_position(call, 2, tort_call_value(call, 0), position, &position);
        if (status) return status;
    }
    tort_value *sequence = changeable(call), *element = tort_call_element(call, 1);
    const bool ok = sequence && tort_value_insert(sequence, position, element);
    tort_value_release(element);
    return give_changed(call, sequence, ok);
}

static tort_status erase_infer(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return tort_check_single(infer->node, 1, "position", infer->error);
}

static tort_status erase_reference(const tort_call *call) {
    int32_t position = tort_value_count(tort_call_value(call, 0)) - 1;
    if (tort_call_input(call, 1)) {
        tort_status status = read_position(call, 1, tort_call_value(call, 0), position, &position);
        if (status) return status;
    }
    if (position < 0) return tort_fail(call->error, TORT_E_RUN, "the sequence has no elements: there is none to erase");
    tort_value *sequence = changeable(call);
    if (sequence) tort_value_erase(sequence, position);
    return give_changed(call, sequence, sequence != NULL);
}

/* ---- SplitToSequence --------------------------------------------------------------------------------------------- */

typedef struct split_params {
    int64_t axis;
    bool keep; /* keepdims: without `split`, parts of size 1 keep the axis */
} split_params;

static tort_status split_infer(tort_infer *infer) {
    const tort_info *input = &infer->node->inputs[0];
    int32_t axis;
    tort_infer_value(infer, 0, tort_sequence_type(tort_tensor_type(input->type)));
    if (tort_has_input(infer->node, 1) && infer->node->inputs[1].rank > 1)
        return tort_fail(infer->error, TORT_E_MODEL, "split has rank %d, expected a scalar or a list",
                         infer->node->inputs[1].rank);
    if (input->rank < 0) return TORT_OK;
    return tort_normalize_axis(infer->error, tort_attr_int(infer->node, "axis"), input->rank, &axis);
}

static tort_status split_resolve(tort_resolve *resolve) {
    split_params *params = resolve->params;
    params->axis = tort_attr_int(resolve->node, "axis");
    params->keep = tort_attr_int(resolve->node, "keepdims") != 0;
    return TORT_OK;
}

/* State of splitting one tensor into parts along an axis. */
typedef struct splitter {
    const tort_tensor *input;
    int32_t axis;
    int64_t first; /* start of the next part */
    bool drop;     /* removes the axis from the parts */
} splitter;

static void drop_axis(tort_tensor *tensor, int32_t axis) {
    tensor->rank--;
    for (int32_t i = axis; i < tensor->rank; i++) tensor->dims[i] = tensor->dims[i + 1];
}

/* Makes the next part, `length` long. NULL: out of memory. */
static tort_value *next_part(const tort_call *call, splitter *split, int64_t length) {
    const tort_tensor *input = split->input;
    const int64_t outer = tort_extent(input->dims, 0, split->axis),
                  inner = tort_extent(input->dims, split->axis + 1, input->rank);
    tort_tensor shape = *input;
    shape.dims[split->axis] = length;
    if (split->drop) drop_axis(&shape, split->axis);
    tort_value *part = tort_value_new(call->env, &shape);
    if (!part) return NULL;
    if (tort_count(&shape) > 0) {
        tort_box box = {.src_first = split->first * inner};
        tort_box_add(&box, outer, length * inner, input->dims[split->axis] * inner);
        tort_box_add(&box, length * inner, 1, 1);
        tort_copy_box(call, input->type, tort_value_data(part), input->data, &box);
    }
    split->first += length;
    if (tort_value_own_text(part)) return part;
    tort_value_release(part);
    return NULL;
}

/* Splits into parts of one length; the last may be shorter. */
static tort_status split_evenly(const tort_call *call, splitter *split, int64_t length, tort_value *sequence) {
    const int64_t size = split->input->dims[split->axis];
    if (length <= 0)
        return tort_fail(call->error, TORT_E_RUN, "split is %lld, expected a number above 0", (long long)length);
    if (size / length >= INT32_MAX)
        return tort_fail(call->error, TORT_E_RUN, "%lld elements split by %lld are too many parts", (long long)size,
                         (long long)length);
    while (split->first < size && tort_call_goes_on(call, 0)) {
        const int64_t left = size - split->first;
        if (!append_new(sequence, next_part(call, split, left < length ? left : length)))
            return tort_out_of_memory(call->error, sizeof sequence);
    }
    return TORT_OK;
}

/* Checks that the lengths of all parts add up to the axis. */
static tort_status check_lengths(const tort_call *call, const splitter *split, const tort_tensor *lengths) {
    const int64_t size = split->input->dims[split->axis];
    int64_t left = size;
    for (int64_t i = 0; i < lengths->dims[0]; i++) {
        const int64_t length = tort_index_at(lengths, i);
        if (!tort_row_goes_on(call->watch, i)) return tort_run_is_over(call->error);
        if (length < 0 || length > left)
            return tort_fail(call->error, TORT_E_RUN, "split[%lld] is %lld where the axis has %lld of %lld left",
                             (long long)i, (long long)length, (long long)left, (long long)size);
        left -= length;
    }
    if (left == 0) return TORT_OK;
    return tort_fail(call->error, TORT_E_RUN, "the lengths in split add up to %lld, the axis has %lld elements",
                     (long long)(size - left), (long long)size);
}

static tort_status split_by_list(const tort_call *call, splitter *split, const tort_tensor *lengths,
                                 tort_value *sequence) {
    tort_status status = check_lengths(call, split, lengths);
    for (int64_t i = 0; !status && i < lengths->dims[0] && tort_call_goes_on(call, 0); i++) {
        const int64_t left = split->input->dims[split->axis] - split->first;
        if (!append_new(sequence, next_part(call, split, tort_index_within(tort_index_at(lengths, i), left + 1))))
            status = tort_out_of_memory(call->error, sizeof sequence);
    }
    return status;
}

static tort_status split_reference(const tort_call *call) {
    const split_params *params = call->params;
    const tort_tensor *lengths = tort_call_input(call, 1);
    splitter split = {.input = &call->inputs[0], .drop = !lengths && !params->keep};
    tort_status status = tort_normalize_axis(call->error, params->axis, split.input->rank, &split.axis);
    if (status) return status;
    tort_value *sequence = tort_value_sequence(call->env, tort_tensor_type(split.input->type));
    status = tort_give_value(call, sequence);
    if (status) return status;
    if (!lengths) return split_evenly(call, &split, 1, sequence);
    if (lengths->rank == 0) return split_evenly(call, &split, tort_index_at(lengths, 0), sequence);
    return split_by_list(call, &split, lengths, sequence);
}

/* ---- ConcatFromSequence ------------------------------------------------------------------------------------------ */

typedef struct join_params {
    int64_t axis;
    bool stack; /* along a new axis */
} join_params;

static tort_status join_infer(tort_infer *infer) {
    tort_infer_value(infer, 0, element_of(infer->node, 0));
    return TORT_OK;
}

static tort_status join_resolve(tort_resolve *resolve) {
    join_params *params = resolve->params;
    params->axis = tort_attr_int(resolve->node, "axis");
    params->stack = tort_attr_int(resolve->node, "new_axis") != 0;
    return TORT_OK;
}

/* Element i, with a new axis of size 1 if elements are stacked. */
static tort_tensor part_at(const tort_value *sequence, int32_t i, int32_t axis, bool stack) {
    tort_tensor part = *tort_value_view(tort_value_at(sequence, i));
    if (!stack) return part;
    for (int32_t k = part.rank++; k > axis; k--) part.dims[k] = part.dims[k - 1];
    part.dims[axis] = 1;
    return part;
}

/* Reads the axis. Ranks are known only now, so that a wrong axis is an error of the run. */
static tort_status join_axis(const tort_call *call, int32_t rank, int32_t *axis) {
    const join_params *params = call->params;
    if (params->stack && rank == TORT_MAX_RANK)
        return tort_fail(call->error, TORT_E_UNSUPPORTED, "a tensor of rank %d; tinyort handles at most %d", rank + 1,
                         TORT_MAX_RANK);
    rank += params->stack;
    if (params->axis < -rank || params->axis >= rank)
        return tort_fail(call->error, TORT_E_RUN, "axis %lld is not in [%d, %d), the axes of the output",
                         (long long)params->axis, -rank, rank);
    *axis = (int32_t)(params->axis < 0 ? params->axis + rank : params->axis);
    return TORT_OK;
}

/* Shape of all elements joined, which must agree except along the axis. */
static tort_status joined_shape(const tort_call *call, int32_t axis, tort_tensor *shape) {
    const join_params *params = call->params;
    const tort_value *sequence = tort_call_value(call, 0);
    const int32_t first_rank = tort_value_view(tort_value_at(sequence, 0))->rank;
    *shape = part_at(sequence, 0, axis, params->stack);
    for (int32_t i = 1; i < tort_value_count(sequence); i++) {
        if (!tort_row_goes_on(call->watch, i)) return tort_run_is_over(call->error);
        const int32_t rank = tort_value_view(tort_value_at(sequence, i))->rank;
        if (rank != first_rank)
            return tort_fail(call->error, TORT_E_RUN, "element %d has rank %d, the first one rank %d", i, rank,
                             first_rank);
        const tort_tensor part = part_at(sequence, i, axis, params->stack);
        for (int32_t k = 0; k < shape->rank; k++)
            if (k != axis && part.dims[k] != shape->dims[k])
                return tort_fail(
                    call->error, TORT_E_RUN, "element %d has %lld where the first one has %lld, in axis %d", i,
                    (long long)part.dims[k], (long long)shape->dims[k], params->stack && k > axis ? k - 1 : k);
        if (__builtin_add_overflow(shape->dims[axis], part.dims[axis], &shape->dims[axis]))
            return tort_fail(call->error, TORT_E_RUN, "the size of the output overflows");
    }
    return TORT_OK;
}

static void join_parts(const tort_call *call, int32_t axis, const tort_tensor *shape, void *data) {
    const join_params *params = call->params;
    const tort_value *sequence = tort_call_value(call, 0);
    const int64_t outer = tort_extent(shape->dims, 0, axis), row = tort_extent(shape->dims, axis, shape->rank);
    int64_t first = 0;
    for (int32_t i = 0; i < tort_value_count(sequence) && tort_call_goes_on(call, 0); i++) {
        const tort_tensor part = part_at(sequence, i, axis, params->stack);
        const int64_t run = tort_extent(part.dims, axis, part.rank);
        tort_box box = {.dst_first = first};
        tort_box_add(&box, outer, row, run);
        tort_box_add(&box, run, 1, 1);
        tort_copy_box(call, part.type, data, part.data, &box);
        first += run;
    }
}

static tort_status join_reference(const tort_call *call) {
    const tort_value *sequence = tort_call_value(call, 0);
    tort_tensor shape;
    int32_t axis = 0;
    size_t bytes;
    if (tort_value_count(sequence) == 0)
        return tort_fail(call->error, TORT_E_RUN, "the sequence has no elements: there is nothing to concatenate");
    tort_status status = join_axis(call, tort_value_view(tort_value_at(sequence, 0))->rank, &axis);
    if (!status) status = joined_shape(call, axis, &shape);
    if (status) return status;
    if (!tort_tensor_bytes(&shape, &bytes))
        return tort_fail(call->error, TORT_E_RUN, "the size of the output overflows");
    tort_value *whole = tort_value_new(call->env, &shape);
    status = tort_give_value(call, whole);
    if (status) return status;
    if (tort_count(&shape) > 0) join_parts(call, axis, &shape, tort_value_data(whole));
    return tort_value_own_text(whole) ? TORT_OK : tort_out_of_memory(call->error, bytes);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define SPLIT(SINCE, UNTIL, ALL)                                                                                       \
    {                                                                                                                  \
        "", "SplitToSequence", SINCE, UNTIL, "input:T split?:I", "output_sequence:S",                                  \
            "T=" ALL " I=int32|int64 S=seq(" ALL ")", "axis:int=0 keepdims:int=1",                                     \
            .flags = TORT_OP_VALUES, .params_size = sizeof(split_params), split_infer, split_resolve, split_reference  \
    }

const tort_op tort_ops_sequence[] = {
    {"", "SequenceEmpty", 11, TORT_NEWEST_OPSET, "", "output:S", "S=seq(all)", "dtype:int(all)",
     .flags = TORT_OP_VALUES, .params_size = sizeof(empty_params), empty_infer, empty_resolve, empty_reference},
    {"", "SequenceConstruct", 11, TORT_NEWEST_OPSET, "inputs*:T", "output_sequence:S", "T=all S=seq(all)", "",
     .flags = TORT_OP_VALUES, .infer = construct_infer, .reference = construct_reference},
    {"", "SequenceAt", 11, TORT_NEWEST_OPSET, "input_sequence:S position:I", "tensor:T",
     "S=seq(all) T=all I=int32|int64", "", .flags = TORT_OP_VALUES, .infer = at_infer, .reference = at_reference},
    {"", "SequenceInsert", 11, TORT_NEWEST_OPSET, "input_sequence:S tensor:T position?:I", "output_sequence:S",
     "T=all S=seq(all) I=int32|int64", "", .flags = TORT_OP_VALUES, .infer = insert_infer,
     .reference = insert_reference},
    {"", "SequenceErase", 11, TORT_NEWEST_OPSET, "input_sequence:S position?:I", "output_sequence:S",
     "S=seq(all) I=int32|int64", "", .flags = TORT_OP_VALUES, .infer = erase_infer, .reference = erase_reference},
    {"", "SequenceLength", 11, TORT_NEWEST_OPSET, "input_sequence:S", "length:I", "S=seq(all) I=int64", "",
     .flags = TORT_OP_VALUES, .infer = length_infer, .reference = length_reference},
    SPLIT(11, 23, "all"),
    SPLIT(24, TORT_NEWEST_OPSET, "all13"),
    {"", "ConcatFromSequence", 11, TORT_NEWEST_OPSET, "input_sequence:S", "concat_result:T", "S=seq(all) T=all",
     "axis:int! new_axis:int=0", .flags = TORT_OP_VALUES, .params_size = sizeof(join_params), join_infer, join_resolve,
     join_reference},
    {0},
};
