/* plan_shapes.c - the shapes of all values of a graph, given the shapes of a run's inputs.
 *
 * Decided once for a graph: which shape rules must be called again for new input shapes. Rules of nodes that no open
 * dimension reaches need not be, nor shape arithmetic: its integers are expressions over the symbols of the inputs, and
 * all expressions are evaluated in one sweep. Any other rule is called, since only the rule knows which sizes it
 * refuses; with numbers that is cheap. No weight is read: see tort_hold_small_weights. Read next: shape.h, infer.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/planned.h"

/* ---- once for a graph -------------------------------------------------------------------------------------------- */

/* Bits of expr_uses: how a graph uses an expression of the session. */
enum {
    TORT_EXPR_DIM = 1u << 0,   /* as a dimension of a value */
    TORT_EXPR_NEEDED = 1u << 1 /* in elements that plans evaluate */
};

typedef struct marker {
    tort_lowered *lowered;
    bool *bound; /* by expression of the session: input shapes bind all of its symbols; NULL: nothing is evaluated */
} marker;

static void fix_inputs(const tort_lowered *lowered) {
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        lowered->shape_fixed[lowered->graph.inputs[i]] = info->constant || tort_shape_known(info);
    }
}

static void bind_dims(const marker *m) {
    const tort_graph *graph = &m->lowered->graph;
    const tort_dims *dims = &m->lowered->session->dims;
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_info *info = &m->lowered->infos[graph->inputs[i]];
        for (int32_t d = 0; d < info->rank; d++)
            if (info->dims[d] < 0) m->bound[-1 - info->dims[d]] = true;
    }
    for (int32_t i = 0; i < dims->count; i++) {
        const tort_dim_expr *e = tort_dim_expression(dims, -1 - (int64_t)i);
        if (e->op == TORT_DIM_SYMBOL) continue;
        const bool a = e->a >= 0 || m->bound[-1 - e->a], b = e->b >= 0 || m->bound[-1 - e->b];
        m->bound[i] |= e->op == TORT_DIM_CONST || (a && b);
    }
}

/* True if the value's shape is known, and its elements are integers or expressions whose symbols inputs bind. */
static bool can_evaluate(const marker *m, int32_t value) {
    const tort_info *info = &m->lowered->infos[value];
    if (!info->elements || !tort_shape_known(info)) return false;
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic && !m->bound[-1 - info->elements[i].value]) return false;
    return true;
}

static bool is_evaluated(const marker *m, int32_t index) {
    const tort_node *node = &m->lowered->graph.nodes[index];
    bool all = m->bound && m->lowered->units[index].provider == TORT_AT_FOLDED;
    for (int32_t i = 0; all && i < node->output_count; i++)
        all = node->outputs[i] < 0 || m->lowered->infos[node->outputs[i]].constant || can_evaluate(m, node->outputs[i]);
    return all;
}

static bool inputs_final(const tort_lowered *lowered, const tort_node *node) {
    bool all = true;
    for (int32_t i = 0; all && i < node->input_count; i++)
        all =
            node->inputs[i] < 0 || lowered->shape_fixed[node->inputs[i]] || tort_is_constant(lowered, node->inputs[i]);
    return all;
}

/* True if a plan may know the contents of the value though the session does not: inference tracks small integers. */
static bool may_gain_elements(const tort_info *info) {
    const bool counted = info->type == TORT_INT64 || info->type == TORT_INT32 || info->type == TORT_BOOL;
    return counted && !tort_elements_known(info);
}

/* A size that a rule gave despite open dimensions holds for all of their sizes, unless the rule refuses them; so the
 * rule is called for each plan, but the output is final. */
static void mark_outputs(const tort_lowered *lowered, const tort_node *node, bool final) {
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        const tort_info *info = &lowered->infos[node->outputs[i]];
        lowered->shape_fixed[node->outputs[i]] = final || (tort_shape_known(info) && !may_gain_elements(info));
    }
}

/* A node with only constant outputs has nothing to infer; a node that was fused away makes nothing. */
static bool is_never_asked(const tort_lowered *lowered, int32_t index) {
    const tort_node *node = &lowered->graph.nodes[index];
    const tort_unit *unit = &lowered->units[index];
    bool all = true;
    for (int32_t i = 0; all && i < node->output_count; i++)
        all = node->outputs[i] < 0 || tort_is_constant(lowered, node->outputs[i]);
    return all || (unit->provider == TORT_AT_FUSED && !unit->still_inferred);
}

/* Marks the expression and its operands, recursively. */
static void mark_needed(tort_lowered *lowered, tort_dim d) {
    const tort_dim_expr *e = d < 0 ? tort_dim_expression(&lowered->session->dims, d) : NULL;
    if (!e || lowered->expr_uses[-1 - d] & TORT_EXPR_NEEDED) return;
    lowered->expr_uses[-1 - d] |= TORT_EXPR_NEEDED;
    if (e->op == TORT_DIM_SYMBOL || e->op == TORT_DIM_CONST) return;
    mark_needed(lowered, e->a);
    mark_needed(lowered, e->b);
}

