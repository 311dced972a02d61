/* call.c - runs the bodies of a node (If, Loop, Scan): which body, how many trips, and how values get
 * from trip to trip.
 *
 * A body has its own frame, which keeps its plan and memory: while shapes do not change, a trip plans and allocates
 * nothing. Carried values alternate between two buffers; the host reads only the condition. This file must not know
 * operators: tort_trips says all. Read next: run.c, ops/control_flow.c. */
#include <string.h>

#include "runtime/core/run/call.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/providers/link.h"

/* ---- copies and memory ------------------------------------------------------------------------------------------- */

static tort_status reserve(const tort_caller *c, int32_t memory, size_t bytes, tort_region *region) {
    if (region->base && region->bytes >= bytes) return TORT_OK;
    tort_region_free(c->outer->context, memory, region);
    return tort_region_alloc(c->outer->context, memory, bytes ? bytes : 1, region, c->error);
}

tort_status tort_call_copy(const tort_caller *c, int32_t memory, void *to, const void *from, size_t bytes) {
    tort_context *context = c->outer->context;
    if (!bytes) return TORT_OK;
    if (!memory) {
        tort_copy_bytes(&context->watch, to, from, bytes);
        return TORT_OK;
    }
    const tort_link *link = context->session->memories[memory].owner;
    const tort_status status =
        tort_link_copy(link, context->streams[memory], to, from, bytes, TORT_ON_DEVICE, c->error);
    if (!status || !c->error) return status;
    c->error->provider = link->provider->name;
    tort_error_at_unit(c->error, c->outer->lowered, c->step->node);
    tort_link_lost_before(link, context->session->options.wait_steps, c->error);
    return status;
}

/* ---- operands of the node ---------------------------------------------------------------------------------------- */

tort_tensor tort_call_entry(const tort_tensor *whole, int64_t number) {
    tort_tensor entry = {.type = whole->type, .rank = whole->rank - 1};
    size_t bytes = 0;
    for (int32_t d = 0; d < entry.rank; d++) entry.dims[d] = whole->dims[d + 1];
    if (whole->dims[0] > 0) tort_tensor_bytes(&entry, &bytes);
    entry.data = (uint8_t *)whole->data + (size_t)number * bytes;
    return entry;
}

tort_tensor tort_call_operand(const tort_caller *c, int32_t i) {
    const tort_tensor *tensor = &c->outer->tensors[operand_slot(c, i)];
    return c->trips->batched && i < own_inputs(c) ? tort_call_entry(tensor, c->batch) : *tensor;
}

static void give(const tort_caller *c, int32_t port, int32_t input) {
    c->trip->input_values[port] = operand_value(c, input);
    c->trip->inputs[port] = (tort_tensor){.rank = -1};
    if (operand_slot(c, input) >= 0 && !c->trip->input_values[port])
        c->trip->inputs[port] = tort_call_operand(c, input);
}

/* Reads the only element of a scalar input; NULL: the input is absent. */
static tort_status read_scalar(const tort_caller *c, int32_t input, const char *what, const void **data) {
    *data = NULL;
    if (input < 0) return TORT_OK;
    const tort_tensor *tensor = &c->outer->tensors[operand_slot(c, input)];
    int64_t count;
    if (!tort_tensor_count(tensor, &count) || count != 1)
        return tort_fail(c->error, TORT_E_RUN, "%s has %lld elements, expected one", what, (long long)count);
    *data = tensor->data;
    return TORT_OK;
}

/* ---- scanned inputs ---------------------------------------------------------------------------------------------- */

/* The number of parts of scanned input i; -1: every trip gets all of it. */
static tort_status parts_of(const tort_caller *c, int32_t i, int64_t *parts) {
    const tort_trips *t = c->trips;
    const tort_value *value = operand_value(c, t->scanned_first + i);
    *parts = -1;
    if (value) *parts = tort_value_count(value);
    if (value || t->sequences) return TORT_OK;
    const tort_tensor tensor = tort_call_operand(c, t->scanned_first + i);
    const int32_t axis = axis_of(listed(t, t->input_axes, i), tensor.rank);
    if (axis < 0 || axis >= tensor.rank)
        return tort_fail(c->error, TORT_E_RUN, "scanned input %d has rank %d, which has no axis %lld", (int)i,
                         (int)tensor.rank, (long long)listed(t, t->input_axes, i));
    *parts = tensor.dims[axis];
    return TORT_OK;
}

