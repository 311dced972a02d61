/* report.c - says where everything runs and why, from what the other parts decided. It decides nothing.
 *
 * The report is plain structs for any front end, made when it is asked for; runtime/cli turns it into tables and JSON.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/weights.h"

/* What tort_session_report hands out is the first member. */
typedef struct report_store {
    tort_report report;
    tort_env env;
    tort_arena arena;
} report_store;

typedef struct writer {
    tort_session *session;
    const tort_planned *planned; /* NULL: placement was refused */
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

static bool write_verdicts(writer *w, const tort_placement *placement, tort_report_node *out) {
    tort_report_verdict *verdicts = tort_arena_array(w->arena, (size_t)placement->said_count + 1, sizeof *verdicts);
    if (!verdicts) return false;
    for (int32_t i = 0; i < placement->said_count; i++) {
        const tort_said *said = &placement->said[i];
        verdicts[i] = (tort_report_verdict){.provider = w->session->chain[said->provider].provider->name,
                                            .kernel = said->kernel,
                                            .code = said->code,
                                            .message = said->message,
                                            .cure = said->cure,
                                            .root = said->root};
    }
    out->verdicts = verdicts;
    out->verdict_count = placement->said_count;
    return true;
}

static bool write_nodes(writer *w) {
    const tort_graph *graph = w->session->graph;
    tort_report_node *nodes = tort_arena_array(w->arena, (size_t)graph->node_count + 1, sizeof *nodes);
    if (!nodes) return false;
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        const tort_placement *placement = &w->session->placements[i];
        nodes[i] = (tort_report_node){.index = i,
                                      .file_index = node->file_index,
                                      .path = node->name,
                                      .name = node->name,
                                      .op = node->op_type,
                                      .domain = node->domain,
                                      .since = node->op ? node->op->since : node->opset,
                                      .provider = node_provider(w->session, placement->provider),
                                      .kernel = placement->label ? placement->label : "",
                                      .pinned = placement->pinned,
                                      .fell_back = placement->provider > 0 && !placement->pinned};
        if (!write_verdicts(w, placement, &nodes[i])) return false;
        w->report->folded += placement->provider == TORT_AT_FOLDED;
        w->report->host += placement->provider == TORT_AT_HOST;
        w->report->unplaced += placement->provider == TORT_AT_NOWHERE;
        w->report->fallen_back += nodes[i].fell_back;
        w->report->pinned += placement->pinned;
    }
    w->report->nodes = nodes;
    w->report->node_count = graph->node_count;
    return true;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static const char *memory_name(const tort_session *session, int32_t memory) {
    if (memory) return session->chain[memory - 1].provider->name;
    for (int32_t i = 0; i < session->chain_count; i++)
        if (!session->chain[i].memory) return session->chain[i].provider->name;
    return "host";
}

static bool write_copies(writer *w) {
    const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
    const tort_graph *graph = w->session->graph;
    int32_t count = 0;
    for (int32_t i = 0; plan && i < plan->step_count; i++) count += plan->steps[i].kind == TORT_STEP_COPY;
    tort_report_copy *copies = tort_arena_array(w->arena, (size_t)count + 1, sizeof *copies);
    if (!copies) return false;
    for (int32_t i = 0, at = 0; plan && i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (step->kind != TORT_STEP_COPY) continue;
        const tort_slot *from = &plan->slots[plan->operands[step->operands]];
        const tort_slot *to = &plan->slots[plan->operands[step->operands + 1]];
        copies[at++] = (tort_report_copy){.value = graph->values[from->value].name,
                                          .from = memory_name(w->session, from->memory),
                                          .to = memory_name(w->session, to->memory),
                                          .bytes = to->bytes,
                                          .before = step->node >= 0 ? graph->nodes[step->node].name : "",
                                          .node = step->node};
    }
    w->report->copies = copies;
    w->report->copy_count = count;
    return true;
}

/* ---- providers --------------------------------------------------------------------------------------------------- */

static bool owns_memory(const tort_session *session, int32_t link) {
    int32_t memory = session->chain[link].memory;
    if (memory) return true;
    for (int32_t i = 0; i < link; i++)
        if (!session->chain[i].memory) return false; /* host memory is shown once */
    return true;
}

static const char *keep(writer *w, const char *text) {
    const char *copy = tort_arena_text(w->arena, text, strlen(text));
    return copy ? copy : "";
}

/* Threads that host kernels really run on; 0: the application's, or none of this process. */
static int32_t threads_of(const tort_session *session, const tort_link *link) {
    const bool here = link->condition.ready && !link->memory && link->target.threads && session->pool;
    return here ? tort_pool_threads(session->pool) : 0;
}

/* "NVIDIA H100, sm_90, driver for CUDA 13.0, cuBLAS 13.1": the target, the threads, the libraries that a node asked
 * for. */
static const char *describe(writer *w, const tort_link *link) {
    char text[sizeof link->target.description + TORT_LIBRARY_COUNT * 200 + 40];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", link->target.description);
    const int32_t threads = threads_of(w->session, link);
    if (!link->condition.ready) return "";
    if (threads)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %d thread%s", threads, threads == 1 ? "" : "s");
    else if (!link->memory && link->target.threads)
        used += (size_t)snprintf(text + used, sizeof text - used, ", the application's threads");
    for (tort_library i = TORT_LIBRARY_NONE; i < TORT_LIBRARY_COUNT; i++)
        if (link->libraries[i].found && *link->libraries[i].message)
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s %s", tort_library_name(i),
                                     link->libraries[i].message);
    return keep(w, text);
}

