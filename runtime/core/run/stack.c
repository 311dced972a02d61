/* stack.c - makes the outputs of a node with bodies: results, and stacked parts of all trips.
 *
 * If the number of parts is known before, each part is copied to its place in the output; else parts are appended to
 * memory that doubles. Of a batch, one entry of each output is made at a time. Read next: call.c. */
#include <string.h>

#include "runtime/core/run/call.h"

static tort_status make_tensor(const tort_caller *c, int32_t slot, const tort_tensor *from) {
    size_t bytes;
    tort_status status = tort_dynamic_place(c->outer, slot, from, c->error);
    if (status) return status;
    if (!tort_tensor_bytes(from, &bytes)) return tort_fail(c->error, TORT_E_INTERNAL, "an output of no size");
    return tort_call_copy(c, c->outer->planned->plan.slots[slot].memory, c->outer->tensors[slot].data, from->data,
                          bytes);
}

static void make_value(const tort_caller *c, int32_t slot, const tort_value *value) {
    c->outer->values[slot] = tort_value_retain(value);
    c->outer->dynamic_count++;
}

/* Passes an input through as output; if the output is not an optional, passes the element of an optional. */
static tort_status pass_value(const tort_caller *c, int32_t slot, const tort_value *value) {
    const tort_info *info = &c->outer->lowered->infos[c->outer->planned->plan.slots[slot].value];
    if (tort_value_kind(value) == TORT_OPTIONAL && info->kind != TORT_OPTIONAL) value = tort_value_at(value, 0);
    if (!value) return tort_fail(c->error, TORT_E_RUN, "made no trip, and the optional that it was given is empty");
    make_value(c, slot, value);
    return TORT_OK;
}

/* ---- stacked outputs --------------------------------------------------------------------------------------------- */

/* True if the number of parts is known before the last one is made. */
static bool length_known(const tort_caller *c, int32_t slot) {
    return c->trips->scanned > 0 || c->outer->planned->plan.slots[slot].bytes >= 0;
}

static tort_tensor stack_of(const tort_tensor *part, int64_t length, int64_t given_axis) {
    tort_tensor whole = {.type = part->type, .rank = part->rank + 1};
    const int32_t axis = axis_of(given_axis, whole.rank);
    for (int32_t d = 0; d < whole.rank; d++)
        whole.dims[d] = d < axis ? part->dims[d] : d > axis ? part->dims[d - 1] : length;
    return whole;
}

/* Checks that all parts of an output have one shape; `axes` is the number of axes that stacking adds. */
static tort_status check_part(const tort_caller *c, int32_t output, const tort_tensor *part, int32_t axes,
                              bool *is_first) {
    tort_tensor *first = &c->trip->parts[c->asks + output];
    *is_first = first->rank < 0;
    if (*is_first) *first = *part;
    const size_t bytes = (size_t)(part->rank > 0 ? part->rank : 0) * sizeof *part->dims;
    if (part->rank + axes > TORT_MAX_RANK)
        return tort_fail(c->error, TORT_E_UNSUPPORTED, "the stacked output would have more than %d dimensions",
                         TORT_MAX_RANK);
    if (part->rank == first->rank && !memcmp(part->dims, first->dims, bytes)) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN, "the shape stacked into output %d changes in trip %lld", (int)output,
                     (long long)c->trip->number);
}

/* Allocates an output for a batch of such entries, with zeros where no trip makes a part. */
static tort_status place_batch(const tort_caller *c, int32_t slot, const tort_tensor *entry) {
    const tort_tensor whole = stack_of(entry, c->batches, 0);
    size_t bytes = 0;
    tort_status status = tort_dynamic_place(c->outer, slot, &whole, c->error);
    if (status || !tort_tensor_bytes(&whole, &bytes) || !bytes) return status;
    void *data = c->outer->tensors[slot].data;
    memset(data, 0, bytes);
    for (size_t i = 0; whole.type == TORT_STRING && i < bytes / sizeof(tort_string); i++)
        ((tort_string *)data)[i].data = "";
    return TORT_OK;
}

