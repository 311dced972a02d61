/* plan_layout.c - the offsets of values and scratch of a plan in each memory, and the check against memory limits.
 *
 * memplan.c chooses offsets; lifetimes and sizes are given. Read next: memplan.c, plan_check.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/plan/planned.h"

/* ---- offsets ----------------------------------------------------------------------------------------------------- */

static bool has_place(const tort_slot *slot, int32_t memory) {
    return slot->memory == memory && tort_in_arena(slot) && slot->bytes >= 0 && slot->last_step >= 0;
}

static bool has_scratch(const tort_step *step, int32_t memory) {
    return step->kind == TORT_STEP_KERNEL && step->scratch_bytes && step->memory == memory;
}

/* The root slot whose block contains the slot, mostly itself; *offset: from the begin of the root. */
static int32_t top_of(const tort_plan *plan, int32_t slot, uint64_t *offset) {
    *offset = 0;
    for (; plan->slots[slot].within >= 0; slot = plan->slots[slot].within) *offset += plan->slots[slot].within_offset;
    return slot;
}

typedef struct layout {
    tort_plan *plan;
    int32_t memory;
    tort_block *blocks; /* of slots, then of scratch, each in ascending order */
    int32_t *block_of;  /* by slot, then by step: of its scratch */
    int32_t count;
    uint32_t before, orders; /* as tort_outline.orders: of an earlier plan, and of this one */
    uint64_t fast_bytes;     /* 0: the memory is one */
} layout;

static void collect_slots(layout *l) {
    const tort_plan *plan = l->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        if (!has_place(slot, l->memory) || slot->within >= 0) continue;
        l->block_of[i] = l->count;
        l->blocks[l->count++] = (tort_block){.bytes = (uint64_t)tort_placed_bytes(slot),
                                             .first = tort_step_time(plan, slot->first_step),
                                             .last = tort_step_time(plan, slot->last_step)};
    }
}

/* Extends the lifetime of a block to all slots that lie in it. */
static void collect_parts(const layout *l) {
    const tort_plan *plan = l->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        uint64_t offset;
        if (!has_place(slot, l->memory) || slot->within < 0) continue;
        l->block_of[i] = l->block_of[top_of(plan, i, &offset)];
        tort_block *block = &l->blocks[l->block_of[i]];
        const int32_t first = tort_step_time(plan, slot->first_step), last = tort_step_time(plan, slot->last_step);
        if (first < block->first) block->first = first;
        if (last > block->last) block->last = last;
    }
}

/* Links the block of a step's output to that of the input which it may overlap, if they meet at that time alone. */
static void link_overlap(const layout *l, int32_t input, const tort_step *step, int32_t time,
                         const tort_overlap *overlap) {
    const tort_plan *plan = l->plan;
    const int32_t under = l->block_of[tort_plan_owner(plan, input)];
    tort_block *output = &l->blocks[l->block_of[plan->operands[step->operands + step->input_count]]];
    if (step->memory != l->memory || l->blocks[under].last != time || output->first != time) return;
    output->over = under + 1;
    output->below = overlap->below;
    output->rise = overlap->rise;
}

static void collect_overlaps(const layout *l) {
    const tort_plan *plan = l->plan;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (step->overlaps) link_overlap(l, plan->operands[step->operands], step, i, &step->overlap);
    }
    for (int32_t i = 0; i < plan->band_count; i++) {
        const tort_band_steps *bands = &plan->bands[i];
        const tort_step *last = &plan->steps[bands->first + bands->count - 1];
        if (bands->overlaps) link_overlap(l, bands->input, last, bands->first, &bands->overlap);
    }
}

/* The step whose block of scratch a step uses: its own, or, for all of a group that do not keep theirs from band to
 * band, the first of these. */
static int32_t scratch_of(const layout *l, int32_t number) {
    const tort_step *steps = l->plan->steps;
    if (!steps[number].bands || steps[number].rows.reduces) return number;
    int32_t first = l->plan->bands[steps[number].bands - 1].first;
    while (steps[first].rows.reduces || !has_scratch(&steps[first], l->memory)) first++;
    return first;
}

static void collect_scratch(layout *l) {
    int32_t *block_of = l->block_of + l->plan->slot_count;
    for (int32_t i = 0; i < l->plan->step_count; i++) {
        const int32_t owner = has_scratch(&l->plan->steps[i], l->memory) ? scratch_of(l, i) : -1,
                      time = tort_step_time(l->plan, i);
        const uint64_t bytes = l->plan->steps[i].scratch_bytes;
        if (owner < 0) continue;
        block_of[i] = owner == i ? l->count : block_of[owner];
        if (owner == i) l->blocks[l->count++] = (tort_block){.bytes = bytes, .first = time, .last = time};
        if (l->blocks[block_of[i]].bytes < bytes) l->blocks[block_of[i]].bytes = bytes;
    }
}

/* Stores the offsets of blocks, whose sizes are now rounded up. In naive_bytes a part counts as
 * if it had its own block. */
