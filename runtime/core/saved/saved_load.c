/* saved_load.c - makes a session of a saved plan: applies its decisions in place of the passes that
 * decide (saved_format.h).
 *
 * All else happens as for a model: sweep.c infers shapes, but nothing is folded; memories are bound, weights prepared,
 * plans made and checked. The named kernel must claim the node again, so no kernel runs a node that it did not claim.
 * Read next: saved_read.c, session.c. */
#include <string.h>

#include "runtime/core/providers/claim.h"
#include "runtime/core/saved/saved_format.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/sweep.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static tort_status other_machine(const tort_link *link, const tort_saved_link *saved, tort_error *error) {
    const tort_condition *condition = &link->condition;
    tort_fail(
        error, TORT_E_PLACEMENT,
        "the saved plan was made where %s was \"%.120s\"; here it is \"%.120s\"%s%.160s: make it again with tinyort "
        "plan MODEL -o FILE",
        saved->provider, saved->description, condition->ready ? link->target.description : condition->code,
        condition->ready ? "" : ", ", condition->ready ? "" : condition->message);
    if (error) error->provider = link->provider->name;
    return TORT_E_PLACEMENT;
}

static tort_status other_chain(const tort_session *session, tort_error *error) {
    if (session->chain_from_file) return tort_saved_damaged(error, "its chain");
    return tort_fail(error, TORT_E_USAGE,
                     "the saved plan was made for other providers than those of the chain \"%.200s\": it may change "
                     "their options, as in cpu:threads=2, not which they are",
                     session->options.chain);
}

static tort_status check_link(const tort_session *session, const tort_link *link, const tort_saved_link *saved,
                              tort_error *error) {
    const tort_target *target = &link->target;
    if (strcmp(link->config.provider, saved->provider) != 0) return other_chain(session, error);
    if (link->condition.ready != saved->ready) return other_machine(link, saved, error);
    if (saved->ready && target->instructions != saved->instructions) return other_machine(link, saved, error);
    if (tort_saved_kernels(link->provider) == saved->kernels) return TORT_OK;
    return tort_fail(
        error, TORT_E_UNSUPPORTED,
        "the saved plan was made by a build with other kernels of %s: make it again with tinyort plan MODEL "
        "-o FILE",
        saved->provider);
}

/* Checks that this machine has what the plan was made for. */
static tort_status check_chain(const tort_session *session, tort_error *error) {
    const tort_saved *saved = session->saved;
    if (session->chain_count != saved->link_count) return other_chain(session, error);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < session->chain_count; i++)
        status = check_link(session, &session->chain[i], &saved->links[i], error);
    return status;
}

/* ---- units and constants ----------------------------------------------------------------------------------------- */

/* Restores the model's nodes that fused nodes replaced, whose names reports use. */
static void apply_units(tort_session *session, int32_t g) {
    tort_graph *model = &session->saved->model->graphs[g];
    for (int32_t i = 0; i < model->node_count; i++) {
        const tort_saved_unit *saved = &session->saved->graphs[g].units[i];
        session->graphs[g].units[i] = saved->unit;
        if (!saved->name) continue;
        model->nodes[i].name = saved->name;
        model->nodes[i].op_type = saved->op_type;
    }
}

/* Makes one constant of all weights with the same contents, whatever their shapes. */
static void join_constants(tort_session *session, const int32_t *constant_of) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        tort_lowered *lowered = &session->graphs[g];
        for (int32_t v = 0; v < lowered->graph.value_count; v++) {
            const int32_t weight = lowered->weights[v];
            const int32_t same = weight < 0 ? -1 : constant_of[session->saved->same[weight]];
            if (same >= 0) lowered->constant_of[v] = same;
        }
    }
}

static tort_status hold_resident(tort_lowered *lowered, int32_t value, tort_error *error) {
    tort_session *session = lowered->session;
    const int32_t weight = lowered->weights[value];
    if (weight < 0 || !(session->saved->flags[weight] & TORT_SAVED_RESIDENT)) return TORT_OK;
    tort_constant *constant = &session->constants[lowered->constant_of[value]];
    tort_status status = TORT_OK;
    if (!constant->held) status = tort_constant_acquire(session, lowered->constant_of[value], &constant->host, error);
    constant->held = !status;
    lowered->infos[value].data = constant->host;
    return status;
}

static tort_status apply_constants(tort_session *session, tort_error *error) {
    const size_t weights = (size_t)session->model->weight_count + 1;
    int32_t *constant_of = tort_alloc(&session->env, weights * sizeof *constant_of);
    if (!constant_of) return tort_out_of_memory(error, weights * sizeof *constant_of);
    for (size_t w = 0; w < weights; w++) constant_of[w] = -1;
    for (int32_t c = 0; c < session->constant_count; c++) constant_of[session->constants[c].weight] = c;
    join_constants(session, constant_of);
    tort_free(&session->env, constant_of, weights * sizeof *constant_of);
    tort_status status = TORT_OK;
    for (int32_t g = 0; g < session->graph_count; g++)
        for (int32_t v = 0; !status && v < session->graphs[g].graph.value_count; v++)
            status = hold_resident(&session->graphs[g], v, error);
    return status;
}

