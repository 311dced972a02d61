/* fit.c - what kernels make for the shapes of their nodes (kernel->fit), for a plan's static steps. This file decides
 * nothing: a kernel that cannot fit is an error, unless it names another that does its work.
 *
 * A unit keeps its latest fits, each with what it was made for, so that plans share them: a decoder whose text grows
 * has new shapes for every token, but most of its nodes do not. Read next: plans.c, which calls it. */
#include <string.h>

#include "runtime/lowered/lowered.h"
#include "runtime/lowered/unit_view.h"
#include "runtime/plan/planned.h"
#include "runtime/providers/link.h"

/* ---- kept fits --------------------------------------------------------------------------------------------------- */

enum { MAX_FITS = 16 }; /* kept by a unit; a model fed with ever new shapes must not grow without limit */

struct tort_kept_fit {
    struct tort_kept_fit *next; /* of the unit's list, the latest first; under session->fitting */
    void *fitted;               /* owned */
    const char *label;
    atomic_int users; /* plans */
    size_t key_bytes;
    uint8_t key[];
};

void *tort_planned_fitted(const tort_planned *planned, int32_t step) {
    const tort_kept_fit *kept = planned->fitted[step];
    return kept ? kept->fitted : NULL;
}

/* All that a fit depends on, in bytes, which are counted, written, or compared with those of a kept one. */
typedef struct fit_key {
    uint8_t *to;
    const uint8_t *kept;
    size_t bytes, kept_bytes;
    bool same; /* as kept, so far */
} fit_key;

static void add(fit_key *key, const void *data, size_t bytes) {
    if (!bytes) return;
    if (key->to) memcpy(key->to + key->bytes, data, bytes);
    key->same = key->same && bytes <= key->kept_bytes - key->bytes && !memcmp(key->kept + key->bytes, data, bytes);
    key->bytes += bytes;
}

static void add_shapes(fit_key *key, const tort_info *infos, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        add(key, &infos[i].rank, sizeof infos[i].rank);
        add(key, infos[i].dims, (size_t)(infos[i].rank > 0 ? infos[i].rank : 0) * sizeof *infos[i].dims);
    }
}

static void add_all(fit_key *key, const tort_planned *planned, const tort_step *step, const tort_node_view *node) {
    const tort_segment_view *segment = node->segment;
    add_shapes(key, segment ? segment->values : node->inputs, segment ? segment->value_count : node->input_count);
    add_shapes(key, node->outputs, segment ? 0 : node->output_count);
    add(key, &step->scratch_bytes, sizeof step->scratch_bytes);
    add(key, planned->params + step->params, tort_unit_params_bytes(planned->lowered, step->node));
}

/* Finds the fit for what the step has now, and moves it to the front; NULL: there is none. */
static tort_kept_fit *find(const tort_planned *planned, const tort_step *step, const tort_node_view *node) {
    tort_unit *unit = &planned->lowered->units[step->node];
    for (tort_kept_fit **link = &unit->fits; *link; link = &(*link)->next) {
        tort_kept_fit *fit = *link;
        fit_key key = {.kept = fit->key, .kept_bytes = fit->key_bytes, .same = true};
        add_all(&key, planned, step, node);
        if (!key.same || key.bytes != fit->key_bytes) continue;
        *link = fit->next;
        fit->next = unit->fits;
        unit->fits = fit;
        return fit;
    }
    return NULL;
}

static void drop(const tort_lowered *lowered, tort_unit *unit, tort_kept_fit *fit) {
    const tort_link *link = &lowered->session->chain[unit->provider];
    const int32_t before = tort_link_enter(link);
    unit->kernel->unfit(link->device, &lowered->session->env, fit->fitted);
    tort_link_leave(link, before);
    tort_free(&lowered->session->env, fit, sizeof *fit + fit->key_bytes);
}

/* Drops the oldest fit that no plan has, if there are too many. */
static void drop_oldest(const tort_lowered *lowered, tort_unit *unit) {
    tort_kept_fit **oldest = NULL;
    int32_t count = 0;
    for (tort_kept_fit **link = &unit->fits; *link; link = &(*link)->next, count++)
        if (!atomic_load(&(*link)->users)) oldest = link;
    if (count <= MAX_FITS || !oldest) return;
    tort_kept_fit *fit = *oldest;
    *oldest = fit->next;
    drop(lowered, unit, fit);
}

