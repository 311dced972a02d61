/* segment.c - gives segments, several nodes compiled into one unit, to providers that compile.
 *
 * Order: place, segment, fuse. Nodes of one provider whose rows allow it are partitioned into large convex sets
 * (convex.c), and the provider is offered each set as one node. If it refuses, or a node can be in no set, the node
 * runs by its own kernel; if its row has none, place.c offers it to the providers behind; the verdict is kept in both
 * cases. An alias, which the executor does, may be in a segment if the provider has a row for it. Fusing comes last, so
 * that a compiler sees the model's operators, and the rest can still be fused. Providers are asked in the order of the
 * chain; a device that compiles ahead of runs chooses its nodes, and may still fail to compile them (engine.c).
 * O(edges * log nodes) for each provider with segments. This file must not know operators or providers by name.
 * Read next: convex.c, engine.c, unit_view.c, fuse.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/claim.h"
#include "runtime/core/passes/convex.h"
#include "runtime/core/passes/engine.h"
#include "runtime/core/passes/order.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/passes/passes.h"

typedef struct segmenter {
    tort_session *session;
    tort_lowered *lowered;
    int32_t provider;
    bool ahead; /* the provider compiles before runs, and takes constants then (tort_engine) */
    tort_pass pass;
    tort_arena arena; /* of tables that live for one graph and provider */
    int32_t *group;   /* by node: it can be in a segment with others of this group; -1: in none */
    int32_t *set;     /* by node: its set; -1 */
    int32_t set_count;
    int32_t *readers; /* by value: how often running nodes and outputs of the graph read it */
    int32_t *number;  /* by value: its number in the segment being made; -1 */
    bool made;        /* some segment was made */
    tort_error *error;
} segmenter;

/* ---- refusal ----------------------------------------------------------------------------------------------------- */

static tort_status refuse_saved(const segmenter *s, int32_t index, const tort_verdict *verdict) {
    tort_fail(s->error, TORT_E_PLACEMENT,
              "the saved plan has it in a segment of %s, which does not compile it here: %s %s; make the plan again "
              "with tinyort plan MODEL -o FILE",
              s->session->chain[s->provider].provider->name, tort_verdict_name(verdict->code), verdict->message);
    tort_error_at_node(s->error, &s->lowered->graph, index);
    return TORT_E_PLACEMENT;
}

