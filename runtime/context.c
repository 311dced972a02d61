/* context.c - the memory of a context: sized for a plan before its first step, kept while the plan stays the same.
 *
 * Everything a run on known shapes needs is allocated here. Read next: run.c, dynamic.c. */
#include <string.h>

#include "runtime/context.h"

void tort_context_free_arena(tort_context *context, int32_t memory) {
    tort_region *region = &context->arenas[memory];
    if (!region->base) return;
    tort_chain_free(context->session, &context->env, memory, region->base, region->bytes);
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
    tort_status status = tort_chain_alloc(session, &context->env, memory, (size_t)bytes, "values", &base, error);
    if (!status) *region = (tort_region){base, (size_t)bytes};
    return status;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* How large the tables of a context must be for a plan. */
typedef struct table_sizes {
    size_t slots, operands, infos, params; /* params in bytes */
} table_sizes;

static table_sizes sizes_for(const tort_session *session, const tort_plan *plan) {
    size_t widest = TORT_INFER_OUTPUTS, params = 16;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        const tort_node *node = step->node >= 0 ? &session->graph->nodes[step->node] : NULL;
        const size_t width = (size_t)step->input_count + (size_t)step->output_count;
        const size_t all = node ? (size_t)node->input_count + (size_t)node->output_count : 0;
        if (width > widest) widest = width;
        if (all > widest) widest = all;
        if (node && tort_params_bytes(node) > params) params = tort_params_bytes(node);
    }
    return (table_sizes){(size_t)plan->slot_count + 1, widest + 1, 2 * widest + 1, params};
}

size_t tort_context_ports(const tort_session *session) {
    return (size_t)session->graph->input_count + (size_t)session->graph->output_count + 1;
}

size_t tort_context_bytes(const tort_session *session, const tort_plan *plan) {
    const table_sizes sizes = sizes_for(session, plan);
    return sizeof(tort_context) + tort_text_bytes() + TORT_ARENA_FIRST +
           tort_context_ports(session) * (sizeof(bool) + sizeof(tort_buffer)) +
           sizes.slots * (sizeof(tort_tensor) + sizeof(tort_region)) + sizes.operands * sizeof(tort_tensor) +
           sizes.infos * sizeof(tort_info) + sizes.params;
}

size_t tort_arena_bytes(const tort_plan *plan) {
    return tort_aligned_bytes(plan->arena_bytes[0] ? (size_t)plan->arena_bytes[0] : 1);
}

void tort_context_drop_plan(tort_context *context) {
    const tort_env *env = &context->env;
    if (!context->planned) return;
    tort_dynamic_free_all(context);
    const table_sizes sizes = sizes_for(context->session, &context->planned->plan);
    tort_free(env, context->tensors, sizes.slots * sizeof *context->tensors);
    tort_free(env, context->dynamic, sizes.slots * sizeof *context->dynamic);
    tort_free(env, context->operands, sizes.operands * sizeof *context->operands);
    tort_free(env, context->infos, sizes.infos * sizeof *context->infos);
    tort_free(env, context->params, sizes.params);
    context->tensors = context->operands = NULL;
    context->dynamic = NULL;
    context->infos = NULL;
    context->params = NULL;
    tort_session_leave_plan(context->session, context->planned);
    context->planned = NULL;
}

/* Takes over a hold on the plan, also when it fails. */
tort_status tort_context_adopt(tort_context *context, tort_planned *planned, tort_error *error) {
    const tort_env *env = &context->env;
    const tort_plan *plan = &planned->plan;
    tort_context_drop_plan(context);
    context->planned = planned;
    const table_sizes sizes = sizes_for(context->session, plan);
    context->widest = (int32_t)sizes.operands - 1;
    context->params_bytes = sizes.params;
    context->tensors = tort_alloc_zero(env, sizes.slots, sizeof *context->tensors);
    context->dynamic = tort_alloc_zero(env, sizes.slots, sizeof *context->dynamic);
    context->operands = tort_alloc_zero(env, sizes.operands, sizeof *context->operands);
    context->infos = tort_alloc_zero(env, sizes.infos, sizeof *context->infos);
    context->params = tort_alloc_zero(env, 1, sizes.params);
    tort_status status = TORT_OK;
    if (!context->tensors || !context->dynamic || !context->operands || !context->infos || !context->params)
        status = tort_out_of_memory(error, sizes.slots * sizeof *context->tensors);
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
