/* plan_share.c - decides which slots of a plan share bytes, which saves memory and copies.
 *
 * Parts: the params of an operator tell where parts lie in the whole (Split, Slice, Concat). Outputs that are parts of
 * an input are read from there; inputs that are parts of an output are written there. Such a step becomes a view, and
 * does not run. Parts whose elements are not contiguous are shared too where all readers use strides (plan_strides.c).
 * In place: a kernel's row tells which inputs its output may overwrite; the plan allows it if that is the last read.
 * Overlap: a kernel may write over the begin of its input while it reads the rest (tort_overlap); memplan.c places the
 * two at a distance.
 * Slots with common bytes form trees by tort_slot.within, and a tree is placed as one block. Only values that steps
 * make, in a plan of known shapes, take part, parts only if they are plain; outputs of the graph have no parts, since
 * their bytes may be the caller's. Read next: plan_layout.c, plan_check.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/planned.h"

typedef struct sharer {
    tort_planned *planned;
    const tort_lowered *lowered;
    tort_plan *plan;
    int32_t *held;     /* by slot: the last step that reads its bytes, through any slot */
    bool *viewed;      /* by slot: the output of a view */
    uint64_t *offsets; /* by operand of the present step: offset in the whole */
    uint32_t ways;
    bool shares;
} sharer;

static int32_t operand(const sharer *s, const tort_step *step, int32_t i) {
    return s->plan->operands[step->operands + i];
}

/* The root of a slot's tree, with path compression (as in union-find), so that long chains stay cheap. */
static int32_t top_of(tort_plan *plan, int32_t slot) {
    int32_t top = slot;
    uint64_t offset = 0;
    for (; plan->slots[top].within >= 0; top = plan->slots[top].within) offset += plan->slots[top].within_offset;
    while (slot != top) {
        tort_slot *s = &plan->slots[slot];
        const uint64_t part = s->within_offset;
        slot = s->within;
        s->within = top;
        s->within_offset = offset;
        offset -= part;
    }
    return top;
}

/* True if a step makes the slot in the context's arena, and no output of the graph owns it. */
static bool is_free(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA && slot->bytes > 0 && slot->last_step >= 0 && slot->output < 0;
}

static bool is_static(const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && !step->values;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Kernels load vectors, so a part must be aligned as a tensor is. */
static bool is_aligned(const tort_slot *slot, uint64_t offset) {
    return offset % (slot->memory ? TORT_DEVICE_PART_ALIGN : TORT_HOST_ALIGN) == 0;
}

static bool lies_in(const tort_slot *part, uint64_t offset, const tort_slot *whole) {
    return part->memory == whole->memory && is_aligned(part, offset) && offset <= (uint64_t)whole->bytes &&
           (uint64_t)part->bytes <= (uint64_t)whole->bytes - offset;
}

/* True if all outputs of the step lie within its input. */
static bool can_split(const sharer *s, const tort_step *step) {
    const int32_t whole = tort_plan_owner(s->plan, operand(s, step, 0));
    bool all = whole >= 0 && is_free(&s->plan->slots[whole]);
    for (int32_t i = 0; all && i < step->output_count; i++) {
        const int32_t part = operand(s, step, step->input_count + i);
        if (part < 0) continue;
        const tort_slot *slot = &s->plan->slots[part];
        all = is_free(slot) && lies_in(slot, s->offsets[i], &s->plan->slots[whole]);
    }
    return all;
}

static void split(sharer *s, const tort_step *step) {
    const int32_t whole = tort_plan_owner(s->plan, operand(s, step, 0));
    for (int32_t i = 0; i < step->output_count; i++) {
        const int32_t part = operand(s, step, step->input_count + i);
        if (part < 0) continue;
        s->plan->slots[part].within = whole;
        s->plan->slots[part].within_offset = s->offsets[i];
        s->viewed[part] = true;
    }
}

/* True if each input can be made at its place in the output: it is not a part of another slot, nor joined twice. */
static bool can_join(const sharer *s, const tort_step *step) {
    const int32_t whole = operand(s, step, step->input_count);
    bool all = whole >= 0 && is_free(&s->plan->slots[whole]);
    for (int32_t i = 0; all && i < step->input_count; i++) {
        const int32_t given = operand(s, step, i), part = tort_plan_owner(s->plan, given);
        if (given < 0) continue;
        const tort_slot *slot = &s->plan->slots[part];
        all = is_free(slot) && slot->within < 0 && slot->bytes == s->plan->slots[given].bytes &&
              lies_in(slot, s->offsets[i], &s->plan->slots[whole]);
        for (int32_t k = 0; all && k < i; k++) all = tort_plan_owner(s->plan, operand(s, step, k)) != part;
    }
    return all;
}

static void join(sharer *s, const tort_step *step) {
    const int32_t whole = operand(s, step, step->input_count);
    s->viewed[whole] = true;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t part = tort_plan_owner(s->plan, operand(s, step, i));
        if (part < 0) continue;
        s->plan->slots[part].within = whole;
        s->plan->slots[part].within_offset = s->offsets[i];
    }
}

