/* run.c - runs a graph: a loop over the steps of a plan. It decides nothing, and cannot fall back.
 *
 * With known shapes a run allocates nothing. A step whose shapes depend on data is inferred and resolved first
 * (dynamic.c). Read next: dynamic.c, observe.c, profile.c. */
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/run/context.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/layouts.h"
#include "runtime/core/providers/link.h"

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static tort_tensor *operand(const tort_frame *frame, const tort_step *step, int32_t i) {
    int32_t slot = frame->planned->plan.operands[step->operands + i];
    return slot < 0 ? NULL : &frame->tensors[slot];
}

/* A kernel for any layout gets operands in a layout as lists of all their elements. Their shapes must be equal, which
 * for a body's inputs is only known now. */
static tort_status flatten(const tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    tort_tensor shape = {.rank = -1};
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        const int32_t slot = plan->operands[step->operands + i], layout = slot < 0 ? 0 : plan->slots[slot].layout;
        tort_tensor *tensor = &frame->operands[i];
        size_t bytes;
        if (!layout) continue;
        if (shape.rank < 0) shape = *tensor;
        const size_t dims = (size_t)shape.rank * sizeof *shape.dims;
        if (tensor->rank != shape.rank || (dims && memcmp(tensor->dims, shape.dims, dims)) ||
            !tort_layout_bytes(frame->context->session, layout, tensor, &bytes))
            return tort_fail(error, TORT_E_RUN, "its operands are not of one shape, as the types of the model say");
        tensor->rank = 1;
        tensor->dims[0] = (int64_t)(bytes / ((size_t)tort_type_bits(tensor->type) / 8));
    }
    return TORT_OK;
}

static tort_status run_values(tort_frame *frame, const tort_step *step, tort_call *call, tort_error *error);

/* band: NULL: all rows. */
static tort_call call_of(tort_frame *frame, const tort_step *step, const tinyort_band *band, tort_error *error) {
    const tort_session *session = frame->context->session;
    const tort_unit *unit = &frame->lowered->units[step->node];
    const tort_link *link = &session->chain[step->provider];
    const tort_planned *planned = frame->planned;
    uint8_t *arena = frame->arenas[link->memory].base;
    return (tort_call){.op = tort_unit_node(frame->lowered, step->node)->op,
                       .params = tort_frame_params(frame, step),
                       .inputs = frame->operands,
                       .outputs = frame->operands + step->input_count,
                       .input_count = step->input_count,
                       .output_count = step->output_count,
                       .scratch = step->dynamic ? frame->context->scratch[link->memory].base
                                  : arena       ? arena + step->scratch_offset
                                                : NULL,
                       .packed = unit->packed,
                       .prepared = unit->prepared,
                       .fitted = step->dynamic ? frame->fitted
                                               : tort_planned_fitted(planned, (int32_t)(step - planned->plan.steps)),
                       .state = frame->states ? frame->states[step->node] : NULL,
                       .kernel = unit->kernel,
                       .device = link->device,
                       .stream = frame->context->streams[link->memory],
                       .env = step->values ? &frame->context->value_env : &frame->context->env,
                       .node = frame->lowered->graph.first + step->node,
                       .text = frame->context->text,
                       .watch = &frame->context->watch,
                       .measured = step->dynamic && unit->kernel->measure,
                       .band = band,
                       .error = error};
}

static void set_operands(tort_frame *frame, const tort_step *step) {
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        const tort_tensor *tensor = operand(frame, step, i);
        frame->operands[i] = tensor ? *tensor : (tort_tensor){.type = TORT_UNDEFINED};
    }
}