static tort_status count_parts(tort_caller *c) {
    int64_t first = -1, parts;
    for (int32_t i = 0; i < c->trips->scanned; i++) {
        tort_status status = parts_of(c, i, &parts);
        if (status) return status;
        if (parts >= 0 && first >= 0 && parts != first)
            return tort_fail(c->error, TORT_E_RUN, "scanned inputs have %lld and %lld parts", (long long)first,
                             (long long)parts);
        if (parts >= 0) first = parts;
    }
    if (first >= 0 && first < c->count) c->count = first;
    c->length = c->count;
    return TORT_OK;
}

tort_status tort_call_blocks(const tort_caller *c, const tort_tensor *whole, int32_t axis, blocks *b) {
    size_t bits = (size_t)tort_type_bits(whole->type), rows = 1;
    for (int32_t d = 0; d < axis; d++) rows *= (size_t)whole->dims[d];
    for (int32_t d = axis + 1; d < whole->rank; d++) bits *= (size_t)whole->dims[d];
    *b = (blocks){rows, bits / 8, bits / 8 * (size_t)whole->dims[axis]};
    if (bits % 8 == 0) return TORT_OK;
    return tort_fail(c->error, TORT_E_UNSUPPORTED, "parts of %s that do not fill bytes", tort_type_name(whole->type));
}

static tort_status give_part(const tort_caller *c, int32_t i, int32_t port) {
    const tort_trips *t = c->trips;
    const tort_value *value = operand_value(c, t->scanned_first + i);
    tort_tensor *part = &c->trip->inputs[port];
    give(c, port, t->scanned_first + i);
    if (value) {
        *part = *tort_value_view(tort_value_at(value, (int32_t)c->trip->number));
        c->trip->input_values[port] = NULL;
    }
    if (value || t->sequences) return TORT_OK;
    const tort_tensor whole = *part;
    const int32_t axis = axis_of(listed(t, t->input_axes, i), whole.rank);
    const int64_t last = (t->batched ? c->count : whole.dims[axis]) - 1; /* batch: of this entry's sequence */
    const int64_t at = listed(t, t->input_directions, i) ? last - c->trip->number : c->trip->number;
    blocks b;
    tort_status status = tort_call_blocks(c, &whole, axis, &b);
    if (status) return status;
    part->rank--;
    for (int32_t d = axis; d < part->rank; d++) part->dims[d] = whole.dims[d + 1];
    const char *from = (const char *)whole.data + (size_t)at * b.bytes;
    part->data = (void *)from;
    if (axis == 0) return TORT_OK;
    status = reserve(c, 0, b.rows * b.bytes, &c->trip->scanned[port]);
    if (status) return status;
    part->data = c->trip->scanned[port].base;
    for (size_t row = 0; row < b.rows && b.bytes; row++)
        memcpy((char *)part->data + row * b.bytes, from + row * b.stride, b.bytes);
    return TORT_OK;
}

/* ---- carried values ---------------------------------------------------------------------------------------------- */

/* Lets the body write each carried tensor into the buffer that the next trip reads, not the
 * one that this trip reads. */
static tort_status aim_results(const tort_caller *c) {
    const tort_lowered *lowered = c->body->lowered;
    tort_status status = tort_frame_choose_plan(c->body, c->trip->inputs, c->error);
    for (int32_t i = 0; i < lowered->graph.output_count; i++) c->trip->outputs[i].data = NULL;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t port = c->asks + i;
        const tort_plan *plan = &c->body->planned->plan;
        const tort_slot *slot = &plan->slots[plan->output_slots[port]];
        if (lowered->passed[port] || !is_tensor(c, port) || slot->bytes < 0 || slot->home == TORT_HOME_OBJECT) continue;
        tort_region *region = &c->trip->carried[2 * port + (c->trip->number & 1)];
        status = reserve(c, lowered->output_memory[port], (size_t)slot->bytes, region);
        c->trip->outputs[port] = (tort_tensor){.type = slot->type, .rank = slot->rank, .data = region->base};
        memcpy(c->trip->outputs[port].dims, slot->dims, sizeof slot->dims);
    }
    return status;
}

