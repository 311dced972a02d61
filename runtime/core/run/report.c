/* report.c - reports where everything runs and why, from the decisions of other parts. It decides nothing.
 *
 * The report is made on demand, as plain structs for any front end; runtime/cli prints it as tables and JSON. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/core/graph/weights.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/planned.h"

/* The memory behind a tort_report, its first member. */
typedef struct report_store {
    tort_report report;
    tort_env env;
    tort_arena arena;
} report_store;

typedef struct writer {
    tort_session *session;
    const tort_planned *planned; /* of the main graph; NULL: placement was refused */
    tort_arena *arena;
    tort_report *report;
} writer;

static const char *node_provider(const tort_session *session, int32_t provider) {
    switch (provider) {
    case TORT_AT_HOST: return "host";
    case TORT_AT_FOLDED: return "folded";
    case TORT_AT_NOWHERE: return NULL;
    default: return session->chain[provider].provider->name;
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool write_verdicts(writer *w, const tort_lowered *lowered, const tort_unit *unit, tort_report_node *out) {
    const tort_report_verdict **list = tort_arena_array(w->arena, (size_t)unit->reason_count, sizeof *list);
    if (!list) return false;
    for (int32_t i = 0; i < unit->reason_count; i++) {
        const tort_reason *reason = &unit->reasons[i];
        tort_report_verdict *verdict = tort_arena_alloc(w->arena, sizeof *verdict);
        if (!verdict) return false;
        *verdict = (tort_report_verdict){.provider = w->session->chain[reason->provider].provider->name,
                                         .kernel = reason->kernel,
                                         .code = reason->code,
                                         .fusion = reason->fusion,
                                         .segment = reason->segment,
                                         .precision = reason->precision,
                                         .bytes = reason->bytes,
                                         .message = reason->message,
                                         .cure = reason->cure,
                                         .root = reason->root < 0 ? -1 : lowered->graph.first + reason->root};
        list[i] = verdict;
        w->report->widened += reason->precision;
    }
    out->verdicts = list;
    out->verdict_count = unit->reason_count;
    return true;
}

static const char *path_of(writer *w, const tort_graph *graph, const tort_node *node) {
    return *graph->path ? tort_arena_format(w->arena, "%s/%s", graph->path, node->name) : node->name;
}

/* Lists the model's nodes of a unit; the model's graph has the same index as the lowered one. */
static bool write_from(writer *w, const tort_lowered *lowered, const tort_unit *unit, tort_report_node *out) {
    const tort_graph *model = &w->session->model->graphs[lowered - w->session->graphs];
    const size_t count = (size_t)unit->from_count + 1;
    const char **from = tort_arena_array(w->arena, count, sizeof *from),
               **ops = tort_arena_array(w->arena, count, sizeof *ops);
    if (!from || !ops) return false;
    for (int32_t i = 0; i < unit->from_count; i++) {
        from[i] = path_of(w, model, &model->nodes[unit->from[i]]);
        if (!from[i]) return false;
        ops[i] = model->nodes[unit->from[i]].op_type;
    }
    out->from = from;
    out->from_ops = ops;
    out->from_count = unit->from_count;
    return true;
}

static const char *family_of(const tort_unit *unit, const char *label) {
    if (unit->provider < 0) return label;
    if (unit->segment) return "segment";
    if (unit->kernel->needs) return unit->kernel->needs;
    return unit->kernel->op[0] == '*' ? "plain" : "kernel"; /* the row of the plain loops is for all operators */
}

static tort_report_node *write_node(writer *w, const tort_lowered *lowered, int32_t i) {
    const tort_node *node = tort_unit_node(lowered, i);
    const tort_unit *unit = &lowered->units[i];
    tort_report_node *out = tort_arena_alloc(w->arena, sizeof *out);
    if (!out) return NULL;
    *out = (tort_report_node){.index = lowered->graph.first + i,
                              .file_index = node->file_index,
                              .path = path_of(w, &lowered->graph, node),
                              .name = node->name,
                              .op = node->op_type,
                              .domain = node->domain,
                              .since = node->op ? node->op->since : node->opset,
                              .provider = node_provider(w->session, unit->provider),
                              .kernel = unit->label ? unit->label : "",
                              .pinned = unit->pinned,
                              .fell_back = tort_unit_fell_back(lowered, i, NULL)};
    out->family = family_of(unit, out->kernel);
    w->report->folded += unit->provider == TORT_AT_FOLDED;
    w->report->host += unit->provider == TORT_AT_HOST;
    w->report->unplaced += unit->provider == TORT_AT_NOWHERE;
    w->report->fallen_back += out->fell_back;
    w->report->pinned += unit->pinned;
    w->report->products += unit->products;
    return out->path && write_from(w, lowered, unit, out) && write_verdicts(w, lowered, unit, out) ? out : NULL;
}

static const tort_planned *plan_of(const tort_lowered *lowered) {
    return lowered->bound ? lowered->bound : lowered->plans ? lowered->plans : lowered->symbolic_plan;
}

/* True if the plan makes the node a view. Steps are in the order of nodes, and callers ask in
 * that order: *step advances. */
static bool is_view(const tort_planned *planned, int32_t node, int32_t *step) {
    const tort_plan *plan = planned ? &planned->plan : NULL;
    bool view = false;
    for (; plan && *step < plan->step_count && plan->steps[*step].node <= node && plan->steps[*step].node >= 0; ++*step)
        view |= plan->steps[*step].node == node && plan->steps[*step].kind == TORT_STEP_VIEW;
    return view;
}

static bool write_nodes(writer *w) {
    const tort_session *session = w->session;
    int32_t count = 0;
    for (int32_t g = 0; g < session->graph_count; g++)
        if (session->graphs[g].lowered) count += session->graphs[g].graph.node_count;
    const tort_report_node **list = tort_arena_array(w->arena, (size_t)count, sizeof *list);
    if (!list) return false;
    w->report->nodes = list;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        int32_t step = 0;
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++) {
            const bool fused = lowered->units[i].provider == TORT_AT_FUSED;
            w->report->fused += fused;
            if (fused) continue;
            tort_report_node *node = write_node(w, lowered, i);
            if (!node) return false;
            if (is_view(plan_of(lowered), i, &step)) node->kernel = "view";
            list[w->report->node_count++] = node;
        }
    }
    return true;
}