static tort_status run_kernel(tort_frame *frame, const tort_step *step, const tinyort_band *band, tort_error *error) {
    const tort_unit *unit = &frame->lowered->units[step->node];
    const tort_link *link = &frame->context->session->chain[step->provider];
    set_operands(frame, step);
    if (unit->layout.id && unit->kernel->layout.id == TORT_ANY_LAYOUT) {
        tort_status status = flatten(frame, step, error);
        if (status) return status;
    }
    if (band) frame->planned->plan.banding->place(frame, step, band);
    tort_call call = call_of(frame, step, band, error);
    if (step->values) return run_values(frame, step, &call, error);
    const tort_op *op = frame->lowered->graph.nodes[step->node].op;
    const tort_status status =
        tort_link_noted(link, unit->kernel->run ? unit->kernel->run(&call) : op->reference(&call));
    if (link->provider->host_memory && !band)
        for (int32_t i = 0; i < call.output_count; i++) tort_clear_tail(&call.outputs[i]);
    return status;
}

tort_status tort_frame_measure(tort_frame *frame, const tort_step *step, tort_info *outputs, tort_error *error) {
    set_operands(frame, step);
    const tort_call call = call_of(frame, step, NULL, error);
    return tort_link_noted(&frame->context->session->chain[step->provider], call.kernel->measure(&call, outputs));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Sets the tensor of a slot from the value just made, if the slot is a tensor; it must have the planned type. */
static tort_status view_value(tort_frame *frame, int32_t slot, tort_error *error) {
    const tort_value *value = frame->values[slot];
    const tort_tensor *view = value ? tort_value_view(value) : NULL;
    const tort_slot *where = &frame->planned->plan.slots[slot];
    if (frame->lowered->infos[where->value].kind != TORT_TENSOR) return TORT_OK;
    if (!view || view->type != where->type)
        return tort_fail(error, TORT_E_RUN, "makes %s, which is not the tensor of %s that its types ask for",
                         view ? tort_type_name(view->type) : "no tensor", tort_type_name(where->type));
    frame->tensors[slot] = *view;
    return TORT_OK;
}

static tort_status take_values(tort_frame *frame, const tort_step *step, tort_status status, tort_error *error) {
    const int32_t *outputs = frame->planned->plan.operands + step->operands + step->input_count;
    for (int32_t i = 0; i < step->output_count; i++) {
        tort_value *made = frame->made_values[i];
        frame->made_values[i] = NULL;
        if (outputs[i] < 0 || status) {
            tort_value_release(made);
            continue;
        }
        if (!made) {
            status = tort_fail(error, TORT_E_INTERNAL, "makes no value for output %d", (int)i);
            continue;
        }
        frame->values[outputs[i]] = made;
        frame->dynamic_count++;
        status = view_value(frame, outputs[i], error);
    }
    return status;
}

/* Inputs that no later step reads and nobody outside the frame holds: kernels may reuse them. */
static uint32_t last_reads(const tort_frame *frame, const tort_step *step) {
    const tort_plan *plan = &frame->planned->plan;
    const int32_t index = (int32_t)(step - plan->steps);
    uint32_t bits = 0;
    for (int32_t i = 0; i < step->input_count && i < 32; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        if (slot < 0 || plan->slots[slot].home != TORT_HOME_OBJECT) continue;
        if (plan->slots[slot].last_step == index) bits |= 1u << i;
    }
    return bits;
}

static tort_status run_values(tort_frame *frame, const tort_step *step, tort_call *call, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        frame->operand_values[i] = slot < 0 ? NULL : tort_frame_value(frame, slot);
    }
    call->input_values = frame->operand_values;
    call->output_values = frame->made_values;
    call->last_reads = last_reads(frame, step);
    const tort_op *op = frame->lowered->graph.nodes[step->node].op;
    const tort_kernel *kernel = frame->lowered->units[step->node].kernel;
    const tort_status status = kernel->run ? kernel->run(call) : op->reference(call);
    return take_values(frame, step, status, error);
}

/* ---- kinds of steps ---------------------------------------------------------------------------------------------- */

