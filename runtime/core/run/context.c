/* context.c - a context: runs a session, one run at a time, in its own memory.
 *
 * A context is used by one thread at a time; contexts share only the session. Read next: frame.c, run.c. */
#include "runtime/core/run/context.h"
#include "runtime/core/base/system.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/inputs.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"
#include "runtime/core/run/bind.h"

/* ---- create, free ------------------------------------------------------------------------------------------------ */

/* The option `stream`, which no provider would heed, must not get lost silently. */
static tort_status open_streams(tort_context *context, tort_error *error) {
    tort_session *session = context->session;
    bool follows = !session->options.stream;
    for (int32_t m = 1; m < session->memory_count; m++) {
        const tort_link *link = session->memories[m].owner;
        tort_status status = tort_link_stream_open(link, &context->streams[m], error);
        if (status) return tort_link_failed(link, status, error);
        follows = follows || link->provider->stream.follow;
    }
    if (follows) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "option stream: no provider of the chain %s has streams",
                     session->options.chain);
}

static bool open_offers(tort_context *context) {
    const size_t ports = tort_frame_ports(tort_main_graph(context->session));
    const void **bound = tort_arena_array(&context->arena, TORT_RECORDINGS * ports, sizeof *bound);
    for (int32_t i = 0; bound && i < TORT_RECORDINGS; i++) context->offers[i].bound = bound + (size_t)i * ports;
    return bound != NULL;
}

/* Opens what does not depend on a plan. */
static tort_status open_context(tort_context *context, tort_error *error) {
    const tort_session *session = context->session;
    const size_t memories = (size_t)session->memory_count;
    context->text = tort_text_new(&context->value_env);
    context->streams = tort_arena_array(&context->arena, memories, sizeof *context->streams);
    context->staged = tort_arena_array(&context->arena, memories, sizeof *context->staged);
    context->calls = tort_arena_array(&context->arena, memories, sizeof *context->calls);
    context->entered = -1;
    context->scratch = tort_arena_array(&context->arena, memories, sizeof *context->scratch);
    context->frames = tort_arena_array(&context->arena, (size_t)session->graph_count, sizeof *context->frames);
    if (!context->text || !context->streams || !context->staged || !context->calls || !context->scratch ||
        !context->frames || (memories > 1 && !open_offers(context)))
        return tort_out_of_memory(error, 0);
    tort_status status = open_streams(context, error);
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered)
            status = tort_frame_open(&context->frames[g], context, &session->graphs[g], error);
    return status;
}

/* Frames adopt existing plans, or the memory for the upper bounds, so that a run allocates nothing. */
static tort_status adopt_plans(tort_context *context, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; !status && g < context->session->graph_count; g++) {
        tort_lowered *lowered = &context->session->graphs[g];
        tort_frame *frame = &context->frames[g];
        tort_planned *planned = lowered->lowered ? tort_lowered_last_plan(lowered) : NULL;
        if (planned)
            status = tort_frame_adopt(frame, planned, error);
        else if (lowered->bound)
            status = tort_frame_reserve(frame, error);
    }
    return status;
}

tort_status tort_context_create(tort_session *session, tort_context **out, tort_error *error) {
    if (out) *out = NULL;
    if (!session || !out)
        return tort_fail(error, TORT_E_USAGE, "tort_context_create needs a session and a place for the context");
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    if (!session->runnable)
        return tort_fail(error, TORT_E_USAGE, "the session was made only to plan, or its placement was refused");
    const tort_env *outer = &session->account.inner;
    tort_context *context = tort_alloc_zero(outer, 1, sizeof *context);
    if (!context) return tort_out_of_memory(error, sizeof *context);
    context->session = session;
    context->env = tort_account_open(&context->account, outer, sizeof *context);
    context->env.parallel_for = session->env.parallel_for;
    context->env.parallel_ud = session->env.parallel_ud;
    context->value_env = context->env;
    context->held = tort_held_new(outer, &context->value_env);
    tort_arena_init(&context->arena, &context->env);
    tort_status status =
        context->held ? open_context(context, error) : tort_out_of_memory(error, sizeof *context->held);
    if (!status) status = adopt_plans(context, error);
    if (status) {
        tort_context_free(context);
        return status;
    }
    *out = context;
    return TORT_OK;
}