/* A refused body has no nodes in the file, so inference could not refuse it again: applies the saved error. */
static tort_status apply_refusal(tort_session *session, int32_t g, tort_error *error) {
    const char *words = session->saved->graphs[g].refused;
    if (!*words) return TORT_OK;
    tort_error *why = tort_arena_alloc(&session->arena, sizeof *why);
    if (!why) return tort_out_of_memory(error, sizeof *why);
    tort_fail(why, TORT_E_MODEL, "%s", words);
    why->node = session->saved->graphs[g].refused_node;
    session->bodies[g].refused = why;
    return TORT_OK;
}

/* Applies the decisions to the units of the lowered graphs. */
static tort_status apply(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    session->tried = session->saved->tried;
    for (int32_t g = 0; g < session->graph_count; g++) apply_units(session, g);
    for (int32_t g = 0; !status && g < session->graph_count; g++) status = apply_refusal(session, g, error);
    return status ? status : apply_constants(session, error);
}

/* ---- folded nodes ------------------------------------------------------------------------------------------------ */

/* A saved plan decides what is folded. Check that the shapes of the inputs still determine each folded
 * node, unless it is unread. */
static tort_status check_folded(tort_sweep *sweep, int32_t index, tort_error *error) {
    const tort_node *node = &sweep->lowered->graph.nodes[index];
    bool told = true;
    for (int32_t i = 0; i < node->output_count; i++)
        told = told &&
               (node->outputs[i] < 0 || tort_is_determined(sweep->session, &sweep->lowered->infos[node->outputs[i]]));
    const tort_unit *unit = &sweep->lowered->units[index];
    if (told || unit->still_inferred || !node->op || !unit->folded) return TORT_OK;
    tort_fail(error, TORT_E_MODEL, "the saved plan leaves it out, but it has to run");
    tort_error_at_node(error, &sweep->lowered->graph, index);
    return TORT_E_MODEL;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool can_map(const tort_session *session, const tort_unit *unit, uint64_t at) {
    const tort_model *model = session->model;
    const void *view = model->source_view(model->source_ud, 0, at, unit->packed_bytes);
    return view && !session->chain[unit->provider].memory && (uintptr_t)view % TORT_HOST_ALIGN == 0;
}

/* The bytes that the kernel would pack must equal those in the file. */
static tort_status check_packing(tort_candidate *c, const tort_saved_unit *saved, tort_error *error) {
    tort_status status = tort_candidate_size_packing(c, error);
    if (status) return status;
    if (c->unit->packed_bytes != saved->packed_bytes) return tort_saved_damaged(error, "packed weights");
    c->unit->mapped = c->unit->packed_bytes && can_map(c->session, c->unit, saved->packed_at);
    return TORT_OK;
}

/* A part of a segment must be taken by some row of the provider, unless the executor would do it. */
static tort_status place_part(tort_candidate *c, const tort_saved_unit *saved, tort_error *error) {
    bool taken = false;
    c->alone = false;
    c->reason_count = 0;
    c->unit->group = saved->group + 1;
    c->unit->label = tort_candidate_host_label(c);
    c->unit->provider = c->unit->label ? TORT_AT_HOST : TORT_AT_NOWHERE;
    if (c->unit->label) return TORT_OK;
    tort_status status = tort_candidate_offer(c, saved->unit.provider, &taken, error);
    if (status || (taken && c->unit->kernel->segment != TORT_SEGMENT_NEVER)) return status;
    return tort_fail(error, TORT_E_PLACEMENT,
                     "the saved plan has it on %s, which does not take it here: %s; make the plan again with tinyort "
                     "plan MODEL -o FILE",
                     c->session->chain[saved->unit.provider].config.provider,
                     c->reason_count ? c->reasons[c->reason_count - 1].message : "");
}

static tort_status place_unit(tort_candidate *c, const tort_saved_unit *saved, tort_error *error) {
    if (saved->part) return place_part(c, saved, error);
    const char *host = tort_candidate_host_label(c);
    if ((saved->unit.provider == TORT_AT_HOST) != (host != NULL)) return tort_saved_damaged(error, "a place");
    c->unit->label = host;
    if (host) return TORT_OK;
    tort_status status = tort_candidate_claim(c, saved->unit.provider, saved->kernel, error);
    return status ? status : check_packing(c, saved, error);
}

static tort_status place_node(tort_candidate *c, tort_pass *pass, int32_t index, tort_error *error) {
    const tort_saved_unit *saved = &c->session->saved->graphs[c->lowered - c->session->graphs].units[index];
    tort_node_view view = tort_pass_view(pass, index);
    c->index = index;
    c->unit = &c->lowered->units[index];
    c->node = &c->lowered->graph.nodes[index];
    tort_status status = tort_pass_acquire(pass, index, error);
    if (status) return status;
    c->view = &view;
    status = tort_candidate_resolve(c, &view, error);
    if (!status) status = place_unit(c, saved, error);
    if (status) tort_error_at_unit(error, c->lowered, index);
    tort_pass_release(pass, index);
    c->view = NULL;
    return status;
}

static tort_status place_graph(tort_lowered *lowered, tort_error *error) {
    tort_session *session = lowered->session;
    tort_candidate c = {.session = session, .lowered = lowered};
    tort_pass pass;
    tort_status status = tort_lowered_pass(lowered, &pass, lowered->infos, &session->dims, &session->arena, error);
    if (status) return status;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++)
        if (lowered->units[i].provider >= TORT_AT_HOST) status = place_node(&c, &pass, i, error);
    tort_pass_free(&pass);
    return status;
}

