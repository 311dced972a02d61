/* fit.c - calls kernel->fit for a plan's static steps, and unfit when the plan goes: what a kernel makes for these
 * shapes. This file decides nothing: a kernel that cannot fit is an error, unless it names another that does its work.
 * Read next: plans.c, which calls it. */
#include "runtime/lowered/lowered.h"
#include "runtime/lowered/unit_view.h"
#include "runtime/plan/planned.h"
#include "runtime/providers/link.h"

static tort_status fit_step(tort_planned *planned, const tort_unit_view *view, int32_t index, tort_error *error) {
    const tort_lowered *lowered = planned->lowered;
    const tort_step *step = &planned->plan.steps[index];
    const tort_link *link = &lowered->session->chain[step->provider];
    tort_fit fit = {.node = &view->node,
                    .target = &link->target,
                    .scratch = (size_t)step->scratch_bytes,
                    .device = link->device,
                    .env = &lowered->session->env,
                    .error = error};
    const int32_t before = tort_link_enter(link);
    tort_status status = tort_link_noted(link, lowered->units[step->node].kernel->fit(&fit));
    tort_link_leave(link, before);
    planned->fitted[index] = fit.fitted;
    if (fit.label) lowered->units[step->node].label = fit.label;
    if (status) {
        tort_error_at_unit(error, lowered, step->node);
        if (error) error->provider = link->provider->name;
    }
    return status;
}

static tort_status view_and_fit(tort_planned *planned, int32_t index, tort_error *error) {
    const tort_step *step = &planned->plan.steps[index];
    const void *params = planned->params + step->params;
    tort_unit_view view;
    tort_status status = tort_unit_view_open(&view, planned->lowered, &planned->pass, step->node, params, error);
    if (!status) status = fit_step(planned, &view, index, error);
    tort_unit_view_close(&view, planned->lowered);
    return status;
}

static bool is_fitted(const tort_lowered *lowered, const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && lowered->units[step->node].kernel->fit;
}

tort_status tort_fit_plan(tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && planned->outline->fits && i < plan->step_count; i++)
        if (is_fitted(planned->lowered, &plan->steps[i])) status = view_and_fit(planned, i, error);
    return status;
}

void tort_unfit_plan(tort_planned *planned) {
    const tort_lowered *lowered = planned->lowered;
    const tort_plan *plan = &planned->plan;
    for (int32_t i = 0; planned->fitted && i < plan->step_count; i++) {
        if (!planned->fitted[i]) continue;
        const tort_step *step = &plan->steps[i];
        const tort_link *link = &lowered->session->chain[step->provider];
        const int32_t before = tort_link_enter(link);
        lowered->units[step->node].kernel->unfit(link->device, &lowered->session->env, planned->fitted[i]);
        tort_link_leave(link, before);
        planned->fitted[i] = NULL;
    }
}