/* ---- copies and conversions -------------------------------------------------------------------------------------- */

static const char *memory_name(const tort_session *session, int32_t memory) {
    const tort_link *owner = session->memories[memory].owner;
    return owner ? owner->provider->name : "host";
}

static const char *layout_name(const tort_session *session, int32_t layout) {
    return layout ? session->layouts[layout].layout->name : "plain";
}

/* NULL: out of memory. */
static const tort_report_copy *write_move(writer *w, const tort_planned *planned, const tort_step *step) {
    const tort_session *session = w->session;
    const tort_plan *plan = &planned->plan;
    const tort_graph *graph = &planned->lowered->graph;
    const tort_slot *from = &plan->slots[plan->operands[step->operands]];
    const tort_slot *to = &plan->slots[plan->operands[step->operands + 1]];
    const bool converts = step->kind == TORT_STEP_CONVERT;
    tort_report_copy *move = tort_arena_alloc(w->arena, sizeof *move);
    if (!move) return NULL;
    *move = (tort_report_copy){
        .value = graph->values[from->value].name,
        .from = converts ? layout_name(session, from->layout) : memory_name(session, from->memory),
        .to = converts ? layout_name(session, to->layout) : memory_name(session, to->memory),
        .bytes = to->bytes,
        .before = step->node >= 0 ? path_of(w, graph, tort_unit_node(planned->lowered, step->node)) : "",
        .node = step->node >= 0 ? graph->first + step->node : -1,
        .provider = converts ? session->chain[step->provider].provider->name : NULL};
    return move->before ? move : NULL;
}

static size_t count_steps(const writer *w, tort_step_kind kind) {
    size_t count = 0;
    for (int32_t g = 0; w->planned && g < w->session->graph_count; g++) {
        const tort_planned *planned = plan_of(&w->session->graphs[g]);
        for (int32_t i = 0; planned && i < planned->plan.step_count; i++) count += planned->plan.steps[i].kind == kind;
    }
    return count;
}

