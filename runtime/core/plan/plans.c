/* plans.c - the cache of plans of a graph, one for each list of input shapes, least recently used last.
 *
 * Plans are made while contexts run and other plans are made; ownership is guarded by the session's lock, which is held
 * only briefly. This file must not know the contents of a plan. Read next: plan.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/inputs.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/link.h"

static bool fits(const tort_planned *planned, const tort_tensor *inputs) {
    const tort_graph *graph = &planned->lowered->graph;
    if (!planned->ready) return false;
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_info *info = &planned->infos[graph->inputs[i]];
        if (info->constant) continue; /* a constant that a body captures */
        if (info->rank != inputs[i].rank) return false;
        for (int32_t d = 0; d < info->rank; d++)
            if (planned->input_dims[i * TORT_MAX_RANK + d] != inputs[i].dims[d]) return false;
    }
    return true;
}

#define MAX_PLANS                                                                                                      \
    32 /* kept of one graph, for as many sizes of a batch; a model fed with ever new shapes must not grow without      \
          limit */

/* Removes the least recently used plan that no context holds, if the cache is full. NULL: it is
 * not full, or all are held. */
static tort_planned *take_oldest(tort_lowered *lowered) {
    tort_planned **victim = NULL;
    int32_t count = 0;
    for (tort_planned **p = &lowered->plans; *p; p = &(*p)->next, count++)
        if ((*p)->users == 0) victim = p;
    if (count < MAX_PLANS || !victim) return NULL;
    tort_planned *old = *victim;
    *victim = old->next;
    return old;
}

static void put_first(tort_lowered *lowered, tort_planned *planned) {
    planned->next = lowered->plans;
    lowered->plans = planned;
}

/* Finds the plan for these shapes, holds it and moves it to the front; NULL: there is none. The caller has the lock. */
static tort_planned *take_plan(tort_lowered *lowered, const tort_tensor *inputs) {
    tort_planned **link = &lowered->plans;
    while (*link && !fits(*link, inputs)) link = &(*link)->next;
    tort_planned *found = *link;
    if (found) {
        *link = found->next;
        put_first(lowered, found);
        found->users++;
    }
    return found;
}

/* The same; takes the lock. */
static tort_planned *hold_plan(tort_lowered *lowered, const tort_tensor *inputs) {
    pthread_mutex_lock(&lowered->session->lock);
    tort_planned *found = take_plan(lowered, inputs);
    pthread_mutex_unlock(&lowered->session->lock);
    return found;
}

/* Adds a plan to the cache, held. If another thread added one for these shapes first, holds
 * that, and frees this one. */
static tort_planned *keep_plan(tort_lowered *lowered, tort_planned *made, const tort_tensor *inputs) {
    pthread_mutex_lock(&lowered->session->lock);
    tort_planned *found = take_plan(lowered, inputs), *old = NULL, *draft = NULL;
    if (!found) {
        old = take_oldest(lowered); /* another thread may have filled the cache meanwhile */
        draft = lowered->symbolic_plan;
        lowered->symbolic_plan = NULL;
        made->users = 1;
        made->ready = true;
        put_first(lowered, made);
    }
    pthread_mutex_unlock(&lowered->session->lock);
    tort_planned_free(old);
    tort_planned_free(draft);
    if (!found) return made;
    tort_planned_free(made);
    return found;
}

/* Fits are made by one thread at a time; while this one waited, another may have fitted a plan for these shapes. */
static tort_status fit_and_keep(tort_lowered *lowered, tort_planned *made, const tort_tensor *inputs,
                                tort_planned **out, tort_error *error) {
    tort_session *session = lowered->session;
    tort_status status = TORT_OK;
    pthread_mutex_lock(&session->fitting);
    *out = hold_plan(lowered, inputs);
    if (!*out) status = tort_fit_filled(made, inputs, error);
    if (*out || status)
        tort_planned_free(made);
    else
        *out = keep_plan(lowered, made, inputs);
    pthread_mutex_unlock(&session->fitting);
    return status;
}

/* Makes a plan in the memory of an evicted one, if the cache is full. */
static tort_status make_plan(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **made, tort_error *error) {
    pthread_mutex_lock(&lowered->session->lock);
    *made = take_oldest(lowered);
    pthread_mutex_unlock(&lowered->session->lock);
    if (!*made) return tort_plan_make(lowered, inputs, false, made, error);
    tort_status status = tort_planned_fill(*made, inputs, false, error);
    if (!status) return TORT_OK;
    tort_planned_free(*made);
    *made = NULL;
    return status;
}

