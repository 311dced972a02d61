/* plan_strides.c - makes steps that only move elements views, where all readers can find the elements by strides.
 *
 * Transpose, Split, Slice and Gather of one index only move elements. If all readers of their outputs, also
 * through other such steps and Reshape, read by strides (tort_kernel.strided), the step becomes a view: its
 * outputs lie in its input, in another order, or with other elements between. tort_plan_stride decides that, as
 * one of the ways of plan_share.c; tort_plan_restride, once all is decided, writes the strides into the readers'
 * params. Read next: plan_share.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/planned.h"

/* Places of a tensor's elements: neighbours along axis i are strides[i] elements apart, the first is `start` elements
 * behind the first element of the slot that owns the bytes. */
typedef struct order {
    bool moved; /* false: row-major order, from the begin of the slot */
    int32_t rank;
    int64_t start;
    int64_t dims[TORT_MAX_RANK], strides[TORT_MAX_RANK];
} order;

typedef struct strider {
    tort_planned *planned;
    tort_plan *plan;
    order *orders; /* by slot */
    bool *plain;   /* by slot: some step needs it in row-major order */
    bool *accepts; /* by slot: all of its readers take any order */
} strider;

/* ---- orders ------------------------------------------------------------------------------------------------------ */

static int32_t operand(const strider *s, const tort_step *step, int32_t i) {
    return s->plan->operands[step->operands + i];
}

static order row_major(const tort_slot *slot) {
    order o = {.rank = slot->rank};
    int64_t stride = 1;
    for (int32_t i = slot->rank - 1; i >= 0; i--) {
        o.dims[i] = slot->dims[i];
        o.strides[i] = stride;
        stride *= slot->dims[i];
    }
    return o;
}

static order order_of(const strider *s, int32_t slot) {
    return s->orders[slot].moved ? s->orders[slot] : row_major(&s->plan->slots[slot]);
}

/* Removes axes of length 1, and merges an axis with the next one where they are contiguous. */
static order coalesce(const order *o) {
    order c = {.moved = o->moved, .start = o->start};
    for (int32_t i = 0; i < o->rank; i++) {
        if (o->dims[i] == 1) continue;
        const int32_t last = c.rank - 1;
        if (last >= 0 && c.strides[last] == o->dims[i] * o->strides[i]) {
            c.dims[last] *= o->dims[i];
            c.strides[last] = o->strides[i];
        } else {
            c.dims[c.rank] = o->dims[i];
            c.strides[c.rank++] = o->strides[i];
        }
    }
    return c;
}

/* The same elements under the shape of a slot with as many. False: no strides describe that. */
static bool reshape(order *o, const tort_slot *slot) {
    const order from = coalesce(o);
    order to = {.moved = o->moved, .rank = slot->rank, .start = o->start};
    int32_t axis = from.rank - 1;
    int64_t inside = 1; /* elements of the old axis that the new axes cover so far */
    for (int32_t i = slot->rank - 1; i >= 0; i--) {
        const int64_t dim = slot->dims[i];
        to.dims[i] = dim;
        to.strides[i] = axis >= 0 ? from.strides[axis] * inside : 1;
        if (dim == 1) continue;
        if (axis < 0 || from.dims[axis] % (inside * dim)) return false;
        inside *= dim;
        if (inside < from.dims[axis]) continue;
        axis--;
        inside = 1;
    }
    *o = to;
    return axis < 0;
}

static void permute(order *o, const int32_t *perm) {
    const order from = *o;
    for (int32_t k = 0; k < o->rank; k++) {
        o->dims[k] = from.dims[perm[k]];
        o->strides[k] = from.strides[perm[k]];
    }
}

static int64_t element_bytes(const tort_slot *slot) {
    return tort_type_bits(slot->type) / 8;
}

static int64_t count_of(const tort_slot *slot) {
    return slot->bytes / element_bytes(slot);
}

/* True for plain slots that are not empty and have elements of whole bytes. */
static bool is_plain(const tort_slot *slot) {
    return !slot->layout && slot->bytes > 0 && slot->rank >= 0 && tort_type_bits(slot->type) >= 8;
}

/* The order of output i of a Transpose or of an operator with parts. False: it has none. */
static bool find_output(const strider *s, const tort_step *step, uint32_t flags, int32_t i, order *out) {
    const int32_t whole = operand(s, step, 0), part = operand(s, step, step->input_count + i);
    const tort_permutation *params = (const void *)(s->planned->params + step->params);
    const tort_slot *slot = &s->plan->slots[part];
    *out = order_of(s, whole);
    out->moved = true;
    if (flags & TORT_OP_PERMUTES) {
        if (params->rank != out->rank) return false;
        permute(out, params->perm);
        return true;
    }
    const int32_t axis = params->parts.axis;
    if (axis < 0 || axis >= out->rank || !out->dims[axis]) return false;
    const int64_t others = count_of(&s->plan->slots[whole]) / out->dims[axis];
    int64_t at = params->parts.start;
    for (int32_t k = 0; k < i; k++) {
        const int32_t before = operand(s, step, step->input_count + k);
        if (before < 0 || !is_plain(&s->plan->slots[before])) return false;
        at += count_of(&s->plan->slots[before]) / others;
    }
    const int64_t length = count_of(slot) / others;
    if (at < 0 || length < 1 || at > out->dims[axis] - length) return false;
    out->start += at * out->strides[axis];
    out->dims[axis] = length;
    return reshape(out, slot);
}

