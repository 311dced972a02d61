/* fit.c - what kernels make for the shapes of their nodes (kernel->fit), for a plan's static steps. This file decides
 * nothing: a kernel that cannot fit is an error, unless it names another that does its work.
 *
 * A unit keeps its latest fits, each with what it was made for, so that plans share them: a decoder whose text grows
 * has new shapes for every token, but most of its nodes do not. What a kernel found by trying is kept by the session,
 * for all nodes alike, and by a saved plan. Read next: plans.c, which calls it. */
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/lowered/lowered.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/link.h"

/* ---- kept fits --------------------------------------------------------------------------------------------------- */

enum { MAX_FITS = 16 }; /* kept by a unit; a model fed with ever new shapes must not grow without limit */

struct tort_kept_fit {
    struct tort_kept_fit *next; /* of the unit's list, the newest first; under session->fitting */
    void *fitted;               /* owned */
    const char *label;
    uint64_t serial;
    uint64_t needs;   /* bytes of scratch */
    atomic_int users; /* plans */
    size_t key_bytes;
    uint8_t key[];
};

void *tort_planned_fitted(const tort_planned *planned, int32_t step) {
    const tort_kept_fit *kept = planned->fitted[step];
    return kept ? kept->fitted : NULL;
}

uint64_t tort_fit_serial(const tort_planned *planned, int32_t step) {
    const tort_kept_fit *kept = planned->fitted[step];
    return kept ? kept->serial : 0;
}

static void add(uint8_t *key, size_t *end, const void *data, size_t bytes) {
    if (bytes) memcpy(key + *end, data, bytes);
    *end += bytes;
}

static void add_shapes(uint8_t *key, size_t *end, const tort_info *infos, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        add(key, end, &infos[i].rank, sizeof infos[i].rank);
        add(key, end, infos[i].dims, (size_t)(infos[i].rank > 0 ? infos[i].rank : 0) * sizeof *infos[i].dims);
    }
}

/* Writes all that a fit depends on; returns its bytes. Scratch follows from it, and from whether memory is short. */
static size_t write_key(const tort_planned *planned, const tort_step *step, const tort_node_view *node) {
    const tort_segment_view *segment = node->segment;
    uint8_t *key = planned->fit_key;
    size_t end = 0;
    add_shapes(key, &end, segment ? segment->values : node->inputs, segment ? segment->value_count : node->input_count);
    if (!segment) add_shapes(key, &end, node->outputs, node->output_count);
    add(key, &end, &planned->frugal, sizeof planned->frugal);
    add(key, &end, planned->params + step->params, tort_unit_params_bytes(planned->lowered, step->node));
    return end;
}

static bool is_fitted(const tort_lowered *lowered, const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && lowered->units[step->node].kernel->fit;
}

size_t tort_fit_key_bytes(const tort_lowered *lowered, const tort_plan *plan) {
    size_t max = 0;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (!is_fitted(lowered, step)) continue;
        const tort_segment *segment = lowered->units[step->node].segment;
        const tort_node *node = tort_unit_node(lowered, step->node);
        const int32_t shapes = segment ? segment->value_count : node->input_count + node->output_count;
        const size_t bytes = (size_t)shapes * (sizeof(int32_t) + TORT_MAX_RANK * sizeof(int64_t)) + sizeof(bool) +
                             tort_unit_params_bytes(lowered, step->node);
        if (bytes > max) max = bytes;
    }
    return max;
}

static tort_kept_fit *find(const tort_unit *unit, const uint8_t *key, size_t bytes) {
    tort_kept_fit *fit = unit->fits;
    while (fit && (fit->key_bytes != bytes || memcmp(fit->key, key, bytes))) fit = fit->next;
    return fit;
}

static void drop(const tort_lowered *lowered, tort_unit *unit, tort_kept_fit *fit) {
    const tort_link *link = &lowered->session->chain[unit->provider];
    const int32_t before = tort_link_enter(link);
    unit->kernel->unfit(link->device, &lowered->session->env, fit->fitted);
    tort_link_leave(link, before);
    tort_free(&lowered->session->env, fit, sizeof *fit + fit->key_bytes);
}