/* Copies a part to its place in an output of known length, which the first part allocates. */
static tort_status put_part(const tort_caller *c, int32_t i, int32_t slot, const tort_tensor *part, bool first) {
    const tort_trips *t = c->trips;
    const int32_t memory = c->outer->planned->plan.slots[slot].memory;
    const int64_t given_axis = listed(t, t->output_axes, i);
    const tort_tensor whole = stack_of(part, c->length, given_axis);
    tort_status status = !first       ? TORT_OK
                         : t->batched ? place_batch(c, slot, &whole)
                                      : tort_dynamic_place(c->outer, slot, &whole, c->error);
    blocks b;
    if (!status) status = tort_call_blocks(c, &whole, axis_of(given_axis, whole.rank), &b);
    if (status) return status;
    const int64_t number = c->trip->number;
    const int64_t at = listed(t, t->output_directions, i) ? c->length - 1 - number : number;
    const tort_tensor *made = &c->outer->tensors[slot];
    char *to = (char *)(t->batched ? tort_call_entry(made, c->batch).data : made->data) + (size_t)at * b.bytes;
    for (size_t row = 0; !status && row < b.rows; row++)
        status = tort_call_copy(c, memory, to + row * b.stride, (const char *)part->data + row * b.bytes, b.bytes);
    return status;
}

/* Appends a part, in memory that doubles. */
static tort_status append_part(const tort_caller *c, int32_t i, const tort_tensor *part) {
    const int32_t port = c->asks + c->trips->results + i, memory = c->body->lowered->output_memory[port];
    tort_region *region = &c->trip->stacked[port], larger = {0};
    const size_t number = (size_t)c->trip->number;
    size_t bytes, need;
    if (!tort_tensor_bytes(part, &bytes) || !tort_mul_size(number + 1, bytes, &need) || need > SIZE_MAX / 2)
        return tort_fail(c->error, TORT_E_RUN, "the size of an output overflows");
    tort_status status = TORT_OK;
    if (!region->base || region->bytes < need) {
        status = tort_region_alloc(c->outer->context, memory, 2 * need + 1, &larger, c->error);
        if (!status) status = tort_call_copy(c, memory, larger.base, region->base, number * bytes);
        tort_region_free(c->outer->context, memory, region);
        *region = larger;
    }
    return status ? status : tort_call_copy(c, memory, region->base + number * bytes, part->data, bytes);
}

static tort_status append_value(const tort_caller *c, int32_t port, const tort_tensor *part) {
    tort_value **held = &c->trip->held[port];
    const tort_env *env = &c->outer->context->value_env;
    if (!*held) *held = tort_value_sequence(env, tort_tensor_type(part->type));
    tort_value *element = *held ? tort_value_tensor(env, part) : NULL;
    const bool added = element && tort_value_append(*held, element);
    tort_value_release(element);
    return added ? TORT_OK : tort_out_of_memory(c->error, 0);
}

tort_status tort_stack_parts(const tort_caller *c) {
    const tort_trips *t = c->trips;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < t->stacked; i++) {
        const int32_t port = c->asks + t->results + i, slot = result_slot(c, t->results + i);
        const tort_tensor *part = left_by_body(c, port);
        if (slot < 0) continue;
        if (t->sequences) {
            status = append_value(c, port, part);
            continue;
        }
        bool first;
        status = check_part(c, t->results + i, part, t->batched ? 2 : 1, &first);
        if (!status) status = length_known(c, slot) ? put_part(c, i, slot, part, first) : append_part(c, i, part);
    }
    return status;
}

/* Dimension d of a part, when no part was made, from the planned shape of the output; 0: unknown. */
static int64_t planned_dim(const tort_caller *c, int32_t i, int32_t slot, int32_t d) {
    const tort_info *whole = &c->outer->planned->infos[c->outer->planned->plan.slots[slot].value];
    const int32_t batch = c->trips->batched ? 1 : 0;
    if (whole->rank < 0) return 0;
    const int32_t at = d + batch + (d >= axis_of(listed(c->trips, c->trips->output_axes, i), whole->rank - batch));
    return at < whole->rank && tort_dim_known(whole->dims[at]) ? whole->dims[at] : 0;
}