static tort_status carry_tensor(const tort_caller *c, int32_t port, tort_tensor *into) {
    const tort_tensor *left = left_by_body(c, port);
    tort_region *region = &c->trip->carried[2 * port + (c->trip->number & 1)];
    const int32_t memory = c->body->lowered->output_memory[port];
    size_t bytes;
    if (c->trip->outputs[port].data) {
        *into = *left;
        return TORT_OK;
    }
    if (!tort_tensor_bytes(left, &bytes)) return tort_fail(c->error, TORT_E_INTERNAL, "a carried value of no size");
    tort_status status = reserve(c, memory, bytes, region);
    if (!status) status = tort_call_copy(c, memory, region->base, left->data, bytes);
    *into = *left;
    into->data = region->base;
    return status;
}

/* Turns the carried outputs of this trip into inputs of the next one. */
static tort_status carry(const tort_caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t port = c->asks + i, to = c->counted + i;
        if (c->body->lowered->passed[port]) continue;
        if (is_tensor(c, port)) {
            status = carry_tensor(c, port, &c->trip->inputs[to]);
            continue;
        }
        const tort_value *made = tort_frame_value(c->body, c->body->planned->plan.output_slots[port]);
        tort_value *kept = tort_value_retain(made);
        tort_value_release(c->trip->held[port]);
        c->trip->held[port] = kept;
        c->trip->input_values[to] = kept;
    }
    return status;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* Counts the entries of a batch: all own inputs must have the same number. */
static tort_status count_entries(tort_caller *c) {
    c->batches = -1;
    for (int32_t i = 0; i < own_inputs(c); i++) {
        if (operand_slot(c, i) < 0) continue;
        const tort_tensor *tensor = &c->outer->tensors[operand_slot(c, i)];
        if (tensor->rank < 1 || (i == c->trips->lengths && tensor->rank != 1))
            return tort_fail(c->error, TORT_E_RUN, "input %d has rank %d", (int)i, (int)tensor->rank);
        if (c->batches >= 0 && tensor->dims[0] != c->batches)
            return tort_fail(c->error, TORT_E_RUN, "inputs have batches of %lld and %lld", (long long)c->batches,
                             (long long)tensor->dims[0]);
        c->batches = tensor->dims[0];
    }
    return TORT_OK;
}

static tort_status begin_batches(tort_caller *c) {
    tort_status status = count_entries(c);
    return status ? status : count_parts(c);
}

/* Sets the number of trips for the next entry. */
static tort_status begin_entry(tort_caller *c) {
    const int32_t lengths = c->trips->lengths;
    c->trip->number = 0;
    if (lengths < 0) return TORT_OK;
    c->count = ((const volatile int64_t *)c->outer->tensors[operand_slot(c, lengths)].data)[c->batch];
    if (c->count >= 0 && c->count <= c->length) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN, "the length of entry %lld is %lld; expected 0 to %lld", (long long)c->batch,
                     (long long)c->count, (long long)c->length);
}

/* The error of a body that does not fit its node's shapes, which are the same in every run. */
static tort_status refuse(const tort_caller *c, int32_t body) {
    const tort_error *why = body >= 0 ? c->outer->context->session->graphs[body].refused : NULL;
    if (!why) return tort_fail(c->error, TORT_E_INTERNAL, "a body that was not lowered");
    if (c->error) *c->error = *why;
    return why->code;
}

/* Decides which body runs, the maximum number of trips, and whether there is a first one. */
static tort_status begin(tort_caller *c) {
    const tort_trips *t = c->trips;
    const void *choice, *limit, *condition;
    tort_status status = read_scalar(c, t->choice, "the condition", &choice);
    if (!status) status = read_scalar(c, t->limit, "the number of trips", &limit);
    if (!status) status = read_scalar(c, t->condition, "the condition", &condition);
    if (status) return status;
    const int32_t body = t->body[choice && !*(const uint8_t *)choice];
    c->body = body >= 0 ? &c->outer->context->frames[body] : NULL;
    if (!c->body || !c->body->context) return refuse(c, body);
    c->trip = c->body->trip;
    c->trip->number = 0;
    c->trip->going = !condition || *(const uint8_t *)condition;
    for (int32_t i = 0; i < c->body->lowered->graph.output_count; i++) c->trip->parts[i].rank = -1;
    const bool once = !t->counted && !t->scanned;
    c->count = once ? 1 : limit ? *(const int64_t *)limit : INT64_MAX;
    return t->batched ? begin_batches(c) : count_parts(c);
}

