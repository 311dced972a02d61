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

/* ---- fixed input shapes ------------------------------------------------------------------------------------------ */

/* A symbol that one input fixes is fixed in every input. */
static void bind_symbol(tort_session *session, tort_dim symbol, int64_t size) {
    for (int32_t i = 0; i < session->graph->input_count; i++) {
        tort_info *info = &session->infos[session->graph->inputs[i]];
        for (int32_t d = 0; d < info->rank; d++)
            if (info->dims[d] == symbol) info->dims[d] = size;
    }
}

static tort_status fix_shape(tort_session *session, const tort_input_shape *shape, tort_error *error) {
    const tort_graph *graph = session->graph;
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_value *value = &graph->values[graph->inputs[i]];
        if (strcmp(value->name, shape->name)) continue;
        tort_info *info = &session->infos[graph->inputs[i]];
        if (info->rank >= 0 && info->rank != shape->rank)
            return tort_fail(error, TORT_E_INPUT, "shape of input \"%s\" has rank %d, the model says %d", shape->name,
                             shape->rank, info->rank);
        if (info->rank < 0)
            for (int32_t d = 0; d < shape->rank; d++) info->dims[d] = tort_dim_fresh(&session->dims, false);
        info->rank = shape->rank;
        for (int32_t d = 0; d < shape->rank; d++) {
            tort_dim before = info->dims[d];
            if (shape->dims[d] < 0) continue; /* left open */
            if (tort_dim_known(before) && before != shape->dims[d])
                return tort_fail(error, TORT_E_INPUT, "dimension %d of input \"%s\" is %lld, the model says %lld", d,
                                 shape->name, (long long)shape->dims[d], (long long)before);
            if (!tort_dim_known(before)) bind_symbol(session, before, shape->dims[d]);
        }
        return TORT_OK;
    }
    return tort_fail(error, TORT_E_INPUT, "the model has no input \"%s\"", shape->name);
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
    for (int32_t i = 0; !status && i < session->options.shape_count; i++)
        status = fix_shape(session, &session->options.shapes[i], error);
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
    *reportable = !status || status == TORT_E_PLACEMENT;
    tort_planned *planned = NULL;
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
    tort_session *session = tort_alloc_zero(&complete, 1, sizeof *session);
    if (!session) return tort_out_of_memory(error, sizeof *session);
    session->env = complete;
    session->model = model;
    session->graph = &model->graphs[0];
    pthread_mutex_init(&session->lock, NULL);
    tort_arena_init(&session->arena, &session->env);
    tort_status status = allocate(session, error);
    if (!status) status = copy_options(session, options, error);
    bool reportable = false;
    if (!status) status = plan_session(session, &reportable, error);
    session->options.shapes = NULL; /* borrowed for the call only */
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
    tort_env env = session->env;
    tort_free(&env, session, sizeof *session);
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

static bool may_forget(const tort_planned *planned) {
    return planned->users == 0;
}

/* Frees the oldest plan that no context holds. */
static void forget_oldest(tort_session *session) {
    tort_planned **victim = NULL;
    int32_t count = 0;
    for (tort_planned **p = &session->plans; *p; p = &(*p)->next, count++)
        if (may_forget(*p)) victim = p;
    if (count < MAX_PLANS || !victim) return;
    tort_planned *old = *victim;
    *victim = old->next;
    tort_planned_free(session, old);
}

tort_status tort_session_find_plan(tort_session *session, const tort_tensor *inputs, tort_planned **planned,
                                   tort_error *error) {
    pthread_mutex_lock(&session->lock);
    tort_status status = TORT_OK;
    tort_planned *found = session->plans;
    while (found && !tort_plan_fits(session, found, inputs)) found = found->next;
    if (!found) {
        forget_oldest(session);
        status = tort_plan_make(session, inputs, &found, error);
        if (!status && session->runnable) status = tort_fit_plan(session, found, error);
        if (status) {
            tort_planned_free(session, found);
            found = NULL;
        } else {
            found->next = session->plans;
            session->plans = found;
            tort_planned_free(session, session->draft);
            session->draft = NULL;
        }
    }
    if (found) found->users++;
    *planned = found;
    pthread_mutex_unlock(&session->lock);
    return status;
}

void tort_session_leave_plan(tort_session *session, tort_planned *planned) {
    pthread_mutex_lock(&session->lock);
    planned->users--;
    pthread_mutex_unlock(&session->lock);
}

tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count,
                              tort_error *error) {
    const tort_graph *graph = session->graph;
    if (count != graph->input_count)
        return tort_fail(error, TORT_E_INPUT, "%d inputs given, the model has %d", count, graph->input_count);
    for (int32_t i = 0; i < count; i++) {
        const tort_info *info = &session->infos[graph->inputs[i]];
        const char *name = graph->values[graph->inputs[i]].name;
        size_t bytes;
        if (info->kind != TORT_TENSOR)
            return tort_fail(error, TORT_E_UNSUPPORTED, "input \"%s\" is not a tensor: this build takes only tensors",
                             name);
        if (inputs[i].type != info->type)
            return tort_fail(error, TORT_E_INPUT, "input \"%s\" is of type %s, the model wants %s", name,
                             tort_type_name(inputs[i].type), tort_type_name(info->type));
        if (inputs[i].rank < 0 || inputs[i].rank > TORT_MAX_RANK || !tort_tensor_bytes(&inputs[i], &bytes))
            return tort_fail(error, TORT_E_INPUT, "input \"%s\" has no valid shape", name);
        if (bytes && !inputs[i].data) return tort_fail(error, TORT_E_INPUT, "input \"%s\" has no data", name);
        if (info->rank >= 0 && info->rank != inputs[i].rank)
            return tort_fail(error, TORT_E_INPUT, "input \"%s\" has rank %d, the model wants %d", name, inputs[i].rank,
                             info->rank);
        for (int32_t d = 0; d < info->rank; d++)
            if (tort_dim_known(info->dims[d]) && info->dims[d] != inputs[i].dims[d])
                return tort_fail(error, TORT_E_INPUT, "dimension %d of input \"%s\" is %lld, the model wants %lld", d,
                                 name, (long long)inputs[i].dims[d], (long long)info->dims[d]);
    }
    return TORT_OK;
}

tort_status tort_session_plan(tort_session *session, const tort_input_shape *shapes, int32_t count, tort_error *error) {
    const tort_graph *graph = session->graph;
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
