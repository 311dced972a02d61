/* session.c - one chain of providers, one placement, and the plans made for it so far.
 *
 * tort_session_create runs the planning phase from end to end; each part is a file of its own. After that a session
 * only gains plans, under its lock. Read next, in this order: chain.c fold.c place.c prepare.c plan.c. */
#include <string.h>

#include "runtime/session_state.h"
#include "runtime/text.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char *copy_text(tort_session *session, const char *text, bool *failed) {
    if (!text) return NULL;
    const char *copy = tort_arena_text(&session->arena, text, strlen(text));
    if (!copy) *failed = true;
    return copy;
}

static const char *const *copy_texts(tort_session *session, const char *const *texts, int32_t count, bool *failed) {
    const char **copies = tort_arena_array(&session->arena, (size_t)count + 1, sizeof *copies);
    for (int32_t i = 0; copies && i < count; i++) copies[i] = copy_text(session, texts[i], failed);
    if (!copies) *failed = true;
    return copies;
}

static tort_status copy_options(tort_session *session, const tort_session_options *options, tort_error *error) {
    tort_session_options *mine = &session->options;
    bool failed = false;
    tort_status status =
        options ? tort_check_struct_size(options->struct_size, "tort_session_options", error) : TORT_OK;
    if (status) return status;
    if (options) memcpy(mine, options, options->struct_size < sizeof *mine ? options->struct_size : sizeof *mine);
    mine->chain = copy_text(session, mine->chain ? mine->chain : "cpu", &failed);
    mine->target = copy_text(session, mine->target, &failed);
    mine->disabled = copy_text(session, mine->disabled, &failed);
    mine->require = copy_text(session, mine->require, &failed);
    mine->allow = copy_text(session, mine->allow, &failed);
    mine->pins = copy_texts(session, mine->pins, mine->pin_count, &failed);
    mine->bindings = copy_texts(session, mine->bindings, mine->binding_count, &failed);
    if (!mine->dynamic_limit) mine->dynamic_limit = (uint64_t)1 << 30;
    return failed ? tort_out_of_memory(error, 0) : TORT_OK;
}

/* ---- create, free ------------------------------------------------------------------------------------------------ */

static tort_status allocate(tort_session *session, tort_error *error) {
    const tort_graph *graph = session->graph;
    size_t values = (size_t)graph->value_count;
    session->infos = tort_arena_array(&session->arena, values + 1, sizeof *session->infos);
    session->constants = tort_arena_array(&session->arena, values + 1, sizeof *session->constants);
    session->weights = tort_arena_array(&session->arena, values + 1, sizeof *session->weights);
    session->placements = tort_arena_array(&session->arena, (size_t)graph->node_count + 1, sizeof *session->placements);
    session->input_memory = tort_arena_array(&session->arena, (size_t)graph->input_count + 1, sizeof(int32_t));
    session->output_memory = tort_arena_array(&session->arena, (size_t)graph->output_count + 1, sizeof(int32_t));
    session->text = tort_text_new(&session->env);
    if (!session->input_memory || !session->output_memory || !session->infos || !session->constants ||
        !session->weights || !session->placements || !session->text ||
        !tort_dims_copy(&session->dims, &session->model->dims, &session->env, &session->arena))
        return tort_out_of_memory(error, values * sizeof *session->infos);
    for (int32_t v = 0; v < graph->value_count; v++) {
        session->infos[v] = graph->values[v].info;
        session->weights[v] = graph->values[v].weight;
        if (session->weights[v] >= 0) session->constants[v].bytes = session->model->weights[session->weights[v]].bytes;
    }
    return TORT_OK;
}

static int32_t wanted_threads(const tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++)
        if (session->chain[i].memory == 0 && session->chain[i].condition.ready) return session->chain[i].target.threads;
    return 1;
}

/* A device that was described, not opened, takes no weights. */
static bool only_planned(const tort_session *session) {
    bool described = false;
    for (int32_t i = 0; i < session->chain_count; i++) described |= session->chain[i].described;
    return described || session->options.plan_only;
}

