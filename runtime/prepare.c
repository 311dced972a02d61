/* prepare.c - the live part of planning: packs weights, brings constants to where they are read, fits kernels to plans.
 *
 * Weight by weight: a kernel that packs one gets its plain copy for that moment only, so no weight is held twice. What
 * some kernel still reads as it is stays: in host memory, or uploaded once to a device. It must not decide where a
 * node runs. Read next: run.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/session_state.h"

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static tort_status hold_inputs(tort_session *session, tort_pass *pass, const tort_node *node, bool hold,
                               tort_error *error) {
    for (int32_t i = 0; i < node->input_count; i++) {
        int32_t value = node->inputs[i];
        if (value < 0 || !tort_is_constant(session, value)) continue;
        if (!hold) {
            if (pass->in[i].data) tort_constant_release(session, value);
            continue;
        }
        pass->in[i].data = NULL;
        tort_status status = tort_constant_acquire(session, value, &pass->in[i].data, error);
        if (status) return status;
    }
    return TORT_OK;
}

static tort_status prepare_node(tort_session *session, tort_pass *pass, int32_t index, tort_error *error) {
    tort_placement *placement = &session->placements[index];
    const tort_node *node = &session->graph->nodes[index];
    const tort_link *link = &session->chain[placement->provider];
    tort_node_view view = tort_pass_view(pass, index);
    view.params = placement->params;
    tort_status status = TORT_OK;
    if (placement->packed_bytes)
        status = tort_chain_alloc(session, &session->env, link->memory, placement->packed_bytes, "packed weights",
                                  &placement->packed, error);
    if (status) return status;
    tort_prepare prepare = {.node = &view,
                            .target = &link->target,
                            .device = link->device,
                            .env = &session->env,
                            .packed = placement->packed,
                            .error = error};
    status = hold_inputs(session, pass, node, true, error);
    const int32_t before = tort_link_enter(link);
    if (!status) status = tort_link_noted(link, placement->kernel->prepare(&prepare));
    tort_link_leave(link, before);
    hold_inputs(session, pass, node, false, NULL);
    if (status) {
        tort_error_at_node(error, session->graph, index);
        if (error) error->provider = link->provider->name;
        return status;
    }
    placement->prepared = prepare.prepared;
    return TORT_OK;
}

static tort_status prepare_nodes(tort_session *session, tort_error *error) {
    tort_pass pass;
    tort_status status =
        tort_pass_init(&pass, session->model, session->graph, session->infos, &session->dims, &session->arena, error);
    if (status) return status;
    pass.weights = session->weights;
    for (int32_t i = 0; !status && i < session->graph->node_count; i++)
        if (session->placements[i].provider >= 0 && session->placements[i].kernel->prepare)
            status = prepare_node(session, &pass, i, error);
    tort_pass_free(&pass);
    return status;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static tort_status keep_on_host(tort_session *session, int32_t value, tort_error *error) {
    tort_constant *constant = &session->constants[value];
    if (constant->host) return TORT_OK;
    tort_status status = tort_constant_acquire(session, value, &constant->host, error);
    constant->held = !status;
    return status;
}

static tort_status copy_weight(const tort_session *session, int32_t value, const tort_link *link, void *place,
                               const void *data, tort_error *error) {
    const size_t bytes = session->constants[value].bytes;
    tort_status status = TORT_OK;
    if (bytes) status = tort_link_copy(link, NULL, place, data, bytes, TORT_TO_DEVICE, error);
    if (!status) status = tort_link_sync(link, NULL, error);
    if (!status) return TORT_OK;
    tort_error_prefix(error, "weight \"%s\"", session->graph->values[value].name);
    return tort_link_failed(link, status, error);
}

/* The next place in the block of a device that holds all constants it reads. */
static tort_status take_place(tort_session *session, int32_t memory, size_t bytes, void **place, tort_error *error) {
    tort_upload *block = &session->uploads[memory];
    size_t aligned, end;
    if (!block->base) {
        void *base;
        tort_status status = tort_chain_alloc(session, &session->env, memory, (size_t)session->constant_bytes[memory],
                                              "weights", &base, error);
        if (status) return status;
        *block = (tort_upload){.base = base, .bytes = (size_t)session->constant_bytes[memory]};
    }
    if (!tort_align_size(bytes, TORT_DEVICE_ALIGN, &aligned) || !tort_add_size(block->used, aligned, &end) ||
        end > block->bytes)
        return tort_fail(error, TORT_E_INTERNAL, "more constants to upload than were counted");
    *place = block->base + block->used;
    block->used = end;
    return TORT_OK;
}

static tort_status upload(tort_session *session, int32_t value, int32_t memory, tort_error *error) {
    tort_constant *constant = &session->constants[value];
    const void *data = NULL;
    if (!constant->device)
        constant->device = tort_arena_array(&session->arena, (size_t)session->memory_count, sizeof(void *));
    if (!constant->device) return tort_out_of_memory(error, 0);
    if (constant->device[memory]) return TORT_OK;
    void *place = NULL;
    tort_status status = take_place(session, memory, constant->bytes, &place, error);
    if (!status) status = tort_constant_acquire(session, value, &data, error);
    if (status) return status;
    status = copy_weight(session, value, &session->chain[memory - 1], place, data, error);
    constant->device[memory] = place;
    tort_constant_release(session, value);
    return status;
}

