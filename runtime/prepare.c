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
    tort_link *link = &session->chain[placement->provider];
    tort_node_view view = tort_pass_view(pass, index);
    view.params = placement->params;
    tort_prepare prepare = {
        .node = &view, .target = &link->target, .device = link->device, .env = &session->env, .error = error};
    tort_status status = hold_inputs(session, pass, node, true, error);
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
    placement->consumed = prepare.consumed;
    placement->prepared_bytes = prepare.bytes;
    link->weight_bytes += prepare.bytes;
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

static tort_status upload(tort_session *session, int32_t value, int32_t memory, tort_error *error) {
    tort_constant *constant = &session->constants[value];
    tort_link *link = &session->chain[memory - 1];
    if (!constant->device)
        constant->device = tort_arena_array(&session->arena, (size_t)session->memory_count, sizeof(void *));
    if (!constant->device) return tort_out_of_memory(error, 0);
    if (constant->device[memory]) return TORT_OK;
    const void *data = NULL;
    tort_status status = tort_constant_acquire(session, value, &data, error);
    if (status) return status;
    void *place;
    char purpose[128];
    snprintf(purpose, sizeof purpose, "weight \"%s\"", session->graph->values[value].name);
    status = tort_chain_alloc(session, memory, constant->bytes, purpose, &place, error);
    if (place) status = copy_weight(session, value, link, place, data, error);
    constant->device[memory] = place;
    link->weight_bytes += constant->bytes;
    tort_constant_release(session, value);
    return status;
}

static tort_status keep_input(tort_session *session, int32_t index, int32_t input, tort_error *error) {
    const tort_placement *placement = &session->placements[index];
    const tort_node *node = &session->graph->nodes[index];
    int32_t value = node->inputs[input];
    if (value < 0 || !tort_is_constant(session, value)) return TORT_OK;
    uint32_t bit = input < 32 ? 1u << input : 0;
    if (placement->consumed & bit) return TORT_OK;
    bool on_host = placement->provider < 0 || session->chain[placement->provider].memory == 0 ||
                   (placement->kernel->host_inputs & bit);
    tort_status status = TORT_OK;
    if (on_host || (node->op->shape_inputs & bit)) status = keep_on_host(session, value, error);
    if (!status && !on_host) status = upload(session, value, session->chain[placement->provider].memory, error);
    return status;
}

#define SMALL_CONSTANT 4096 /* bytes; inference may look at it again */

/* Folded bytes that no kernel reads in host memory any more. */
static void drop_unread(tort_session *session) {
    for (int32_t v = 0; v < session->graph->value_count; v++) {
        tort_constant *constant = &session->constants[v];
        if (!constant->folded || constant->held || constant->bytes <= SMALL_CONSTANT) continue;
        tort_free_aligned(&session->env, constant->folded, constant->bytes);
        constant->folded = NULL;
        session->infos[v].data = NULL;
    }
}

/* One error with all that is needed, before a device is filled weight by weight. */
static tort_status check_room(const tort_session *session, tort_error *error) {
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        uint64_t bytes;
        if (!link->memory || !link->target.memory) continue;
        tort_status status = tort_constants_read(session, i, &bytes, error);
        if (status) return status;
        if (bytes > link->target.memory)
            return tort_fail(
                error, TORT_E_MEMORY,
                "%s needs %llu bytes for weights alone, but may use %llu: raise mem_limit, or pin nodes to "
                "another provider",
                link->provider->name, (unsigned long long)bytes, (unsigned long long)link->target.memory);
    }
    return TORT_OK;
}

tort_status tort_prepare_all(tort_session *session, tort_error *error) {
    const tort_graph *graph = session->graph;
    tort_status status = check_room(session, error);
    if (!status) status = prepare_nodes(session, error);
    for (int32_t i = 0; !status && i < graph->node_count; i++) {
        if (session->placements[i].provider < TORT_AT_HOST) continue;
        for (int32_t k = 0; !status && k < graph->nodes[i].input_count; k++) status = keep_input(session, i, k, error);
    }
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

tort_status tort_fit_plan(tort_session *session, tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_pass pass;
    planned->fitted = tort_alloc_zero(&session->env, (size_t)plan->step_count + 1, sizeof *planned->fitted);
    if (!planned->fitted) return tort_out_of_memory(error, (size_t)plan->step_count * sizeof *planned->fitted);
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
    tort_free(&session->env, planned->fitted, ((size_t)plan->step_count + 1) * sizeof *planned->fitted);
    planned->fitted = NULL;
}

/* ---- the end of a session ---------------------------------------------------------------------------------------- */

void tort_release_all(tort_session *session) {
    const tort_graph *graph = session->graph;
    for (int32_t i = 0; session->placements && i < graph->node_count; i++) {
        tort_placement *placement = &session->placements[i];
        if (placement->provider < 0 || !placement->prepared) continue;
        const tort_link *link = &session->chain[placement->provider];
        const int32_t before = tort_link_enter(link);
        if (placement->kernel->release) placement->kernel->release(link->device, &session->env, placement->prepared);
        tort_link_leave(link, before);
        placement->prepared = NULL;
    }
    for (int32_t v = 0; session->constants && v < graph->value_count; v++) {
        tort_constant *constant = &session->constants[v];
        for (int32_t m = 1; constant->device && m < session->memory_count; m++)
            if (constant->device[m]) tort_chain_free(session, m, constant->device[m], constant->bytes);
        if (constant->held) tort_constant_release(session, v);
        if (constant->folded) tort_free_aligned(&session->env, constant->folded, constant->bytes);
    }
}