/* The whole planning phase. A placement that is refused, or does not fit, still leaves a session to report on. */
static tort_status plan_session(tort_session *session, bool *reportable, tort_error *error) {
    tort_status status = tort_chain_open(session, error);
    if (!status) status = tort_fix_inputs(session, error);
    if (status) return status;
    if (!session->env.parallel_for) {
        session->pool = tort_pool_create(&session->env, wanted_threads(session));
        if (!session->pool) return tort_out_of_memory(error, 0);
        session->env.parallel_for = tort_pool_parallel_for;
        session->env.parallel_ud = session->pool;
    }
    status = tort_fold(session, error);
    if (!status) status = tort_place(session, error);
    if (!status) status = tort_chain_require(session, error);
    if (!status) status = tort_place_strict(session, error);
    if (!status) status = tort_bind_ports(session, error);
    if (!status) status = tort_hold_small_weights(session, error);
    if (!status) status = tort_count_weights(session, error);
    session->placed = !status;
    *reportable = !status || status == TORT_E_PLACEMENT;
    tort_planned *planned = NULL;
    if (!status) status = tort_check_weights(session, error);
    if (!status && !only_planned(session)) status = tort_prepare_all(session, error);
    if (!status) status = tort_plan_make(session, NULL, &planned, error);
    if (!status && !only_planned(session) && planned->plan.complete) status = tort_fit_plan(session, planned, error);
    if (status && status != TORT_E_PLACEMENT && status != TORT_E_MEMORY) *reportable = false;
    if (!status && planned->plan.complete)
        session->plans = planned;
    else
        session->draft = planned;
    if (status) return status;
    session->runnable = !only_planned(session);
    return TORT_OK;
}

tort_status tort_session_create(const tort_env *env, const tort_model *model, const tort_session_options *options,
                                tort_session **out, tort_error *error) {
    *out = NULL;
    if (error) *error = (tort_error){.node = -1};
    tort_env complete = tort_env_complete(env);
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (status) return status;
    tort_session *session = tort_alloc_zero(&complete, 1, sizeof *session);
    if (!session) return tort_out_of_memory(error, sizeof *session);
    session->env = tort_account_open(&session->account, &complete, sizeof *session);
    session->model = model;
    session->graph = &model->graphs[0];
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->planning, NULL);
    tort_arena_init(&session->arena, &session->env);
    status = allocate(session, error);
    if (!status) status = copy_options(session, options, error);
    bool reportable = false;
    if (!status) status = plan_session(session, &reportable, error);
    session->options.shapes = NULL; /* borrowed for the call only */
    session->options.symbols = NULL;
    if (status && !reportable) {
        tort_session_free(session);
        return status;
    }
    *out = session;
    return status;
}