/* Adds the verdict to the unit's others, or moves the unit on if it has no kernel of its own. */
static tort_status refuse(segmenter *s, int32_t index, const tort_verdict *verdict) {
    tort_unit *unit = &s->lowered->units[index];
    if (s->session->saved) return refuse_saved(s, index, verdict);
    if (unit->provider != s->provider) return TORT_OK; /* an alias stays with the executor, at no loss */
    if (unit->kernel->segment == TORT_SEGMENT_ONLY)
        return tort_place_onward(s->lowered, &s->pass, index, verdict, s->error);
    tort_candidate c = {.session = s->session, .unit = unit};
    tort_status status = tort_candidate_keep_out(&c, s->provider, verdict, s->error);
    return status ? status : tort_candidate_store(&c, s->error);
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static bool is_determined(const segmenter *s, const tort_info *info) {
    bool known = info->rank >= 0;
    for (int32_t d = 0; d < info->rank; d++) known = known && !tort_dim_dynamic(s->pass.dims, info->dims[d]);
    return known;
}

/* True if the contents are known or determined by shapes; needed of inputs whose values determine shapes. */
static bool is_told(const segmenter *s, const tort_info *info) {
    bool known = info->constant || info->elements;
    for (int32_t e = 0; !info->constant && e < info->element_count; e++)
        known = known && !(info->elements[e].symbolic && tort_dim_dynamic(s->pass.dims, info->elements[e].value));
    return known;
}

static tort_verdict look_at(const segmenter *s, int32_t value, bool shapes) {
    const tort_info *info = &s->lowered->infos[value];
    const char *name = s->lowered->graph.values[value].name;
    if (info->kind != TORT_TENSOR) return tort_no(TORT_NO_KIND, "", "\"%.100s\" is not a tensor", name);
    if (!is_determined(s, info)) return tort_no(TORT_NO_DYNAMIC, "", "the shape of \"%.100s\" depends on data", name);
    if (shapes && !is_told(s, info))
        return tort_no(TORT_NO_DYNAMIC, "", "the values of \"%.100s\" have a say in a shape", name);
    return tort_yes();
}

/* The core's own refusals: all shapes must be known when a segment is compiled. */
static tort_verdict check_node(const segmenter *s, int32_t index) {
    const tort_node *node = &s->lowered->graph.nodes[index];
    const tort_unit *unit = &s->lowered->units[index];
    tort_verdict verdict = tort_yes();
    if (unit->kernel && unit->kernel->segment == TORT_SEGMENT_NEVER)
        return tort_no(TORT_NO_OP, "", "the kernel %s runs its node by itself", unit->kernel->name);
    for (int32_t i = 0; verdict.code == TORT_YES && i < node->input_count; i++)
        if (node->inputs[i] >= 0) verdict = look_at(s, node->inputs[i], i < 32 && (node->op->shape_inputs >> i & 1));
    for (int32_t i = 0; verdict.code == TORT_YES && i < node->output_count; i++)
        if (node->outputs[i] >= 0) verdict = look_at(s, node->outputs[i], false);
    return verdict;
}

/* True if the provider has a row that allows segments for this operator (NULL: for any). */
static bool has_row(const segmenter *s, const char *op) {
    bool found = false;
    for (const tort_kernel *const *table = s->session->chain[s->provider].provider->kernels; *table; table++)
        for (const tort_kernel *row = *table; row->op; row++)
            found |= row->segment != TORT_SEGMENT_NEVER && (!op || !strcmp(row->op, "*") || !strcmp(row->op, op));
    return found;
}

/* *taken: the node is an alias, and a row of the provider takes it into segments. */
static tort_status ask_for_alias(segmenter *s, int32_t index, bool *taken) {
    const tort_node *node = &s->lowered->graph.nodes[index];
    tort_unit unit = s->lowered->units[index];
    *taken = unit.provider == TORT_AT_HOST && node->op->flags & (TORT_OP_ALIAS | TORT_OP_METADATA) &&
             has_row(s, node->op_type);
    if (!*taken) return TORT_OK;
    tort_node_view view = tort_pass_view(&s->pass, index);
    tort_candidate c = {
        .session = s->session, .lowered = s->lowered, .index = index, .node = node, .view = &view, .unit = &unit};
    view.params = unit.params;
    tort_status status = tort_pass_acquire(&s->pass, index, s->error);
    if (status) return status;
    status = tort_candidate_offer(&c, s->provider, taken, s->error);
    tort_pass_release(&s->pass, index);
    *taken = *taken && unit.kernel->segment != TORT_SEGMENT_NEVER;
    return status;
}

static tort_status mark_all(segmenter *s) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < s->lowered->graph.node_count; i++) {
        const tort_unit *unit = &s->lowered->units[i];
        bool taken = unit->provider == s->provider && !unit->segment;
        if (!taken) status = ask_for_alias(s, i, &taken);
        if (!taken) continue;
        const tort_verdict verdict = check_node(s, i);
        s->group[i] = verdict.code == TORT_YES ? 0 : -1;
        if (s->group[i] < 0) status = refuse(s, i, &verdict);
    }
    return status;
}

/* A saved plan says which nodes were in one segment; whether they can be is found out again (convex.c). */
static tort_status mark_saved(segmenter *s) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < s->lowered->graph.node_count; i++) {
        const tort_unit *unit = &s->lowered->units[i];
        if (!unit->group || (unit->provider != s->provider && unit->provider != TORT_AT_HOST)) continue;
        const tort_verdict verdict = check_node(s, i);
        s->group[i] = unit->group - 1;
        if (verdict.code != TORT_YES) status = refuse_saved(s, i, &verdict);
    }
    return status;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* Running units in their order; another segment counts as one unit. */
typedef struct running {
    int32_t *unit;  /* by place */
    int32_t *place; /* by unit */
    int32_t count;
    size_t operands;
} running;

