/* run.c - the run phase: a loop over the steps of a plan. It decides nothing and cannot fall back.
 *
 * On a plan of known shapes it allocates nothing. A step whose shapes depend on data infers and resolves itself first
 * (dynamic.c). A context belongs to one thread at a time; contexts share nothing but the session. */
#include <string.h>

#include "runtime/context.h"

/* ---- create, free ------------------------------------------------------------------------------------------------ */

static tort_status open_streams(tort_context *context, tort_error *error) {
    tort_session *session = context->session;
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        tort_status status = tort_link_stream_open(link, &context->streams[i], error);
        if (status) return tort_link_failed(link, status, error);
    }
    return TORT_OK;
}

tort_status tort_context_create(tort_session *session, tort_context **out, tort_error *error) {
    *out = NULL;
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
    tort_arena_init(&context->arena, &context->env);
    context->text = tort_text_new(&context->env);
    context->streams = tort_arena_array(&context->arena, (size_t)session->chain_count, sizeof *context->streams);
    context->arenas = tort_arena_array(&context->arena, (size_t)session->memory_count, sizeof *context->arenas);
    context->scratch = tort_arena_array(&context->arena, (size_t)session->memory_count, sizeof *context->scratch);
    const size_t ports = tort_context_ports(session);
    context->direct = tort_alloc_zero(&context->env, ports, sizeof *context->direct);
    context->buffers = tort_alloc_zero(&context->env, ports, sizeof *context->buffers);
    tort_status status = TORT_OK;
    if (!context->text || !context->streams || !context->arenas || !context->scratch || !context->direct ||
        !context->buffers)
        status = tort_out_of_memory(error, 0);
    if (!status) status = open_streams(context, error);
    tort_planned *planned = status ? NULL : tort_session_last_plan(session);
    if (planned) status = tort_context_adopt(context, planned, error); /* nothing is left to allocate in the run */
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
    tort_context_drop_plan(context);
    tort_dynamic_drain(context);
    for (int32_t m = 0; context->arenas && m < session->memory_count; m++) tort_context_free_arena(context, m);
    for (int32_t i = 0; context->streams && i < session->chain_count; i++)
        if (context->streams[i]) tort_link_stream_close(&session->chain[i], context->streams[i]);
    const size_t ports = tort_context_ports(session);
    tort_free(&context->env, context->direct, ports * sizeof *context->direct);
    tort_free(&context->env, context->buffers, ports * sizeof *context->buffers);
    if (context->text) tort_text_free(context->text);
    tort_arena_free(&context->arena);
    tort_free(&session->account.inner, context, sizeof *context);
}

void tort_context_observe(tort_context *context, tort_observer observer, void *ud) {
    context->observer = observer;
    context->observer_ud = ud;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static tort_tensor *operand(const tort_context *context, const tort_step *step, int32_t i) {
    int32_t slot = context->planned->plan.operands[step->operands + i];
    return slot < 0 ? NULL : &context->tensors[slot];
}

static tort_status run_kernel(tort_context *context, const tort_step *step, tort_error *error) {
    const tort_session *session = context->session;
    const tort_placement *placement = &session->placements[step->node];
    const tort_link *link = &session->chain[step->provider];
    const tort_planned *planned = context->planned;
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        const tort_tensor *tensor = operand(context, step, i);
        context->operands[i] = tensor ? *tensor : (tort_tensor){.type = TORT_UNDEFINED};
    }
    uint8_t *arena = context->arenas[link->memory].base;
    tort_call call = {.params = step->dynamic ? context->params : planned->params + step->params,
                      .inputs = context->operands,
                      .outputs = context->operands + step->input_count,
                      .input_count = step->input_count,
                      .output_count = step->output_count,
                      .scratch = step->dynamic ? context->scratch[link->memory].base
                                 : arena       ? arena + step->scratch_offset
                                               : NULL,
                      .packed = placement->packed,
                      .prepared = placement->prepared,
                      .fitted = step->dynamic ? context->fitted : planned->fitted[step - planned->plan.steps],
                      .device = link->device,
                      .stream = context->streams[step->provider],
                      .env = &context->env,
                      .node = step->node,
                      .text = context->text,
                      .error = error};
    const tort_op *op = session->graph->nodes[step->node].op;
    return tort_link_noted(link, placement->kernel->run ? placement->kernel->run(&call) : op->reference(&call));
}