void tort_context_free(tort_context *context) {
    if (!context) return;
    tort_session *session = context->session;
    for (int32_t g = 0; context->frames && g < session->graph_count; g++) tort_frame_close(&context->frames[g]);
    tort_dynamic_drain(context);
    if (context->shown.base)
        tort_chain_free(session, &context->env, context->shown_memory, context->shown.base, context->shown.bytes);
    for (int32_t m = 1; context->streams && m < session->memory_count; m++)
        if (context->streams[m]) tort_link_stream_close(session->memories[m].owner, context->streams[m]);
    tort_free(&context->env, context->capacities,
              (size_t)tort_main_graph(session)->graph.output_count * sizeof *context->capacities);
    if (context->text) tort_text_free(context->text);
    tort_held_leave(context->held);
    tort_arena_free(&context->arena);
    tort_free(&session->account.inner, context, sizeof *context);
}

tort_status tort_context_output_capacity(tort_context *context, int32_t output, size_t bytes, tort_error *error) {
    if (!context) return tort_fail(error, TORT_E_USAGE, "tort_context_output_capacity needs a context");
    const int32_t count = tort_main_graph(context->session)->graph.output_count;
    if (output < 0 || output >= count)
        return tort_fail(error, TORT_E_USAGE, "there is no output %d: the session has %d", output, count);
    if (!context->capacities) {
        context->capacities = tort_alloc(&context->env, (size_t)count * sizeof *context->capacities);
        if (!context->capacities) return tort_out_of_memory(error, (size_t)count * sizeof *context->capacities);
        for (int32_t i = 0; i < count; i++) context->capacities[i] = TORT_NO_CAPACITY;
    }
    context->capacities[output] = bytes;
    return TORT_OK;
}

