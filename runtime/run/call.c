/* call.c - runs the bodies of a node: which, how often, what goes from one trip into the next, and what all of them
 * make.
 *
 * A body runs in a frame of its own, which keeps its plan and memory: while shapes stay, a trip plans and allocates
 * nothing. What is carried goes back and forth between two buffers; the condition alone is read by the host. It must
 * not know operators: tort_trips says all. Read next: run.c, ops/control_flow.c. */
#include <string.h>

#include "runtime/run/context.h"

typedef struct caller {
    tort_frame *outer, *body;
    const tort_step *step;
    const tort_trips *trips;
    tort_trip *trip;
    const tort_node *node;
    int64_t count;                         /* of trips, at most */
    int64_t length;                        /* of what is stacked, where it is known before */
    int64_t batch, batches;                /* which entry of axis 0 the trips are for, and how many there are */
    int32_t counted, asks, carried, owned; /* of the body's ports: counters, condition, carried, inputs but captured */
    tort_frame_runner *run;
    tort_error *error;
} caller;

/* ---- what goes from trip to trip --------------------------------------------------------------------------------- */

static tort_status reserve(const caller *c, int32_t memory, size_t bytes, tort_region *region) {
    if (region->base && region->bytes >= bytes) return TORT_OK;
    tort_region_free(c->outer->context, memory, region);
    return tort_region_alloc(c->outer->context, memory, bytes ? bytes : 1, region, c->error);
}

