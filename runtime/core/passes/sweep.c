/* sweep.c - infers the nodes of the lowered graphs once, in their order, with the bodies of each node after it.
 *
 * What is done to a node once it is inferred is the caller's: fold.c evaluates it, a saved plan checks that it may be
 * left out. Hence a program that only opens saved plans holds no folding. Read next: fold.c. */
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/passes/sweep.h"

bool tort_is_determined(const tort_session *session, const tort_info *info) {
    if (!info->elements) return false;
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic && tort_dim_dynamic(&session->dims, info->elements[i].value)) return false;
    return true;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static tort_status sweep_graph(const tort_sweeper *sweeper, tort_lowered *lowered, tort_error *error);

/* Stores the infos of a body's inputs, as the shape rule of its node last gave them. */
static void note_entry(void *ud, int32_t body, const tort_info *inputs) {
    tort_session *session = ud;
    tort_lowered *lowered = &session->graphs[body];
    for (int32_t i = 0; i < lowered->graph.input_count; i++) lowered->infos[lowered->graph.inputs[i]] = inputs[i];
    lowered->lowered = true;
    lowered->refused = NULL;
}

static tort_status each_body(tort_sweep *s, const tort_node *node,
                             tort_status (*visit)(tort_sweep *s, const tort_node *node, tort_lowered *body,
                                                  tort_error *),
                             tort_error *error);
static tort_status leave_body(tort_sweep *s, const tort_node *node, tort_lowered *body, tort_error *error);

/* Stores the error of a body that does not fit the shapes of its node; another body may run instead. */
static void note_refused(void *ud, int32_t body, const tort_error *why) {
    tort_session *session = ud;
    tort_lowered *lowered = &session->graphs[body];
    tort_sweep s = {.session = session};
    tort_error *kept = tort_arena_alloc(&session->arena, sizeof *kept);
    leave_body(&s, NULL, lowered, NULL);
    if (kept) *kept = *why;
    lowered->refused = kept;
}

/* Captured values, and inputs that no trip changes (see tort_infer_body), are the same constants inside the body. */
static void pass_constants(const tort_lowered *outer, const tort_node *node, tort_lowered *body) {
    const int32_t own = body->graph.input_count - node->captured, shift = node->input_count - body->graph.input_count;
    for (int32_t i = 0; i < body->graph.input_count; i++) {
        const int32_t to = body->graph.inputs[i];
        if (i < own && !body->infos[to].constant) continue;
        const int32_t from = node->inputs[i < own ? i : i + shift];
        if (from < 0 || !tort_is_constant(outer, from)) continue;
        body->constant_of[to] = outer->constant_of[from];
        body->weights[to] = outer->weights[from];
        body->infos[to] = outer->infos[from];
    }
}

/* Calls `visit` for each lowered body of a node. */
static tort_status each_body(tort_sweep *s, const tort_node *node,
                             tort_status (*visit)(tort_sweep *s, const tort_node *node, tort_lowered *body,
                                                  tort_error *),
                             tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t a = 0; a < node->attribute_count; a++) {
        const tort_attribute *attribute = &node->attributes[a];
        if (attribute->kind != TORT_ATTR_GRAPH && attribute->kind != TORT_ATTR_GRAPHS) continue;
        for (int32_t i = 0; !status && i < attribute->count; i++) {
            tort_lowered *body = &s->session->graphs[attribute->u.graphs[i]];
            if (body->lowered) status = visit(s, node, body, error);
        }
    }
    return status;
}

static tort_status count_body(tort_sweep *s, const tort_node *node, tort_lowered *body, tort_error *error) {
    (void)node, (void)body, (void)error;
    s->bodies++;
    return TORT_OK;
}

/* More is known here than when the node was inferred, so only now a body may turn out not to fit. That is an error only
 * if the node has no other body. */
static tort_status sweep_body(tort_sweep *s, const tort_node *node, tort_lowered *body, tort_error *error) {
    tort_error why = {.node = -1};
    pass_constants(s->lowered, node, body);
    tort_status status = sweep_graph(s->sweeper, body, &why);
    if (!status) return TORT_OK;
    s->bodies = 0;
    each_body(s, node, count_body, NULL);
    if (status == TORT_E_MODEL && s->bodies > 1) {
        note_refused(s->session, (int32_t)(body - s->session->graphs), &why);
        return TORT_OK;
    }
    if (error) *error = why;
    return status;
}

/* Bodies of an unread node never run, nor do bodies inside them. */
static tort_status leave_body(tort_sweep *s, const tort_node *node, tort_lowered *body, tort_error *error) {
    (void)node;
    body->lowered = false;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < body->graph.node_count; i++)
        status = each_body(s, &body->graph.nodes[i], leave_body, error);
    return status;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static tort_status visit_nodes(tort_sweep *s, tort_error *error) {
    const tort_graph *graph = &s->lowered->graph;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        status = tort_session_in_time(s->session, error);
        if (!status) status = tort_pass_infer(&s->pass, i, error);
        if (!status && node->op && node->op->flags & TORT_OP_CONTROL) status = each_body(s, node, sweep_body, error);
        if (!status) status = s->sweeper->visit(s, i, error);
    }
    return status;
}

static tort_status sweep_graph(const tort_sweeper *sweeper, tort_lowered *lowered, tort_error *error) {
    tort_session *session = lowered->session;
    tort_sweep s = {.session = session, .sweeper = sweeper, .lowered = lowered};
    tort_status status = tort_lowered_pass(lowered, &s.pass, lowered->infos, &session->dims, &session->arena, error);
    if (status) return status;
    s.pass.entered = note_entry;
    s.pass.refused = note_refused;
    s.pass.entered_ud = session;
    status = visit_nodes(&s, error);
    if (!status && sweeper->finish) status = sweeper->finish(lowered, error);
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++)
        if (lowered->units[i].folded) status = each_body(&s, &lowered->graph.nodes[i], leave_body, error);
    tort_pass_free(&s.pass);
    return status;
}

tort_status tort_sweep_graphs(tort_session *session, const tort_sweeper *sweeper, tort_error *error) {
    return sweep_graph(sweeper, tort_main_graph(session), error);
}
