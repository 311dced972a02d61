/* place.c - the only function that decides where a node runs.
 *
 * Every node is offered to the providers in the order of the chain; in a provider, to its kernel rows in the order of
 * the table; the first YES serves. Every answer is kept: refusals of providers before the one that serves, and of
 * better rows of that one. All nodes are asked before an unplaced one is an error, so that one run lists every problem.
 * It must not know operators or providers by name. Read next: claim.c, which asks the rows of one provider; placed.c,
 * what the user reads; segment.c; fuse.c. */
#include "runtime/core/providers/claim.h"
#include "runtime/core/passes/passes.h"

/* ---- one node ---------------------------------------------------------------------------------------------------- */

/* Offers the node to the providers of the chain from `first` on. */
static tort_status offer_from(tort_candidate *c, int32_t first, tort_error *error) {
    tort_status status = TORT_OK;
    bool taken = false;
    for (int32_t p = first; !status && !taken && p < c->session->chain_count; p++)
        status = tort_candidate_offer(c, p, &taken, error);
    if (!status) status = tort_add_cures(c, error);
    return status ? status : tort_candidate_size_packing(c, error);
}

static tort_status place_node(tort_candidate *c, tort_error *error) {
    c->unit->provider = TORT_AT_NOWHERE;
    const char *host = tort_candidate_host_label(c);
    if (host) {
        c->unit->provider = TORT_AT_HOST;
        c->unit->label = host;
        return TORT_OK;
    }
    return offer_from(c, 0, error);
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static tort_status place_all(tort_candidate *c, tort_pass *pass, tort_error *error) {
    tort_lowered *lowered = c->lowered;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        c->unit = &lowered->units[i];
        c->node = &lowered->graph.nodes[i];
        c->index = i;
        c->reason_count = 0;
        if (c->unit->folded) {
            c->unit->provider = TORT_AT_FOLDED;
            continue;
        }
        tort_node_view view = tort_pass_view(pass, i);
        c->view = &view;
        status = tort_pass_acquire(pass, i, error);
        if (!status) status = tort_candidate_resolve(c, &view, error);
        if (!status) status = place_node(c, error);
        if (!status) status = tort_candidate_store(c, error);
        if (status) tort_error_at_node(error, &lowered->graph, i);
        tort_pass_release(pass, i);
        c->view = NULL;
    }
    return status;
}

static tort_status place_graph(tort_lowered *lowered, tort_error *error) {
    tort_session *session = lowered->session;
    tort_pass pass;
    tort_status status = tort_lowered_pass(lowered, &pass, lowered->infos, &session->dims, &session->arena, error);
    if (status) return status;
    tort_candidate c = {.session = session, .lowered = lowered};
    status = place_all(&c, &pass, error);
    tort_pass_free(&pass);
    return status;
}

tort_status tort_place_onward(tort_lowered *lowered, tort_pass *pass, int32_t index, const tort_verdict *verdict,
                              tort_error *error) {
    tort_unit *unit = &lowered->units[index];
    const int32_t before = unit->provider;
    tort_node_view view = tort_pass_view(pass, index);
    tort_candidate c = {.session = lowered->session,
                        .lowered = lowered,
                        .index = index,
                        .node = &lowered->graph.nodes[index],
                        .view = &view,
                        .unit = unit};
    view.params = unit->params;
    tort_status status = tort_candidate_keep_out(&c, before, verdict, error);
    unit->provider = TORT_AT_NOWHERE;
    unit->kernel = NULL;
    unit->label = NULL;
    if (!status) status = tort_pass_acquire(pass, index, error);
    if (!status) {
        status = offer_from(&c, before + 1, error);
        tort_pass_release(pass, index);
    }
    if (!status) status = tort_candidate_store(&c, error);
    if (status) tort_error_at_node(error, &lowered->graph, index);
    return status;
}

tort_status tort_place(tort_session *session, tort_error *error) {
    tort_status status = tort_read_pins(session, error);
    if (status) return status;
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = place_graph(&session->graphs[g], error);
    return status ? status : tort_check_pins(session, error);
}
