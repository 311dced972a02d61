/* plan_sizes.c - all of a plan that depends on shapes except offsets: bytes of slots, literals, params, scratch.
 *
 * The steps are given. This file must not know offsets: plan_layout.c chooses them. Read next: plan_layout.c. */
#include <string.h>

#include "runtime/core/providers/chain.h"
#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/layouts.h"

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static void size_slot(const tort_session *session, tort_slot *slot, const tort_info *info) {
    tort_tensor tensor;
    size_t bytes;
    slot->type = info->type;
    slot->rank = info->rank;
    for (int32_t i = 0; i < TORT_MAX_RANK; i++)
        slot->dims[i] = i >= info->rank ? 0 : tort_dim_known(info->dims[i]) ? info->dims[i] : -1;
    slot->bytes = -1;
    if (tort_info_tensor(info, &tensor) && tort_layout_bytes(session, slot->layout, &tensor, &bytes) &&
        bytes <= PTRDIFF_MAX)
        slot->bytes = (int64_t)bytes;
}

/* The value has a slot in an arena because its plain size is known; in the layout it has none. */
static tort_status refuse_layout(const tort_planned *planned, const tort_slot *slot, tort_error *error) {
    const tort_lowered *lowered = planned->lowered;
    return tort_fail(error, TORT_E_INPUT, "for these input shapes value \"%s\" cannot be in layout %s",
                     lowered->graph.values[slot->value].name, lowered->session->layouts[slot->layout].layout->name);
}

/* ---- literals ---------------------------------------------------------------------------------------------------- */

/* Appends a literal, at a multiple of TORT_PARAMS_ALIGN. */
static bool place_literal(tort_plan *plan, tort_slot *slot) {
    const size_t at = (size_t)plan->literal_bytes, bytes = slot->bytes > 0 ? (size_t)slot->bytes : 0;
    size_t end;
    if (!tort_add_size(at, bytes, &end) || !tort_align_size(end, TORT_PARAMS_ALIGN, &end)) return false;
    slot->offset = at;
    plan->literal_bytes = end;
    return true;
}

/* All dimensions have sizes, so what a node computes of them and has none is a sum or product beyond 64 bits. */
static tort_status refuse_arithmetic(const tort_planned *planned, const tort_slot *slot, tort_error *error) {
    const tort_graph *graph = &planned->lowered->graph;
    const tort_graph_value *value = &graph->values[slot->value];
    tort_status status =
        tort_fail(error, TORT_E_INPUT, "for these input shapes the sizes in \"%s\" do not fit 64 bits", value->name);
    tort_error_at_unit(error, planned->lowered, value->producer);
    return status;
}

static tort_status write_literal(const tort_planned *planned, const tort_slot *slot, tort_error *error) {
    const tort_info *info = &planned->infos[slot->value];
    const int64_t wanted = (int64_t)info->element_count * tort_type_bits(info->type) / 8;
    if (!tort_elements_known(info) || slot->bytes != wanted) return refuse_arithmetic(planned, slot, error);
    tort_write_elements(info, planned->plan.literals + slot->offset);
    return TORT_OK;
}

static bool reserve_literals(tort_planned *planned, size_t bytes) {
    if (planned->literals_bytes >= bytes) return true;
    tort_free(planned->env, planned->plan.literals, planned->literals_bytes);
    planned->plan.literals = tort_alloc(planned->env, bytes);
    planned->literals_bytes = planned->plan.literals ? bytes : 0;
    return planned->plan.literals != NULL;
}

static tort_status write_literals(tort_planned *planned, tort_error *error) {
    tort_plan *plan = &planned->plan;
    const size_t bytes = (size_t)plan->literal_bytes + 1; /* never 0 */
    tort_status status = reserve_literals(planned, bytes) ? TORT_OK : tort_out_of_memory(error, bytes);
    if (!status) memset(plan->literals, 0, bytes);
    for (int32_t i = 0; !status && plan->complete && i < plan->slot_count; i++)
        if (plan->slots[i].home == TORT_HOME_LITERAL) status = write_literal(planned, &plan->slots[i], error);
    return status;
}