/* All steps of that kind in all graphs; NULL: out of memory. */
static const tort_report_copy *const *write_moves(writer *w, tort_step_kind kind, int32_t *count) {
    const tort_session *session = w->session;
    const tort_report_copy **list = tort_arena_array(w->arena, count_steps(w, kind), sizeof *list);
    for (int32_t g = 0; list && w->planned && g < session->graph_count; g++) {
        const tort_planned *planned = plan_of(&session->graphs[g]);
        for (int32_t i = 0; planned && i < planned->plan.step_count; i++) {
            const tort_step *step = &planned->plan.steps[i];
            if (step->kind != kind) continue;
            list[*count] = write_move(w, planned, step);
            if (!list[(*count)++]) return NULL;
        }
    }
    return list;
}

static bool write_copies(writer *w) {
    tort_report *report = w->report;
    report->copies = write_moves(w, TORT_STEP_COPY, &report->copy_count);
    report->conversions = write_moves(w, TORT_STEP_CONVERT, &report->conversion_count);
    return report->copies && report->conversions;
}

/* ---- providers --------------------------------------------------------------------------------------------------- */

static const char *keep(writer *w, const char *text) {
    const char *copy = tort_arena_text(w->arena, text, strlen(text));
    return copy ? copy : "";
}

/* The threads that host kernels run on; 0: the application's, or not of this process. */
static int32_t threads_of(const tort_session *session, const tort_link *link) {
    const bool here = link->condition.ready && !link->memory && link->target.threads && session->pool;
    return here ? tort_pool_threads(session->pool) : 0;
}

/* Makes "NVIDIA H100, sm_90, driver for CUDA 13.0, cuBLAS 13.1": target, threads, and
 * libraries that a node asked for. */
static const char *describe(writer *w, const tort_link *link) {
    char text[sizeof link->target.description + TORT_LIBRARIES * 200 + 40];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", link->target.description);
    const int32_t threads = threads_of(w->session, link);
    if (!link->condition.ready) return "";
    if (threads)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %d thread%s", threads, threads == 1 ? "" : "s");
    else if (!link->memory && link->target.threads)
        used += (size_t)snprintf(text + used, sizeof text - used, ", the application's threads");
    for (int32_t i = 0; i < TORT_LIBRARIES; i++)
        if (link->libraries[i].found && *link->libraries[i].message)
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s %s", link->provider->libraries[i],
                                     link->libraries[i].message);
    return keep(w, text);
}

static int32_t nodes_on(const tort_session *session, int32_t provider) {
    int32_t nodes = 0;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t n = 0; lowered->lowered && n < lowered->graph.node_count; n++)
            nodes += lowered->units[n].provider == provider;
    }
    return nodes;
}

/* Bytes of a memory are reported for its owner only. */
static void write_bytes(const writer *w, int32_t memory, tort_report_provider *out) {
    const tort_session *session = w->session;
    if (session->weight_bytes) out->weight_bytes = (int64_t)session->weight_bytes[memory];
    const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
    if (plan && plan->complete) {
        out->peak_bytes = (int64_t)plan->arena_bytes[memory];
        out->naive_bytes = (int64_t)plan->naive_bytes[memory];
    }
    for (int32_t i = 0; i < w->report->copy_count; i++)
        out->copies_in += w->report->copies[i]->to == memory_name(session, memory);
}

/* The provider that owns the memory of this link; NULL: the link itself. */
static const char *shared_with(const tort_session *session, const tort_link *link) {
    const tort_link *owner = session->memories[link->memory].owner;
    return link->condition.ready && owner && owner != link ? owner->provider->name : NULL;
}

/* The provider's words on its part of the plan: why it is down, a remark of its opening, or one on a node that it runs.
 */
static const char *remark_of(writer *w, int32_t provider) {
    const tort_session *session = w->session;
    const tort_link *link = &session->chain[provider];
    char text[sizeof link->condition.note + 80] = "";
    if (!link->condition.ready) return keep(w, link->condition.message);
    if (link->compiled.nodes) {
        snprintf(text, sizeof text, "%s%scompiled %d nodes in %llu ms", link->condition.note,
                 *link->condition.note ? "; " : "", (int)link->compiled.nodes,
                 (unsigned long long)(link->compiled.ns / 1000000));
        return keep(w, text);
    }
    if (*link->condition.note || !link->provider->remark) return keep(w, link->condition.note);
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t n = 0; lowered->lowered && !*text && n < lowered->graph.node_count; n++) {
            const tort_node *node = &lowered->graph.nodes[n];
            const int32_t input = node->input_count ? node->inputs[0] : -1;
            if (lowered->units[n].provider == provider && input >= 0)
                link->provider->remark(&link->target, lowered->units[n].kernel, lowered->infos[input].type, text,
                                       sizeof text);
        }
    }
    return keep(w, text);
}

