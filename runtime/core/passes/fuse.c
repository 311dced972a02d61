/* fuse.c - fuses units of one provider, where it has a kernel that does the work of all of them.
 *
 * Algorithm: peephole optimization (McKeeman, "Peephole Optimization", CACM 1965) on the graph: rows of patterns
 * (pattern.h) are tried at each node, as the last node of a match; the first row that the provider takes is applied,
 * and all rows are tried again, until none applies. Greedy: an earlier row can prevent a later one.
 *
 * Cost for N nodes and P rows: O(N * P) tests of one bit (tort_operator_bit); a match is bounded by 12 nodes, with two
 * orders for each node that commutes. Each fusion removes a unit, so there are fewer than N restarts at a node.
 *
 * Example: row silu, "s=Sigmoid(x) y=Mul(x,s)" makes "Swish(x)". At a Mul of x and Sigmoid(x), Swish takes the Mul's
 * place, when all operands are made; the Sigmoid becomes TORT_AT_FUSED. If Sigmoid has another reader, nothing matches.
 * Fusing comes after placing, so it moves no node to another provider: only speed and rounding change. This file must
 * not know operators or providers by name. Read next: match.c, siblings.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/base/build.h"
#include "runtime/core/passes/fuse.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"

/* ---- readers ----------------------------------------------------------------------------------------------------- */

static bool runs(const tort_unit *unit) {
    return unit->provider >= TORT_AT_HOST;
}

static void count_operands(const tort_fuser *f, const tort_node *node, int32_t by) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && node->inputs[i] < f->counted) f->readers[node->inputs[i]] += by;
}

static void count_readers(const tort_fuser *f) {
    const tort_graph *graph = &f->lowered->graph;
    for (int32_t i = 0; i < graph->output_count; i++) f->readers[graph->outputs[i]]++;
    for (int32_t n = 0; n < graph->node_count; n++) {
        const tort_node *node = &graph->nodes[n];
        if (runs(&f->lowered->units[n])) count_operands(f, tort_unit_node(f->lowered, n), 1);
        for (int32_t i = 0; f->lowered->units[n].folded && i < node->input_count; i++)
            if (node->inputs[i] >= 0) f->looked_at[node->inputs[i]] = true;
    }
}

/* ---- the joined node --------------------------------------------------------------------------------------------- */

static bool same_output(const tort_info *made, const tort_info *known) {
    if (made->kind != known->kind || made->type != known->type || made->rank != known->rank) return false;
    for (int32_t i = 0; i < known->rank; i++)
        if (tort_dim_known(made->dims[i]) && tort_dim_known(known->dims[i]) && made->dims[i] != known->dims[i])
            return false;
    return true;
}

/* *fits: the operands have types that the operator takes, and its outputs are those of the parts. */
static tort_status check_made(tort_fuser *f, tort_node_view view, bool *fits) {
    tort_info outputs[TORT_INFER_OUTPUTS];
    const tort_info *known = view.outputs;
    for (int32_t i = 0; i < TORT_INFER_OUTPUTS; i++) outputs[i] = (tort_info){.rank = -1, .nest = -1};
    view.outputs = outputs;
    tort_infer infer = {.node = &view, .outputs = outputs, .dims = f->pass.dims, .arena = f->pass.arena};
    tort_status status = tort_check_types(&view, NULL);
    if (!status && view.op->infer) status = view.op->infer(&infer);
    if (status == TORT_E_MEMORY || f->pass.dims->failed) return tort_out_of_memory(f->error, 0);
    *fits = !status;
    for (int32_t i = 0; *fits && i < view.output_count; i++) *fits = same_output(&outputs[i], &known[i]);
    return TORT_OK;
}

/* A node that the executor does itself needs no provider. */
static void leave_at_host(tort_candidate *c, bool *taken) {
    const char *label = tort_candidate_host_label(c);
    *taken = label != NULL;
    if (!label) return;
    c->unit->provider = TORT_AT_HOST;
    c->unit->label = label;
}

/* Adding values may have moved their arrays. */
static void refresh(tort_fuser *f) {
    f->pass.infos = f->lowered->infos;
    f->pass.weights = f->lowered->weights;
}

