/* plan_changes.c - which steps of a refilled plan do something else than before.
 *
 * A plan with upper bounds is filled again for each new shape, at the same places. A decoder's text grows by one, so
 * that its mask and what is made of it change, but most steps do the very same work: a recording of them stays valid.
 * Each step has the serial of the fill that changed it last. Read first: plan.c; next: run.c. */
#include <string.h>

#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/planned.h"

static bool same_bytes(const void *a, const void *b, size_t bytes) {
    return !bytes || !memcmp(a, b, bytes);
}

/* Values that a kernel reads on the host may differ from fill to fill, though nothing else of the step does. */
static bool reads_literal(const tort_planned *planned, const tort_step *step) {
    const tort_plan *plan = &planned->plan;
    const tort_kernel *kernel = step->kind == TORT_STEP_KERNEL ? planned->lowered->units[step->node].kernel : NULL;
    if (!kernel || !kernel->host_inputs) return false;
    if (kernel->steady && kernel->steady(planned->params + step->params)) return false;
    bool reads = false;
    for (int32_t i = 0; i < step->input_count && i < 32; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        reads = reads || (kernel->host_inputs >> i & 1 && slot >= 0 && plan->slots[slot].home == TORT_HOME_LITERAL);
    }
    return reads;
}

bool tort_plan_step_is_same(const tort_planned *planned, int32_t index) {
    if (!planned->before.steps || !planned->before.noted) return false;
    const tort_plan *plan = &planned->plan;
    const tort_step *step = &plan->steps[index];
    const tort_step_before *before = &planned->before.steps[index];
    const bool params = step->kind == TORT_STEP_KERNEL;
    bool same = same_bytes(step, &before->step, sizeof *step) && tort_fit_serial(planned, index) == before->fit &&
                !reads_literal(planned, step) &&
                (!params || same_bytes(planned->params + step->params, planned->before.params + step->params,
                                       tort_unit_params_bytes(planned->lowered, step->node)));
    for (int32_t i = 0; same && i < step->input_count + step->output_count; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        same = slot < 0 || same_bytes(&plan->slots[slot], &planned->before.slots[slot], sizeof *plan->slots);
    }
    return same;
}

void tort_plan_note_changes(tort_planned *planned) {
    const tort_plan *plan = &planned->plan;
    if (!planned->before.steps) return;
    for (int32_t i = 0; i < plan->step_count; i++)
        if (!tort_plan_step_is_same(planned, i)) planned->changed[i] = planned->serial;
    for (int32_t i = 0; i < plan->step_count; i++) {
        memcpy(&planned->before.steps[i].step, &plan->steps[i], sizeof plan->steps[i]); /* with its padding */
        planned->before.steps[i].fit = tort_fit_serial(planned, i);
    }
    if (plan->slot_count) memcpy(planned->before.slots, plan->slots, (size_t)plan->slot_count * sizeof *plan->slots);
    if (plan->params_bytes) memcpy(planned->before.params, planned->params, (size_t)plan->params_bytes);
    planned->before.noted = true;
}

int32_t tort_plan_unchanged_from(const tort_planned *planned) {
    const int32_t end = planned->plan.recorded_steps;
    int32_t first = planned->before.steps ? end : 0;
    while (first > 0 && planned->changed[first - 1] != planned->serial) first--;
    return first < end ? first : 0;
}

bool tort_plan_is_unchanged(const tort_planned *planned, int32_t first, uint64_t serial) {
    bool same = planned->before.steps != NULL;
    for (int32_t i = first; same && i < planned->plan.recorded_steps; i++) same = planned->changed[i] <= serial;
    return same;
}