void tort_session_free(tort_session *session) {
    if (!session) return;
    while (session->plans) {
        tort_planned *next = session->plans->next;
        tort_planned_free(session, session->plans);
        session->plans = next;
    }
    tort_planned_free(session, session->draft);
    tort_release_all(session);
    tort_chain_close(session);
    tort_pool_destroy(session->pool);
    tort_text_free(session->text);
    tort_dims_free(&session->dims);
    tort_arena_free(&session->arena);
    pthread_mutex_destroy(&session->lock);
    pthread_mutex_destroy(&session->planning);
    const tort_env outer = session->account.inner;
    tort_free(&outer, session, sizeof *session);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

bool tort_plan_fits(const tort_session *session, const tort_planned *planned, const tort_tensor *inputs) {
    for (int32_t i = 0; i < session->graph->input_count; i++) {
        const tort_info *info = &planned->infos[session->graph->inputs[i]];
        if (info->rank != inputs[i].rank) return false;
        for (int32_t d = 0; d < info->rank; d++)
            if (planned->input_dims[i * TORT_MAX_RANK + d] != inputs[i].dims[d]) return false;
    }
    return true;
}

#define MAX_PLANS 64 /* kept of one session; a model fed with ever new shapes must not grow for ever */

/* Takes the plan that was used least recently out of the list, if there are many and no context holds it. */
static tort_planned *forget_oldest(tort_session *session) {
    tort_planned **victim = NULL;
    int32_t count = 0;
    for (tort_planned **p = &session->plans; *p; p = &(*p)->next, count++)
        if ((*p)->users == 0) victim = p;
    if (count < MAX_PLANS || !victim) return NULL;
    tort_planned *old = *victim;
    *victim = old->next;
    return old;
}

static void put_first(tort_session *session, tort_planned *planned) {
    planned->next = session->plans;
    session->plans = planned;
}

/* The plan for these shapes, held and first in the list; NULL: there is none. Takes the lock. */
static tort_planned *hold_plan(tort_session *session, const tort_tensor *inputs) {
    pthread_mutex_lock(&session->lock);
    tort_planned **link = &session->plans;
    while (*link && !tort_plan_fits(session, *link, inputs)) link = &(*link)->next;
    tort_planned *found = *link;
    if (found) {
        *link = found->next;
        put_first(session, found);
        found->users++;
    }
    pthread_mutex_unlock(&session->lock);
    return found;
}

/* Makes a plan while other contexts go on running theirs. */
static tort_status add_plan(tort_session *session, const tort_tensor *inputs, tort_planned **out, tort_error *error) {
    tort_planned *made = NULL;
    tort_status status = tort_plan_make(session, inputs, &made, error);
    if (!status && session->runnable) status = tort_fit_plan(session, made, error);
    if (status) {
        tort_planned_free(session, made);
        return status;
    }
    pthread_mutex_lock(&session->lock);
    tort_planned *old = forget_oldest(session), *draft = session->draft;
    session->draft = NULL;
    made->users = 1;
    put_first(session, made);
    pthread_mutex_unlock(&session->lock);
    tort_planned_free(session, old);
    tort_planned_free(session, draft);
    *out = made;
    return TORT_OK;
}

tort_status tort_session_find_plan(tort_session *session, const tort_tensor *inputs, tort_planned **planned,
                                   tort_error *error) {
    tort_status status = TORT_OK;
    *planned = hold_plan(session, inputs);
    if (*planned) return TORT_OK;
    pthread_mutex_lock(&session->planning); /* one at a time: another may be making this very plan */
    *planned = hold_plan(session, inputs);
    if (!*planned) status = add_plan(session, inputs, planned, error);
    pthread_mutex_unlock(&session->planning);
    return status;
}

tort_planned *tort_session_last_plan(tort_session *session) {
    pthread_mutex_lock(&session->lock);
    tort_planned *planned = session->plans;
    if (planned) planned->users++;
    pthread_mutex_unlock(&session->lock);
    return planned;
}

void tort_session_leave_plan(tort_session *session, tort_planned *planned) {
    pthread_mutex_lock(&session->lock);
    planned->users--;
    pthread_mutex_unlock(&session->lock);
}

tort_status tort_session_plan(tort_session *session, const tort_input_shape *shapes, int32_t count, tort_error *error) {
    const tort_graph *graph = session->graph;
    if (error) *error = (tort_error){.node = -1};
    if (session->lost) return tort_session_lost(error);
    if (!session->placed)
        return tort_fail(error, TORT_E_USAGE, "the session's placement was refused: there is nothing to plan");
    if (count != graph->input_count)
        return tort_fail(error, TORT_E_INPUT, "%d shapes given, the model has %d inputs", count, graph->input_count);
    tort_tensor *inputs = tort_alloc_zero(&session->env, (size_t)count + 1, sizeof *inputs);
    if (!inputs) return tort_out_of_memory(error, 0);
    char somewhere = 0; /* never read: planning looks at shapes only */
    for (int32_t i = 0; i < count; i++) {
        inputs[i] =
            (tort_tensor){.type = session->infos[graph->inputs[i]].type, .rank = shapes[i].rank, .data = &somewhere};
        memcpy(inputs[i].dims, shapes[i].dims, sizeof inputs[i].dims);
    }
    tort_planned *planned = NULL;
    tort_status status = tort_check_inputs(session, inputs, count, error);
    if (!status) status = tort_session_find_plan(session, inputs, &planned, error);
    if (planned) tort_session_leave_plan(session, planned);
    tort_free(&session->env, inputs, ((size_t)count + 1) * sizeof *inputs);
    return status;
}