static void store_offsets(const layout *l, uint64_t align) {
    tort_plan *plan = l->plan;
    uint64_t *naive = &plan->naive_bytes[l->memory], offset;
    *naive = 0;
    for (int32_t i = 0; i < l->count; i++) *naive += l->blocks[i].bytes;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        tort_slot *slot = &plan->slots[i];
        if (!has_place(slot, l->memory)) continue;
        top_of(plan, i, &offset);
        slot->offset = l->blocks[l->block_of[i]].offset + offset;
        if (slot->within >= 0) *naive += ((uint64_t)slot->bytes + align - 1) / align * align;
    }
    for (int32_t i = 0; i < plan->step_count; i++)
        if (has_scratch(&plan->steps[i], l->memory))
            plan->steps[i].scratch_offset = l->blocks[l->block_of[plan->slot_count + i]].offset;
}

static tort_status lay_out(const tort_env *env, layout *l, tort_error *error) {
    const uint64_t align = l->memory ? TORT_DEVICE_ALIGN : TORT_HOST_ALIGN;
    l->count = 0;
    collect_slots(l);
    collect_parts(l);
    collect_overlaps(l);
    collect_scratch(l);
    const int at = 2 * l->memory & 31;
    uint32_t order = l->before >> at & 3;
    const uint64_t total = l->fast_bytes ? tort_memory_split(env, l->blocks, l->count, align, l->fast_bytes)
                                         : tort_memory_plan(env, l->blocks, l->count, align, &order);
    l->orders |= order << at;
    if (total == UINT64_MAX)
        return tort_fail(error, TORT_E_MEMORY, "the plan does not fit an address space, or memory ran out");
    l->plan->arena_bytes[l->memory] = total;
    store_offsets(l, align);
    return TORT_OK;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* The node that makes the largest value of a memory, for the error message; -1: none. */
static int32_t largest_maker(const tort_planned *planned, int32_t memory, uint64_t *bytes) {
    int32_t node = -1;
    *bytes = 0;
    for (int32_t i = 0; i < planned->plan.slot_count; i++) {
        const tort_slot *slot = &planned->plan.slots[i];
        if (slot->memory != memory || slot->home != TORT_HOME_ARENA || slot->bytes <= (int64_t)*bytes) continue;
        *bytes = (uint64_t)slot->bytes;
        node = planned->lowered->graph.values[slot->value].producer;
    }
    return node;
}

static bool has_room(const tort_planned *planned, int32_t memory) {
    return planned->plan.arena_bytes[memory] <= tort_room_for_values(planned->lowered->session, memory);
}

/* Weights and values together must not exceed the limit of the memory's provider. */
static tort_status check_room(const tort_planned *planned, int32_t memory, tort_error *error) {
    const tort_session *session = planned->lowered->session;
    const uint64_t values = planned->plan.arena_bytes[memory];
    if (has_room(planned, memory)) return TORT_OK;
    const tort_link *link = session->memories[memory].owner;
    uint64_t largest;
    const int32_t maker = largest_maker(planned, memory, &largest);
    char weights[64] = "", max[160] = "";
    if (!link->target.values_only)
        snprintf(weights, sizeof weights, "%llu bytes for weights and ",
                 (unsigned long long)session->weight_bytes[memory]);
    if (maker >= 0)
        snprintf(max, sizeof max, " (the largest, %llu, is made by node %d \"%.60s\")", (unsigned long long)largest,
                 maker, planned->lowered->graph.nodes[maker].name);
    tort_fail(error, TORT_E_MEMORY, "%s needs %s%llu for values%s, but may use %llu%s: %s, or lower the batch",
              link->provider->name, weights, (unsigned long long)values, max, (unsigned long long)link->target.memory,
              link->target.values_only ? " unless mem_limit is set" : "",
              memory ? "raise mem_limit, pin nodes to another provider" : "allow more with the option mem_limit");
    if (error) error->provider = link->provider->name;
    return TORT_E_MEMORY;
}

/* ---- offsets of the upper bounds --------------------------------------------------------------------------------- */

static bool fits_place(const tort_slot *slot, const tort_slot *place) {
    return !tort_in_arena(slot) || slot->bytes < 0 || slot->bytes <= place->bytes;
}

/* Most sizes grow with the symbols; some shrink, such as max - past, and can be larger than in
 * the plan for the bounds. */
static bool fit_places(const tort_plan *plan, const tort_plan *bound) {
    bool fit = true;
    for (int32_t i = 0; fit && i < plan->slot_count; i++) fit = fits_place(&plan->slots[i], &bound->slots[i]);
    for (int32_t i = 0; fit && i < plan->step_count; i++)
        fit = plan->steps[i].scratch_bytes <= bound->steps[i].scratch_bytes;
    return fit;
}

/* Plans of one outline have the same slots, steps and lifetimes: blocks that do not overlap at their largest sizes do
 * not overlap at smaller ones. */
bool tort_plan_take_places(tort_planned *planned) {
    const tort_planned *bound = planned->bound;
    tort_plan *plan = &planned->plan;
    if (!bound || bound->outline != planned->outline || !fit_places(plan, &bound->plan)) return false;
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (tort_in_arena(&plan->slots[i])) plan->slots[i].offset = bound->plan.slots[i].offset;
    for (int32_t i = 0; i < plan->step_count; i++) plan->steps[i].scratch_offset = bound->plan.steps[i].scratch_offset;
    memcpy(plan->arena_bytes, bound->plan.arena_bytes, (size_t)plan->memory_count * sizeof *plan->arena_bytes);
    memcpy(plan->naive_bytes, bound->plan.naive_bytes, (size_t)plan->memory_count * sizeof *plan->naive_bytes);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_plan_place(tort_planned *planned, uint64_t fast_bytes, tort_error *error) {
    const tort_env *env = planned->env;
    tort_plan *plan = &planned->plan;
    const size_t slots = (size_t)plan->slot_count + 1, room = slots + (size_t)plan->step_count;
    layout l = {.plan = plan,
                .fast_bytes = fast_bytes,
                .before = atomic_load_explicit(&planned->outline->orders, memory_order_relaxed),
                .blocks = tort_alloc(env, room * sizeof *l.blocks),
                .block_of = tort_alloc(env, room * sizeof *l.block_of)};
    tort_status status = l.blocks && l.block_of ? TORT_OK : tort_out_of_memory(error, room * sizeof *l.blocks);
    for (; !status && l.memory < plan->memory_count; l.memory++) status = lay_out(env, &l, error);
    tort_free(env, l.blocks, room * sizeof *l.blocks);
    tort_free(env, l.block_of, room * sizeof *l.block_of);
    planned->orders = l.orders;
    return status;
}

static uint64_t all_arenas(const tort_plan *plan) {
    uint64_t bytes = 0;
    for (int32_t m = 0; m < plan->memory_count; m++) bytes += plan->arena_bytes[m];
    return bytes;
}

/* A whole lives from its first part's begin to its last part's end. Where that would take more memory than no sharing,
 * fewer ways of sharing are tried. */
static tort_status share_from(tort_planned *planned, uint64_t unshared, tort_error *error) {
    static const uint32_t attempts[] = {TORT_SHARE_IN_PLACE | TORT_SHARE_PARTS | TORT_SHARE_JOINS,
                                        TORT_SHARE_IN_PLACE | TORT_SHARE_JOINS, TORT_SHARE_IN_PLACE | TORT_SHARE_PARTS,
                                        TORT_SHARE_IN_PLACE, 0};
    tort_status status = TORT_OK;
    bool shares;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        tort_plan_unshare(&planned->plan);
        status = tort_plan_share(planned, attempts[i], &shares, error);
        if (!status && (shares || i || planned->plan.band_count)) status = tort_plan_place(planned, 0, error);
        if (status || all_arenas(&planned->plan) <= unshared) break;
    }
    return status;
}

void tort_plan_unband(tort_plan *plan) {
    if (!plan->banding) return;
    for (int32_t i = 0; i < plan->step_count; i++) plan->steps[i].bands = 0;
    for (int32_t i = 0; i < plan->slot_count; i++) plan->slots[i].line_bytes = 0;
    plan->band_count = 0;
}

/* Steps in bands of rows must take less memory, else they stay whole. */
static tort_status share(tort_planned *planned, tort_error *error) {
    const uint64_t unshared = all_arenas(&planned->plan);
    tort_status status = share_from(planned, unshared, error);
    if (status || !planned->plan.banding) return status;
    const uint64_t whole = all_arenas(&planned->plan);
    status = planned->plan.banding->choose(planned, error);
    if (!status && planned->plan.band_count) status = share_from(planned, UINT64_MAX, error);
    if (status || (planned->plan.band_count && all_arenas(&planned->plan) < whole)) return status;
    tort_plan_unband(&planned->plan);
    return share_from(planned, unshared, error);
}

/* Bounded graphs share nothing, as sharing depends on sizes: offsets of the bounds could not be taken over. */
tort_status tort_plan_layout(tort_planned *planned, tort_error *error) {
    tort_status status = tort_plan_place(planned, 0, error);
    const bool shares = planned->plan.complete && !planned->lowered->max;
    if (!status && shares) status = share(planned, error);
    if (!status && shares) status = tort_plan_restride(planned, error);
    /* A plan that is too large may need less once it is fitted, so its limits are checked then. */
    const bool final = planned->needs || planned->lowered->max || !planned->outline->fits ||
                       !planned->lowered->session->prepared || !planned->plan.complete;
    planned->crowded = false;
    for (int32_t m = 0; !status && m < planned->plan.memory_count; m++) {
        if (final)
            status = check_room(planned, m, error);
        else
            planned->crowded = planned->crowded || !has_room(planned, m);
    }
    atomic_store_explicit(&planned->outline->orders, planned->orders, memory_order_relaxed);
    return status;
}