static const tort_report_provider *write_provider(writer *w, int32_t i) {
    const tort_session *session = w->session;
    const tort_link *link = &session->chain[i];
    const bool complete = w->planned && w->planned->plan.complete;
    tort_report_provider *out = tort_arena_alloc(w->arena, sizeof *out);
    if (!out) return NULL;
    *out =
        (tort_report_provider){.name = link->provider->name,
                               .ready = link->condition.ready,
                               .code = link->condition.ready && !*link->condition.code ? "READY" : link->condition.code,
                               .description = describe(w, link),
                               .threads = threads_of(session, link),
                               .nodes = nodes_on(session, i),
                               .message = remark_of(w, i),
                               .cure = link->condition.cure,
                               .shares = shared_with(session, link),
                               .engine_bytes = (int64_t)link->compiled.held,
                               .peak_bytes = complete ? 0 : -1,
                               .naive_bytes = complete ? 0 : -1};
    if (session->memories[link->memory].owner == link) write_bytes(w, link->memory, out);
    return out;
}

static bool write_providers(writer *w) {
    const int32_t count = w->session->chain_count;
    const tort_report_provider **list = tort_arena_array(w->arena, (size_t)count, sizeof *list);
    if (!list) return false;
    for (int32_t i = 0; i < count; i++) {
        list[i] = write_provider(w, i);
        if (!list[i]) return false;
    }
    w->report->providers = list;
    w->report->provider_count = count;
    return true;
}

/* ---- host memory ------------------------------------------------------------------------------------------------- */

/* Bytes of the session's account that weights hold now: packed ones in host memory, and folded constants. */
static size_t weights_of_session(const tort_session *session) {
    size_t bytes = session->packed ? tort_aligned_bytes(session->packed_bytes) : 0;
    for (int32_t i = 0; i < session->constant_count; i++) bytes += tort_constant_bytes(&session->constants[i]);
    return bytes;
}

/* True if some step allocates in a run. */
static bool is_dynamic(const tort_plan *plan) {
    bool dynamic = !plan->complete;
    for (int32_t i = 0; i < plan->step_count; i++) dynamic = dynamic || plan->steps[i].dynamic;
    return dynamic;
}

/* Adds a context: itself, tables and arenas of its frames. Bodies with unknown shapes are not counted. */
static void add_context(const tort_session *session, tort_report_memory *memory) {
    memory->context = (int64_t)(sizeof(tort_context) + sizeof(tort_held) + tort_text_bytes() + TORT_ARENA_FIRST);
    memory->arena = 0;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        const tort_planned *planned = lowered->lowered ? plan_of(lowered) : NULL;
        if (planned) memory->grows = memory->grows || is_dynamic(&planned->plan);
        if (!planned || !planned->plan.complete) continue;
        memory->context += (int64_t)tort_frame_bytes(&planned->plan, lowered);
        if (lowered->bound) memory->context += (int64_t)tort_planned_bytes(planned); /* each context has its own plan */
        memory->arena += (int64_t)tort_arena_bytes(&planned->plan);
    }
}

static bool write_memory(writer *w) {
    tort_session *session = w->session;
    tort_report_memory *memory = tort_arena_alloc(w->arena, sizeof *memory);
    const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
    if (!memory) return false;
    w->report->memory = memory;
    *memory = (tort_report_memory){.context = -1, .arena = -1, .total = -1};
    memory->model = (int64_t)(session->model->account.held - tort_weights_resident(session->model));
    memory->session = (int64_t)(session->account.held - weights_of_session(session));
    if (session->weight_bytes) memory->weights = (int64_t)session->weight_bytes[0];
    if (!plan || !plan->complete) return true;
    add_context(session, memory);
    memory->total = memory->model + memory->weights + memory->session + memory->context + memory->arena;
    return true;
}

/* ---- upper bounds ------------------------------------------------------------------------------------------------ */

