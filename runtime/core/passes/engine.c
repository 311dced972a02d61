/* engine.c - asks the opened device of a provider which nodes of a graph it takes, and has it compile them
 * (tort_engine): what segment.c leaves to devices.
 *
 * It decides nothing: a refusal of the device is a verdict, with which segment.c sends nodes on along the chain. A
 * device that is described and not opened is taken at the word of its rows. Read next: segment.c; kernels/plugin, whose
 * devices are execution providers of others. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/engine.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/link.h"

/* ---- what a device sees of a segment ----------------------------------------------------------------------------- */

/* Lists the upper bounds of the inputs' symbols, in the session's arena. */
static tort_status add_bounds(const tort_lowered *lowered, tort_segment_view *view, tort_error *error) {
    tort_session *session = lowered->session;
    const tort_lowered *graph = tort_main_graph(session);
    const size_t dims = (size_t)graph->graph.input_count * TORT_MAX_RANK;
    if (!graph->max) return TORT_OK;
    tort_dim_binding *max = tort_arena_array(&session->arena, dims + 1, sizeof *max);
    if (!max) return tort_out_of_memory(error, 0);
    for (size_t at = 0; at < dims; at++) {
        const tort_info *info = &graph->infos[graph->graph.inputs[at / TORT_MAX_RANK]];
        const tort_dim dim = (int32_t)(at % TORT_MAX_RANK) < info->rank ? info->dims[at % TORT_MAX_RANK] : 0;
        if (dim < 0 && tort_dim_expression(&session->dims, dim)->op == TORT_DIM_SYMBOL && graph->max[at] >= 0)
            max[view->max_count++] = (tort_dim_binding){dim, graph->max[at]};
    }
    view->max = max;
    return TORT_OK;
}

static const tort_engine *engine_of(const tort_link *link) {
    return link->opened ? link->provider->engine : NULL;
}

/* ---- constants, lent for a call --------------------------------------------------------------------------------- */

/* Loads the constants of the segment; *lent of them, even after an error. */
static tort_status lend_constants(const tort_lowered *lowered, const tort_segment *segment, tort_unit_view *view,
                                  int32_t *lent, tort_error *error) {
    const int32_t first = segment->node.input_count;
    tort_status status = TORT_OK;
    for (*lent = 0; !status && *lent < segment->constant_count;) {
        const int32_t constant = lowered->constant_of[segment->values[first + *lent]];
        status = tort_constant_acquire(lowered->session, constant, &view->inputs[first + *lent].data, error);
        *lent += !status;
    }
    return status;
}

static void take_back(const tort_lowered *lowered, const tort_segment *segment, int32_t lent) {
    for (int32_t i = 0; i < lent; i++) {
        const int32_t value = segment->values[segment->node.input_count + i];
        tort_constant_release(lowered->session, lowered->constant_of[value]);
    }
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

tort_status tort_engine_choose(const tort_lowered *lowered, tort_link *link, tort_unit_view *view,
                               const tort_segment *all, int32_t *groups, tort_verdict *declined, tort_error *error) {
    const tort_engine *engine = engine_of(link);
    const int32_t count = view->segment.node_count;
    int32_t lent = 0;
    *declined = tort_no(TORT_NO_OP, "", "%s declined it, and gave no reason", link->provider->name);
    for (int32_t i = 0; i < count; i++) groups[i] = engine && engine->choose ? -1 : 0;
    if (!engine || !engine->choose) return TORT_OK;
    tort_choice choice = {.node = &view->node,
                          .target = &link->target,
                          .device = link->device,
                          .env = &lowered->session->env,
                          .groups = groups,
                          .declined = declined,
                          .error = error};
    tort_status status = add_bounds(lowered, &view->segment, error);
    if (!status) status = lend_constants(lowered, all, view, &lent, error);
    const int32_t before = tort_link_enter(link);
    if (!status) status = tort_link_noted(link, engine->choose(&choice));
    tort_link_leave(link, before);
    take_back(lowered, all, lent);
    if (declined->code == TORT_YES) declined->code = TORT_NO_OP;
    for (int32_t i = 0; !status && i < count; i++)
        if (groups[i] >= count)
            return tort_fail(error, TORT_E_INTERNAL, "%s gave a node to segment %d of %d nodes", link->provider->name,
                             (int)groups[i], (int)count);
    if (status && error) error->provider = link->provider->name;
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* Compiling can take seconds, and a user who sees nothing of it ends the program. */
static tort_status compile_and_tell(const tort_session *session, tort_link *link, tort_compiling *compiling) {
    const tort_session_options *options = &session->options;
    const int32_t nodes = compiling->node->segment->node_count, before = tort_link_enter(link);
    const int64_t begin = tort_now();
    if (options->compiling) options->compiling(options->compiling_ud, link->provider->name, nodes, 0);
    const tort_status status = link->provider->engine->compile(compiling);
    const uint64_t ns = (uint64_t)(tort_now() - begin) + 1;
    tort_link_leave(link, before);
    if (options->compiling) options->compiling(options->compiling_ud, link->provider->name, nodes, ns);
    link->compiled.ns += ns;
    if (!status && compiling->verdict->code == TORT_YES) {
        link->compiled.nodes += nodes;
        link->compiled.held += compiling->held;
    }
    if (status && compiling->error) compiling->error->provider = link->provider->name;
    return status;
}

tort_status tort_engine_compile(const tort_lowered *lowered, tort_link *link, tort_unit_view *view,
                                const tort_segment *segment, tort_unit *unit, tort_verdict *verdict,
                                tort_error *error) {
    tort_session *session = lowered->session;
    const tort_engine *engine = engine_of(link);
    int32_t lent = 0;
    *verdict = tort_yes();
    if (!engine) return TORT_OK;
    tort_compiling compiling = {.node = &view->node,
                                .target = &link->target,
                                .device = link->device,
                                .env = &session->env,
                                .watch = &session->watch,
                                .verdict = verdict,
                                .error = error};
    tort_status status = add_bounds(lowered, &view->segment, error);
    void *stored = NULL;
    if (!status && session->stored)
        status = session->stored(session, lowered, segment->parts[segment->part_count - 1], &stored,
                                 &compiling.stored_bytes, error);
    compiling.stored = stored;
    if (!status) status = lend_constants(lowered, segment, view, &lent, error);
    if (!status) status = compile_and_tell(session, link, &compiling);
    take_back(lowered, segment, lent);
    tort_free(&session->env, stored, compiling.stored_bytes);
    if (!status) status = tort_session_in_time(session, error);
    unit->prepared = compiling.compiled;
    if (!status && *compiling.words) {
        unit->label = tort_arena_format(&session->arena, "%s, %s", unit->kernel->name, compiling.words);
        if (!unit->label) status = tort_out_of_memory(error, 0);
    }
    if (status || verdict->code != TORT_YES) tort_release_prepared(session, unit);
    return status;
}