/* Computes the offsets of the parts, one behind another. False: a part is not contiguous in the whole. */
static bool find_parts(const sharer *s, const tort_step *step, bool joins) {
    const tort_parts *parts = (const void *)(s->planned->params + step->params);
    const int32_t first = step->operands, outputs = first + step->input_count;
    const int32_t whole = s->plan->operands[joins ? outputs : first],
                  count = joins ? step->input_count : step->output_count;
    const tort_slot *slot = whole < 0 ? NULL : &s->plan->slots[whole];
    if (!slot || slot->layout || parts->axis < 0 || parts->axis >= slot->rank || slot->bytes <= 0 ||
        tort_type_bits(slot->type) < 8)
        return false;
    for (int32_t d = 0; d < parts->axis; d++)
        if (slot->dims[d] != 1) return false;
    if (parts->start < 0 || parts->start > slot->dims[parts->axis]) return false;
    uint64_t at = (uint64_t)parts->start * (uint64_t)(slot->bytes / slot->dims[parts->axis]);
    for (int32_t i = 0; i < count; i++) {
        const int32_t part = s->plan->operands[(joins ? first : outputs) + i];
        if (part < 0 || s->plan->slots[part].layout || s->plan->slots[part].bytes < 0) return false;
        s->offsets[i] = at;
        at += (uint64_t)s->plan->slots[part].bytes;
    }
    return true;
}

/* True if the inputs lie side by side already, as parts of a larger slot: the output is then a part of it too. */
static bool can_join_there(const sharer *s, const tort_step *step) {
    const int32_t whole = operand(s, step, step->input_count), first = tort_plan_owner(s->plan, operand(s, step, 0));
    if (whole < 0 || first < 0 || !is_free(&s->plan->slots[whole]) || s->plan->slots[whole].within >= 0) return false;
    const int32_t top = top_of(s->plan, first);
    uint64_t at = top == first ? 0 : s->plan->slots[first].within_offset;
    bool all = s->plan->slots[top].memory == s->plan->slots[whole].memory && top != whole;
    for (int32_t i = 0; all && i < step->input_count; i++) {
        const int32_t given = operand(s, step, i), part = tort_plan_owner(s->plan, given);
        if (given < 0) return false;
        const tort_slot *slot = &s->plan->slots[part];
        all = is_free(slot) && part != top && top_of(s->plan, part) == top && slot->within_offset == at &&
              slot->bytes == s->plan->slots[given].bytes;
        at += (uint64_t)slot->bytes;
    }
    return all;
}

static void join_there(sharer *s, const tort_step *step) {
    const int32_t whole = operand(s, step, step->input_count);
    const tort_slot *first = &s->plan->slots[tort_plan_owner(s->plan, operand(s, step, 0))];
    s->plan->slots[whole].within = first->within;
    s->plan->slots[whole].within_offset = first->within_offset;
    s->viewed[whole] = true;
}