/* ---- steps that may become views --------------------------------------------------------------------------------- */

/* True if a step makes the slot in the context's arena, and no output of the graph owns it. */
static bool is_free(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA && is_plain(slot) && slot->last_step >= 0 && slot->output < 0;
}

static const tort_unit *unit_of(const strider *s, const tort_step *step) {
    return &s->planned->lowered->units[step->node];
}

static bool is_static(const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && !step->values;
}

/* True if the inputs may be made in the output, side by side, which saves more than reading them by strides. */
static bool may_join(const strider *s, const tort_step *step) {
    const tort_parts *parts = (const void *)(s->planned->params + step->params);
    const int32_t whole = operand(s, step, step->input_count);
    bool may = whole >= 0 && tort_unit_node(s->planned->lowered, step->node)->op->flags & TORT_OP_JOINS;
    for (int32_t d = 0; may && d < parts->axis; d++) may = s->plan->slots[whole].dims[d] == 1;
    return may;
}

/* Inputs that the kernel reads by strides. Not of a widening kernel, which converts its inputs
 * and passes no strides on. */
static uint32_t strided_by(const strider *s, const tort_step *step) {
    if (!is_static(step)) return 0;
    const tort_kernel *kernel = unit_of(s, step)->kernel;
    return kernel->of || !kernel->strides.inputs || may_join(s, step) ? 0 : kernel->strides.inputs;
}

static uint32_t moves(const strider *s, const tort_step *step) {
    const bool kernel = (is_static(step) || step->kind == TORT_STEP_VIEW) && !unit_of(s, step)->segment;
    return kernel ? tort_unit_node(s->planned->lowered, step->node)->op->flags & (TORT_OP_PERMUTES | TORT_OP_PARTS) : 0;
}

/* True if the step can become a view, judging by the readers of its outputs. */
static bool may_view(const strider *s, const tort_step *step) {
    if (step->kind != TORT_STEP_KERNEL || !moves(s, step)) return false;
    const int32_t whole = tort_plan_owner(s->plan, operand(s, step, 0));
    bool may = whole >= 0 && is_free(&s->plan->slots[whole]);
    for (int32_t i = 0; may && i < step->output_count; i++) {
        const int32_t part = operand(s, step, step->input_count + i);
        may = part >= 0 && is_free(&s->plan->slots[part]) && s->accepts[part] &&
              s->plan->slots[part].memory == s->plan->slots[whole].memory;
    }
    return may;
}

static bool takes_any_order(const strider *s, const tort_step *step, int32_t input) {
    if (step->kind == TORT_STEP_SHAPE) return true;
    if (step->kind == TORT_STEP_ALIAS) return s->accepts[operand(s, step, 1)];
    if (input < 32 && strided_by(s, step) >> input & 1) return true;
    return input == 0 && may_view(s, step);
}

