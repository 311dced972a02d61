/* session.c - opens a session: a chain of providers, and one placement; later it only gains plans, under its lock.
 *
 * tort_session_open runs the planning phase from end to end; each part has its own file. Read next, in this order:
 * chain.c lower.c session_create.c fold.c place.c segment.c fuse.c layout.c prepare.c plan.c; plans.c keeps the plans.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/base/system.h"
#include "runtime/core/graph/text.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/inputs.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/layouts.h"
#include "runtime/core/run/bind.h"
#include "runtime/core/saved/saved_format.h"
#include "runtime/core/session/session.h"

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
    mine->fusions_off = copy_text(session, mine->fusions_off, &failed);
    mine->pins = copy_texts(session, mine->pins, mine->pin_count, &failed);
    mine->bindings = copy_texts(session, mine->bindings, mine->binding_count, &failed);
    tort_watch_begin(&session->watch, mine->time_limit);
    if (!mine->trip_limit) mine->trip_limit = TORT_TRIP_LIMIT;
    if (!mine->dynamic_limit) mine->dynamic_limit = TORT_DYNAMIC_LIMIT;
    return failed ? tort_out_of_memory(error, 0) : TORT_OK;
}

/* ---- create, free ------------------------------------------------------------------------------------------------ */

static tort_status allocate(tort_session *session, tort_error *error) {
    const tort_env text_env = tort_account_open(&session->text_account, &session->env, 0);
    session->text = tort_text_new(&text_env);
    if (!session->text) return tort_out_of_memory(error, 0);
    tort_dims_extend(&session->dims, &session->model->dims, &session->env, &session->arena);
    return tort_lower(session, error);
}

/* The provider whose options set the number of threads; NULL: none on the host, or only ones that bring their own. */
static const tort_link *link_of_threads(const tort_session *session) {
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        if (link->memory == 0 && link->condition.ready && link->target.threads) return link;
    }
    return NULL;
}

/* A described device takes no weights, and a refused placement is planned only for its report. */
static bool only_planned(const tort_session *session) {
    bool described = false;
    for (int32_t i = 0; i < session->chain_count; i++) described |= session->chain[i].described;
    return described || session->options.plan_only || session->refused;
}

/* Makes the first plan: runnable if all shapes are known, else a draft for reports; with upper
 * bounds the plan for these. */
static tort_status plan_graph(tort_lowered *lowered, tort_error *error) {
    tort_planned *planned = NULL;
    if (lowered->max) return tort_plan_bounds(lowered, &lowered->session->env, &lowered->bound, error);
    tort_status status = tort_plan_make(lowered, NULL, false, &planned, error);
    if (!status && !only_planned(lowered->session) && planned->plan.complete)
        status = tort_fit_filled(planned, NULL, error);
    if (!status && planned->plan.complete)
        lowered->plans = planned;
    else
        lowered->symbolic_plan = planned;
    if (planned) planned->ready = planned->plan.complete;
    return status;
}

int32_t tort_session_threads(const tort_session *session) {
    const tort_link *link = link_of_threads(session);
    return link ? link->target.threads : 1;
}

/* A part of a parallel_for of the application, on one of its threads, which gets its mode back. */
typedef struct flushed_part {
    void (*body)(void *, int64_t, int64_t);
    void *arg;
} flushed_part;

static void run_flushed(void *arg, int64_t begin, int64_t end) {
    const flushed_part *part = arg;
    const uint64_t mode = tort_subnormals_off();
    part->body(part->arg, begin, end);
    tort_subnormals_restore(mode);
}

static void flushed_for(void *ud, int64_t count, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg) {
    const tort_session *session = ud;
    flushed_part part = {body, arg};
    session->inner.parallel_for(session->inner.parallel_ud, count, grain, run_flushed, &part);
}