static tort_status copy_bytes(const caller *c, int32_t memory, void *to, const void *from, size_t bytes) {
    const tort_context *context = c->outer->context;
    if (!bytes) return TORT_OK;
    if (!memory) {
        memcpy(to, from, bytes);
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

static int32_t operand_slot(const caller *c, int32_t i) {
    return c->outer->planned->plan.operands[c->step->operands + i];
}

static int32_t result_slot(const caller *c, int32_t i) {
    return i < c->step->output_count ? operand_slot(c, c->step->input_count + i) : -1;
}

static const tort_value *operand_value(const caller *c, int32_t i) {
    const int32_t slot = operand_slot(c, i);
    return slot < 0 ? NULL : tort_frame_value(c->outer, slot);
}

static int32_t own_inputs(const caller *c) {
    return c->node->input_count - c->node->captured;
}

/* An entry of axis 0, which is rank 1 or more, in host memory. */
static tort_tensor entry_of(const tort_tensor *whole, int64_t number) {
    tort_tensor entry = {.type = whole->type, .rank = whole->rank - 1};
    size_t bytes = 0;
    for (int32_t d = 0; d < entry.rank; d++) entry.dims[d] = whole->dims[d + 1];
    if (whole->dims[0] > 0) tort_tensor_bytes(&entry, &bytes);
    entry.data = (uint8_t *)whole->data + (size_t)number * bytes;
    return entry;
}

/* Input i, which is there, as the trips see it: of a batch, one entry. */
static tort_tensor operand_tensor(const caller *c, int32_t i) {
    const tort_tensor *tensor = &c->outer->tensors[operand_slot(c, i)];
    return c->trips->batched && i < own_inputs(c) ? entry_of(tensor, c->batch) : *tensor;
}

static void give(const caller *c, int32_t port, int32_t input) {
    c->trip->input_values[port] = operand_value(c, input);
    c->trip->inputs[port] = (tort_tensor){.rank = -1};
    if (operand_slot(c, input) >= 0 && !c->trip->input_values[port]) c->trip->inputs[port] = operand_tensor(c, input);
}

/* The one element of a scalar input; NULL: the input is absent. */
static tort_status read_scalar(const caller *c, int32_t input, const char *what, const void **data) {
    *data = NULL;
    if (input < 0) return TORT_OK;
    const tort_tensor *tensor = &c->outer->tensors[operand_slot(c, input)];
    int64_t count;
    if (!tort_tensor_count(tensor, &count) || count != 1)
        return tort_fail(c->error, TORT_E_RUN, "%s has %lld elements, expected one", what, (long long)count);
    *data = tensor->data;
    return TORT_OK;
}

static int64_t listed(const tort_trips *t, tort_list list, int32_t i) {
    return i < list.count ? ((const int64_t *)tort_list_at(t, list))[i] : 0;
}

/* ---- what is scanned --------------------------------------------------------------------------------------------- */

static int32_t axis_of(int64_t axis, int32_t rank) {
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* How many parts input i of the scanned ones has; -1: it is whole in every trip. */
static tort_status parts_of(const caller *c, int32_t i, int64_t *parts) {
    const tort_trips *t = c->trips;
    const tort_value *value = operand_value(c, t->scanned_first + i);
    *parts = -1;
    if (value) *parts = tort_value_count(value);
    if (value || t->sequences) return TORT_OK;
    const tort_tensor tensor = operand_tensor(c, t->scanned_first + i);
    const int32_t axis = axis_of(listed(t, t->input_axes, i), tensor.rank);
    if (axis < 0 || axis >= tensor.rank)
        return tort_fail(c->error, TORT_E_RUN, "scanned input %d has rank %d, which has no axis %lld", (int)i,
                         (int)tensor.rank, (long long)listed(t, t->input_axes, i));
    *parts = tensor.dims[axis];
    return TORT_OK;
}

static tort_status count_parts(caller *c) {
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

/* Blocks of one part of a tensor along an axis: `rows` of `bytes`, `stride` apart. */
typedef struct blocks {
    size_t rows, bytes, stride;
} blocks;

static tort_status blocks_of(const caller *c, const tort_tensor *whole, int32_t axis, blocks *b) {
    size_t bits = (size_t)tort_type_bits(whole->type), rows = 1;
    for (int32_t d = 0; d < axis; d++) rows *= (size_t)whole->dims[d];
    for (int32_t d = axis + 1; d < whole->rank; d++) bits *= (size_t)whole->dims[d];
    *b = (blocks){rows, bits / 8, bits / 8 * (size_t)whole->dims[axis]};
    if (bits % 8 == 0) return TORT_OK;
    return tort_fail(c->error, TORT_E_UNSUPPORTED, "parts of %s that do not fill bytes", tort_type_name(whole->type));
}

static tort_status give_part(const caller *c, int32_t i, int32_t port) {
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
    const int64_t last = whole.dims[axis] - 1;
    const int64_t at = listed(t, t->input_directions, i) ? last - c->trip->number : c->trip->number;
    blocks b;
    tort_status status = blocks_of(c, &whole, axis, &b);
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

/* ---- what is carried --------------------------------------------------------------------------------------------- */

static bool is_tensor(const caller *c, int32_t port) {
    return c->body->lowered->infos[c->body->lowered->graph.outputs[port]].kind == TORT_TENSOR;
}

/* Where the body leaves an output. */
static const tort_tensor *left_by_body(const caller *c, int32_t port) {
    if (c->trip->outputs[port].data) return &c->trip->outputs[port];
    return &c->body->tensors[c->body->planned->plan.output_slots[port]];
}

/* The body writes what the next trip reads where that is not what this trip reads. */
static tort_status aim_results(const caller *c) {
    const tort_lowered *lowered = c->body->lowered;
    tort_status status = tort_frame_choose_plan(c->body, c->trip->inputs, c->error);
    for (int32_t i = 0; i < lowered->graph.output_count; i++) c->trip->outputs[i].data = NULL;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t port = c->asks + i;
        const tort_plan *plan = &c->body->planned->plan;
        const tort_slot *slot = &plan->slots[plan->output_slots[port]];
        if (!is_tensor(c, port) || slot->bytes < 0 || slot->home == TORT_HOME_OBJECT) continue;
        tort_region *region = &c->trip->carried[2 * port + (c->trip->number & 1)];
        status = reserve(c, lowered->output_memory[port], (size_t)slot->bytes, region);
        c->trip->outputs[port] = (tort_tensor){.type = slot->type, .rank = slot->rank, .data = region->base};
        memcpy(c->trip->outputs[port].dims, slot->dims, sizeof slot->dims);
    }
    return status;
}

static tort_status carry_tensor(const caller *c, int32_t port, tort_tensor *into) {
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
    if (!status) status = copy_bytes(c, memory, region->base, left->data, bytes);
    *into = *left;
    into->data = region->base;
    return status;
}

/* What the body made becomes what goes into it. */
static tort_status carry(const caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t port = c->asks + i, to = c->counted + i;
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

/* ---- outputs of the node ----------------------------------------------------------------------------------------- */

static tort_status make_tensor(const caller *c, int32_t slot, const tort_tensor *from) {
    size_t bytes;
    tort_status status = tort_dynamic_place(c->outer, slot, from, c->error);
    if (status) return status;
    if (!tort_tensor_bytes(from, &bytes)) return tort_fail(c->error, TORT_E_INTERNAL, "an output of no size");
    return copy_bytes(c, c->outer->planned->plan.slots[slot].memory, c->outer->tensors[slot].data, from->data, bytes);
}

static void make_value(const caller *c, int32_t slot, const tort_value *value) {
    c->outer->values[slot] = tort_value_retain(value);
    c->outer->dynamic_count++;
}

/* What went in is what comes out; where the body makes what an optional may hold, what that one holds. */
static tort_status pass_value(const caller *c, int32_t slot, const tort_value *value) {
    const tort_info *info = &c->outer->lowered->infos[c->outer->planned->plan.slots[slot].value];
    if (tort_value_kind(value) == TORT_OPTIONAL && info->kind != TORT_OPTIONAL) value = tort_value_at(value, 0);
    if (!value) return tort_fail(c->error, TORT_E_RUN, "made no trip, and the optional that it was given is empty");
    make_value(c, slot, value);
    return TORT_OK;
}

/* ---- what is stacked --------------------------------------------------------------------------------------------- */

/* Is the number of parts known before the last is made? */
static bool length_known(const caller *c, int32_t slot) {
    return c->trips->scanned > 0 || c->outer->planned->plan.slots[slot].bytes >= 0;
}

static tort_tensor stack_of(const tort_tensor *part, int64_t length, int64_t given_axis) {
    tort_tensor whole = {.type = part->type, .rank = part->rank + 1};
    const int32_t axis = axis_of(given_axis, whole.rank);
    for (int32_t d = 0; d < whole.rank; d++)
        whole.dims[d] = d < axis ? part->dims[d] : d > axis ? part->dims[d - 1] : length;
    return whole;
}

/* Parts of one output are of one shape; `axes` are added to it. */
static tort_status check_part(const caller *c, int32_t output, const tort_tensor *part, int32_t axes, bool *is_first) {
    tort_tensor *first = &c->trip->parts[c->asks + output];
    *is_first = first->rank < 0;
    if (*is_first) *first = *part;
    const size_t bytes = (size_t)(part->rank > 0 ? part->rank : 0) * sizeof *part->dims;
    if (part->rank + axes > TORT_MAX_RANK)
        return tort_fail(c->error, TORT_E_UNSUPPORTED, "what is stacked would have more than %d dimensions",
                         TORT_MAX_RANK);
    if (part->rank == first->rank && !memcmp(part->dims, first->dims, bytes)) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN, "what is stacked into output %d changes its shape in trip %lld", (int)output,
                     (long long)c->trip->number);
}

/* Gives a batch of such entries its memory, where zeros stand for what no trip makes. */
static tort_status place_batch(const caller *c, int32_t slot, const tort_tensor *entry) {
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

/* A part into its place in an output of known length; the first one gives that its memory. */
static tort_status put_part(const caller *c, int32_t i, int32_t slot, const tort_tensor *part, bool first) {
    const tort_trips *t = c->trips;
    const int32_t memory = c->outer->planned->plan.slots[slot].memory;
    const int64_t given_axis = listed(t, t->output_axes, i);
    const tort_tensor whole = stack_of(part, c->length, given_axis);
    tort_status status = !first       ? TORT_OK
                         : t->batched ? place_batch(c, slot, &whole)
                                      : tort_dynamic_place(c->outer, slot, &whole, c->error);
    blocks b;
    if (!status) status = blocks_of(c, &whole, axis_of(given_axis, whole.rank), &b);
    if (status) return status;
    const int64_t number = c->trip->number;
    const int64_t at = listed(t, t->output_directions, i) ? c->length - 1 - number : number;
    const tort_tensor *made = &c->outer->tensors[slot];
    char *to = (char *)(t->batched ? entry_of(made, c->batch).data : made->data) + (size_t)at * b.bytes;
    for (size_t row = 0; !status && row < b.rows; row++)
        status = copy_bytes(c, memory, to + row * b.stride, (const char *)part->data + row * b.bytes, b.bytes);
    return status;
}

/* A part behind the others, in memory that doubles. */
static tort_status append_part(const caller *c, int32_t i, const tort_tensor *part) {
    const int32_t port = c->asks + c->trips->results + i, memory = c->body->lowered->output_memory[port];
    tort_region *region = &c->trip->stacked[port], larger = {0};
    const size_t number = (size_t)c->trip->number;
    size_t bytes, need;
    if (!tort_tensor_bytes(part, &bytes) || !tort_mul_size(number + 1, bytes, &need) || need > SIZE_MAX / 2)
        return tort_fail(c->error, TORT_E_RUN, "the size of an output overflows");
    tort_status status = TORT_OK;
    if (!region->base || region->bytes < need) {
        status = tort_region_alloc(c->outer->context, memory, 2 * need + 1, &larger, c->error);
        if (!status) status = copy_bytes(c, memory, larger.base, region->base, number * bytes);
        tort_region_free(c->outer->context, memory, region);
        *region = larger;
    }
    return status ? status : copy_bytes(c, memory, region->base + number * bytes, part->data, bytes);
}

static tort_status append_value(const caller *c, int32_t port, const tort_tensor *part) {
    tort_value **held = &c->trip->held[port];
    const tort_env *env = &c->outer->context->value_env;
    if (!*held) *held = tort_value_sequence(env, tort_tensor_type(part->type));
    tort_value *element = *held ? tort_value_tensor(env, part) : NULL;
    const bool added = element && tort_value_append(*held, element);
    tort_value_release(element);
    return added ? TORT_OK : tort_out_of_memory(c->error, 0);
}

static tort_status stack(const caller *c) {
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

/* No part was made: what the shape of one is known to be, with no such part. */
static tort_status stack_none(const caller *c, int32_t i, int32_t slot) {
    const tort_lowered *lowered = c->body->lowered;
    const tort_info *info = &lowered->infos[lowered->graph.outputs[c->asks + c->trips->results + i]];
    tort_tensor part = {.type = info->type};
    if (info->rank > 0 && info->rank < TORT_MAX_RANK - 1) part.rank = info->rank;
    for (int32_t d = 0; d < part.rank; d++) part.dims[d] = tort_dim_known(info->dims[d]) ? info->dims[d] : 0;
    const bool batched = c->trips->batched;
    const tort_tensor whole = stack_of(&part, batched ? c->length : 0, listed(c->trips, c->trips->output_axes, i));
    return batched ? place_batch(c, slot, &whole) : tort_dynamic_place(c->outer, slot, &whole, c->error);
}

/* Hands what grew over as the output, without a copy where the caller has no buffer for it. */
static tort_status hand_over(const caller *c, int32_t i, int32_t slot) {
    const int32_t port = c->asks + c->trips->results + i, memory = c->outer->planned->plan.slots[slot].memory;
    tort_region *region = &c->trip->stacked[port];
    tort_tensor whole = stack_of(&c->trip->parts[port], c->trip->number, 0);
    size_t bytes;
    if (!tort_tensor_bytes(&whole, &bytes)) return tort_fail(c->error, TORT_E_RUN, "the size of an output overflows");
    whole.data = tort_outputs_place(c->outer, slot, bytes);
    tort_status status = TORT_OK;
    if (whole.data) {
        status = copy_bytes(c, memory, whole.data, region->base, bytes);
    } else {
        whole.data = region->base;
        c->outer->dynamic[slot] = *region;
        c->outer->dynamic_count++;
        *region = (tort_region){0};
    }
    c->outer->tensors[slot] = whole;
    return status;
}

static tort_status hand_over_sequence(const caller *c, int32_t i, int32_t slot) {
    const int32_t port = c->asks + c->trips->results + i;
    const tort_lowered *lowered = c->body->lowered;
    tort_value **held = &c->trip->held[port];
    const tort_type type = lowered->infos[lowered->graph.outputs[port]].type;
    if (!*held) *held = tort_value_sequence(&c->outer->context->value_env, tort_tensor_type(type));
    if (!*held) return tort_out_of_memory(c->error, 0);
    make_value(c, slot, *held);
    return TORT_OK;
}

static tort_status finish_stacks(const caller *c) {
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

/* Result i is this; of a batch, its entry. */
static tort_status make_result(const caller *c, int32_t i, const tort_tensor *from) {
    const int32_t slot = result_slot(c, i);
    if (!c->trips->batched) return make_tensor(c, slot, from);
    bool first;
    size_t bytes = 0;
    tort_status status = check_part(c, i, from, 1, &first);
    if (!status && first) status = place_batch(c, slot, from);
    if (status || !tort_tensor_bytes(from, &bytes)) return status;
    return copy_bytes(c, 0, entry_of(&c->outer->tensors[slot], c->batch).data, from->data, bytes);
}

/* The results are those of the last trip. */
static tort_status make_results(const caller *c) {
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

/* Without a trip they are what would have gone into the first. */
static tort_status make_results_of_none(const caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->carried; i++) {
        const int32_t slot = result_slot(c, i), from = c->trips->carried_first + i;
        if (slot < 0) continue;
        const tort_value *value = operand_value(c, from);
        const tort_tensor tensor = value ? (tort_tensor){.rank = -1} : operand_tensor(c, from);
        status = value ? pass_value(c, slot, value) : make_result(c, i, &tensor);
    }
    return status;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* All own inputs have the same number of entries. */
static tort_status count_entries(caller *c) {
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

static tort_status begin_batches(caller *c) {
    tort_status status = count_entries(c);
    return status ? status : count_parts(c);
}

/* How many trips the next entry makes. */
static tort_status begin_entry(caller *c) {
    const int32_t lengths = c->trips->lengths;
    c->trip->number = 0;
    if (lengths < 0) return TORT_OK;
    c->count = ((const int64_t *)c->outer->tensors[operand_slot(c, lengths)].data)[c->batch];
    if (c->count >= 0 && c->count <= c->length) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN, "the length of entry %lld is %lld; expected 0 to %lld", (long long)c->batch,
                     (long long)c->count, (long long)c->length);
}

/* Which body, how many trips, and whether there is a first. */
static tort_status begin(caller *c) {
    const tort_trips *t = c->trips;
    const void *choice, *limit, *condition;
    tort_status status = read_scalar(c, t->choice, "the condition", &choice);
    if (!status) status = read_scalar(c, t->limit, "the number of trips", &limit);
    if (!status) status = read_scalar(c, t->condition, "the condition", &condition);
    if (status) return status;
    const int32_t body = t->body[choice && !*(const uint8_t *)choice];
    c->body = body >= 0 ? &c->outer->context->frames[body] : NULL;
    if (!c->body || !c->body->context) return tort_fail(c->error, TORT_E_INTERNAL, "a body that was not lowered");
    c->trip = c->body->trip;
    c->trip->number = 0;
    c->trip->going = !condition || *(const uint8_t *)condition;
    for (int32_t i = 0; i < c->body->lowered->graph.output_count; i++) c->trip->parts[i].rank = -1;
    const bool once = !t->counted && !t->scanned;
    c->count = once ? 1 : limit ? *(const int64_t *)limit : INT64_MAX;
    return t->batched ? begin_batches(c) : count_parts(c);
}

/* What every trip gets, and what the first does. */
static void give_inputs(const caller *c) {
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

static tort_status read_condition(const caller *c) {
    if (!c->asks) return TORT_OK;
    const tort_tensor *condition = left_by_body(c, 0);
    int64_t count;
    if (!tort_tensor_count(condition, &count) || count != 1)
        return tort_fail(c->error, TORT_E_RUN, "the condition that the body returns has %lld elements, expected one",
                         (long long)count);
    c->trip->going = *(const uint8_t *)condition->data != 0;
    return TORT_OK;
}

static tort_status make_trip(const caller *c) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->trips->scanned; i++) status = give_part(c, i, c->counted + c->carried + i);
    if (!status) status = aim_results(c);
    if (!status) status = c->run(c->body, c->trip->inputs, c->trip->input_values, c->trip->outputs, c->error);
    if (!status) status = stack(c);
    if (!status) status = read_condition(c);
    return status;
}

static tort_status check_limit(const caller *c) {
    const uint64_t most = c->outer->context->session->options.trip_limit;
    if ((uint64_t)c->trip->number < most) return TORT_OK;
    return tort_fail(c->error, TORT_E_RUN, "has made %llu trips and would go on (option trip_limit)",
                     (unsigned long long)most);
}

static tort_status make_trips(const caller *c) {
    tort_trip *trip = c->trip;
    tort_status status = TORT_OK;
    while (!status && trip->going && trip->number < c->count) {
        status = check_limit(c);
        if (!status) status = make_trip(c);
        if (status) break;
        const bool last = !trip->going || trip->number + 1 >= c->count;
        status = last ? make_results(c) : carry(c);
        trip->number++;
    }
    return !status && trip->number == 0 ? make_results_of_none(c) : status;
}

/* An empty batch has results, and stacks, with nothing in them. */
static tort_status make_batches(caller *c) {
    tort_status status = TORT_OK;
    for (c->batch = 0; !status && c->batch < c->batches; c->batch++) {
        status = begin_entry(c);
        if (!status) give_inputs(c);
        if (!status) status = make_trips(c);
    }
    c->batch = 0;
    return !status && c->batches == 0 ? make_results_of_none(c) : status;
}

tort_status tort_call_bodies(tort_frame *frame, const tort_step *step, tort_frame_runner *run, tort_error *error) {
    const tort_trips *trips = frame->lowered->units[step->node].params;
    caller c = {.outer = frame,
                .step = step,
                .trips = trips,
                .node = &frame->lowered->graph.nodes[step->node],
                .counted = trips->counted ? 2 : 0,
                .asks = trips->asks ? 1 : 0,
                .carried = trips->carries ? trips->results : 0,
                .run = run,
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
    if (!status) status = finish_stacks(&c);
    tort_trip_release(c.body);
    tort_dynamic_free_all(c.body);
    return status;
}