static tort_status run_copy(tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_tensor *from = operand(frame, step, 0);
    tort_tensor *to = operand(frame, step, 1);
    size_t bytes;
    if (!tort_tensor_bytes(from, &bytes)) return tort_fail(error, TORT_E_INTERNAL, "a copy of unknown size");
    if (!bytes) return TORT_OK;
    if (step->provider < 0) {
        tort_copy_bytes(&frame->context->watch, to->data, from->data, bytes);
        return TORT_OK;
    }
    const tort_link *link = &frame->context->session->chain[step->provider];
    void *stream = frame->context->streams[link->memory];
    tort_context_enter(frame->context, step->provider);
    if (step->late) return tort_link_copy_late(link, stream, to->data, from->data, bytes, error);
    return tort_link_copy_current(link, stream, to->data, from->data, bytes, step->direction, error);
}

static tort_status run_conversion(const tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    const int32_t from = plan->slots[plan->operands[step->operands]].layout,
                  to = plan->slots[plan->operands[step->operands + 1]].layout;
    return tort_frame_convert(frame, to ? to : from, !to, operand(frame, step, 0), operand(frame, step, 1), step->node,
                              error);
}

static tort_status run_dynamic_kernel(tort_frame *frame, const tort_step *step, tort_error *error) {
    tort_status status = tort_dynamic_prepare(frame, step, error);
    if (!status) status = run_kernel(frame, step, NULL, error);
    tort_dynamic_unfit(frame, step);
    return status;
}

static tort_status run_step(tort_frame *frame, const tort_step *step, tort_error *error) {
    if (step->dynamic && step->kind == TORT_STEP_KERNEL) return run_dynamic_kernel(frame, step, error);
    tort_status status = step->dynamic ? tort_dynamic_prepare(frame, step, error) : TORT_OK;
    if (status) return status;
    switch (step->kind) {
    case TORT_STEP_KERNEL: return run_kernel(frame, step, NULL, error);
    case TORT_STEP_COPY: return run_copy(frame, step, error);
    case TORT_STEP_ALIAS: operand(frame, step, 1)->data = operand(frame, step, 0)->data; return TORT_OK;
    case TORT_STEP_SHAPE: return tort_dynamic_shape(frame, step, error);
    case TORT_STEP_VIEW: return TORT_OK;
    case TORT_STEP_CALL: return tort_build.calls->run(frame, step, error);
    case TORT_STEP_CONVERT: return run_conversion(frame, step, error);
    }
    return TORT_OK;
}

/* Adds node and provider to the error of a step. A device lost inside a body was located there already. */
static void locate_error(const tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_session *session = frame->context->session;
    const tort_link *link = step->provider >= 0 ? &session->chain[step->provider] : NULL;
    if (!error || (step->kind == TORT_STEP_CALL && error->code == TORT_E_DEVICE_LOST)) return;
    const bool ended = error && error->code == TORT_E_CANCELLED; /* no provider is at fault */
    if (step->node < 0 && link && !ended) {
        tort_link_failed(link, error->code, error);
        return;
    }
    if (link && !ended) error->provider = link->provider->name;
    if (step->node >= 0) tort_error_at_unit(error, frame->lowered, step->node);
    if (link) tort_link_lost_before(link, session->options.wait_steps, error);
}

void tort_context_enter(tort_context *context, int32_t link) {
    const tort_link *chain = context->session->chain;
    if (context->entered == link) return;
    if (context->entered >= 0) tort_link_leave(&chain[context->entered], context->entered_from);
    context->entered = link;
    context->entered_from = link >= 0 ? tort_link_enter(&chain[link]) : 0;
}

static tort_status wait_for(const tort_context *context, const tort_step *step, tort_error *error) {
    const tort_link *link = &context->session->chain[step->provider];
    return tort_link_sync(link, context->streams[link->memory], error);
}

/* Once, where it happened: the nodes around a body only pass it on. */
static tort_status refuse_memory(const tort_context *context, tort_error *error) {
    tort_held *held = context->held;
    const size_t refused = held->refused;
    held->refused = 0;
    return tort_fail(error, TORT_E_MEMORY,
                     "sequences, maps and text need %zu bytes more; %zu of at most %llu are in use (option "
                     "dynamic_limit)",
                     refused, tort_held_bytes(held), (unsigned long long)context->session->options.dynamic_limit);
}