static uint32_t flags_of(const sharer *s, const tort_step *step) {
    return is_static(step) ? tort_unit_node(s->lowered, step->node)->op->flags : 0;
}

/* A step whose parts all lie in the whole, at aligned offsets, becomes a view. */
static void try_split(sharer *s, tort_step *step) {
    if (!(flags_of(s, step) & TORT_OP_PARTS) || !find_parts(s, step, false) || !can_split(s, step)) return;
    split(s, step);
    step->kind = TORT_STEP_VIEW;
    s->shares = true;
}

static void try_join(sharer *s, tort_step *step) {
    if (!(flags_of(s, step) & TORT_OP_JOINS) || !find_parts(s, step, true)) return;
    if (can_join(s, step))
        join(s, step);
    else if (can_join_there(s, step))
        join_there(s, step);
    else
        return;
    step->kind = TORT_STEP_VIEW;
    s->shares = true;
}

/* Joins from last to first: where Concat is applied again and again, each time with one more input, the last
 * output contains all others. */
static void find_views(sharer *s) {
    const tort_plan *plan = s->plan;
    for (int32_t i = 0; s->ways & TORT_SHARE_PARTS && i < plan->step_count; i++) try_split(s, &plan->steps[i]);
    for (int32_t i = plan->step_count - 1; s->ways & TORT_SHARE_JOINS && i >= 0; i--) try_join(s, &plan->steps[i]);
}

/* Sets held[]: the bytes that a view exposes are read as long as its outputs: of input 0, or
 * of all inputs of a join. */
static void hold(const sharer *s) {
    const tort_plan *plan = s->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) s->held[i] = plan->slots[i].last_step;
    for (int32_t n = plan->step_count - 1; n >= 0; n--) {
        const tort_step *step = &plan->steps[n];
        if (step->kind != TORT_STEP_VIEW) continue;
        int32_t last = -1;
        for (int32_t i = 0; i < step->output_count; i++) {
            const int32_t slot = operand(s, step, step->input_count + i);
            if (slot >= 0 && s->held[slot] > last) last = s->held[slot];
        }
        const bool joins = tort_unit_node(s->lowered, step->node)->op->flags & TORT_OP_JOINS;
        for (int32_t i = 0; i < (joins ? step->input_count : 1); i++) {
            const int32_t slot = tort_plan_owner(plan, operand(s, step, i));
            if (slot >= 0 && s->held[slot] < last) s->held[slot] = last;
        }
    }
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

static bool same_form(const tort_slot *a, const tort_slot *b) {
    return a->bytes == b->bytes && a->layout == b->layout && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, (size_t)(a->rank > 0 ? a->rank : 0) * sizeof *a->dims);
}

/* Every operand in that tree must be one that the kernel may overwrite. *over: these inputs. */
static bool may_write_over(const sharer *s, const tort_step *step, uint32_t allowed, int32_t top, uint32_t *over) {
    const tort_slot *to = &s->plan->slots[operand(s, step, step->input_count)];
    *over = 0;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = operand(s, step, i), source = tort_plan_owner(s->plan, slot);
        if (slot < 0 || top_of(s->plan, source) != top) continue;
        if (i >= 32 || !(allowed >> i & 1) || !same_form(&s->plan->slots[slot], to)) return false;
        *over |= 1u << i;
    }
    return true;
}

/* True if the step is the last to read the input's bytes. The tree's root has the size of the slot, so no
 * bytes beyond it are lost. */
static bool is_spent(const sharer *s, int32_t number, int32_t input) {
    const int32_t slot = tort_plan_owner(s->plan, input);
    if (slot < 0 || !is_free(&s->plan->slots[slot]) || s->viewed[slot] || s->held[slot] != number) return false;
    return s->plan->slots[top_of(s->plan, slot)].bytes == s->plan->slots[slot].bytes;
}