static bool write_providers(writer *w) {
    const tort_session *session = w->session;
    tort_report_provider *providers = tort_arena_array(w->arena, (size_t)session->chain_count + 1, sizeof *providers);
    if (!providers) return false;
    for (int32_t i = 0; i < session->chain_count; i++) {
        const tort_link *link = &session->chain[i];
        tort_report_provider *out = &providers[i];
        *out = (tort_report_provider){
            .name = link->provider->name,
            .ready = link->condition.ready,
            .code = link->condition.ready && !*link->condition.code ? "READY" : link->condition.code,
            .description = describe(w, link),
            .threads = threads_of(session, link),
            .message = keep(w, link->condition.ready ? link->condition.note : link->condition.message),
            .cure = link->condition.cure,
            .peak_bytes = -1,
            .naive_bytes = -1};
        for (int32_t n = 0; n < session->graph->node_count; n++) out->nodes += session->placements[n].provider == i;
        const bool owner = owns_memory(session, i);
        if (owner && session->weight_bytes) out->weight_bytes = (int64_t)session->weight_bytes[link->memory];
        const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
        if (plan && plan->complete) {
            out->peak_bytes = owner ? (int64_t)plan->arena_bytes[link->memory] : 0;
            out->naive_bytes = owner ? (int64_t)plan->naive_bytes[link->memory] : 0;
        }
        for (int32_t c = 0; plan && c < plan->step_count; c++) {
            const tort_step *step = &plan->steps[c];
            if (step->kind != TORT_STEP_COPY) continue;
            out->copies_in += owner && plan->slots[plan->operands[step->operands + 1]].memory == link->memory;
        }
    }
    w->report->providers = providers;
    w->report->provider_count = session->chain_count;
    return true;
}

/* ---- host memory ------------------------------------------------------------------------------------------------- */

/* What weights hold of the session's own account now: packed ones in host memory, and results of folding. */
static size_t weights_of_session(const tort_session *session) {
    size_t bytes = 0;
    for (int32_t i = 0; i < session->graph->node_count; i++) {
        const tort_placement *placement = &session->placements[i];
        if (placement->packed && !session->chain[placement->provider].memory)
            bytes += tort_aligned_bytes(placement->packed_bytes);
    }
    for (int32_t v = 0; v < session->graph->value_count; v++) bytes += tort_folded_bytes(&session->constants[v]);
    return bytes;
}

static void write_memory(writer *w) {
    tort_session *session = w->session;
    tort_report_memory *memory = &w->report->memory;
    const tort_plan *plan = w->planned ? &w->planned->plan : NULL;
    *memory = (tort_report_memory){.context = -1, .arena = -1, .total = -1};
    memory->model = (int64_t)(session->model->account.held - tort_weights_resident(session->model));
    memory->session = (int64_t)(session->account.held - weights_of_session(session));
    if (session->weight_bytes) memory->weights = (int64_t)session->weight_bytes[0];
    if (!plan || !plan->complete) return;
    if (!w->planned->fitted) memory->session += (int64_t)tort_fitted_bytes(plan); /* it is only planned */
    memory->context = (int64_t)tort_context_bytes(session, plan);
    memory->arena = (int64_t)tort_arena_bytes(plan);
    memory->total = memory->model + memory->weights + memory->session + memory->context + memory->arena;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_session_report(tort_session *session, tort_report **report, tort_error *error) {
    *report = NULL;
    if (error) *error = (tort_error){.node = -1};
    const tort_env outer = session->account.inner; /* a report does not count itself */
    report_store *store = tort_alloc_zero(&outer, 1, sizeof *store);
    if (!store) return tort_out_of_memory(error, sizeof *store);
    store->env = outer;
    tort_arena_init(&store->arena, &store->env);
    pthread_mutex_lock(&session->lock);
    writer w = {.session = session,
                .planned = session->plans ? session->plans : session->draft,
                .arena = &store->arena,
                .report = &store->report};
    const bool written = write_nodes(&w) && write_copies(&w) && write_providers(&w);
    write_memory(&w);
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
