/* observe.c - shows an application each value that a run makes (tort_context_observe): plain, and in host memory.
 *
 * For debugging: it allocates. It must not change the values. Read next: run.c. */
#include "runtime/core/run/context.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/layouts.h"
#include "runtime/core/providers/link.h"

/* The number of the node that makes a value; in a segment it need not be the last node. */
static int32_t maker_of(const tort_frame *frame, const tort_step *step, const tort_slot *slot) {
    const tort_lowered *lowered = frame->lowered;
    const bool segment = lowered->units[step->node].segment;
    return lowered->graph.first + (segment ? lowered->graph.values[slot->value].producer : step->node);
}

static void show(const tort_frame *frame, const tort_step *step, const tort_slot *slot, const tort_tensor *tensor) {
    const tort_context *context = frame->context;
    context->observer(context->observer_ud, maker_of(frame, step, slot), frame->lowered->graph.values[slot->value].name,
                      tensor);
}

/* Copies the value to host memory if it is on a device, and shows it. */
static tort_status show_on_host(const tort_frame *frame, const tort_step *step, const tort_slot *slot,
                                tort_tensor tensor, size_t bytes, tort_error *error) {
    const tort_context *context = frame->context;
    if (!slot->memory) {
        show(frame, step, slot, &tensor);
        return TORT_OK;
    }
    const tort_link *link = context->session->memories[slot->memory].owner;
    void *copy = tort_alloc_aligned(&context->env, bytes);
    if (!copy) return tort_out_of_memory(error, bytes);
    tort_status status =
        tort_link_copy(link, context->streams[slot->memory], copy, tensor.data, bytes, TORT_TO_HOST, error);
    tensor.data = copy;
    if (!status) show(frame, step, slot, &tensor);
    tort_free_aligned(&context->env, copy, bytes);
    return status;
}

static void free_room(tort_context *context) {
    const tort_region shown = context->shown;
    if (shown.base) tort_chain_free(context->session, &context->env, context->shown_memory, shown.base, shown.bytes);
    context->shown = (tort_region){0};
}

/* Room for a value in plain. It is kept, as fresh pages cost more than the conversion. */
static tort_status make_room(tort_context *context, int32_t memory, size_t bytes, tort_error *error) {
    if (context->shown.base && context->shown_memory == memory && bytes <= context->shown.bytes) return TORT_OK;
    free_room(context);
    void *base = NULL;
    const tort_status status =
        tort_chain_alloc(context->session, &context->env, memory, bytes, "a value to show", &base, error);
    if (status) return status;
    context->shown = (tort_region){base, bytes};
    context->shown_memory = memory;
    return TORT_OK;
}

/* Converts the value to plain, in its memory, if it is in a layout that matters, and shows it. */
static tort_status show_tensor(const tort_frame *frame, const tort_step *step, const tort_slot *slot,
                               const tort_tensor *tensor, tort_look look, tort_error *error) {
    tort_context *context = frame->context;
    tort_tensor plain = *tensor;
    size_t bytes, laid_out;
    if (!tort_tensor_bytes(tensor, &bytes)) return TORT_OK;
    if (!slot->layout || (look == TORT_LOOK_ANY_ORDER &&
                          tort_layout_bytes(context->session, slot->layout, tensor, &laid_out) && laid_out == bytes))
        return show_on_host(frame, step, slot, plain, bytes, error);
    const tort_link *link = context->session->layouts[slot->layout].link;
    tort_status status = make_room(context, slot->memory, bytes, error);
    if (status) return status;
    plain.data = context->shown.base;
    const int32_t before = tort_link_enter(link);
    status = tort_frame_convert(frame, slot->layout, true, tensor, &plain, step->node, error);
    tort_link_leave(link, before);
    return status ? status : show_on_host(frame, step, slot, plain, bytes, error);
}

/* View that the observer asks for of a slot's value; values without a whole tensor in memory cannot be shown, nor those
 * that are read by strides. */
static tort_look look_of(const tort_frame *frame, int32_t index) {
    const tort_context *context = frame->context;
    const tort_plan *plan = &frame->planned->plan;
    const tort_slot *slot = &plan->slots[index];
    if (slot->line_bytes || plan->slots[tort_plan_owner(plan, index)].strided ||
        frame->lowered->infos[slot->value].kind != TORT_TENSOR)
        return TORT_LOOK_AWAY;
    return context->observer_look
               ? context->observer_look(context->observer_ud, frame->lowered->graph.values[slot->value].name)
               : TORT_LOOK_PLAIN;
}

/* Shows the outputs of a step. Copies and conversions are skipped: their values were shown when they were made; and
 * values of which a line buffer holds a few rows. */
static tort_status observe(const tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    const bool moves = step->kind == TORT_STEP_COPY || step->kind == TORT_STEP_CONVERT;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && !moves && i < step->output_count; i++) {
        const int32_t slot = plan->operands[step->operands + step->input_count + i];
        const tort_look look = slot < 0 ? TORT_LOOK_AWAY : look_of(frame, slot);
        if (look) status = show_tensor(frame, step, &plan->slots[slot], &frame->tensors[slot], look, error);
    }
    return status;
}

void tort_context_observe(tort_context *context, tort_observer observer, void *ud) {
    if (!context) return;
    context->observe = observer ? observe : NULL;
    context->observer = observer;
    context->observer_look = NULL;
    context->observer_ud = ud;
    if (!observer) free_room(context);
}

void tort_context_observe_some(tort_context *context, tort_look (*look)(void *ud, const char *value)) {
    context->observer_look = look;
}