/* Asks the named kernels to claim their units. */
static tort_status place(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; !status && g < session->graph_count; g++) {
        if (session->graphs[g].lowered != session->saved->graphs[g].lowered)
            status = tort_saved_damaged(error, "which bodies run");
        if (!status && session->graphs[g].lowered) status = place_graph(&session->graphs[g], error);
    }
    return status;
}

/* The place of a unit's packed weights in the file. */
static uint64_t place_of(const tort_session *session, const tort_unit *unit) {
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        if (unit >= lowered->units && unit < lowered->units + lowered->graph.node_count)
            return session->saved->graphs[g].units[unit - lowered->units].packed_at;
    }
    return 0;
}

tort_status tort_saved_check_places(tort_session *session, tort_error *error) {
    uint64_t end = 0;
    for (int32_t g = 0; session->saved && g < session->graph_count; g++) {
        const tort_lowered *lowered = &session->graphs[g];
        for (int32_t i = 0; lowered->lowered && i < lowered->graph.node_count; i++) {
            tort_unit *unit = &lowered->units[i];
            const uint64_t at = session->saved->graphs[g].units[i].packed_at;
            if (!unit->packed_bytes) continue;
            if (unit->twin && at != place_of(session, unit->twin)) unit->twin = NULL;
            if (unit->twin) continue;
            if (at < end) return tort_saved_damaged(error, "packed weights");
            end = at + unit->packed_bytes;
        }
    }
    return TORT_OK;
}

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

static tort_status unpack_to_device(tort_session *session, const tort_link *link, const tort_unit *unit, uint64_t at,
                                    tort_error *error) {
    const tort_model *model = session->model;
    void *copy = tort_alloc(&session->env, unit->packed_bytes);
    if (!copy) return tort_out_of_memory(error, unit->packed_bytes);
    tort_status status = model->source_read(model->source_ud, 0, at, unit->packed_bytes, copy, error);
    if (!status) status = tort_link_copy(link, NULL, unit->packed, copy, unit->packed_bytes, TORT_TO_DEVICE, error);
    tort_free(&session->env, copy, unit->packed_bytes);
    return status;
}

/* Loads the packed weights of a unit; replaces its kernel's prepare. */
static tort_status unpack(tort_session *session, const tort_lowered *lowered, int32_t index, tort_error *error) {
    const tort_model *model = session->model;
    tort_unit *unit = &lowered->units[index];
    const tort_link *link = &session->chain[unit->provider];
    const uint64_t at = session->saved->graphs[lowered - session->graphs].units[index].packed_at;
    if (unit->mapped) {
        unit->packed = (void *)(uintptr_t)model->source_view(model->source_ud, 0, at, unit->packed_bytes);
        return TORT_OK;
    }
    if (!link->memory) return model->source_read(model->source_ud, 0, at, unit->packed_bytes, unit->packed, error);
    tort_status status = tort_chain_alloc(session, &session->env, link->memory, unit->packed_bytes, "packed weights",
                                          &unit->packed, error);
    return status ? status : unpack_to_device(session, link, unit, at, error);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static tort_status stored(const tort_session *session, const tort_lowered *lowered, int32_t node, void **data,
                          size_t *bytes, tort_error *error) {
    const tort_model *model = session->model;
    const tort_saved_unit *unit = &session->saved->graphs[lowered - session->graphs].units[node];
    *data = NULL;
    *bytes = (size_t)unit->packed_bytes;
    if (!unit->part || !unit->packed_bytes) return TORT_OK;
    *data = tort_alloc(&session->env, *bytes);
    if (!*data) return tort_out_of_memory(error, *bytes);
    return model->source_read(model->source_ud, 0, unit->packed_at, *bytes, *data, error);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_saved_decide(tort_session *session, tort_error *error) {
    static const tort_sweeper sweeper = {.visit = check_folded};
    tort_status status = check_chain(session, error);
    if (!status) status = apply(session, error);
    if (!status) status = tort_sweep_graphs(session, &sweeper, error);
    session->unpack = unpack;
    session->stored = stored;
    if (!status) status = place(session, error);
    return status ? status : tort_chain_segment(session, error);
}
