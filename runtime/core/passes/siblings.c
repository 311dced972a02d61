/* siblings.c - fuses sibling units: the same operator on one common value, each with its own constants, such as the
 * products with the weights of queries, keys and values. The value is then read once for all.
 *
 * The fused unit takes the place of the first sibling; apart from constants the siblings read only the common value,
 * so all outputs can be made there, none later than before. Rows for siblings tell which operator makes which
 * (pattern.h). Read first: fuse.c. */
#include <string.h>

#include "runtime/core/providers/chain.h"
#include "runtime/core/passes/fuse.h"

enum { MAX = 4 }; /* siblings in one fusion, so that a pass has room for their operands */

typedef struct siblings {
    const tort_parsed *pattern;
    tort_match first;
    tort_fused_parts parts;
    int32_t values[MAX][TORT_PATTERN_VALUES]; /* of each match */
} siblings;

/* ---- siblings ---------------------------------------------------------------------------------------------------- */

/* True if the unit alone matches the row. */
static bool matches(const tort_fuser *f, const tort_parsed *pattern, int32_t index, tort_match *match) {
    *match = (tort_match){.pattern = pattern,
                          .lowered = f->lowered,
                          .readers = f->readers,
                          .provider = f->lowered->units[index].provider,
                          .error = f->error};
    return match->provider >= 0 && tort_match_at(match, index) && tort_match_build(match);
}

static bool same_form(const tort_info *a, const tort_info *b) {
    return a->type == b->type && tort_shape_known(a) && tort_same_dims(a, b);
}

/* True if constants have the same shape, or are absent in both, and all other operands are the same values. */
static bool same_operands(const tort_match *a, const tort_match *b) {
    const tort_pattern_node *node = &a->pattern->nodes[0];
    const tort_info *infos = a->lowered->infos;
    bool same = true;
    for (int32_t i = 0; same && i < node->operand_count; i++) {
        const tort_operand *operand = &node->operands[i];
        const int32_t x = operand->value < 0 ? -1 : a->values[operand->value],
                      y = operand->value < 0 ? -1 : b->values[operand->value];
        const bool constants = operand->kind == TORT_OPERAND_CONSTANT && x >= 0 && y >= 0;
        same = constants ? same_form(&infos[x], &infos[y]) : x == y;
    }
    return same;
}

static void add(siblings *s, int32_t index, const tort_match *match) {
    memcpy(s->values[s->parts.count], match->values, sizeof match->values);
    s->parts.nodes[s->parts.count++] = index;
}

/* Collects the unit and its siblings behind it. False: it has none. */
static bool find_siblings(const tort_fuser *f, const tort_parsed *pattern, int32_t index, siblings *s) {
    const tort_graph *graph = &f->lowered->graph;
    const int32_t read = graph->nodes[index].input_count ? graph->nodes[index].inputs[0] : -1;
    *s = (siblings){.pattern = pattern};
    if (read < 0 || read >= f->counted || f->readers[read] < 2) return false;
    if (!matches(f, pattern, index, &s->first)) return false;
    add(s, index, &s->first);
    for (int32_t i = index + 1; i < graph->node_count && s->parts.count < MAX; i++) {
        tort_match match;
        if (f->lowered->units[i].provider != s->first.provider || !matches(f, pattern, i, &match)) continue;
        if (same_operands(&s->first, &match)) add(s, i, &match);
    }
    return s->parts.count > 1;
}

/* ---- the made node ----------------------------------------------------------------------------------------------- */

static bool is_constant_operand(const tort_parsed *pattern, int32_t value) {
    const tort_pattern_node *node = &pattern->nodes[0];
    for (int32_t i = 0; i < node->operand_count; i++)
        if (node->operands[i].value == value) return node->operands[i].kind == TORT_OPERAND_CONSTANT;
    return false;
}

/* Operands in the order of `makes`; in the place of a constant, those of all siblings. Then the outputs of all. */
static bool give_operands(const tort_fuser *f, const siblings *s, tort_node *node) {
    const tort_graph *graph = &f->lowered->graph;
    int32_t *operands = tort_arena_array(&f->session->arena, TORT_PATTERN_OPERANDS + MAX, sizeof *operands);
    int32_t count = 0;
    if (!operands) return false;
    for (int32_t i = 0; i < s->pattern->made_count; i++) {
        const int32_t value = s->pattern->made[i];
        const int32_t of = is_constant_operand(s->pattern, value) ? s->parts.count : 1;
        if (s->values[0][value] < 0) continue;
        for (int32_t k = 0; k < of && count < TORT_PATTERN_OPERANDS; k++) operands[count++] = s->values[k][value];
    }
    node->inputs = operands;
    node->input_count = count;
    int32_t *outputs = operands + TORT_PATTERN_OPERANDS;
    for (int32_t k = 0; k < s->parts.count; k++) outputs[k] = graph->nodes[s->parts.nodes[k]].outputs[0];
    node->outputs = outputs;
    node->output_count = s->parts.count;
    return true;
}

static tort_status accept(const tort_fuser *f, const siblings *s, tort_candidate *c) {
    tort_status status = tort_candidate_store(c, f->error);
    if (!status) status = tort_fuse_inherit(f, &s->parts, c->index, s->first.provider, c->unit);
    for (int32_t k = 1; !status && k < s->parts.count; k++) {
        tort_fuse_retire(f, s->parts.nodes[k]);
        f->lowered->graph.values[c->node->outputs[k]].producer = c->index;
    }
    if (!status) f->lowered->units[c->index] = *c->unit;
    return status;
}

static tort_status join(tort_fuser *f, siblings *s, int32_t index) {
    const tort_unit *unit = &f->lowered->units[index];
    const tort_link *link = &f->session->chain[unit->provider];
    tort_node made, *place = &f->lowered->graph.nodes[index];
    const tort_node before = *place;
    bool taken = false;
    if (!tort_match_make(&s->first, &made)) return s->first.failed ? f->error->code : TORT_OK;
    if (!give_operands(f, s, &made)) return tort_out_of_memory(f->error, 0);
    tort_unit joined = {.provider = TORT_AT_NOWHERE};
    tort_candidate c = {.session = f->session,
                        .lowered = f->lowered,
                        .index = index,
                        .node = place,
                        .unit = &joined,
                        .no_loops = !tort_runs_reference(link->provider, unit->kernel),
                        .alone = true};
    *place = made;
    tort_status status = tort_fuse_offer(f, &c, s->first.provider, &taken);
    if (!status && taken) status = accept(f, s, &c);
    if (!status && !taken) status = tort_fuse_note_refusal(f, s->pattern->row->name, index, &c);
    if (status || !taken) *place = before;
    return status;
}

/* ---- all units --------------------------------------------------------------------------------------------------- */

tort_status tort_fuse_siblings(tort_fuser *f) {
    tort_status status = TORT_OK;
    for (int32_t p = 0; p < f->pattern_count; p++) {
        const tort_parsed *pattern = &f->patterns[p];
        if (pattern->off || pattern->apart != '&') continue;
        for (int32_t i = 0; !status && i < f->lowered->graph.node_count; i++) {
            siblings s;
            if (f->lowered->units[i].provider >= 0 && find_siblings(f, pattern, i, &s)) status = join(f, &s, i);
        }
    }
    return status;
}