/* Runs a step, and the others of its group, unless the run is over; a kernel whose run ended leaves off anywhere. */
static tort_status run_watched(tort_frame *frame, const tort_step *step, tort_error *error) {
    tort_context *context = frame->context;
    const tort_session *session = context->session;
    const bool kernel = step->kind == TORT_STEP_KERNEL || step->kind == TORT_STEP_CONVERT;
    tort_status status = TORT_OK;
    if (!context->watch.end) {
        if (kernel) tort_context_enter(context, step->provider);
        status = step->bands     ? frame->planned->plan.banding->run(frame, &step, run_kernel, error)
                 : context->tell ? context->tell(frame, step, run_step, error)
                                 : run_step(frame, step, error);
    }
    if (!tort_watch_goes_on(&context->watch, 0) && status != TORT_E_CANCELLED)
        status = tort_watch_fail(&context->watch, "the run", session->options.time_limit, error);
    if (status == TORT_E_MEMORY && context->held->refused) status = refuse_memory(context, error);
    if (!status && kernel && session->options.wait_steps) status = wait_for(context, step, error);
    if (status) locate_error(frame, step, error);
    return status;
}

/* Runs the steps from `first` to before `end`. recorded: the device has their work, so only others run. */
static tort_status run_steps(tort_frame *frame, int32_t first, int32_t end, bool recorded, tort_error *error) {
    const tort_context *context = frame->context;
    const tort_plan *plan = &frame->planned->plan;
    tort_status status = TORT_OK;
    if (context->tell) status = context->tell(frame, NULL, NULL, error);
    for (int32_t i = first; !status && i < end; i++) {
        const tort_step *step = &plan->steps[i];
        if (recorded && tort_step_is_work(step)) continue;
        status = run_watched(frame, step, error);
        const int32_t steps = step->bands ? plan->bands[step->bands - 1].count : 1;
        for (int32_t k = 0; !status && context->observe && k < steps; k++) {
            status = context->observe(frame, &plan->steps[i + k], error);
            if (status) locate_error(frame, step, error);
        }
        if (!status && frame->dynamic_count) tort_dynamic_free_unread(frame, i);
        i += steps - 1;
    }
    return status;
}

/* ---- recorded runs ----------------------------------------------------------------------------------------------- */

/* Recording needs runs without interruption: no profiler, observer or waiting between steps. */
static bool can_record(const tort_frame *frame) {
    const tort_context *context = frame->context;
    const tort_plan *plan = &frame->planned->plan;
    return frame == context->frames && plan->recorded_steps > 0 && !context->tell && !context->observe &&
           !context->session->options.wait_steps && context->session->chain[plan->recorder].provider->recording.begin;
}

/* Compares the pointers of bound ports with those of the offer, or writes them there. */
static bool compare_bound(const tort_frame *frame, const tort_offer *offer, bool write) {
    const tort_lowered *lowered = frame->lowered;
    const int32_t inputs = lowered->graph.input_count, ports = inputs + lowered->graph.output_count;
    bool same = true;
    for (int32_t i = 0; same && i < ports; i++) {
        const int32_t memory = i < inputs ? lowered->input_memory[i] : lowered->output_memory[i - inputs];
        if (write) offer->bound[i] = frame->seen[i];
        same = !memory || offer->bound[i] == frame->seen[i];
    }
    return same;
}

/* True if the steps of the offer do the same in this run, at the same places. */
static bool is_same(const tort_frame *frame, const tort_offer *offer, const void *arena) {
    const tort_planned *planned = frame->planned;
    return offer->turn && offer->planned == planned && offer->arena == arena &&
           (offer->serial == planned->serial || tort_plan_is_unchanged(planned, offer->first, offer->serial)) &&
           compare_bound(frame, offer, false);
}

/* The recording of this run: the one that does the same (*same), or the oldest, for all that the last fill of the plan
 * did not change. */