static tort_status size_slots(tort_planned *planned, tort_error *error) {
    tort_plan *plan = &planned->plan;
    plan->literal_bytes = 0;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        tort_slot *slot = &plan->slots[i];
        if (!planned->reused || !planned->lowered->shape_fixed[slot->value])
            size_slot(planned->lowered->session, slot, &planned->infos[slot->value]);
        if (plan->complete && slot->layout && slot->home == TORT_HOME_ARENA && slot->bytes < 0)
            return refuse_layout(planned, slot, error);
        if (slot->home == TORT_HOME_LITERAL && !place_literal(plan, slot)) return tort_out_of_memory(error, 0);
    }
    return write_literals(planned, error);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Resolves the params of a step of known shapes, and its scratch. */
static tort_status measure(tort_planned *planned, tort_step *step, tort_error *error) {
    const tort_lowered *lowered = planned->lowered;
    tort_pass *pass = &planned->pass;
    const tort_unit *unit = &lowered->units[step->node];
    const tort_link *link = &lowered->session->chain[unit->provider];
    const bool once = tort_is_once(lowered, step->node);
    void *params = once ? unit->params : planned->params + step->params;
    tort_node_view view = tort_pass_view(pass, step->node);
    size_t scratch = unit->scratch_bytes;
    memset(params, 0, tort_params_bytes(lowered->session->model, &lowered->graph.nodes[step->node]));
    tort_status status = tort_pass_acquire(pass, step->node, error);
    if (!status && !once) status = tort_resolve_node(&view, params, &scratch, error);
    view.params = params;
    view.kernel = unit->kernel;
    if (!tort_runs_reference(link->provider, unit->kernel)) scratch = 0; /* only the reference loop needs it */
    if (!status && unit->kernel->size) status = unit->kernel->size(&link->target, &view, &scratch, error);
    step->overlap = (tort_overlap){0};
    if (!status && unit->kernel->overlap) step->overlap = unit->kernel->overlap(&link->target, &view);
    step->rows = (tort_rows){0};
    if (!status && link->target.banding && unit->kernel->rows) step->rows = unit->kernel->rows(&link->target, &view);
    if (status) tort_error_at_unit(error, lowered, step->node);
    tort_pass_release(pass, step->node);
    step->scratch_bytes = scratch;
    return status;
}

/* The same for a segment: params of all its nodes, one scratch. */
static tort_status measure_segment(tort_planned *planned, tort_step *step, tort_error *error) {
    const tort_lowered *lowered = planned->lowered;
    const tort_unit *unit = &lowered->units[step->node];
    tort_pass *pass = &planned->pass;
    void *params = planned->params + step->params;
    tort_unit_view view;
    size_t scratch = 0;
    memset(params, 0, tort_unit_params_bytes(lowered, step->node));
    tort_status status = tort_segment_resolve(lowered, pass, unit->segment, params, error);
    if (status) return status;
    status = tort_unit_view_open(&view, lowered, pass, step->node, params, error);
    const tort_target *target = &lowered->session->chain[unit->provider].target;
    if (!status && unit->kernel->size) status = unit->kernel->size(target, &view.node, &scratch, error);
    if (status) tort_error_at_unit(error, lowered, step->node);
    tort_unit_view_close(&view, lowered);
    step->scratch_bytes = scratch;
    return status;
}

/* True if params and scratch must be computed. Where the previous fill's are kept, steps whose inputs do not change are
 * skipped, unless strides were written into their params. */
bool tort_plan_is_measured(const tort_planned *planned, const tort_step *step) {
    if (step->kind != TORT_STEP_KERNEL || step->dynamic) return false;
    const bool segment = planned->lowered->units[step->node].segment;
    const bool restrided = planned->lowered->units[step->node].kernel->strides.inputs;
    return segment || restrided || !planned->reused || planned->lowered->rule_use[step->node] == TORT_RULE_ALWAYS;
}

tort_status tort_plan_sizes(tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_status status = size_slots(planned, error);
    for (int32_t i = 0; !status && plan->complete && i < plan->step_count; i++) {
        tort_step *step = &plan->steps[i];
        if (!tort_plan_is_measured(planned, step)) continue;
        const bool segment = planned->lowered->units[step->node].segment;
        status = (segment ? measure_segment : measure)(planned, step, error);
    }
    for (int32_t i = 0; !status && planned->needs && i < plan->step_count; i++)
        if (planned->needs[i] < plan->steps[i].scratch_bytes) plan->steps[i].scratch_bytes = planned->needs[i];
    return status;
}