tort_status tort_fuse_offer(tort_fuser *f, tort_candidate *c, int32_t provider, bool *taken) {
    refresh(f);
    tort_node_view view = tort_pass_view(&f->pass, c->index);
    bool fits = false;
    *taken = false;
    tort_status status = tort_pass_acquire(&f->pass, c->index, f->error);
    if (status) return status;
    c->view = &view;
    status = check_made(f, view, &fits);
    if (!status && fits) {
        fits = !tort_candidate_resolve(c, &view, NULL);
        if (!c->unit->params) status = tort_out_of_memory(f->error, 0);
    }
    if (!status && fits) leave_at_host(c, taken);
    if (!status && fits && !*taken) status = tort_candidate_offer(c, provider, taken, f->error);
    if (!status && *taken) status = tort_candidate_size_packing(c, f->error);
    tort_pass_release(&f->pass, c->index);
    c->view = NULL;
    return status;
}

/* ---- accepted ---------------------------------------------------------------------------------------------------- */

static void insert_sorted(int32_t *list, int32_t count, int32_t node) {
    int32_t at = count;
    for (; at > 0 && list[at - 1] > node; at--) list[at] = list[at - 1];
    list[at] = node;
}

/* The nodes of a match that the made node replaces. */
static tort_fused_parts parts_of(const tort_match *match) {
    tort_fused_parts p = {.count = 0};
    for (int32_t k = 0; k < match->pattern->node_count; k++)
        if (!tort_match_stays(match, k)) p.nodes[p.count++] = match->nodes[k];
    return p;
}

/* Lists the model's nodes of all parts, ascending. */
static bool list_parts(const tort_fuser *f, const tort_fused_parts *p, tort_unit *joined) {
    const tort_unit *units = f->lowered->units;
    int32_t total = 0;
    for (int32_t k = 0; k < p->count; k++) total += units[p->nodes[k]].from ? units[p->nodes[k]].from_count : 1;
    int32_t *from = tort_arena_array(&f->session->arena, (size_t)total, sizeof *from);
    if (!from) return false;
    joined->from = from;
    for (int32_t k = 0; k < p->count; k++) {
        const tort_unit *part = &units[p->nodes[k]];
        const int32_t *parts = part->from ? part->from : &p->nodes[k], count = part->from ? part->from_count : 1;
        for (int32_t i = 0; i < count; i++) insert_sorted(from, joined->from_count++, parts[i]);
    }
    return true;
}

/* The anchor's verdicts by other providers and on fusions stay valid for the fused unit. */
static tort_status keep_said(const tort_fuser *f, const tort_unit *anchor, int32_t provider, tort_unit *joined) {
    const int32_t max = anchor->reason_count + joined->reason_count;
    tort_reason *all = tort_arena_array(&f->session->arena, (size_t)max + 1, sizeof *all);
    int32_t count = 0;
    if (!all) return tort_out_of_memory(f->error, 0);
    for (int32_t i = 0; i < anchor->reason_count; i++)
        if (anchor->reasons[i].provider != provider || anchor->reasons[i].fusion) all[count++] = anchor->reasons[i];
    for (int32_t i = 0; i < joined->reason_count; i++) all[count++] = joined->reasons[i];
    joined->reasons = all;
    joined->reason_count = count;
    return TORT_OK;
}

void tort_fuse_retire(const tort_fuser *f, int32_t index) {
    tort_unit *unit = &f->lowered->units[index];
    const tort_node *node = &f->lowered->graph.nodes[index];
    unit->provider = TORT_AT_FUSED;
    unit->kernel = NULL;
    unit->label = "fused";
    unit->packed_bytes = 0;
    unit->consumed = 0;
    unit->still_inferred = f->looked_at[node->outputs[0]];
    for (int32_t i = 0; unit->still_inferred && i < node->input_count; i++)
        if (node->inputs[i] >= 0 && node->inputs[i] < f->counted) f->looked_at[node->inputs[i]] = true;
}

tort_status tort_fuse_inherit(const tort_fuser *f, const tort_fused_parts *p, int32_t anchor, int32_t provider,
                              tort_unit *joined) {
    for (int32_t k = 0; k < p->count; k++) {
        const tort_unit *part = &f->lowered->units[p->nodes[k]];
        joined->pinned |= part->pinned;
        if (part->pinned) joined->pin = part->pin;
    }
    tort_status status = keep_said(f, &f->lowered->units[anchor], provider, joined);
    if (status) return status;
    return list_parts(f, p, joined) ? TORT_OK : tort_out_of_memory(f->error, 0);
}