static bool write_note(writer *w, const tort_lowered *lowered) {
    char text[160];
    int32_t dimension;
    const int32_t value = tort_find_shrinking(lowered, &dimension);
    w->report->bounds_note = "";
    if (value < 0) return true;
    tort_dim_text(&w->session->dims, lowered->infos[value].dims[dimension], text, sizeof text);
    w->report->bounds_note = tort_arena_format(
        w->arena,
        "dimension %d of value '%s' is %s, which may be larger below the bounds: a run in which it is gets a layout of "
        "its own, and allocates",
        (int)dimension, lowered->graph.values[value].name, text);
    return w->report->bounds_note != NULL;
}

/* "past"; for a nameless dimension input and index: "image[2]". */
static const char *name_bound(writer *w, const tort_lowered *lowered, int32_t input, int32_t dimension) {
    const int32_t value = lowered->graph.inputs[input];
    const tort_dim dim = lowered->infos[value].dims[dimension];
    const char *symbol = tort_dim_expression(&w->session->dims, dim)->name;
    if (symbol) return tort_arena_text(w->arena, symbol, strlen(symbol));
    return tort_arena_format(w->arena, "%s[%d]", lowered->graph.values[value].name, (int)dimension);
}

static bool write_bounds(writer *w) {
    const tort_lowered *lowered = tort_main_graph(w->session);
    const int32_t count = lowered->graph.input_count * TORT_MAX_RANK;
    w->report->bounds_note = "";
    if (!lowered->max) return true;
    tort_symbol_size *list = tort_arena_array(w->arena, (size_t)count + 1, sizeof *list);
    if (!list) return false;
    w->report->bounds = list;
    for (int32_t at = 0; at < count; at++) {
        if (lowered->max[at] < 0 || lowered->same_dim[at] != at) continue;
        tort_symbol_size *bound = &list[w->report->bound_count++];
        *bound = (tort_symbol_size){name_bound(w, lowered, at / TORT_MAX_RANK, at % TORT_MAX_RANK), lowered->max[at]};
        if (!bound->name) return false;
    }
    return write_note(w, lowered);
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static bool write_recording(writer *w) {
    const tort_lowered *lowered = tort_main_graph(w->session);
    const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
    char note[200] = "";
    w->report->recording_node = -1;
    if (plan && plan->recorder >= 0) {
        const tort_link *link = &w->session->chain[plan->recorder];
        w->report->recording = (int32_t)plan->recording;
        for (int32_t i = 0; i < plan->recorded_steps; i++)
            w->report->recorded += plan->steps[i].kind == TORT_STEP_KERNEL;
        if (plan->recording_node >= 0) w->report->recording_node = lowered->graph.first + plan->recording_node;
        if (link->opened && link->provider->recording.note)
            link->provider->recording.note(link->device, note, sizeof note);
    }
    w->report->recording_note = tort_arena_text(w->arena, note, strlen(note));
    return w->report->recording_note != NULL;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_session_report(tort_session *session, tort_report **report, tort_error *error) {
    if (report) *report = NULL;
    if (!session || !report)
        return tort_fail(error, TORT_E_USAGE, "tort_session_report needs a session and a place for the report");
    if (error) *error = (tort_error){.node = -1};
    const tort_env outer = session->account.inner; /* not the session's env: the report must not count itself */
    report_store *store = tort_alloc_zero(&outer, 1, sizeof *store);
    if (!store) return tort_out_of_memory(error, sizeof *store);
    store->env = outer;
    tort_arena_init(&store->arena, &store->env);
    pthread_mutex_lock(&session->lock);
    writer w = {.session = session,
                .planned = plan_of(tort_main_graph(session)),
                .arena = &store->arena,
                .report = &store->report};
    const bool written = write_nodes(&w) && write_copies(&w) && write_providers(&w) && write_memory(&w) &&
                         write_bounds(&w) && write_recording(&w);
    pthread_mutex_unlock(&session->lock);
    *report = &store->report;
    if (written) return TORT_OK;
    tort_report_free(*report);
    *report = NULL;
    return tort_out_of_memory(error, 0);
}

void tort_report_free(tort_report *report) {
    if (!report) return;
    report_store *store = (report_store *)report;
    tort_env env = store->env;
    tort_arena_free(&store->arena);
    tort_free(&env, store, sizeof *store);
}