static void note_evaluated(const marker *m, const tort_node *node) {
    tort_lowered *lowered = m->lowered;
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0 || tort_is_constant(lowered, node->outputs[i])) continue;
        const tort_info *info = &lowered->infos[node->outputs[i]];
        lowered->evaluated[lowered->evaluated_count++] = node->outputs[i];
        lowered->evaluated_elements += (size_t)info->element_count;
        for (int32_t e = 0; e < info->element_count; e++)
            if (info->elements[e].symbolic) mark_needed(lowered, info->elements[e].value);
    }
}

static void mark_nodes(const marker *m) {
    tort_lowered *lowered = m->lowered;
    for (int32_t i = 0; i < lowered->graph.node_count; i++) {
        const tort_node *node = &lowered->graph.nodes[i];
        if (is_never_asked(lowered, i)) {
            lowered->rule_use[i] = TORT_RULE_NEVER;
        } else if (inputs_final(lowered, node)) {
            lowered->rule_use[i] = TORT_RULE_AFRESH;
            mark_outputs(lowered, node, true);
        } else if (is_evaluated(m, i)) {
            lowered->rule_use[i] = TORT_RULE_AFRESH;
            note_evaluated(m, node);
        } else {
            mark_outputs(lowered, node, false);
        }
    }
}

static void mark_dims(const tort_lowered *lowered) {
    for (int32_t v = 0; v < lowered->graph.value_count; v++) {
        const tort_info *info = &lowered->infos[v];
        for (int32_t d = 0; d < info->rank; d++)
            if (info->dims[d] < 0) lowered->expr_uses[-1 - info->dims[d]] |= TORT_EXPR_DIM;
    }
}

/* True if nodes of the graph may be evaluated, and there are not many more expressions in the session than values in
 * the graph: a model of thousands of bodies, each with sizes of its own, would mark all of them for each body. */
static bool has_evaluated(const tort_lowered *lowered) {
    enum { FOR_EACH = 256, AT_LEAST = 8 };
    bool any = false;
    for (int32_t i = 0; !any && i < lowered->graph.node_count; i++) any = lowered->units[i].provider == TORT_AT_FOLDED;
    return any && lowered->session->dims.count / FOR_EACH < lowered->graph.value_count + AT_LEAST;
}

static tort_status mark_graph(tort_lowered *lowered, tort_error *error) {
    tort_session *session = lowered->session;
    const size_t values = (size_t)lowered->graph.value_count + 1, exprs = (size_t)session->dims.count + 1;
    const bool evaluates = has_evaluated(lowered);
    marker m = {.lowered = lowered, .bound = evaluates ? tort_alloc_zero(&session->env, exprs, sizeof *m.bound) : NULL};
    lowered->shape_fixed = tort_arena_array(&session->arena, values, sizeof *lowered->shape_fixed);
    lowered->rule_use = tort_arena_array(&session->arena, (size_t)lowered->graph.node_count + 1, 1);
    lowered->evaluated = tort_arena_array(&session->arena, values, sizeof *lowered->evaluated);
    if (evaluates) lowered->expr_uses = tort_arena_array(&session->arena, exprs, 1);
    const bool there = lowered->shape_fixed && lowered->rule_use && lowered->evaluated &&
                       (!evaluates || (m.bound && lowered->expr_uses));
    if (there) {
        fix_inputs(lowered);
        if (evaluates) bind_dims(&m);
        if (evaluates) mark_dims(lowered);
        mark_nodes(&m);
    }
    tort_free(&session->env, m.bound, exprs * sizeof *m.bound);
    return there ? TORT_OK : tort_out_of_memory(error, values + exprs);
}

tort_status tort_mark_rules(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = mark_graph(&session->graphs[g], error);
    return status;
}