/* Sets the inputs that are the same in every trip, and the first trip's carried ones. */
static void give_inputs(const tort_caller *c) {
    const tort_trips *t = c->trips;
    const int32_t own = own_inputs(c);
    if (t->counted) {
        c->trip->inputs[0] = (tort_tensor){.type = TORT_INT64, .data = &c->trip->number};
        c->trip->inputs[1] = (tort_tensor){.type = TORT_BOOL, .data = &c->trip->going};
        c->trip->input_values[0] = c->trip->input_values[1] = NULL;
    }
    for (int32_t i = 0; i < c->carried; i++) give(c, c->counted + i, t->carried_first + i);
    for (int32_t i = 0; i < c->node->captured; i++) give(c, c->owned + i, own + i);
}

static tort_status read_condition(const tort_caller *c) {
    if (!c->asks) return TORT_OK;
    const tort_tensor *condition = left_by_body(c, 0);
    int64_t count;
    if (!tort_tensor_count(condition, &count) || count != 1)
        return tort_fail(c->error, TORT_E_RUN, "the condition that the body returns has %lld elements, expected one",
                         (long long)count);
    c->trip->going = *(const uint8_t *)condition->data != 0;
    return TORT_OK;
}

static tort_status make_trip(const tort_caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->trips->scanned; i++) status = give_part(c, i, c->counted + c->carried + i);
    if (!status) status = aim_results(c);
    if (!status) status = tort_frame_run(c->body, c->trip->inputs, c->trip->input_values, c->trip->outputs, c->error);
    if (!status) status = tort_stack_parts(c);
    if (!status) status = read_condition(c);
    return status;
}

/* A trip may have no steps that ask the watch. */
static tort_status check_limits(const tort_caller *c) {
    tort_context *context = c->outer->context;
    const tort_session_options *options = &context->session->options;
    if (!tort_watch_goes_on(&context->watch, 0))
        return tort_watch_fail(&context->watch, "the run", options->time_limit, c->error);
    if (context->trips++ < options->trip_limit) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN,
                     "would go on, when all loops of the run have made %llu trips (option trip_limit)",
                     (unsigned long long)options->trip_limit);
}

static tort_status make_trips(const tort_caller *c) {
    tort_trip *trip = c->trip;
    tort_status status = TORT_OK;
    while (!status && trip->going && trip->number < c->count) {
        status = check_limits(c);
        if (!status) status = make_trip(c);
        if (status) break;
        const bool last = !trip->going || trip->number + 1 >= c->count;
        status = last ? tort_call_results(c) : carry(c);
        trip->number++;
    }
    return !status && trip->number == 0 ? tort_call_results_of_none(c) : status;
}

/* An empty batch still gets results and stacks, of zero entries. */
static tort_status make_batches(tort_caller *c) {
    tort_status status = TORT_OK;
    for (c->batch = 0; !status && c->batch < c->batches; c->batch++) {
        status = begin_entry(c);
        if (!status) give_inputs(c);
        if (!status) status = make_trips(c);
    }
    c->batch = 0;
    return !status && c->batches == 0 ? tort_call_results_of_none(c) : status;
}

static tort_status call_bodies(tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_trips *trips = frame->lowered->units[step->node].params;
    tort_caller c = {.outer = frame,
                     .step = step,
                     .trips = trips,
                     .node = &frame->lowered->graph.nodes[step->node],
                     .counted = trips->counted ? 2 : 0,
                     .asks = trips->asks ? 1 : 0,
                     .carried = trips->carries ? trips->results : 0,
                     .error = error};
    c.owned = c.counted + c.carried + trips->scanned;
    tort_status status = begin(&c);
    if (status) return status;
    if (trips->batched) {
        status = make_batches(&c);
    } else {
        give_inputs(&c);
        status = make_trips(&c);
    }
    if (!status) status = tort_stack_finish(&c);
    tort_trip_release(c.body);
    tort_dynamic_free_all(c.body);
    return status;
}

const struct tort_calls tort_calls = {tort_bind_trips, call_bodies};