static tort_status accept(const tort_fuser *f, const tort_match *match, tort_candidate *c, const tort_node *last) {
    const tort_fused_parts p = parts_of(match);
    const int32_t anchor = match->nodes[match->pattern->anchor];
    tort_status status = tort_candidate_store(c, f->error);
    if (!status) status = tort_fuse_inherit(f, &p, anchor, match->provider, c->unit);
    if (status) return status;
    for (int32_t k = 0; k + 1 < p.count; k++) count_operands(f, &f->lowered->graph.nodes[p.nodes[k]], -1);
    count_operands(f, last, -1);
    count_operands(f, c->node, 1);
    for (int32_t k = p.count - 2; k >= 0; k--) tort_fuse_retire(f, p.nodes[k]); /* all but the last */
    f->lowered->units[c->index] = *c->unit;
    return TORT_OK;
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

/* Adds a reason to a unit's, once per fusion. */
static tort_status note(const tort_fuser *f, int32_t anchor, const tort_reason *reason) {
    tort_unit *unit = &f->lowered->units[anchor];
    for (int32_t i = 0; i < unit->reason_count; i++)
        if (unit->reasons[i].fusion && !strcmp(unit->reasons[i].fusion, reason->fusion)) return TORT_OK;
    return tort_unit_add_reason(f->session, unit, reason) ? TORT_OK : tort_out_of_memory(f->error, 0);
}

tort_status tort_fuse_note_refusal(const tort_fuser *f, const char *name, int32_t anchor, const tort_candidate *c) {
    if (!c->reason_count) return TORT_OK;
    tort_reason reason = c->reasons[c->reason_count - 1];
    reason.fusion = name;
    reason.integers = tort_op_multiplies_integers(c->node->op);
    return note(f, anchor, &reason);
}

/* Keeps the words of build on nodes that would have been a product of integers. */
static tort_status note_build(const tort_fuser *f, const tort_match *match) {
    const tort_reason reason = {.provider = match->provider,
                                .kernel = "",
                                .code = TORT_NO_ATTR,
                                .message = match->why,
                                .cure = match->cure,
                                .fusion = match->pattern->row->name,
                                .integers = true,
                                .root = -1};
    return match->why ? note(f, match->nodes[match->pattern->anchor], &reason) : TORT_OK;
}

/* ---- one node ---------------------------------------------------------------------------------------------------- */

/* True if the match leaves out a value whose shape a folded node needs: that node could not be written again. */
static bool hides_shapes(const tort_fuser *f, const tort_match *match) {
    const tort_fused_parts p = parts_of(match);
    bool hides = false;
    for (int32_t k = 0; f->session->options.onnx_fusions && k + 1 < p.count; k++)
        hides = hides || f->looked_at[f->lowered->graph.nodes[p.nodes[k]].outputs[0]];
    return hides;
}

/* Puts the made node in the place of the last node, if the provider takes it. */
static tort_status join(tort_fuser *f, tort_match *match, int32_t index, bool *joined) {
    const tort_unit *anchor = &f->lowered->units[match->nodes[match->pattern->anchor]];
    const tort_link *link = &f->session->chain[match->provider];
    tort_node made, *place = &f->lowered->graph.nodes[index];
    const tort_node last = *place;
    if (!tort_match_make(match, &made)) return match->failed ? f->error->code : TORT_OK;
    tort_unit unit = {.provider = TORT_AT_NOWHERE};
    tort_candidate c = {.session = f->session,
                        .lowered = f->lowered,
                        .index = index,
                        .node = place,
                        .unit = &unit,
                        .no_loops = anchor->kernel && !tort_runs_reference(link->provider, anchor->kernel),
                        .alone = true};
    *place = made;
    tort_status status = tort_fuse_offer(f, &c, match->provider, joined);
    if (!status && *joined) status = accept(f, match, &c, &last);
    if (!status && !*joined)
        status = tort_fuse_note_refusal(f, match->pattern->row->name, match->nodes[match->pattern->anchor], &c);
    if (!*joined || status) *place = last;
    return status;
}

static tort_status try_pattern(tort_fuser *f, const tort_parsed *pattern, int32_t index, bool *joined) {
    const int32_t values = f->lowered->graph.value_count, constants = f->session->constant_count;
    tort_match match = {.pattern = pattern,
                        .lowered = f->lowered,
                        .readers = f->readers,
                        .provider = f->lowered->units[index].provider,
                        .error = f->error};
    if (!tort_match_at(&match, index)) return TORT_OK;
    tort_status status = TORT_OK;
    if (hides_shapes(f, &match)) return TORT_OK;
    if (tort_match_build(&match))
        status = join(f, &match, index, joined);
    else
        status = match.failed ? f->error->code : note_build(f, &match);
    if (!*joined) tort_lowered_drop_values(f->lowered, values, constants);
    refresh(f);
    return status;
}

static uint64_t bit_of(const tort_fuser *f, int32_t index) {
    const char *op_type = f->lowered->graph.nodes[index].op_type;
    return tort_operator_bit(op_type, strlen(op_type));
}

/* Fuses what ends in this node, then what ends in the fused node. */
static tort_status fuse_at(tort_fuser *f, int32_t index) {
    tort_status status = TORT_OK;
    uint64_t bit = bit_of(f, index);
    for (int32_t i = 0; !status && i < f->pattern_count; i++) {
        bool joined = false;
        if (f->patterns[i].off || f->patterns[i].apart || !(f->patterns[i].ends & bit)) continue;
        status = try_pattern(f, &f->patterns[i], index, &joined);
        if (!joined) continue;
        bit = bit_of(f, index);
        i = -1; /* all rows again: ends, since each fusion leaves fewer units */
    }
    return status;
}

/* ---- all nodes --------------------------------------------------------------------------------------------------- */

static tort_status fuse_graph(tort_fuser *f, tort_lowered *lowered) {
    const tort_env *env = &f->session->env;
    const size_t values = (size_t)lowered->graph.value_count + 1;
    f->lowered = lowered;
    f->counted = lowered->graph.value_count;
    tort_status status =
        tort_lowered_pass(lowered, &f->pass, lowered->infos, &f->session->dims, &f->session->arena, f->error);
    if (status) return status;
    f->readers = tort_alloc_zero(env, values, sizeof *f->readers);
    f->looked_at = tort_alloc_zero(env, values, sizeof *f->looked_at);
    if (f->readers && f->looked_at)
        count_readers(f);
    else
        status = tort_out_of_memory(f->error, values);
    if (!status) status = tort_fuse_integers(f);
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++)
        if (runs(&lowered->units[i])) status = fuse_at(f, i);
    if (!status) status = tort_fuse_siblings(f);
    tort_free(env, f->readers, values * sizeof *f->readers);
    tort_free(env, f->looked_at, values * sizeof *f->looked_at);
    tort_pass_free(&f->pass);
    return status;
}

