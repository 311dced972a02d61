/* plan_layout.c - where the values and scratch of a plan are in each memory, and whether that may take so much.
 *
 * Offsets come from memplan.c; life times and bytes stand already. Read next: memplan.c, plan_check.c. */
#include <stdio.h>

#include "runtime/plan_parts.h"

/* ---- offsets ----------------------------------------------------------------------------------------------------- */

static bool has_place(const tort_slot *slot, int32_t memory) {
    return slot->memory == memory && slot->home == TORT_HOME_ARENA && slot->bytes >= 0 && slot->last_step >= 0;
}

static bool has_scratch(const tort_step *step, int32_t memory) {
    return step->scratch_bytes && step->memory == memory;
}

static int32_t collect_blocks(const tort_plan *plan, int32_t memory, tort_block *blocks) {
    int32_t count = 0;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        if (has_place(slot, memory))
            blocks[count++] = (tort_block){(uint64_t)slot->bytes, 0, slot->first_step, slot->last_step};
    }
    for (int32_t i = 0; i < plan->step_count; i++)
        if (has_scratch(&plan->steps[i], memory)) blocks[count++] = (tort_block){plan->steps[i].scratch_bytes, 0, i, i};
    return count;
}

/* In the order in which they were collected. */
static void store_offsets(tort_plan *plan, int32_t memory, const tort_block *blocks) {
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (has_place(&plan->slots[i], memory)) plan->slots[i].offset = blocks++->offset;
    for (int32_t i = 0; i < plan->step_count; i++)
        if (has_scratch(&plan->steps[i], memory)) plan->steps[i].scratch_offset = blocks++->offset;
}

static tort_status lay_out(const tort_env *env, tort_plan *plan, int32_t memory, tort_block *blocks,
                           tort_error *error) {
    const uint64_t align = memory ? TORT_DEVICE_ALIGN : TORT_HOST_ALIGN;
    const int32_t count = collect_blocks(plan, memory, blocks);
    const uint64_t total = tort_memory_plan(env, blocks, count, align);
    if (total == UINT64_MAX)
        return tort_fail(error, TORT_E_MEMORY, "the plan does not fit an address space, or memory ran out");
    plan->arena_bytes[memory] = total;
    plan->naive_bytes[memory] = 0;
    for (int32_t i = 0; i < count; i++) plan->naive_bytes[memory] += blocks[i].bytes; /* rounded up by now */
    store_offsets(plan, memory, blocks);
    return TORT_OK;
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

/* The node that makes the largest value of a memory; -1: none does. */
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

/* Weights and values together, against what the memory's provider may use. */
static tort_status check_room(const tort_planned *planned, int32_t memory, tort_error *error) {
    const tort_session *session = planned->lowered->session;
    const uint64_t values = planned->plan.arena_bytes[memory];
    if (values <= tort_room_for_values(session, memory)) return TORT_OK;
    const tort_link *link = session->memories[memory].owner;
    uint64_t largest;
    const int32_t maker = largest_maker(planned, memory, &largest);
    char weights[64] = "", most[160] = "";
    if (!link->target.values_only)
        snprintf(weights, sizeof weights, "%llu bytes for weights and ",
                 (unsigned long long)session->weight_bytes[memory]);
    if (maker >= 0)
        snprintf(most, sizeof most, " (the largest, %llu, is made by node %d \"%.60s\")", (unsigned long long)largest,
                 maker, planned->lowered->graph.nodes[maker].name);
    tort_fail(error, TORT_E_MEMORY, "%s needs %s%llu for values%s, but may use %llu%s: %s, or lower the batch",
              link->provider->name, weights, (unsigned long long)values, most, (unsigned long long)link->target.memory,
              link->target.values_only ? " where no mem_limit says otherwise" : "",
              memory ? "raise mem_limit, pin nodes to another provider" : "allow more with the option mem_limit");
    if (error) error->provider = link->provider->name;
    return TORT_E_MEMORY;
}

tort_status tort_plan_layout(tort_planned *planned, tort_error *error) {
    const tort_env *env = &planned->lowered->session->env;
    tort_plan *plan = &planned->plan;
    const size_t room = (size_t)plan->slot_count + (size_t)plan->step_count + 1;
    tort_block *blocks = tort_alloc(env, room * sizeof *blocks);
    tort_status status = blocks ? TORT_OK : tort_out_of_memory(error, room * sizeof *blocks);
    for (int32_t m = 0; !status && m < plan->memory_count; m++) {
        status = lay_out(env, plan, m, blocks, error);
        if (!status) status = check_room(planned, m, error);
    }
    tort_free(env, blocks, room * sizeof *blocks);
    return status;
}