static bool list_running(segmenter *s, running *list) {
    const tort_lowered *lowered = s->lowered;
    const size_t nodes = (size_t)lowered->graph.node_count + 1;
    list->unit = tort_arena_array(&s->arena, nodes, sizeof *list->unit);
    list->place = tort_arena_array(&s->arena, nodes, sizeof *list->place);
    if (!list->unit || !list->place) return false;
    for (int32_t i = 0; i < lowered->graph.node_count; i++) {
        const int32_t unit = tort_unit_in_order(lowered, i);
        if (!tort_unit_runs(&lowered->units[unit])) continue;
        list->operands += (size_t)tort_unit_node(lowered, unit)->input_count;
        list->place[unit] = list->count;
        list->unit[list->count++] = unit;
    }
    return list->operands < INT32_MAX;
}

static void add_reads(const segmenter *s, const running *list, int32_t unit, int32_t *reads, int32_t *count) {
    const tort_node *node = tort_unit_node(s->lowered, unit);
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t maker = tort_unit_making(s->lowered, node->inputs[i]);
        if (maker >= 0) reads[(*count)++] = list->place[maker];
    }
}

static tort_status find_sets(segmenter *s) {
    running list = {.count = 0};
    if (!list_running(s, &list)) return tort_out_of_memory(s->error, 0);
    int32_t *first = tort_arena_array(&s->arena, (size_t)list.count + 1, sizeof *first);
    int32_t *reads = tort_arena_array(&s->arena, list.operands + 1, sizeof *reads), count = 0;
    int32_t *set = tort_arena_array(&s->arena, (size_t)list.count + 1, sizeof *set);
    int32_t *group = tort_arena_array(&s->arena, (size_t)list.count + 1, sizeof *group);
    if (!first || !reads || !set || !group) return tort_out_of_memory(s->error, 0);
    for (int32_t i = 0; i < list.count; i++) {
        group[i] = s->group[list.unit[i]];
        add_reads(s, &list, list.unit[i], reads, &count);
        first[i + 1] = count;
    }
    s->set_count = tort_convex_sets(
        &s->session->env, &(tort_dag){.count = list.count, .first = first, .reads = reads, .group = group}, set);
    if (s->set_count < 0) return tort_out_of_memory(s->error, 0);
    for (int32_t i = 0; i < s->lowered->graph.node_count; i++) s->set[i] = -1;
    for (int32_t i = 0; i < list.count; i++) s->set[list.unit[i]] = set[i];
    return TORT_OK;
}

/* ---- one segment ------------------------------------------------------------------------------------------------- */

/* Values made inside are numbered after all inputs, so they are marked first. */
enum { UNNUMBERED = -1, MADE_INSIDE = -2 };

/* Gives the value the next number in the segment, if it has none. */
static void number_value(const segmenter *s, tort_segment *made, int32_t *values, int32_t value) {
    if (value < 0 || s->number[value] >= 0) return;
    s->number[value] = made->value_count;
    values[made->value_count++] = value;
}

/* Numbers what the parts read from outside: of an engine that compiles ahead, only constants, or only all else. */
static void number_reads(const segmenter *s, tort_segment *made, int32_t *values, bool constants) {
    for (int32_t k = 0; k < made->part_count; k++) {
        const tort_node *node = &s->lowered->graph.nodes[made->parts[k]];
        for (int32_t i = 0; i < node->input_count; i++) {
            const int32_t value = node->inputs[i];
            if (value < 0 || s->number[value] != UNNUMBERED) continue;
            if (constants == (s->ahead && tort_is_constant(s->lowered, value))) number_value(s, made, values, value);
        }
    }
}

static void number_values(const segmenter *s, tort_segment *made, int32_t *values) {
    const tort_node *nodes = s->lowered->graph.nodes;
    for (int32_t k = 0; k < made->part_count; k++)
        for (int32_t i = 0; i < nodes[made->parts[k]].output_count; i++)
            if (nodes[made->parts[k]].outputs[i] >= 0) s->number[nodes[made->parts[k]].outputs[i]] = MADE_INSIDE;
    number_reads(s, made, values, false);
    made->node.input_count = made->value_count;
    number_reads(s, made, values, true);
    made->constant_count = made->value_count - made->node.input_count;
    made->node.inputs = values;
    for (int32_t k = 0; k < made->part_count; k++)
        for (int32_t i = 0; i < nodes[made->parts[k]].output_count; i++)
            number_value(s, made, values, nodes[made->parts[k]].outputs[i]);
}

