/* same_plan.c - see same_plan.h. Member by member: the bytes between members mean nothing. */
#include "tests/same_plan.h"
#include "runtime/core/plan/planned.h"

#include <stdio.h>
#include <string.h>

static const char *slot_difference(const tort_slot *a, const tort_slot *b) {
    if (a->value != b->value) return "value";
    if (a->memory != b->memory) return "memory";
    if (a->layout != b->layout) return "layout";
    if (a->home != b->home) return "home";
    if (a->source != b->source) return "source";
    if (a->type != b->type) return "type";
    if (a->rank != b->rank) return "rank";
    if (memcmp(a->dims, b->dims, sizeof a->dims)) return "dims";
    if (a->bytes != b->bytes) return "bytes";
    if (a->offset != b->offset) return "offset";
    if (a->first_step != b->first_step || a->last_step != b->last_step) return "life time";
    if (a->within != b->within) return "what holds it";
    return a->output != b->output ? "output" : NULL;
}

static const char *step_difference(const tort_step *a, const tort_step *b) {
    if (a->kind != b->kind) return "kind";
    if (a->node != b->node) return "node";
    if (a->provider != b->provider || a->memory != b->memory) return "provider";
    if (a->direction != b->direction) return "direction";
    if (a->operands != b->operands || a->input_count != b->input_count || a->output_count != b->output_count)
        return "operands";
    if (a->shape_operands != b->shape_operands || a->shape_count != b->shape_count) return "shape operands";
    if (a->params != b->params) return "params";
    if (a->in_place != b->in_place) return "in place";
    if (a->scratch_bytes != b->scratch_bytes || a->scratch_offset != b->scratch_offset) return "scratch";
    if (a->dynamic != b->dynamic) return "dynamic";
    return a->values != b->values ? "values" : NULL;
}

static const char *count_difference(const tort_plan *a, const tort_plan *b) {
    if (a->complete != b->complete) return "complete";
    if (a->slot_count != b->slot_count) return "number of slots";
    if (a->step_count != b->step_count) return "number of steps";
    if (a->operand_count != b->operand_count) return "number of operands";
    if (a->literal_bytes != b->literal_bytes) return "bytes of literals";
    if (a->params_bytes != b->params_bytes) return "bytes of params";
    return NULL;
}

static bool same_ints(const int32_t *a, const int32_t *b, int32_t count) {
    return !count || !memcmp(a, b, (size_t)count * sizeof *a);
}

static const char *array_difference(const tort_planned *x, const tort_planned *y) {
    const tort_plan *a = &x->plan, *b = &y->plan;
    const size_t memories = (size_t)a->memory_count;
    if (!same_ints(a->operands, b->operands, a->operand_count)) return "operands";
    if (!same_ints(a->input_slots, b->input_slots, a->input_count)) return "input slots";
    if (!same_ints(a->output_slots, b->output_slots, a->output_count)) return "output slots";
    if (memcmp(a->literals, b->literals, (size_t)a->literal_bytes)) return "literals";
    if (memcmp(x->params, y->params, (size_t)a->params_bytes)) return "params";
    if (memcmp(a->arena_bytes, b->arena_bytes, memories * sizeof *a->arena_bytes)) return "arena";
    if (memcmp(a->naive_bytes, b->naive_bytes, memories * sizeof *a->naive_bytes)) return "naive bytes";
    return NULL;
}

const char *plan_difference(const tort_planned *a, const tort_planned *b, char *text, size_t size) {
    const char *what = count_difference(&a->plan, &b->plan);
    snprintf(text, size, "%s", what ? what : "");
    for (int32_t i = 0; !what && i < a->plan.slot_count; i++) {
        what = slot_difference(&a->plan.slots[i], &b->plan.slots[i]);
        if (what) snprintf(text, size, "%s of slot %d", what, (int)i);
    }
    for (int32_t i = 0; !what && i < a->plan.step_count; i++) {
        what = step_difference(&a->plan.steps[i], &b->plan.steps[i]);
        if (what) snprintf(text, size, "%s of step %d", what, (int)i);
    }
    if (what) return text;
    what = array_difference(a, b);
    snprintf(text, size, "%s", what ? what : "");
    return what ? text : NULL;
}