/* Drops all but the newest `kept` fits, as far as no plan has them. */
static void drop_older(const tort_lowered *lowered, tort_unit *unit, int32_t kept) {
    for (tort_kept_fit **link = &unit->fits; *link;) {
        tort_kept_fit *fit = *link;
        if (kept-- > 0 || atomic_load(&fit->users)) {
            link = &fit->next;
            continue;
        }
        *link = fit->next;
        drop(lowered, unit, fit);
    }
}

void tort_drop_fits(tort_lowered *lowered) {
    for (int32_t i = 0; lowered->units && i < lowered->graph.node_count; i++)
        drop_older(lowered, &lowered->units[i], 0);
}

/* Takes over what was fitted. NULL: out of memory, and it is still the caller's. */
static tort_kept_fit *keep(const tort_planned *planned, tort_unit *unit, const tort_fit *made, size_t bytes) {
    tort_kept_fit *fit = tort_alloc(made->env, sizeof *fit + bytes);
    if (!fit) return NULL;
    fit->fitted = made->fitted;
    fit->label = made->label;
    fit->needs = made->needs;
    fit->serial = ++planned->lowered->session->fits_made;
    fit->key_bytes = bytes;
    memcpy(fit->key, planned->fit_key, bytes);
    atomic_init(&fit->users, 0);
    fit->next = unit->fits;
    unit->fits = fit;
    drop_older(planned->lowered, unit, MAX_FITS);
    return fit;
}

/* ---- what was found by trying ------------------------------------------------------------------------------------ */

/* Hashes what write_key wrote, the kernel and the types: the same in every process, as saved plans have it. */
static uint64_t hash_key(const tort_planned *planned, size_t bytes, const tort_node_view *node, const char *kernel) {
    static const uint64_t fixed[2] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    uint64_t hash = tort_hash(fixed, planned->fit_key, bytes) ^ tort_hash(fixed, kernel, strlen(kernel));
    for (int32_t i = 0; i < node->input_count; i++) hash = tort_hash_word(fixed, hash ^ node->inputs[i].type);
    return hash;
}

/* Lets the kernel make a fit with what it found before for such nodes, and keeps what it finds now. */
static tort_status fit_by_choice(const tort_kernel *kernel, tort_session *session, uint64_t key, tort_fit *fit) {
    tort_tried *tried = session->tried;
    int32_t count = 0;
    for (; tried && tried->key != key; tried = tried->next) count++;
    fit->choice = tried ? tried->choice : count >= TORT_MAX_TRIED ? TORT_NEVER_TRIED : 0;
    const tort_status status = kernel->fit(fit);
    if (status) return status;
    if (!tried && fit->choice && *fit->words) {
        tried = tort_arena_alloc(&session->arena, sizeof *tried);
        const char *words = tort_arena_text(&session->arena, fit->words, strlen(fit->words));
        if (!tried || !words) return tort_out_of_memory(fit->error, 0);
        *tried = (tort_tried){session->tried, key, fit->choice, words};
        session->tried = tried;
    }
    if (tried && fit->choice == tried->choice) fit->label = tried->words;
    return TORT_OK;
}

/* ---- the steps of a plan ----------------------------------------------------------------------------------------- */

/* Has the kernel make a fit; *made stays NULL if it needs none. */
static tort_status make(const tort_planned *planned, const tort_step *step, tort_fit *fit, size_t key_bytes,
                        tort_kept_fit **made) {
    const tort_lowered *lowered = planned->lowered;
    const tort_link *link = &lowered->session->chain[step->provider];
    tort_unit *unit = &lowered->units[step->node];
    const int32_t before = tort_link_enter(link);
    const uint64_t key = hash_key(planned, key_bytes, fit->node, unit->kernel->name);
    tort_status status = tort_link_noted(link, fit_by_choice(unit->kernel, lowered->session, key, fit));
    if (!status && fit->fitted) *made = keep(planned, unit, fit, key_bytes);
    if (fit->fitted && !*made) unit->kernel->unfit(fit->device, fit->env, fit->fitted);
    if (!status && fit->fitted && !*made) status = tort_out_of_memory(fit->error, 0);
    tort_link_leave(link, before);
    if (status) tort_error_at_unit(fit->error, lowered, step->node);
    if (status && fit->error) fit->error->provider = link->provider->name;
    return status;
}