/* Outputs of the segment: values made inside with more readers than its own parts. */
static void choose_outputs(const segmenter *s, tort_segment *made, int32_t *inside, int32_t *values, int32_t *numbers) {
    const tort_node *nodes = s->lowered->graph.nodes;
    for (int32_t k = 0; k < made->part_count; k++)
        for (int32_t i = 0; i < nodes[made->parts[k]].input_count; i++)
            if (nodes[made->parts[k]].inputs[i] >= 0) inside[s->number[nodes[made->parts[k]].inputs[i]]]++;
    for (int32_t v = made->node.input_count + made->constant_count; v < made->value_count; v++) {
        if (s->readers[made->values[v]] == inside[v] || tort_is_constant(s->lowered, made->values[v])) continue;
        values[made->node.output_count] = made->values[v];
        numbers[made->node.output_count++] = v;
    }
    made->node.outputs = values;
    made->outputs = numbers;
}

static int32_t *number_operands(const segmenter *s, const int32_t *values, int32_t count, int32_t *to) {
    for (int32_t i = 0; i < count; i++) to[i] = values[i] < 0 ? -1 : s->number[values[i]];
    return to;
}

static void fill_nodes(const segmenter *s, const tort_segment *made, tort_segment_node *to, int32_t *operands) {
    for (int32_t k = 0; k < made->part_count; k++) {
        const tort_node *node = &s->lowered->graph.nodes[made->parts[k]];
        to[k] = (tort_segment_node){.op = node->op,
                                    .name = node->name,
                                    .attributes = node->attributes,
                                    .inputs = number_operands(s, node->inputs, node->input_count, operands),
                                    .attribute_count = node->attribute_count,
                                    .input_count = node->input_count,
                                    .output_count = node->output_count,
                                    .opset = node->opset};
        operands += node->input_count;
        to[k].outputs = number_operands(s, node->outputs, node->output_count, operands);
        operands += node->output_count;
    }
}

static tort_status told_to_run(tort_infer *infer) {
    return tort_fail(infer->error, TORT_E_INTERNAL, "shapes of a segment are inferred node by node");
}

/* The operator of segments in reports. */
static const tort_op segment_op = {
    .domain = "tinyort", .name = "Segment", .since = 1, .until = 1, .infer = told_to_run};