static int32_t choose_recording(tort_frame *frame, int32_t memory, bool *same) {
    tort_context *context = frame->context;
    const void *arena = frame->arenas[memory].base;
    int32_t which = 0;
    *same = false;
    for (int32_t i = 0; !*same && i < TORT_RECORDINGS; i++) {
        *same = is_same(frame, &context->offers[i], arena);
        if (*same || context->offers[i].turn < context->offers[which].turn) which = i;
    }
    tort_offer *offer = &context->offers[which];
    offer->turn = ++context->turns;
    if (*same) return which;
    offer->planned = frame->planned;
    offer->serial = frame->planned->serial;
    offer->first = tort_plan_unchanged_from(frame->planned);
    offer->arena = arena;
    compare_bound(frame, offer, true);
    return which;
}

static tort_status run_recorded(tort_frame *frame, tort_error *error) {
    tort_context *context = frame->context;
    const int32_t recorder = frame->planned->plan.recorder, end = frame->planned->plan.recorded_steps;
    const tort_link *link = &context->session->chain[recorder];
    void *stream = context->streams[link->memory];
    bool same, again;
    const int32_t which = choose_recording(frame, link->memory, &same), first = context->offers[which].first;
    tort_status status = run_steps(frame, 0, first, false, error);
    if (status) return status;
    do {
        tort_context_enter(context, recorder);
        const bool recorded = link->provider->recording.begin(link->device, stream, which, same);
        status = run_steps(frame, first, end, recorded, error);
        tort_context_enter(context, recorder);
        again = link->provider->recording.end(link->device, stream, status);
        if (again && error) *error = (tort_error){.node = -1};
    } while (again);
    return status ? status : run_steps(frame, end, frame->planned->plan.step_count, false, error);
}

static tort_status run_all(tort_frame *frame, tort_error *error) {
    return run_steps(frame, 0, frame->planned->plan.step_count, false, error);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static const void *constant_data(const tort_frame *frame, const tort_slot *slot) {
    const int32_t index = frame->lowered->constant_of[slot->value];
    const tort_constant *constant = &frame->context->session->constants[index];
    if (!slot->memory) return constant->host;
    return constant->device ? constant->device[slot->memory] : NULL;
}

static void bind(tort_frame *frame, const tort_tensor *inputs) {
    const tort_plan *plan = &frame->planned->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        tort_tensor *tensor = &frame->tensors[i];
        tensor->type = slot->type;
        tensor->rank = slot->rank;
        memcpy(tensor->dims, slot->dims, sizeof tensor->dims);
        const void *data = NULL;
        switch (slot->home) {
        case TORT_HOME_ARENA:
        case TORT_HOME_UPLOADED: data = frame->arenas[slot->memory].base + slot->offset; break;
        case TORT_HOME_INPUT: data = inputs[slot->source].data; break;
        case TORT_HOME_CONSTANT: data = constant_data(frame, slot); break;
        case TORT_HOME_LITERAL: data = plan->literals + slot->offset; break;
        case TORT_HOME_ALIAS: data = frame->tensors[slot->source].data; break;
        case TORT_HOME_OUTPUT: break;
        case TORT_HOME_DYNAMIC: break;
        case TORT_HOME_OBJECT: break;
        }
        memcpy(&tensor->data, &data, sizeof data); /* drops const: kernels do not write inputs */
    }
}

tort_status tort_frame_run(tort_frame *frame, const tort_tensor *inputs, const tort_value *const *input_values,
                           const tort_tensor *outputs, tort_error *error) {
    tort_status status = tort_frame_choose_plan(frame, inputs, error);
    if (status) return status;
    frame->input_values = input_values;
    bind(frame, inputs);
    status = tort_outputs_bind(frame, inputs, outputs, error);
    if (!status) status = can_record(frame) ? run_recorded(frame, error) : run_all(frame, error);
    if (!status) status = tort_outputs_fill(frame, outputs, false, error);
    const bool body = frame != frame->context->frames;
    return !status && body ? tort_outputs_fill(frame, outputs, true, error) : status;
}