static tort_status fit_step(tort_planned *planned, int32_t index, tort_error *error) {
    const tort_step *step = &planned->plan.steps[index];
    tort_session *session = planned->lowered->session;
    const tort_link *link = &session->chain[step->provider];
    tort_unit *unit = &planned->lowered->units[step->node];
    tort_kept_fit *kept = NULL;
    tort_unit_view view;
    tort_status status =
        tort_unit_view_open(&view, planned->lowered, &planned->pass, step->node, planned->params + step->params, error);
    const size_t bytes = status ? 0 : write_key(planned, step, &view.node);
    if (!status) kept = find(unit, planned->fit_key, bytes);
    tort_fit fit = {.node = &view.node,
                    .target = &link->target,
                    .scratch = (size_t)step->scratch_bytes,
                    .frugal = planned->frugal,
                    .needs = (size_t)step->scratch_bytes,
                    .device = link->device,
                    .env = &session->env,
                    .label = kept ? kept->label : NULL,
                    .error = error};
    if (!status && !kept) status = make(planned, step, &fit, bytes, &kept);
    if (fit.label) unit->label = fit.label;
    tort_unit_view_close(&view, planned->lowered);
    if (kept) atomic_fetch_add(&kept->users, 1);
    planned->fitted[index] = kept;
    return status;
}

static void release(tort_planned *planned, int32_t index) {
    if (planned->fitted[index]) atomic_fetch_sub(&planned->fitted[index]->users, 1);
    planned->fitted[index] = NULL;
}

/* Fits all steps; of a plan that was fitted before and filled again, only those that may have changed. */
tort_status tort_fit_plan(tort_planned *planned, tort_error *error) {
    const tort_plan *plan = &planned->plan;
    tort_status status = TORT_OK;
    const bool again = planned->all_fitted && planned->reused;
    planned->all_fitted = false;
    for (int32_t i = 0; !status && planned->outline->fits && i < plan->step_count; i++) {
        if (!is_fitted(planned->lowered, &plan->steps[i])) continue;
        if (again && (!tort_plan_is_measured(planned, &plan->steps[i]) || tort_plan_step_is_same(planned, i))) continue;
        release(planned, i);
        status = fit_step(planned, i, error);
    }
    planned->all_fitted = !status;
    return status;
}

/* A plan that was filled in part is none; reports find nothing in it. */
static void empty(tort_planned *planned) {
    tort_unfit_plan(planned);
    planned->plan.step_count = planned->plan.slot_count = 0;
    planned->plan.complete = false;
    planned->sized = NULL;
}

static uint64_t needs_of(const tort_planned *planned, int32_t step) {
    const tort_kept_fit *kept = planned->fitted[step];
    return kept ? kept->needs : UINT64_MAX;
}

/* True if some step has more scratch than its fit needs. */
static bool is_generous(const tort_planned *planned) {
    const tort_plan *plan = &planned->plan;
    int32_t i = 0;
    while (i < plan->step_count && needs_of(planned, i) >= plan->steps[i].scratch_bytes) i++;
    return i < plan->step_count;
}

/* Fills the plan again, each step with the scratch that its fit needs. */
static tort_status settle(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    const int32_t count = planned->plan.step_count;
    const size_t bytes = ((size_t)count + 1) * sizeof *planned->needs;
    planned->needs = tort_alloc(planned->env, bytes);
    if (!planned->needs) return tort_out_of_memory(error, bytes);
    for (int32_t i = 0; i < count; i++) planned->needs[i] = needs_of(planned, i);
    tort_status status = tort_planned_fill(planned, inputs, false, error);
    tort_free(planned->env, planned->needs, bytes);
    planned->needs = NULL;
    if (status) empty(planned);
    return status ? status : tort_fit_plan(planned, error); /* finds them all again */
}

/* Plans below upper bounds keep the offsets of the largest, whatever their own fits need. */
tort_status tort_fit_filled(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    tort_status status = tort_fit_plan(planned, error);
    if (status || planned->lowered->max || !planned->outline->fits) return status;
    if (planned->crowded) {
        planned->frugal = true;
        planned->all_fitted = false; /* all are to be chosen anew */
        status = tort_fit_plan(planned, error);
    }
    if (!status && (planned->crowded || is_generous(planned))) status = settle(planned, inputs, error);
    planned->frugal = false;
    return status;
}

void tort_unfit_plan(tort_planned *planned) {
    planned->all_fitted = false;
    for (int32_t i = 0; planned->fitted && i < planned->plan.step_count; i++) release(planned, i);
}