static void find_accepting(const strider *s) {
    for (int32_t i = 0; i < s->plan->slot_count; i++) {
        s->accepts[i] = !s->plain[i] && s->plan->slots[i].output < 0;
        s->orders[i].moved = false;
    }
    for (int32_t n = s->plan->step_count - 1; n >= 0; n--) {
        const tort_step *step = &s->plan->steps[n];
        for (int32_t i = 0; i < step->input_count; i++) {
            const int32_t slot = operand(s, step, i);
            if (slot >= 0 && s->accepts[slot]) s->accepts[slot] = takes_any_order(s, step, i);
        }
    }
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* An alias of a strided slot gets its order, reshaped. False: no strides describe it. */
static bool follow_alias(const strider *s, const tort_step *step) {
    const int32_t from = operand(s, step, 0), to = operand(s, step, 1);
    if (from < 0 || to < 0 || !s->orders[from].moved) return true;
    order o = s->orders[from];
    if (!reshape(&o, &s->plan->slots[to])) return false;
    s->orders[to] = o;
    return true;
}

/* The offset in bytes of a part's first element from its input's first element. */
static uint64_t offset_in(const strider *s, int32_t whole, int32_t part) {
    const int64_t begin = s->orders[whole].moved ? s->orders[whole].start : 0;
    return (uint64_t)(s->orders[part].start - begin) * (uint64_t)element_bytes(&s->plan->slots[part]);
}

/* Computes the orders of the outputs of a possible view. False: the step must run. */
static bool follow_view(const strider *s, const tort_step *step) {
    const int32_t whole = operand(s, step, 0);
    const tort_slot *in = &s->plan->slots[tort_plan_owner(s->plan, whole)];
    bool all = true;
    for (int32_t i = 0; all && i < step->output_count; i++) {
        const int32_t part = operand(s, step, step->input_count + i);
        all = find_output(s, step, moves(s, step), i, &s->orders[part]);
        if (!all) break;
        const uint64_t offset = offset_in(s, whole, part), bytes = (uint64_t)s->plan->slots[part].bytes;
        all = offset <= (uint64_t)in->bytes && bytes <= (uint64_t)in->bytes - offset;
    }
    for (int32_t i = 0; !all && i < step->output_count; i++)
        s->orders[operand(s, step, step->input_count + i)].moved = false;
    return all;
}

/* Computes the orders of all slots. False: a step that must run reads a strided slot, which is now marked `plain`; the
 * caller starts over. Each restart marks one more slot, so this ends. */
static bool find_orders(const strider *s) {
    find_accepting(s);
    for (int32_t n = 0; n < s->plan->step_count; n++) {
        const tort_step *step = &s->plan->steps[n];
        const bool viewed = may_view(s, step);
        const int32_t from = step->input_count ? operand(s, step, 0) : -1;
        if (step->kind == TORT_STEP_ALIAS ? follow_alias(s, step) : !viewed || follow_view(s, step)) continue;
        if (from < 0 || !s->orders[from].moved) continue; /* its input is row-major: it just runs */
        s->plain[from] = true;
        return false;
    }
    return true;
}

static bool hang(const strider *s, tort_step *step, bool *viewed) {
    const int32_t whole = operand(s, step, 0);
    for (int32_t i = 0; i < step->output_count; i++)
        if (!s->orders[operand(s, step, step->input_count + i)].moved) return false;
    for (int32_t i = 0; i < step->output_count; i++) {
        const int32_t part = operand(s, step, step->input_count + i);
        s->plan->slots[part].within = tort_plan_owner(s->plan, whole);
        s->plan->slots[part].within_offset = offset_in(s, whole, part);
        s->plan->slots[part].strided = true;
        viewed[part] = true;
    }
    step->kind = TORT_STEP_VIEW;
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool any_strided(const strider *s) {
    const bool unfolded = s->planned->lowered->session->options.unfolded; /* for who looks at every value */
    bool any = false;
    for (int32_t i = 0; !any && !unfolded && i < s->plan->step_count; i++) any = strided_by(s, &s->plan->steps[i]);
    return any;
}

static void close_strider(strider *s) {
    const size_t slots = (size_t)s->plan->slot_count + 1;
    tort_free(s->planned->env, s->orders, slots * sizeof *s->orders);
    tort_free(s->planned->env, s->plain, slots);
    tort_free(s->planned->env, s->accepts, slots);
}

/* *open: some step of the plan reads by strides. */
static tort_status open_strider(strider *s, tort_planned *planned, bool *open, tort_error *error) {
    const size_t slots = (size_t)planned->plan.slot_count + 1;
    *s = (strider){.planned = planned, .plan = &planned->plan};
    *open = any_strided(s);
    if (!*open) return TORT_OK;
    s->orders = tort_alloc_zero(planned->env, slots, sizeof *s->orders);
    s->plain = tort_alloc_zero(planned->env, slots, 1);
    s->accepts = tort_alloc_zero(planned->env, slots, 1);
    if (s->orders && s->plain && s->accepts) return TORT_OK;
    close_strider(s);
    return tort_out_of_memory(error, slots * sizeof *s->orders);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_plan_stride(tort_planned *planned, bool *viewed, bool *shares, tort_error *error) {
    strider s;
    bool open;
    tort_status status = open_strider(&s, planned, &open, error);
    if (status || !open) return status;
    while (!find_orders(&s)) continue;
    for (int32_t n = 0; n < s.plan->step_count; n++)
        if (may_view(&s, &s.plan->steps[n]) && hang(&s, &s.plan->steps[n], viewed)) *shares = true;
    close_strider(&s);
    return TORT_OK;
}

static void tell(const strider *s, const tort_step *step) {
    const uint32_t strided = strided_by(s, step);
    const tort_node_view view = strided ? tort_pass_view(&s->planned->pass, step->node) : (tort_node_view){.op = NULL};
    for (int32_t i = 0; i < step->input_count && i < 32; i++) {
        const int32_t slot = operand(s, step, i);
        if (strided >> i & 1 && slot >= 0 && s->orders[slot].moved)
            unit_of(s, step)->kernel->strides.restride(&view, s->planned->params + step->params, i,
                                                       s->orders[slot].strides);
    }
}

/* Orders are not stored: they are recomputed from the steps that are views now. */
tort_status tort_plan_restride(tort_planned *planned, tort_error *error) {
    strider s;
    bool open, told = true;
    tort_status status = open_strider(&s, planned, &open, error);
    if (status || !open) return status;
    for (int32_t n = 0; told && n < s.plan->step_count; n++) {
        const tort_step *step = &s.plan->steps[n];
        const bool view = step->kind == TORT_STEP_VIEW && moves(&s, step);
        told = step->kind == TORT_STEP_ALIAS ? follow_alias(&s, step) : !view || follow_view(&s, step);
        tell(&s, step);
    }
    close_strider(&s);
    return told ? TORT_OK : tort_fail(error, TORT_E_INTERNAL, "a plan has views whose strides cannot be told");
}