void tort_context_cancel(tort_context *context) {
    if (!context) return;
    context->watch.end = TORT_CANCELLED;
    for (int32_t g = 0; g < context->session->graph_count; g++)
        if (context->frames[g].context) tort_states_cancel(&context->frames[g]);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* The graph with the node of this number. */
static const tort_lowered *graph_with(const tort_session *session, int32_t number) {
    int32_t g = session->graph_count - 1;
    while (g > 0 && session->graphs[g].graph.first > number) g--;
    return &session->graphs[g];
}

/* Completes the error of a device that reports a failure only at the end of the run, with the number of the node. */
static void locate_late(const tort_session *session, const tort_link *link, tort_status status, tort_error *error) {
    if (!error) return;
    error->provider = link->provider->name;
    if (error->node < 0) {
        tort_link_failed(link, status, error);
        return;
    }
    const int32_t number = error->node;
    const tort_lowered *lowered = graph_with(session, number);
    error->node = -1;
    tort_error_at_unit(error, lowered, number - lowered->graph.first);
}

/* Inputs on a device may still be in the making there, in the application's stream. */
static tort_status follow_application(tort_context *context, tort_error *error) {
    const tort_session *session = context->session;
    tort_status status = TORT_OK;
    for (int32_t m = 1; !status && session->options.stream && m < session->memory_count; m++) {
        const tort_link *link = session->memories[m].owner;
        if (!link->opened || !link->provider->stream.follow) continue;
        tort_context_enter(context, (int32_t)(link - session->chain));
        status = link->provider->stream.follow(link->device, context->streams[m], session->options.stream, error);
        if (tort_link_noted(link, status)) tort_link_failed(link, status, error);
    }
    return status;
}

static tort_status sync_all(tort_context *context, tort_error *error) {
    tort_session *session = context->session;
    tort_status first = TORT_OK;
    for (int32_t m = 1; m < session->memory_count; m++) {
        const tort_link *link = session->memories[m].owner;
        tort_context_enter(context, (int32_t)(link - session->chain));
        tort_status status = tort_link_sync_current(link, context->streams[m], first ? NULL : error);
        if (first || !status) continue;
        first = status;
        locate_late(session, link, status, error);
    }
    return first;
}

/* True if the pointer is into memory of the context that the run may write. */
static bool is_lent(const tort_context *context, int32_t memory, const void *data) {
    const tort_frame *frame = &context->frames[0];
    const uintptr_t at = (uintptr_t)data;
    const tort_region *arena = &frame->arenas[memory];
    bool lent = at - (uintptr_t)arena->base < arena->bytes;
    for (int32_t i = 0; !lent && i < context->spare_count; i++)
        lent = at - (uintptr_t)context->spares[i].region.base < context->spares[i].region.bytes;
    for (size_t i = 0; !lent && frame->dynamic_count && i < frame->tables.slots; i++)
        lent = at - (uintptr_t)frame->dynamic[i].base < frame->dynamic[i].bytes;
    return lent;
}

/* Outputs that the context lent are overwritten by its next run, so they cannot be its inputs. */
static tort_status check_lent(const tort_context *context, const tort_tensor *inputs, tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(context->session);
    for (int32_t i = 0; i < lowered->graph.input_count; i++)
        if (inputs[i].data && is_lent(context, lowered->input_memory[i], inputs[i].data))
            return tort_fail(error, TORT_E_INPUT,
                             "input \"%s\" is memory of this context, such as an output of the run before, which this "
                             "run writes: give outputs that become inputs buffers of your own, two in turns, or run "
                             "two contexts in turns",
                             lowered->graph.values[lowered->graph.inputs[i]].name);
    return TORT_OK;
}

/* The common part of both kinds of runs. Outputs stay in the frame, unless the caller gave a buffer.
 * `values` as for tort_frame_run. */
static tort_status run_main(tort_context *context, const tort_tensor *inputs, const tort_value *const *values,
                            const tort_tensor *outputs, tort_error *error) {
    tort_session *session = context->session;
    tort_status status = tort_check_pointers(session, inputs, outputs, context->frames[0].seen, error);
    if (!status) status = check_lent(context, inputs, error);
    if (status) return status;
    tort_text_clear(context->text);
    context->too_small = false;
    context->trips = 0;
    tort_watch_begin(&context->watch, session->options.time_limit);
    tort_held_begin(context->held, session->options.dynamic_limit);
    tort_profile_begin_calls(context);
    tort_pool_begin_run(session->pool);
    const uint64_t mode = session->flushes ? tort_subnormals_off() : 0;
    status = follow_application(context, error);
    if (!status) status = tort_frame_run(&context->frames[0], inputs, values, outputs, error);
    if (session->flushes) tort_subnormals_restore(mode);
    tort_pool_end_run(session->pool);
    tort_held_end(context->held);
    const tort_status synced = sync_all(context, status ? NULL : error);
    tort_context_enter(context, -1);
    tort_profile_end_calls(context);
    context->watch.end = TORT_GOES_ON;
    if (!status) status = synced;
    return status ? status : tort_outputs_fill(&context->frames[0], outputs, true, error);
}

/* Checks made before all others. */
static tort_status begin_run(const tort_context *context, int32_t output_count, tort_error *error) {
    const tort_graph *graph = &tort_main_graph(context->session)->graph;
    if (error) *error = (tort_error){.node = -1};
    if (context->session->lost) return tort_session_lost(error);
    if (output_count == graph->output_count) return TORT_OK;
    return tort_fail(error, TORT_E_INPUT, "room for %d outputs given, the session has %d", output_count,
                     graph->output_count);
}

tort_status tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                             tort_tensor *outputs, int32_t output_count, tort_error *error) {
    if (!context || (!inputs && input_count) || (!outputs && output_count))
        return tort_fail(error, TORT_E_USAGE, "tort_context_run needs a context, inputs and outputs");
    context->too_small = false;
    tort_status status = begin_run(context, output_count, error);
    if (!status) status = tort_check_tensors_alone(context->session, error);
    if (!status) status = tort_check_inputs(context->session, inputs, input_count, error);
    if (!status) status = run_main(context, inputs, NULL, outputs, error);
    if (!status) tort_outputs_lend(&context->frames[0], outputs);
    if (!status || context->too_small) tort_outputs_tell(&context->frames[0], outputs);
    return status;
}

/* ---- runs with values -------------------------------------------------------------------------------------------- */