static tort_status open_pool(tort_session *session, tort_error *error) {
    const tort_link *link = link_of_threads(session);
    const char *subnormals = link ? tort_provider_option_get(&link->config, "subnormals") : NULL;
    session->flushes = subnormals && !strcmp(subnormals, "off");
    if (session->env.parallel_for) {
        session->inner = session->env;
        if (session->flushes) session->env.parallel_for = flushed_for, session->env.parallel_ud = session;
        return TORT_OK;
    }
    const char *spin = link ? tort_provider_option_get(&link->config, "spin") : NULL;
    int32_t threads = tort_session_threads(session);
    if (session->chain_from_file && threads > tort_processors()) threads = tort_processors();
    session->pool = tort_pool_create(&session->env, threads, spin ? strtol(spin, NULL, 10) : -1, session->flushes);
    if (!session->pool) return tort_out_of_memory(error, 0);
    session->env.parallel_for = tort_pool_parallel_for;
    session->env.parallel_ud = session->pool;
    return TORT_OK;
}

/* The whole planning phase. If placement is refused, or weights do not fit, the session can still be reported. */
static tort_status plan_session(tort_session *session, tort_decide *decide, bool *reportable, tort_error *error) {
    tort_status status = tort_choose_outputs(session, error);
    if (!status) status = tort_chain_open(session, error);
    if (!status) status = tort_layouts_open(session, error);
    if (!status) status = tort_fix_inputs(session, error);
    if (!status) status = tort_read_bounds(session, error);
    if (!status) status = open_pool(session, error);
    if (status) return status;
    status = decide(session, error);
    if (!status) status = tort_session_in_time(session, error);
    if (!status) status = tort_layout_units(session, error);
    if (!status) status = tort_bind_ports(session, error);
    if (!status) status = tort_bind_bodies(session, error);
    if (!status) status = tort_mark_rules(session, error);
    if (!status) status = tort_hold_small_weights(session, error);
    if (!status) status = tort_share_packed(session, error);
    if (!status) status = tort_saved_check_places(session, error);
    if (!status) status = tort_count_weights(session, error);
    session->placed = !status;
    *reportable = !status || status == TORT_E_PLACEMENT;
    if (!status) status = tort_check_weights(session, error);
    if (!status && !only_planned(session)) status = tort_prepare_all(session, error);
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = plan_graph(&session->graphs[g], error);
    if (!status) status = tort_session_in_time(session, error);
    if (status && status != TORT_E_PLACEMENT && status != TORT_E_MEMORY) *reportable = false;
    if (status || session->refused) return status ? status : session->refused;
    session->runnable = !only_planned(session);
    return TORT_OK;
}

tort_status tort_session_open(const tort_env *env, const tort_model *model, const tort_session_options *options,
                              tort_decide *decide, struct tort_saved *saved, tort_session **out, bool *reportable,
                              tort_error *error) {
    tort_env complete = tort_env_complete(env);
    tort_env_choose_key(&complete);
    tort_session *session = tort_alloc_zero(&complete, 1, sizeof *session);
    if (!session) return tort_out_of_memory(error, sizeof *session);
    session->env = tort_account_open(&session->account, &complete, sizeof *session);
    session->model = model;
    session->saved = saved;
    session->chain_from_file = saved && !saved->chain_given;
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->fitting, NULL);
    tort_arena_init(&session->arena, &session->env);
    tort_status status = allocate(session, error);
    if (!status) status = copy_options(session, options, error);
    if (!status) status = plan_session(session, decide, reportable, error);
    session->options.shapes = NULL; /* borrowed only for the call */
    session->options.symbols = NULL;
    session->options.max_shapes = NULL;
    session->options.max_symbols = NULL;
    session->options.outputs = NULL;
    session->saved = NULL;
    session->unpack = NULL;
    session->stored = NULL;
    *out = session;
    return status;
}

const tort_model *tort_session_model(const tort_session *session) {
    return session ? session->model : NULL;
}

void tort_session_free(tort_session *session) {
    if (!session) return;
    for (int32_t g = 0; g < session->graph_count; g++) tort_lowered_drop_plans(&session->graphs[g]);
    tort_release_all(session);
    tort_chain_close(session);
    tort_pool_destroy(session->pool);
    tort_text_free(session->text);
    tort_lowered_free(session);
    tort_dims_free(&session->dims);
    tort_arena_free(&session->arena);
    pthread_mutex_destroy(&session->lock);
    pthread_mutex_destroy(&session->fitting);
    tort_model_free(session->own_model);
    const tort_env outer = session->account.inner;
    tort_free(&outer, session, sizeof *session);
}