static tort_status keep_input(tort_session *session, int32_t index, int32_t input, tort_error *error) {
    const int32_t value = session->graph->nodes[index].inputs[input];
    const tort_reads reads = tort_constant_reads(session, index, input);
    tort_status status = reads.host ? keep_on_host(session, value, error) : TORT_OK;
    return !status && reads.memory ? upload(session, value, reads.memory, error) : status;
}

/* Folded bytes that no kernel reads in host memory any more. */
static void drop_unread(tort_session *session) {
    for (int32_t v = 0; v < session->graph->value_count; v++) {
        tort_constant *constant = &session->constants[v];
        if (!constant->folded || constant->held || constant->bytes <= TORT_SMALL_CONSTANT) continue;
        tort_free_aligned(&session->env, constant->folded, constant->bytes);
        constant->folded = NULL;
        session->infos[v].data = NULL;
    }
}

tort_status tort_prepare_all(tort_session *session, tort_error *error) {
    const tort_graph *graph = session->graph;
    session->uploads = tort_arena_array(&session->arena, (size_t)session->memory_count, sizeof *session->uploads);
    tort_status status = session->uploads ? prepare_nodes(session, error) : tort_out_of_memory(error, 0);
    for (int32_t i = 0; !status && i < graph->node_count; i++)
        for (int32_t k = 0; !status && k < graph->nodes[i].input_count; k++) status = keep_input(session, i, k, error);
    for (int32_t i = 0; !status && i < graph->output_count; i++) {
        if (!tort_is_constant(session, graph->outputs[i])) continue;
        int32_t memory = session->output_memory[i];
        status = memory ? upload(session, graph->outputs[i], memory, error)
                        : keep_on_host(session, graph->outputs[i], error);
    }
    if (!status) drop_unread(session);
    session->prepared = !status;
    return status;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static tort_status fit_step(tort_session *session, tort_planned *planned, tort_pass *pass, int32_t index,
                            tort_error *error) {
    const tort_step *step = &planned->plan.steps[index];
    const tort_link *link = &session->chain[step->provider];
    tort_node_view view = tort_pass_view(pass, step->node);
    view.params = planned->params + step->params;
    tort_fit fit = {.node = &view,
                    .target = &link->target,
                    .scratch = (size_t)step->scratch_bytes,
                    .device = link->device,
                    .env = &session->env,
                    .error = error};
    const int32_t before = tort_link_enter(link);
    tort_status status = tort_link_noted(link, session->placements[step->node].kernel->fit(&fit));
    tort_link_leave(link, before);
    planned->fitted[index] = fit.fitted;
    if (status) {
        tort_error_at_node(error, session->graph, step->node);
        if (error) error->provider = link->provider->name;
    }
    return status;
}

static bool is_fitted(const tort_session *session, const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && session->placements[step->node].kernel->fit;
}

size_t tort_fitted_bytes(const tort_plan *plan) {
    return ((size_t)plan->step_count + 1) * sizeof(void *);
}

tort_status tort_fit_plan(tort_session *session, tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_pass pass;
    planned->fitted = tort_alloc_zero(&session->env, 1, tort_fitted_bytes(plan));
    if (!planned->fitted) return tort_out_of_memory(error, tort_fitted_bytes(plan));
    tort_status status =
        tort_pass_init(&pass, session->model, session->graph, planned->infos, &planned->dims, &planned->arena, error);
    if (status) return status;
    pass.weights = session->weights;
    for (int32_t i = 0; !status && i < plan->step_count; i++)
        if (is_fitted(session, &plan->steps[i])) status = fit_step(session, planned, &pass, i, error);
    tort_pass_free(&pass);
    return status;
}

void tort_unfit_plan(const tort_session *session, tort_planned *planned) {
    const tort_plan *plan = &planned->plan;
    for (int32_t i = 0; planned->fitted && i < plan->step_count; i++) {
        if (!planned->fitted[i]) continue;
        const tort_step *step = &plan->steps[i];
        const tort_link *link = &session->chain[step->provider];
        const int32_t before = tort_link_enter(link);
        session->placements[step->node].kernel->unfit(link->device, &session->env, planned->fitted[i]);
        tort_link_leave(link, before);
    }
    tort_free(&session->env, planned->fitted, tort_fitted_bytes(plan));
    planned->fitted = NULL;
}

/* ---- the end of a session ---------------------------------------------------------------------------------------- */

void tort_release_all(tort_session *session) {
    const tort_graph *graph = session->graph;
    for (int32_t i = 0; session->placements && i < graph->node_count; i++) {
        tort_placement *placement = &session->placements[i];
        if (!placement->prepared && !placement->packed) continue;
        const tort_link *link = &session->chain[placement->provider];
        const int32_t before = tort_link_enter(link);
        if (placement->prepared && placement->kernel->release)
            placement->kernel->release(link->device, &session->env, placement->prepared);
        tort_link_leave(link, before);
        placement->prepared = NULL;
        if (placement->packed)
            tort_chain_free(session, &session->env, link->memory, placement->packed, placement->packed_bytes);
        placement->packed = NULL;
    }
    for (int32_t v = 0; session->constants && v < graph->value_count; v++) {
        tort_constant *constant = &session->constants[v];
        if (constant->held) tort_constant_release(session, v);
        if (constant->folded) tort_free_aligned(&session->env, constant->folded, constant->bytes);
    }
    for (int32_t m = 1; session->uploads && m < session->memory_count; m++)
        if (session->uploads[m].base)
            tort_chain_free(session, &session->env, m, session->uploads[m].base, session->uploads[m].bytes);
}