/* Inputs and outputs as the frame wants them. */
typedef struct handed {
    tort_tensor *inputs;  /* rank -1 if the input is not a tensor */
    tort_tensor *outputs; /* without data: outputs stay in the frame */
    tort_value **values;  /* by input; one reference each */
    int32_t input_count, output_count;
} handed;

static void handed_free(const tort_context *context, const handed *h) {
    for (int32_t i = 0; h->values && i < h->input_count; i++) tort_value_release(h->values[i]);
    tort_free(&context->env, h->values, (size_t)h->input_count * sizeof *h->values);
    tort_free(&context->env, h->inputs, (size_t)h->input_count * sizeof *h->inputs);
    tort_free(&context->env, h->outputs, (size_t)h->output_count * sizeof *h->outputs);
}

static bool handed_open(const tort_context *context, handed *h) {
    h->inputs = tort_alloc_zero(&context->env, (size_t)h->input_count, sizeof *h->inputs);
    h->outputs = tort_alloc_zero(&context->env, (size_t)h->output_count, sizeof *h->outputs);
    h->values = tort_alloc_zero(&context->env, (size_t)h->input_count, sizeof *h->values);
    return h->inputs && h->outputs && h->values;
}

/* An absent optional is passed as an optional without element. */
static tort_status hand_inputs(const tort_context *context, const tort_value *const *inputs, handed *h,
                               tort_error *error) {
    const tort_lowered *lowered = tort_main_graph(context->session);
    for (int32_t i = 0; i < h->input_count; i++) {
        const tort_value_type type = tort_info_type(&lowered->infos[lowered->graph.inputs[i]]);
        h->values[i] = inputs[i] ? tort_value_retain(inputs[i])
                                 : tort_value_optional(&context->value_env, tort_type_element(type), NULL);
        if (!h->values[i]) return tort_out_of_memory(error, 0);
        const tort_tensor *view = tort_value_view(h->values[i]);
        h->inputs[i] = view ? *view : (tort_tensor){.rank = -1};
    }
    return TORT_OK;
}

/* A new reference; NULL: out of memory. */
static tort_value *output_value(const tort_frame *frame, int32_t port) {
    const int32_t slot = frame->planned->plan.output_slots[port];
    const tort_value *value = tort_frame_value(frame, slot);
    if (!value) value = frame->values[slot]; /* a tensor taken out of a sequence */
    if (value) return tort_value_retain(value);
    return tort_value_tensor(&frame->context->value_env, &frame->tensors[slot]);
}

static tort_status take_outputs(const tort_frame *frame, tort_value **outputs, int32_t count, tort_error *error) {
    int32_t made = 0;
    while (made < count && (outputs[made] = output_value(frame, made))) made++;
    if (made == count) return TORT_OK;
    while (made-- > 0) {
        tort_value_release(outputs[made]);
        outputs[made] = NULL;
    }
    return tort_out_of_memory(error, 0);
}

tort_status tort_context_run_values(tort_context *context, const tort_value *const *inputs, int32_t input_count,
                                    tort_value **outputs, int32_t output_count, tort_error *error) {
    if (!context || (!inputs && input_count) || (!outputs && output_count))
        return tort_fail(error, TORT_E_USAGE, "tort_context_run_values needs a context, inputs and outputs");
    tort_frame *frame = &context->frames[0];
    handed h = {.input_count = input_count, .output_count = output_count};
    for (int32_t i = 0; i < output_count; i++) outputs[i] = NULL;
    tort_status status = begin_run(context, output_count, error);
    if (!status) status = tort_check_unbound(context->session, error);
    if (!status) status = tort_check_values(context->session, inputs, input_count, error);
    if (status) return status;
    status = handed_open(context, &h) ? hand_inputs(context, inputs, &h, error) : tort_out_of_memory(error, 0);
    if (!status) status = tort_check_inputs(context->session, h.inputs, input_count, error);
    if (!status) status = run_main(context, h.inputs, (const tort_value *const *)h.values, h.outputs, error);
    if (!status) status = take_outputs(frame, outputs, output_count, error);
    tort_dynamic_free_all(frame); /* so that only the caller holds the outputs */
    frame->input_values = NULL;
    handed_free(context, &h);
    return status;
}