size_t tort_plan_shapes_scalars(const tort_lowered *lowered) {
    return lowered->evaluated_elements;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static bool same_known_dims(const tort_info *info, const tort_tensor *input) {
    bool same = info->rank == input->rank;
    for (int32_t d = 0; same && d < info->rank; d++)
        same = !tort_dim_known(info->dims[d]) || info->dims[d] == input->dims[d];
    return same;
}

/* Copies the input shapes into the infos. *as_known: they agree with the session's infos, which
 * a body's inputs need not. */
static void take_inputs(tort_planned *planned, const tort_tensor *inputs, bool *complete, bool *as_known) {
    const tort_graph *graph = &planned->lowered->graph;
    *complete = *as_known = true;
    for (int32_t i = 0; i < graph->input_count; i++) {
        tort_info *info = &planned->infos[graph->inputs[i]];
        if (inputs && !info->constant) {
            *as_known &= info->kind != TORT_TENSOR || same_known_dims(info, &inputs[i]);
            info->rank = inputs[i].rank;
            memcpy(info->dims, inputs[i].dims, sizeof inputs[i].dims);
        }
        const bool matters = info->kind == TORT_TENSOR && tort_value_is_read(&graph->values[graph->inputs[i]]);
        if (matters && !tort_shape_known(info)) *complete = false;
        for (int32_t d = 0; d < TORT_MAX_RANK; d++)
            planned->input_dims[i * TORT_MAX_RANK + d] = d < info->rank ? info->dims[d] : 0;
    }
}

/* ---- evaluating -------------------------------------------------------------------------------------------------- */

/* Binds the symbols of the inputs to their sizes, and evaluates all expressions. False: an
 * expression would have two sizes. */
static bool bind_sizes(const tort_planned *planned, int64_t *sizes) {
    const tort_lowered *lowered = planned->lowered;
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *known = &lowered->infos[lowered->graph.inputs[i]];
        const tort_info *now = &planned->infos[lowered->graph.inputs[i]];
        for (int32_t d = 0; d < known->rank && d < now->rank; d++) {
            if (known->dims[d] >= 0 || now->dims[d] < 0) continue;
            int64_t *size = &sizes[-1 - known->dims[d]];
            if (*size != TORT_DIM_UNBOUND && *size != now->dims[d]) return false;
            *size = now->dims[d];
        }
    }
    return tort_dims_evaluate(&lowered->session->dims, sizes);
}

/* Shape rules treat empty tensors and negative sizes specially: a negative difference of sizes is a dimension of 0, and
 * nothing can be divided by the size of an empty tensor. Expressions do not know that, so false if a dimension is not
 * positive, or an element negative; only products with negative factors may be. */
static bool are_usual(const tort_lowered *lowered, const int64_t *sizes) {
    const tort_dims *dims = &lowered->session->dims;
    for (int32_t i = 0; i < dims->count; i++) {
        const uint8_t uses = lowered->expr_uses[i];
        if (sizes[i] > 0 || sizes[i] == TORT_DIM_UNBOUND || !uses) continue;
        const tort_dim_op op = tort_dim_expression(dims, -1 - (int64_t)i)->op;
        const bool part = op == TORT_DIM_MUL || op == TORT_DIM_CONST;
        if (uses & TORT_EXPR_DIM || (sizes[i] < 0 && !part)) return false;
    }
    return true;
}

/* Replaces expressions by numbers, in planned->scalars. False: an expression overflows. */
static bool store_elements(const tort_planned *planned, const int64_t *sizes) {
    const tort_lowered *lowered = planned->lowered;
    tort_scalar *next = planned->scalars;
    for (int32_t i = 0; i < lowered->evaluated_count; i++) {
        tort_info *info = &planned->infos[lowered->evaluated[i]];
        tort_scalar *const first = next;
        for (int32_t e = 0; e < info->element_count; e++) {
            const tort_scalar s = info->elements[e];
            *next++ = tort_scalar_known(s.symbolic ? sizes[-1 - s.value] : s.value);
            if (s.symbolic && sizes[-1 - s.value] == TORT_DIM_UNBOUND) return false;
        }
        info->elements = first;
    }
    return true;
}

/* Restores the session's symbolic elements. */
static void forget_elements(const tort_planned *planned) {
    const tort_lowered *lowered = planned->lowered;
    for (int32_t i = 0; i < lowered->evaluated_count; i++)
        planned->infos[lowered->evaluated[i]] = lowered->infos[lowered->evaluated[i]];
}

/* Evaluates the elements of shape arithmetic. False: sizes are unusual, so rules must be called. */
static bool evaluate(const tort_planned *planned) {
    const tort_lowered *lowered = planned->lowered;
    if (!lowered->evaluated_count) return true;
    for (int32_t i = 0; i < lowered->session->dims.count; i++) planned->sizes[i] = TORT_DIM_UNBOUND;
    const bool done = bind_sizes(planned, planned->sizes) && are_usual(lowered, planned->sizes) &&
                      store_elements(planned, planned->sizes);
    if (!done) forget_elements(planned);
    return done;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status ask(const tort_lowered *lowered, tort_pass *pass, bool afresh, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        const tort_rule_use asked = lowered->rule_use[i];
        if (asked == TORT_RULE_ALWAYS || (asked == TORT_RULE_AFRESH && afresh))
            status = tort_pass_infer(pass, i, error);
    }
    return status;
}

tort_status tort_plan_shapes(tort_planned *planned, const tort_tensor *inputs, bool afresh, bool *complete,
                             tort_error *error) {
    bool as_known;
    take_inputs(planned, inputs, complete, &as_known);
    planned->follows_session = inputs && as_known && !afresh;
    if (!inputs) return TORT_OK;
    planned->pass.typed = planned->follows_session;
    const bool evaluated = planned->follows_session && evaluate(planned);
    return ask(planned->lowered, &planned->pass, !evaluated, error);
}