void tort_drop_fits(tort_lowered *lowered) {
    for (int32_t i = 0; lowered->units && i < lowered->graph.node_count; i++)
        for (tort_unit *unit = &lowered->units[i]; unit->fits;) {
            tort_kept_fit *next = unit->fits->next;
            drop(lowered, unit, unit->fits);
            unit->fits = next;
        }
}

/* Takes over what was fitted. NULL: out of memory, and it is still the caller's. */
static tort_kept_fit *keep(const tort_planned *planned, const tort_step *step, const tort_fit *made) {
    const tort_lowered *lowered = planned->lowered;
    tort_unit *unit = &lowered->units[step->node];
    fit_key key = {.to = NULL};
    add_all(&key, planned, step, made->node);
    tort_kept_fit *fit = tort_alloc(&lowered->session->env, sizeof *fit + key.bytes);
    if (!fit) return NULL;
    fit->fitted = made->fitted;
    fit->label = made->label;
    fit->key_bytes = key.bytes;
    key = (fit_key){.to = fit->key};
    add_all(&key, planned, step, made->node);
    atomic_init(&fit->users, 0);
    fit->next = unit->fits;
    unit->fits = fit;
    drop_oldest(lowered, unit);
    return fit;
}

/* ---- the steps of a plan ----------------------------------------------------------------------------------------- */

/* Has the kernel make a fit; *made stays NULL if it needs none. */
static tort_status make(const tort_planned *planned, const tort_step *step, const tort_unit_view *view,
                        tort_kept_fit **made, tort_error *error) {
    const tort_lowered *lowered = planned->lowered;
    const tort_link *link = &lowered->session->chain[step->provider];
    tort_fit fit = {.node = &view->node,
                    .target = &link->target,
                    .scratch = (size_t)step->scratch_bytes,
                    .device = link->device,
                    .env = &lowered->session->env,
                    .error = error};
    const int32_t before = tort_link_enter(link);
    const tort_kernel *kernel = lowered->units[step->node].kernel;
    tort_status status = tort_link_noted(link, kernel->fit(&fit));
    if (!status && fit.fitted) *made = keep(planned, step, &fit);
    if (fit.fitted && !*made) kernel->unfit(fit.device, fit.env, fit.fitted);
    if (!status && fit.fitted && !*made) status = tort_out_of_memory(error, 0);
    tort_link_leave(link, before);
    if (fit.label) lowered->units[step->node].label = fit.label;
    if (status) {
        tort_error_at_unit(error, lowered, step->node);
        if (error) error->provider = link->provider->name;
    }
    return status;
}

static tort_status fit_step(tort_planned *planned, int32_t index, tort_error *error) {
    const tort_step *step = &planned->plan.steps[index];
    tort_unit *unit = &planned->lowered->units[step->node];
    tort_kept_fit *fit = NULL;
    tort_unit_view view;
    tort_status status =
        tort_unit_view_open(&view, planned->lowered, &planned->pass, step->node, planned->params + step->params, error);
    if (!status) fit = find(planned, step, &view.node);
    if (fit && fit->label) unit->label = fit->label;
    if (!status && !fit) status = make(planned, step, &view, &fit, error);
    tort_unit_view_close(&view, planned->lowered);
    if (fit) atomic_fetch_add(&fit->users, 1);
    planned->fitted[index] = fit;
    return status;
}

static bool is_fitted(const tort_lowered *lowered, const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && lowered->units[step->node].kernel->fit;
}

tort_status tort_fit_plan(tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && planned->outline->fits && i < plan->step_count; i++)
        if (is_fitted(planned->lowered, &plan->steps[i])) status = fit_step(planned, i, error);
    return status;
}

void tort_unfit_plan(tort_planned *planned) {
    for (int32_t i = 0; planned->fitted && i < planned->plan.step_count; i++) {
        if (planned->fitted[i]) atomic_fetch_sub(&planned->fitted[i]->users, 1);
        planned->fitted[i] = NULL;
    }
}
