/* state.c - what each context has of its segments: the state that an engine begins with the context and ends with it
 * (tort_engine.begin), such as an inference request. Read next: frame.c, run.c. */
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/providers/link.h"
#include "runtime/core/run/context.h"

/* The engine whose state a frame has of this unit; NULL: none. */
static const tort_engine *engine_of(const tort_frame *frame, int32_t index) {
    const tort_unit *unit = &frame->lowered->units[index];
    if (unit->provider < 0 || !unit->segment) return NULL;
    const tort_engine *engine = frame->context->session->chain[unit->provider].provider->engine;
    return engine && engine->begin ? engine : NULL;
}

tort_status tort_states_open(tort_frame *frame, tort_error *error) {
    const tort_lowered *lowered = frame->lowered;
    tort_context *context = frame->context;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        const tort_engine *engine = engine_of(frame, i);
        const tort_unit *unit = &lowered->units[i];
        if (!engine) continue;
        if (!frame->states)
            frame->states = tort_arena_array(&context->arena, (size_t)lowered->graph.node_count, sizeof(void *));
        if (!frame->states) return tort_out_of_memory(error, 0);
        const tort_link *link = &context->session->chain[unit->provider];
        const int32_t before = tort_link_enter(link);
        status = engine->begin(link->device, &context->env, unit->prepared, &frame->states[i], error);
        tort_link_leave(link, before);
        if (status) tort_error_at_unit(error, lowered, i);
        if (status && error) error->provider = link->provider->name;
    }
    return status;
}

void tort_states_close(tort_frame *frame) {
    const tort_lowered *lowered = frame->lowered;
    for (int32_t i = 0; frame->states && i < lowered->graph.node_count; i++) {
        const tort_engine *engine = engine_of(frame, i);
        if (!engine || !frame->states[i]) continue;
        const tort_link *link = &frame->context->session->chain[lowered->units[i].provider];
        const int32_t before = tort_link_enter(link);
        engine->end(link->device, &frame->context->env, lowered->units[i].prepared, frame->states[i]);
        tort_link_leave(link, before);
    }
    frame->states = NULL;
}

void tort_states_cancel(const tort_frame *frame) {
    for (int32_t i = 0; frame->states && i < frame->lowered->graph.node_count; i++) {
        const tort_engine *engine = engine_of(frame, i);
        if (!engine || !engine->cancel || !frame->states[i]) continue;
        const tort_unit *unit = &frame->lowered->units[i];
        engine->cancel(frame->context->session->chain[unit->provider].device, unit->prepared, frame->states[i]);
    }
}
