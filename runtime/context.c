/* context.c - the memory of a context: sized for a plan before its first step, kept while the plan stays the same.
 *
 * Everything a run on known shapes needs is allocated here. Read next: run.c, dynamic.c. */
#include <string.h>

#include "runtime/context.h"

void tort_context_free_arena(tort_context *context, int32_t memory) {
    tort_region *region = &context->arenas[memory];
    if (!region->base) return;
    tort_chain_free(context->session, memory, region->base, region->bytes);
    *region = (tort_region){0};
}

static tort_status grow_arena(tort_context *context, int32_t memory, uint64_t bytes, tort_error *error) {
    tort_session *session = context->session;
    tort_region *region = &context->arenas[memory];
    if (bytes == 0) bytes = 1; /* empty tensors still have a place */
    if (bytes <= region->bytes) return TORT_OK;
    if (memory && (session->chain[memory - 1].memory != memory || !session->chain[memory - 1].opened)) return TORT_OK;
    tort_context_free_arena(context, memory);
    void *base;
    tort_status status = tort_chain_alloc(session, memory, (size_t)bytes, "values", &base, error);
    if (!status) *region = (tort_region){base, (size_t)bytes};
    return status;
}

void tort_context_drop_plan(tort_context *context) {
    const tort_env *env = &context->session->env;
    if (!context->planned) return;
    tort_dynamic_free_all(context);
    size_t slots = (size_t)context->planned->plan.slot_count, widest = (size_t)context->widest;
    tort_free(env, context->tensors, (slots + 1) * sizeof *context->tensors);
    tort_free(env, context->dynamic, (slots + 1) * sizeof *context->dynamic);
    tort_free(env, context->operands, (widest + 1) * sizeof *context->operands);
    tort_free(env, context->infos, (2 * widest + 1) * sizeof *context->infos);
    tort_free(env, context->params, context->params_bytes);
    context->tensors = context->operands = NULL;
    context->dynamic = NULL;
    context->infos = NULL;
    context->params = NULL;
    tort_session_leave_plan(context->session, context->planned);
    context->planned = NULL;
}

/* Takes over a hold on the plan, also when it fails. */
tort_status tort_context_adopt(tort_context *context, tort_planned *planned, tort_error *error) {
    const tort_env *env = &context->session->env;
    const tort_plan *plan = &planned->plan;
    tort_context_drop_plan(context);
    context->planned = planned;
    size_t slots = (size_t)plan->slot_count, params = 16;
    int32_t widest = TORT_INFER_OUTPUTS;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (step->input_count + step->output_count > widest) widest = step->input_count + step->output_count;
        if (step->node < 0) continue;
        const tort_node *node = &context->session->graph->nodes[step->node];
        if (node->input_count + node->output_count > widest) widest = node->input_count + node->output_count;
        if (node->op->params_size > params) params = node->op->params_size;
    }
    context->widest = widest;
    context->params_bytes = params;
    context->tensors = tort_alloc_zero(env, slots + 1, sizeof *context->tensors);
    context->dynamic = tort_alloc_zero(env, slots + 1, sizeof *context->dynamic);
    context->operands = tort_alloc_zero(env, (size_t)widest + 1, sizeof *context->operands);
    context->infos = tort_alloc_zero(env, 2 * (size_t)widest + 1, sizeof *context->infos);
    context->params = tort_alloc_zero(env, 1, params);
    tort_status status = TORT_OK;
    if (!context->tensors || !context->dynamic || !context->operands || !context->infos || !context->params)
        status = tort_out_of_memory(error, slots * sizeof *context->tensors);
    for (int32_t m = 0; !status && m < plan->memory_count; m++)
        status = grow_arena(context, m, plan->arena_bytes[m], error);
    if (status) tort_context_drop_plan(context);
    return status;
}

tort_status tort_context_choose_plan(tort_context *context, const tort_tensor *inputs, tort_error *error) {
    if (context->planned && tort_plan_fits(context->session, context->planned, inputs)) return TORT_OK;
    tort_planned *planned = NULL;
    tort_status status = tort_session_find_plan(context->session, inputs, &planned, error);
    return status ? status : tort_context_adopt(context, planned, error);
}