static tort_status run_copy(tort_context *context, const tort_step *step, tort_error *error) {
    const tort_tensor *from = operand(context, step, 0);
    tort_tensor *to = operand(context, step, 1);
    size_t bytes;
    if (!tort_tensor_bytes(from, &bytes)) return tort_fail(error, TORT_E_INTERNAL, "a copy of unknown size");
    if (!bytes) return TORT_OK;
    if (step->provider < 0) {
        memcpy(to->data, from->data, bytes);
        return TORT_OK;
    }
    const tort_link *link = &context->session->chain[step->provider];
    return tort_link_copy(link, context->streams[step->provider], to->data, from->data, bytes, step->direction, error);
}

static tort_status run_dynamic_kernel(tort_context *context, const tort_step *step, tort_error *error) {
    tort_status status = tort_dynamic_prepare(context, step, error);
    if (!status) status = run_kernel(context, step, error);
    tort_dynamic_unfit(context, step);
    return status;
}

static tort_status run_step(tort_context *context, const tort_step *step, tort_error *error) {
    if (step->dynamic && step->kind == TORT_STEP_KERNEL) return run_dynamic_kernel(context, step, error);
    tort_status status = step->dynamic ? tort_dynamic_prepare(context, step, error) : TORT_OK;
    if (status) return status;
    switch (step->kind) {
    case TORT_STEP_KERNEL: return run_kernel(context, step, error);
    case TORT_STEP_COPY: return run_copy(context, step, error);
    case TORT_STEP_ALIAS: operand(context, step, 1)->data = operand(context, step, 0)->data; return TORT_OK;
    case TORT_STEP_SHAPE: return tort_dynamic_shape(context, step, error);
    }
    return TORT_OK;
}

/* Which node, which provider: the error of a step says both. A device that runs behind the host may have been lost in
 * any step up to this one, unless it is waited for after each. */
static void locate_error(const tort_context *context, const tort_step *step, tort_error *error) {
    const tort_session *session = context->session;
    const tort_link *link = step->provider >= 0 ? &session->chain[step->provider] : NULL;
    if (!error) return;
    if (step->node < 0 && link) {
        tort_link_failed(link, error->code, error);
        return;
    }
    if (link) error->provider = link->provider->name;
    if (step->node >= 0) tort_error_at_node(error, session->graph, step->node);
    if (error->code != TORT_E_DEVICE_LOST || !link || !link->provider->stream_open || session->options.wait_steps)
        return;
    tort_error_prefix(error, "at or before this node (the option wait_steps, --step-by-step, finds which)");
    error->node = -1;
}

static tort_status observe(tort_context *context, const tort_step *step, tort_error *error) {
    tort_session *session = context->session;
    for (int32_t i = 0; i < step->output_count && step->kind != TORT_STEP_COPY; i++) {
        int32_t slot = context->planned->plan.operands[step->operands + step->input_count + i];
        if (slot < 0) continue;
        tort_tensor tensor = context->tensors[slot];
        const tort_slot *where = &context->planned->plan.slots[slot];
        size_t bytes;
        void *copy = NULL;
        if (!tort_tensor_bytes(&tensor, &bytes)) continue;
        if (where->memory) {
            const tort_link *link = &session->chain[where->memory - 1];
            copy = tort_alloc_aligned(&context->env, bytes);
            if (!copy) return tort_out_of_memory(error, bytes);
            tort_status status = tort_link_copy(link, context->streams[where->memory - 1], copy, tensor.data, bytes,
                                                TORT_TO_HOST, error);
            if (status) {
                tort_free_aligned(&context->env, copy, bytes);
                return status;
            }
            tensor.data = copy;
        }
        context->observer(context->observer_ud, step->node, session->graph->values[where->value].name, &tensor);
        if (copy) tort_free_aligned(&context->env, copy, bytes);
    }
    return TORT_OK;
}