/* Makes the output when no part was made: with the known shape of a part, and length 0. */
static tort_status stack_none(const tort_caller *c, int32_t i, int32_t slot) {
    const tort_lowered *lowered = c->body->lowered;
    const tort_info *info = &lowered->infos[lowered->graph.outputs[c->asks + c->trips->results + i]];
    tort_tensor part = {.type = info->type};
    if (info->rank > 0 && info->rank < TORT_MAX_RANK - 1) part.rank = info->rank;
    for (int32_t d = 0; d < part.rank; d++)
        part.dims[d] = tort_dim_known(info->dims[d]) ? info->dims[d] : planned_dim(c, i, slot, d);
    const bool batched = c->trips->batched;
    const tort_tensor whole = stack_of(&part, batched ? c->length : 0, listed(c->trips, c->trips->output_axes, i));
    return batched ? place_batch(c, slot, &whole) : tort_dynamic_place(c->outer, slot, &whole, c->error);
}

/* Turns appended parts into the output, without a copy unless the caller has a buffer for it. */
static tort_status hand_over(const tort_caller *c, int32_t i, int32_t slot) {
    const int32_t port = c->asks + c->trips->results + i, memory = c->outer->planned->plan.slots[slot].memory;
    tort_region *region = &c->trip->stacked[port];
    tort_tensor whole = stack_of(&c->trip->parts[port], c->trip->number, 0);
    size_t bytes;
    if (!tort_tensor_bytes(&whole, &bytes)) return tort_fail(c->error, TORT_E_RUN, "the size of an output overflows");
    whole.data = tort_outputs_place(c->outer, slot, bytes);
    tort_status status = TORT_OK;
    if (whole.data) {
        status = tort_call_copy(c, memory, whole.data, region->base, bytes);
    } else {
        whole.data = region->base;
        c->outer->dynamic[slot] = *region;
        c->outer->dynamic_count++;
        *region = (tort_region){0};
    }
    c->outer->tensors[slot] = whole;
    return status;
}

static tort_status hand_over_sequence(const tort_caller *c, int32_t i, int32_t slot) {
    const int32_t port = c->asks + c->trips->results + i;
    const tort_lowered *lowered = c->body->lowered;
    tort_value **held = &c->trip->held[port];
    const tort_type type = lowered->infos[lowered->graph.outputs[port]].type;
    if (!*held) *held = tort_value_sequence(&c->outer->context->value_env, tort_tensor_type(type));
    if (!*held) return tort_out_of_memory(c->error, 0);
    make_value(c, slot, *held);
    return TORT_OK;
}

tort_status tort_stack_finish(const tort_caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->trips->stacked; i++) {
        const int32_t slot = result_slot(c, c->trips->results + i);
        if (slot < 0) continue;
        if (c->trips->sequences)
            status = hand_over_sequence(c, i, slot);
        else if (c->trip->parts[c->asks + c->trips->results + i].rank < 0)
            status = stack_none(c, i, slot);
        else if (!length_known(c, slot))
            status = hand_over(c, i, slot);
    }
    return status;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* Makes result i; of a batch, one entry of it. */
static tort_status make_result(const tort_caller *c, int32_t i, const tort_tensor *from) {
    const int32_t slot = result_slot(c, i);
    if (!c->trips->batched) return make_tensor(c, slot, from);
    bool first;
    size_t bytes = 0;
    tort_status status = check_part(c, i, from, 1, &first);
    if (!status && first) status = place_batch(c, slot, from);
    if (status || c->batches == 0 || !tort_tensor_bytes(from, &bytes)) return status;
    return tort_call_copy(c, 0, tort_call_entry(&c->outer->tensors[slot], c->batch).data, from->data, bytes);
}

/* Makes the results from the last trip. */
tort_status tort_call_results(const tort_caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->trips->results; i++) {
        const int32_t slot = result_slot(c, i), port = c->asks + i;
        if (slot < 0) continue;
        if (is_tensor(c, port))
            status = make_result(c, i, left_by_body(c, port));
        else
            make_value(c, slot, tort_frame_value(c->body, c->body->planned->plan.output_slots[port]));
    }
    return status;
}

/* Without any trip, results are what the first trip would have got. */
tort_status tort_call_results_of_none(const tort_caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t slot = result_slot(c, i), from = c->trips->carried_first + i;
        if (slot < 0) continue;
        const tort_value *value = operand_value(c, from);
        tort_tensor tensor = {.rank = -1};
        if (!value) tensor = tort_call_operand(c, from);
        status = value ? pass_value(c, slot, value) : make_result(c, i, &tensor);
    }
    return status;
}