/* Makes the segment of these parts, in an arena. NULL: out of memory. */
static tort_segment *put_together(const segmenter *s, tort_arena *arena, const int32_t *parts, int32_t count) {
    const tort_node *nodes = s->lowered->graph.nodes;
    size_t max = 1;
    for (int32_t k = 0; k < count; k++)
        max += (size_t)nodes[parts[k]].input_count + (size_t)nodes[parts[k]].output_count;
    tort_segment *made = tort_arena_alloc(arena, sizeof *made);
    int32_t *arrays = tort_arena_array(arena, max, 5 * sizeof *arrays);
    int32_t *kept = tort_arena_array(arena, (size_t)count, sizeof *kept);
    tort_segment_node *to = tort_arena_array(arena, (size_t)count, sizeof *to);
    if (!made || !arrays || !kept || !to) return NULL;
    memcpy(kept, parts, (size_t)count * sizeof *kept);
    *made = (tort_segment){.parts = kept, .part_count = count, .values = arrays, .nodes = to};
    int32_t first = 0; /* of the parts that are not folded: the segment is named after it */
    while (first < count - 1 && s->lowered->units[parts[first]].folded) first++;
    made->node = (tort_node){.name = nodes[parts[first]].name,
                             .domain = segment_op.domain,
                             .op_type = segment_op.name,
                             .opset = 1,
                             .op = &segment_op,
                             .file_index = nodes[parts[first]].file_index};
    number_values(s, made, arrays);
    choose_outputs(s, made, arrays + max, arrays + 2 * max, arrays + 3 * max);
    fill_nodes(s, made, to, arrays + 4 * max);
    for (int32_t v = 0; v < made->value_count; v++) s->number[made->values[v]] = UNNUMBERED;
    return made;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* The folded node that makes a value of constant integers (DequantizeLinear); -1: there is none. */
static int32_t widened_by(const segmenter *s, int32_t value) {
    const int32_t maker = value < 0 ? -1 : s->lowered->graph.values[value].producer;
    const bool folded = maker >= 0 && s->lowered->units[maker].folded;
    return folded && s->lowered->graph.nodes[maker].op->flags & TORT_OP_WIDENS ? maker : -1;
}

static int ascending(const void *a, const void *b) {
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* Adds the folded nodes that make floats of constant integers which these parts read: an engine is to multiply the
 * integers. In the order of the graph, in the pass's arena; NULL: out of memory. */
static const int32_t *with_folded(segmenter *s, const int32_t *parts, int32_t *count) {
    const tort_node *nodes = s->lowered->graph.nodes;
    size_t max = (size_t)*count + 1;
    for (int32_t p = 0; p < *count; p++) max += (size_t)nodes[parts[p]].input_count;
    int32_t *all = tort_arena_array(&s->arena, max, sizeof *all), found = 0, kept = 0;
    if (!all) return NULL;
    for (int32_t p = 0; p < *count; p++) {
        for (int32_t i = 0; i < nodes[parts[p]].input_count; i++) {
            const int32_t maker = widened_by(s, nodes[parts[p]].inputs[i]);
            if (maker >= 0) all[found++] = maker;
        }
        all[found++] = parts[p];
    }
    qsort(all, (size_t)found, sizeof *all, ascending);
    for (int32_t i = 0; i < found; i++)
        if (!i || all[i] != all[kept - 1]) all[kept++] = all[i];
    *count = kept;
    return all;
}

/* ---- accepted ---------------------------------------------------------------------------------------------------- */

static bool is_listed(const tort_reason *all, int32_t count, const tort_reason *reason) {
    for (int32_t i = 0; i < count; i++)
        if (all[i].provider == reason->provider && all[i].code == reason->code &&
            !strcmp(all[i].kernel, reason->kernel) && !strcmp(all[i].message, reason->message))
            return true;
    return false;
}

/* Verdicts of other providers on the parts stay valid; equal ones are kept once. */
static tort_status keep_said(const segmenter *s, const tort_segment *made, tort_unit *joined) {
    tort_reason all[TORT_MAX_REASONS];
    int32_t count = 0;
    for (int32_t k = 0; k < made->part_count; k++) {
        const tort_unit *part = &s->lowered->units[made->parts[k]];
        for (int32_t i = 0; i < part->reason_count && count < TORT_MAX_REASONS; i++)
            if (part->reasons[i].provider != s->provider && !is_listed(all, count, &part->reasons[i]))
                all[count++] = part->reasons[i];
    }
    tort_reason *reasons = tort_arena_array(&s->session->arena, (size_t)count + 1, sizeof *reasons);
    if (!reasons) return tort_out_of_memory(s->error, 0);
    memcpy(reasons, all, (size_t)count * sizeof *reasons);
    joined->reasons = reasons;
    joined->reason_count = count;
    return TORT_OK;
}

/* The parts do not run any more, but plans still infer their shapes. */
static void retire(const segmenter *s, const tort_segment *made) {
    for (int32_t k = 0; k < made->part_count; k++) {
        tort_unit *unit = &s->lowered->units[made->parts[k]];
        if (unit->folded) continue; /* for others, who read the constant */
        unit->provider = TORT_AT_FUSED;
        unit->kernel = NULL;
        unit->label = "segment";
        unit->packed_bytes = 0;
        unit->consumed = 0;
        unit->still_inferred = true;
        unit->segment = made;
    }
}

static tort_status accept(segmenter *s, const int32_t *parts, int32_t count, tort_unit *joined) {
    tort_segment *made = put_together(s, &s->session->arena, parts, count);
    if (!made) return tort_out_of_memory(s->error, 0);
    tort_unit *last = &s->lowered->units[parts[count - 1]];
    made->last_pinned = last->pinned;
    for (int32_t k = 0; k < count; k++) joined->pinned |= s->lowered->units[parts[k]].pinned;
    joined->params = last->params;
    joined->pin = s->provider;
    joined->from = made->parts;
    joined->from_count = count;
    joined->segment = made;
    tort_status status = keep_said(s, made, joined);
    if (status) return status;
    retire(s, made);
    *last = *joined;
    s->made = true;
    return TORT_OK;
}

/* Offers the segment to the provider, as one node. */
static tort_status ask(segmenter *s, tort_segment *segment, tort_unit *joined, tort_verdict *verdict) {
    tort_link *link = &s->session->chain[s->provider];
    const tort_kernel *kernel = link->provider->segments;
    tort_unit_view view;
    if (!kernel) {
        *verdict = tort_no(TORT_NO_OP, "", "%s compiles no segments", link->provider->name);
        return TORT_OK;
    }
    tort_status status = tort_segment_view_open(&view, s->lowered, &s->pass, segment, NULL, s->error);
    tort_candidate c = {
        .session = s->session, .lowered = s->lowered, .node = &segment->node, .view = &view.node, .unit = joined};
    if (!status) *verdict = tort_candidate_ask(&c, link, kernel);
    if (!status && verdict->code == TORT_YES && kernel->pack.size)
        status = kernel->pack.size(&link->target, &view.node, &joined->packed_bytes, &joined->consumed, s->error);
    joined->provider = s->provider;
    joined->kernel = kernel;
    joined->label = kernel->name;
    if (!status && verdict->code == TORT_YES)
        status = tort_engine_compile(s->lowered, link, &view, segment, joined, verdict, s->error);
    tort_unit_view_close(&view, s->lowered);
    return status;
}

static tort_status try_set(segmenter *s, const int32_t *parts, int32_t count) {
    bool aliases = true; /* nothing to compile */
    for (int32_t k = 0; k < count; k++) aliases &= s->lowered->units[parts[k]].provider != s->provider;
    if (aliases) return TORT_OK;
    if (s->ahead) parts = with_folded(s, parts, &count);
    if (!parts) return tort_out_of_memory(s->error, 0);
    tort_segment *segment = put_together(s, &s->arena, parts, count);
    if (!segment) return tort_out_of_memory(s->error, 0);
    tort_unit joined = {.provider = TORT_AT_NOWHERE};
    tort_verdict verdict;
    tort_status status = ask(s, segment, &joined, &verdict);
    if (!status && verdict.code == TORT_YES) {
        status = accept(s, parts, count, &joined);
        if (status) tort_release_prepared(s->session, &joined);
        return status;
    }
    for (int32_t k = 0; !status && k < count; k++)
        if (!s->lowered->units[parts[k]].folded) status = refuse(s, parts[k], &verdict);
    return status;
}

/* Counting sort: the nodes of each set side by side, in their order. */
static tort_status try_sets(segmenter *s) {
    const int32_t nodes = s->lowered->graph.node_count;
    int32_t *ends = tort_arena_array(&s->arena, (size_t)s->set_count + 1, sizeof *ends);
    int32_t *sorted = tort_arena_array(&s->arena, (size_t)nodes + 1, sizeof *sorted);
    if (!ends || !sorted) return tort_out_of_memory(s->error, 0);
    for (int32_t i = 0; i < nodes; i++)
        if (s->set[i] >= 0) ends[s->set[i] + 1]++;
    for (int32_t k = 0; k < s->set_count; k++) ends[k + 1] += ends[k];
    for (int32_t i = 0; i < nodes; i++)
        if (s->set[i] >= 0) sorted[ends[s->set[i]]++] = i; /* ends[k] moves from the start of set k to its end */
    tort_status status = TORT_OK;
    for (int32_t k = 0; !status && k < s->set_count; k++) {
        const int32_t begin = k ? ends[k - 1] : 0;
        status = try_set(s, sorted + begin, ends[k] - begin);
    }
    return status;
}

/* ---- choice of the device ---------------------------------------------------------------------------------------- */

/* Asks the device about all nodes that could be in a segment, at once. Those that it declines go on. */
static tort_status choose(segmenter *s) {
    const int32_t nodes = s->lowered->graph.node_count;
    tort_link *link = &s->session->chain[s->provider];
    int32_t *parts = tort_arena_array(&s->arena, (size_t)nodes + 1, sizeof *parts), *groups, count = 0;
    if (!parts) return tort_out_of_memory(s->error, 0);
    for (int32_t i = 0; i < nodes; i++)
        if (s->group[i] >= 0) parts[count++] = i;
    if (!count) return TORT_OK;
    const int32_t *asked = with_folded(s, parts, &count);
    groups = tort_arena_array(&s->arena, (size_t)count + 1, sizeof *groups);
    if (!asked || !groups) return tort_out_of_memory(s->error, 0);
    tort_segment *all = put_together(s, &s->arena, asked, count);
    if (!all) return tort_out_of_memory(s->error, 0);
    tort_unit_view view;
    tort_verdict declined;
    tort_status status = tort_segment_view_open(&view, s->lowered, &s->pass, all, NULL, s->error);
    if (!status) status = tort_engine_choose(s->lowered, link, &view, all, groups, &declined, s->error);
    tort_unit_view_close(&view, s->lowered);
    for (int32_t k = 0; !status && k < count; k++) {
        if (s->lowered->units[asked[k]].folded) continue;
        s->group[asked[k]] = groups[k];
        if (groups[k] < 0) status = refuse(s, asked[k], &declined);
    }
    return status;
}

/* ---- all providers ----------------------------------------------------------------------------------------------- */

static void count_readers(const segmenter *s) {
    const tort_graph *graph = &s->lowered->graph;
    for (int32_t i = 0; i < graph->output_count; i++) s->readers[graph->outputs[i]]++;
    for (int32_t n = 0; n < graph->node_count; n++) {
        const tort_unit *unit = &s->lowered->units[n];
        const bool reads = tort_unit_runs(unit) || unit->segment;
        for (int32_t i = 0; reads && i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] >= 0) s->readers[graph->nodes[n].inputs[i]]++;
    }
}

static tort_status segment_graph(segmenter *s) {
    const size_t nodes = (size_t)s->lowered->graph.node_count + 1, values = (size_t)s->lowered->graph.value_count + 1;
    s->group = tort_arena_array(&s->arena, nodes, sizeof *s->group);
    s->set = tort_arena_array(&s->arena, nodes, sizeof *s->set);
    s->readers = tort_arena_array(&s->arena, values, sizeof *s->readers);
    s->number = tort_arena_array(&s->arena, values, sizeof *s->number);
    s->made = false;
    if (!s->group || !s->set || !s->readers || !s->number) return tort_out_of_memory(s->error, 0);
    memset(s->number, 0xff, values * sizeof *s->number);
    memset(s->group, 0xff, nodes * sizeof *s->group);
    count_readers(s);
    tort_status status = s->session->saved ? mark_saved(s) : mark_all(s);
    if (!status && s->ahead && !s->session->saved) status = choose(s);
    if (!status) status = find_sets(s);
    if (!status) status = try_sets(s);
    return !status && s->made ? tort_order_units(s->lowered, &s->arena, s->error) : status;
}

static tort_status segment_in(segmenter *s) {
    tort_session *session = s->session;
    tort_status status =
        tort_lowered_pass(s->lowered, &s->pass, s->lowered->infos, &session->dims, &session->arena, s->error);
    if (status) return status;
    tort_arena_init(&s->arena, &session->env);
    status = segment_graph(s);
    tort_arena_free(&s->arena);
    tort_pass_free(&s->pass);
    return status;
}

static tort_status segment_units(tort_session *session, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t p = 0; !status && p < session->chain_count; p++) {
        segmenter s = {.session = session, .provider = p, .error = error};
        const bool asked = session->chain[p].condition.ready && has_row(&s, NULL);
        s.ahead = asked && session->chain[p].provider->engine;
        for (int32_t g = 0; asked && !status && g < session->graph_count; g++) {
            s.lowered = &session->graphs[g];
            if (s.lowered->lowered) status = segment_in(&s);
        }
    }
    return status;
}

const struct tort_segmenting tort_segmenting = {segment_units};