static int32_t count_rows(void) {
    int32_t count = 0;
    for (const tort_pattern *const *table = tort_build.patterns; table && *table; table++)
        for (const tort_pattern *row = *table; row->name; row++) count++;
    return count;
}

static tort_status parse_all(tort_fuser *f) {
    int32_t at = 0;
    for (const tort_pattern *const *table = tort_build.patterns; table && *table; table++)
        for (const tort_pattern *row = *table; row->name; row++) {
            tort_parsed *parsed = &f->patterns[at++];
            const char *wrong = tort_pattern_parse(row, parsed);
            if (wrong) return tort_fail(f->error, TORT_E_INTERNAL, "the row of fusion %s: %s", row->name, wrong);
            parsed->off = tort_listed(f->session->options.fusions_off, row->name);
        }
    return TORT_OK;
}

/* True if there is a fusion of this name; else `names` lists all fusions. */
static bool is_known(const char *name, size_t length, char *names, size_t size) {
    const char *before = "";
    size_t used = 0;
    for (const tort_pattern *const *table = tort_build.patterns; table && *table; table++)
        for (const tort_pattern *row = *table; row->name; row++) {
            if (strlen(row->name) == length && !memcmp(row->name, name, length)) return true;
            const size_t more = strlen(row->name) + 2;
            if (!strcmp(before, row->name) || used + more >= size) continue;
            used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "", row->name);
            before = row->name;
        }
    return false;
}

static tort_status check_names(const tort_session *session, tort_error *error) {
    for (const char *name = session->options.fusions_off; name && *name;) {
        char names[600] = "";
        const size_t length = strcspn(name, ",");
        if (length && !is_known(name, length, names, sizeof names))
            return tort_fail(error, TORT_E_USAGE, "there is no fusion \"%.*s\" to switch off; there are: %s",
                             (int)length, name, names);
        name += length + (name[length] == ',');
    }
    return TORT_OK;
}

tort_status tort_fuse(tort_session *session, tort_error *error) {
    const char *off = session->options.fusions_off;
    tort_error own;
    if (session->options.unfolded || (off && !strcmp(off, "*"))) return TORT_OK;
    tort_status status = check_names(session, error);
    if (status) return status;
    tort_fuser f = {.session = session, .pattern_count = count_rows(), .error = error ? error : &own};
    const size_t count = (size_t)f.pattern_count + 1;
    f.patterns = tort_alloc_zero(&session->env, count, sizeof *f.patterns);
    status = f.patterns ? parse_all(&f) : tort_out_of_memory(error, count * sizeof *f.patterns);
    for (int32_t g = 0; !status && g < session->graph_count; g++)
        if (session->graphs[g].lowered) status = fuse_graph(&f, &session->graphs[g]);
    tort_free(&session->env, f.patterns, count * sizeof *f.patterns);
    return status;
}