static uint32_t allowed_of(const tort_lowered *lowered, const tort_step *step) {
    const tort_kernel *kernel = lowered->units[step->node].kernel;
    const uint32_t flags = tort_unit_node(lowered, step->node)->op->flags;
    if (lowered->units[step->node].segment) return 0;
    if (!kernel->run) return flags & TORT_OP_IN_PLACE ? UINT32_MAX : 0;
    return kernel->in_place;
}

static void try_in_place(sharer *s, int32_t number) {
    tort_step *step = &s->plan->steps[number];
    const uint32_t allowed =
        is_static(step) && !step->bands && s->ways & TORT_SHARE_IN_PLACE ? allowed_of(s->lowered, step) : 0;
    const int32_t output = allowed ? operand(s, step, step->input_count) : -1;
    if (output < 0 || s->plan->slots[output].home != TORT_HOME_ARENA || s->plan->slots[output].bytes <= 0) return;
    tort_slot *to = &s->plan->slots[output];
    for (int32_t i = 0; i < step->input_count && i < 32 && !step->in_place; i++) {
        const int32_t input = operand(s, step, i);
        uint32_t over;
        if (!(allowed >> i & 1) || input < 0 || !same_form(&s->plan->slots[input], to)) continue;
        const int32_t slot = tort_plan_owner(s->plan, input);
        if (!is_spent(s, number, input) || s->plan->slots[slot].memory != to->memory) continue;
        const int32_t top = top_of(s->plan, slot);
        if (!may_write_over(s, step, allowed, top, &over)) continue;
        tort_slot *part = to->within < 0 ? to : &s->plan->slots[top]; /* the output may be a part already */
        part->within = to->within < 0 ? slot : output;
        part->within_offset = 0;
        step->in_place = over;
        s->shares = true;
    }
}

/* ---- one buffer of the caller ------------------------------------------------------------------------------------ */

/* Inputs of the step, bit i, whose buffer may be that of output o too. */
static uint32_t shared_with(const tort_lowered *lowered, const tort_step *step, int32_t o) {
    const tort_kernel *kernel = lowered->units[step->node].kernel;
    const int32_t pair = o - kernel->caches.output;
    if (pair >= 0 && pair < kernel->caches.count) return 1u << (kernel->caches.input + pair);
    return o == 0 ? allowed_of(lowered, step) : 0;
}

bool tort_plan_extends(const tort_planned *planned, int32_t input, int32_t output) {
    const tort_plan *plan = &planned->plan;
    const int32_t from = plan->input_slots[input], to = tort_plan_owner(plan, plan->output_slots[output]);
    const int32_t last = plan->slots[from].last_step;
    const tort_step *step = last >= 0 ? &plan->steps[last] : NULL;
    if (!step || plan->slots[to].first_step != last || !is_static(step) || step->bands) return false;
    int32_t o = 0;
    while (o < step->output_count && plan->operands[step->operands + step->input_count + o] != to) o++;
    const uint32_t shared = o < step->output_count ? shared_with(planned->lowered, step, o) : 0;
    bool reads = false;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = plan->operands[step->operands + i];
        if (tort_plan_owner(plan, slot) != from) continue;
        if (i >= 32 || !(shared >> i & 1) || !same_form(&plan->slots[slot], &plan->slots[to])) return false;
        reads = true;
    }
    return reads;
}

/* ---- overlap ----------------------------------------------------------------------------------------------------- */

/* True if both are blocks of their own of one arena. */
static bool may_overlap(const sharer *s, int32_t input, int32_t output) {
    const tort_slot *to = &s->plan->slots[output];
    const int32_t top = top_of(s->plan, tort_plan_owner(s->plan, input)), whole = top_of(s->plan, output);
    return to->home == TORT_HOME_ARENA && to->bytes > 0 && to->bytes == s->plan->slots[whole].bytes && top != whole &&
           s->plan->slots[top].memory == to->memory;
}

