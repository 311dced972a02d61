/* observe.c - shows an application each value that a run makes (tort_context_observe): plain, and in host memory.
 *
 * For debugging: it allocates for each value. It must not change the values. Read next: run.c. */
#include "runtime/core/run/context.h"
#include "runtime/core/providers/chain.h"
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

/* Converts the value to plain, in its memory, if it is in a layout, and shows it. */
static tort_status show_plain(const tort_frame *frame, const tort_step *step, const tort_slot *slot,
                              const tort_tensor *tensor, tort_error *error) {
    const tort_context *context = frame->context;
    tort_tensor plain = *tensor;
    size_t bytes;
    if (!tort_tensor_bytes(tensor, &bytes)) return TORT_OK;
    if (!slot->layout) return show_on_host(frame, step, slot, plain, bytes, error);
    const tort_link *link = context->session->layouts[slot->layout].link;
    tort_status status =
        tort_chain_alloc(context->session, &context->env, slot->memory, bytes, "a value to show", &plain.data, error);
    if (status) return status;
    const int32_t before = tort_link_enter(link);
    status = tort_frame_convert(frame, slot->layout, true, tensor, &plain, step->node, error);
    tort_link_leave(link, before);
    if (!status) status = show_on_host(frame, step, slot, plain, bytes, error);
    tort_chain_free(context->session, &context->env, slot->memory, plain.data, bytes);
    return status;
}

/* Shows the outputs of a step. Copies and conversions are skipped: their values were shown when they were made; and
 * values of which a line buffer holds a few rows. */
static tort_status observe(const tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    const bool moves = step->kind == TORT_STEP_COPY || step->kind == TORT_STEP_CONVERT;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && !moves && i < step->output_count; i++) {
        const int32_t slot = plan->operands[step->operands + step->input_count + i];
        if (slot < 0 || plan->slots[slot].line_bytes ||
            frame->lowered->infos[plan->slots[slot].value].kind != TORT_TENSOR)
            continue;
        status = show_plain(frame, step, &plan->slots[slot], &frame->tensors[slot], error);
    }
    return status;
}

void tort_context_observe(tort_context *context, tort_observer observer, void *ud) {
    if (!context) return;
    context->observe = observer ? observe : NULL;
    context->observer = observer;
    context->observer_ud = ud;
}