/* The provider whose device is the thread's current one; it changes with the provider of a step, not with every step.
 */
typedef struct entered {
    int32_t provider, before; /* -1: none */
} entered;

static void enter(const tort_session *session, entered *now, int32_t provider) {
    if (now->provider == provider) return;
    if (now->provider >= 0) tort_link_leave(&session->chain[now->provider], now->before);
    *now = (entered){provider, provider >= 0 ? tort_link_enter(&session->chain[provider]) : 0};
}

static tort_status run_steps(tort_context *context, tort_error *error) {
    const tort_plan *plan = &context->planned->plan;
    entered now = {-1, 0};
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (step->kind == TORT_STEP_KERNEL) enter(context->session, &now, step->provider);
        status = run_step(context, step, error);
        if (!status && step->kind == TORT_STEP_KERNEL && context->session->options.wait_steps)
            status = tort_link_sync(&context->session->chain[step->provider], context->streams[step->provider], error);
        if (!status && context->observer) status = observe(context, step, error);
        if (status)
            locate_error(context, step, error);
        else if (context->dynamic_count)
            tort_dynamic_free_unread(context, i);
    }
    enter(context->session, &now, -1);
    return status;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void bind(tort_context *context, const tort_tensor *inputs) {
    const tort_plan *plan = &context->planned->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        tort_tensor *tensor = &context->tensors[i];
        const tort_constant *constant = &context->session->constants[slot->value];
        tensor->type = slot->type;
        tensor->rank = slot->rank;
        memcpy(tensor->dims, slot->dims, sizeof tensor->dims);
        const void *data = NULL;
        switch (slot->home) {
        case TORT_HOME_ARENA: data = context->arenas[slot->memory].base + slot->offset; break;
        case TORT_HOME_INPUT: data = inputs[slot->source].data; break;
        case TORT_HOME_CONSTANT:
            data = slot->memory ? constant->device ? constant->device[slot->memory] : NULL : constant->host;
            break;
        case TORT_HOME_LITERAL: data = plan->literals + slot->offset; break;
        case TORT_HOME_ALIAS: data = context->tensors[slot->source].data; break;
        case TORT_HOME_DYNAMIC: break;
        }
        memcpy(&tensor->data, &data, sizeof data); /* drops const: kernels do not write inputs */
    }
}

static tort_status sync_all(tort_context *context, tort_error *error) {
    tort_session *session = context->session;
    tort_status first = TORT_OK;
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        tort_status status = tort_link_sync(link, context->streams[i], first ? NULL : error);
        if (first || !status) continue;
        first = status;
        if (!error) continue;
        error->provider = link->provider->name;
        if (error->node >= 0)
            tort_error_at_node(error, session->graph, error->node);
        else
            tort_link_failed(link, status, error);
    }
    return first;
}

tort_status tort_context_run(tort_context *context, const tort_tensor *inputs, int32_t input_count,
                             tort_tensor *outputs, int32_t output_count, tort_error *error) {
    tort_session *session = context->session;
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    if (output_count != session->graph->output_count)
        return tort_fail(error, TORT_E_INPUT, "room for %d outputs given, the model has %d", output_count,
                         session->graph->output_count);
    tort_status status = tort_check_inputs(session, inputs, input_count, error);
    if (!status) status = tort_check_pointers(session, inputs, outputs, error);
    if (!status) status = tort_context_choose_plan(context, inputs, error);
    if (status) return status;
    tort_dynamic_free_all(context);
    tort_text_clear(context->text);
    bind(context, inputs);
    status = tort_outputs_bind(context, inputs, outputs, error);
    if (status) return status;
    status = run_steps(context, error);
    if (!status) status = tort_outputs_fill(context, outputs, error);
    tort_status synced = sync_all(context, status ? NULL : error);
    if (!status) status = synced;
    if (!status) tort_outputs_lend(context, outputs);
    return status;
}