/* Lets output 0 lie over input 0 if that is its last read, and no other operand shares its bytes. */
static void try_overlap(sharer *s, int32_t number) {
    tort_step *step = &s->plan->steps[number];
    if (!is_static(step) || !step->overlap.may || step->in_place || step->bands || !(s->ways & TORT_SHARE_IN_PLACE))
        return;
    const int32_t input = operand(s, step, 0), output = operand(s, step, step->input_count);
    if (input < 0 || output < 0 || !is_spent(s, number, input) || !may_overlap(s, input, output)) return;
    const int32_t top = top_of(s->plan, tort_plan_owner(s->plan, input));
    for (int32_t i = 1; i < step->input_count; i++) {
        const int32_t other = tort_plan_owner(s->plan, operand(s, step, i));
        if (other >= 0 && top_of(s->plan, other) == top) return;
    }
    step->overlaps = s->shares = true;
}

/* The same for the output of a group, whose steps read the input at its distances (runtime/firmware/bands). */
static void try_group_overlap(sharer *s, tort_band_steps *bands) {
    const int32_t end = bands->first + bands->count, input = bands->input;
    const tort_step *last = &s->plan->steps[end - 1];
    const int32_t output = operand(s, last, last->input_count);
    if (input < 0 || !(s->ways & TORT_SHARE_IN_PLACE)) return;
    const int32_t read = s->held[input];
    if (read < bands->first || read >= end || !is_spent(s, read, input) || !may_overlap(s, input, output)) return;
    bands->overlaps = s->shares = true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static size_t widest_of(const tort_plan *plan) {
    size_t widest = 1;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const size_t inputs = (size_t)plan->steps[i].input_count, outputs = (size_t)plan->steps[i].output_count;
        if (inputs > widest) widest = inputs;
        if (outputs > widest) widest = outputs;
    }
    return widest;
}

tort_status tort_plan_share(tort_planned *planned, uint32_t ways, bool *shares, tort_error *error) {
    tort_plan *plan = &planned->plan;
    const tort_env *env = planned->env;
    const size_t slots = (size_t)plan->slot_count + 1, widest = widest_of(plan);
    *shares = false;
    if (!plan->complete) return TORT_OK;
    sharer s = {.planned = planned,
                .lowered = planned->lowered,
                .plan = plan,
                .ways = ways,
                .held = tort_alloc(env, slots * sizeof *s.held),
                .viewed = tort_alloc_zero(env, slots, sizeof *s.viewed),
                .offsets = tort_alloc(env, widest * sizeof *s.offsets)};
    const bool there = s.held && s.viewed && s.offsets;
    tort_status status = there ? TORT_OK : tort_out_of_memory(error, slots * sizeof *s.held);
    if (!status && ways & TORT_SHARE_PARTS) status = tort_plan_stride(planned, s.viewed, &s.shares, error);
    if (!status) {
        find_views(&s);
        hold(&s);
        for (int32_t i = 0; i < plan->step_count; i++) try_in_place(&s, i);
        for (int32_t i = 0; i < plan->step_count; i++) try_overlap(&s, i);
        for (int32_t i = 0; i < plan->band_count; i++) try_group_overlap(&s, &plan->bands[i]);
        for (int32_t i = 0; i < plan->slot_count; i++) top_of(plan, i);
        *shares = s.shares;
    }
    tort_free(env, s.held, slots * sizeof *s.held);
    tort_free(env, s.viewed, slots * sizeof *s.viewed);
    tort_free(env, s.offsets, widest * sizeof *s.offsets);
    return status;
}

void tort_plan_unshare(tort_plan *plan) {
    for (int32_t i = 0; i < plan->slot_count; i++) {
        plan->slots[i].within = -1;
        plan->slots[i].strided = false;
    }
    for (int32_t i = 0; i < plan->step_count; i++) {
        plan->steps[i].in_place = 0;
        plan->steps[i].overlaps = false;
        if (plan->steps[i].kind == TORT_STEP_VIEW) plan->steps[i].kind = TORT_STEP_KERNEL;
    }
    for (int32_t i = 0; i < plan->band_count; i++) plan->bands[i].overlaps = false;
}