/* Finds the plan in the cache, or makes it; holds it. */
static tort_status find_plan(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **planned,
                             tort_error *error) {
    tort_planned *made = NULL;
    *planned = hold_plan(lowered, inputs);
    if (*planned) return TORT_OK;
    tort_status status = make_plan(lowered, inputs, &made, error);
    if (status) return status;
    if (made->outline->fits && lowered->session->runnable) return fit_and_keep(lowered, made, inputs, planned, error);
    *planned = keep_plan(lowered, made, inputs);
    return TORT_OK;
}

/* Fills and fits a plan that a context owns. */
static tort_status renew(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    tort_session *session = planned->lowered->session;
    tort_status status = tort_planned_fill(planned, inputs, false, error);
    if (!status && planned->outline->fits) {
        pthread_mutex_lock(&session->fitting);
        status = tort_fit_filled(planned, inputs, error);
        pthread_mutex_unlock(&session->fitting);
    }
    if (!status) tort_plan_note_changes(planned);
    planned->ready = !status;
    return status;
}

tort_status tort_plan_for(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **held, bool *changed,
                          tort_error *error) {
    tort_planned *found = NULL;
    *changed = !*held || !fits(*held, inputs);
    if (!*changed) return TORT_OK;
    if (lowered->bound) return renew(*held, inputs, error);
    tort_status status = find_plan(lowered, inputs, &found, error);
    if (status) return status;
    tort_leave_plan(*held);
    *held = found;
    return TORT_OK;
}

tort_planned *tort_lowered_last_plan(tort_lowered *lowered) {
    pthread_mutex_lock(&lowered->session->lock);
    tort_planned *planned = lowered->plans;
    if (planned) planned->users++;
    pthread_mutex_unlock(&lowered->session->lock);
    return planned;
}

void tort_leave_plan(tort_planned *planned) {
    if (!planned) return;
    tort_session *session = planned->lowered->session;
    if (planned->lowered->bound) {
        tort_planned_free(planned);
        return;
    }
    pthread_mutex_lock(&session->lock);
    planned->users--;
    pthread_mutex_unlock(&session->lock);
}

void tort_lowered_drop_plans(tort_lowered *lowered) {
    while (lowered->plans) {
        tort_planned *next = lowered->plans->next;
        tort_planned_free(lowered->plans);
        lowered->plans = next;
    }
    tort_planned_free(lowered->symbolic_plan);
    tort_planned_free(lowered->bound);
    lowered->symbolic_plan = lowered->bound = NULL;
    tort_drop_fits(lowered);
    while (lowered->outlines) {
        tort_outline *next = lowered->outlines->next;
        tort_outline_free(lowered->session, lowered->outlines);
        lowered->outlines = next;
    }
}

tort_status tort_session_plan(tort_session *session, const tort_input_shape *shapes, int32_t count, tort_error *error) {
    if (!session || (!shapes && count))
        return tort_fail(error, TORT_E_USAGE, "tort_session_plan needs a session and shapes");
    tort_lowered *lowered = tort_main_graph(session);
    const tort_graph *graph = &lowered->graph;
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    if (!session->placed)
        return tort_fail(error, TORT_E_USAGE, "the session's placement was refused: there is nothing to plan");
    if (count != graph->input_count)
        return tort_fail(error, TORT_E_INPUT, "%d shapes given, the model has %d inputs", count, graph->input_count);
    tort_tensor *inputs = tort_alloc_zero(&session->env, (size_t)count + 1, sizeof *inputs);
    if (!inputs) return tort_out_of_memory(error, 0);
    char somewhere = 0; /* never read: planning looks only at shapes */
    for (int32_t i = 0; i < count; i++) {
        inputs[i] =
            (tort_tensor){.type = lowered->infos[graph->inputs[i]].type, .rank = shapes[i].rank, .data = &somewhere};
        memcpy(inputs[i].dims, shapes[i].dims, sizeof inputs[i].dims);
        if (lowered->infos[graph->inputs[i]].kind != TORT_TENSOR) inputs[i].rank = -1;
    }
    tort_planned *planned = NULL;
    tort_status status = tort_check_inputs(session, inputs, count, error);
    if (!status && lowered->bound) {
        status = tort_plan_make(lowered, inputs, false, &planned, error);
        tort_planned_free(planned); /* each context has its own plan */
    } else if (!status) {
        status = find_plan(lowered, inputs, &planned, error);
        tort_leave_plan(planned);
    }
    tort_free(&session->env, inputs, ((size_t)count + 1) * sizeof *inputs);
    return status;
}
