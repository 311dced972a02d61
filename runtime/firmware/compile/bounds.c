/* bounds.c - what any placement of a plan's values needs at least: the largest step, and lower bounds of the arena.
 *
 * A step needs all values that are live while it runs. `separate` counts its input and its output apart; `overlapping`
 * lets the output lie over the input where the kernel may (tort_overlap), which is the bound "C" of a layer by itself;
 * a group counts as one step, with line buffers in place of whole values. Scratch is not counted. */
#include "runtime/firmware/compile/compilation.h"

/* True if the slot has bytes of its own in the arena, which no caller's buffer replaces. */
static bool is_counted(const tort_compilation *c, int32_t slot) {
    const tort_slot *s = &c->plan->slots[slot];
    return s->home == TORT_HOME_ARENA && !s->memory && s->within < 0 && s->last_step >= 0;
}

/* Bytes saved where the output of this step, or of its group, lies over its input. */
static int64_t saved_by(const tort_compilation *c, const tort_step *step) {
    const tort_plan *plan = c->plan;
    const tort_band_steps *bands = step->bands ? &plan->bands[step->bands - 1] : NULL;
    const tort_step *last = bands ? &plan->steps[bands->first + bands->count - 1] : step;
    if (bands ? !bands->overlaps : !step->overlaps) return 0;
    const int32_t input = bands ? bands->input : tort_plan_owner(plan, plan->operands[step->operands]);
    const int32_t output = plan->operands[last->operands + last->input_count];
    if (!is_counted(c, input) || !is_counted(c, output)) return 0;
    return tort_overlap_saves(bands ? &bands->overlap : &step->overlap, &plan->slots[input], &plan->slots[output]);
}

/* Adds the bytes of a block to each step of its life, as differences: to the first, and back after the last. */
static void add_life(int64_t *changes, const tort_plan *plan, const tort_slot *slot, int32_t last) {
    const int32_t end = tort_step_end(plan, last);
    changes[tort_step_time(plan, slot->first_step)] += tort_placed_bytes(slot);
    changes[end < plan->step_count ? end + 1 : plan->step_count] -= tort_placed_bytes(slot);
}

/* Fills the bytes that are live at each step. A block lives as long as the slots that lie within it. */
static tort_status find_live(tort_compilation *c, int64_t *live) {
    const tort_plan *plan = c->plan;
    int32_t *last = tort_arena_array(&c->arena, (size_t)plan->slot_count + 1, sizeof *last);
    if (!last) return tort_out_of_memory(c->error, 0);
    for (int32_t i = 0; i < plan->slot_count; i++) last[i] = plan->slots[i].last_step;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const int32_t whole = plan->slots[i].within;
        if (whole >= 0 && plan->slots[i].last_step > last[whole]) last[whole] = plan->slots[i].last_step;
    }
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (is_counted(c, i)) add_life(live, plan, &plan->slots[i], last[i]);
    for (int32_t i = 1; i < plan->step_count; i++) live[i] += live[i - 1];
    return TORT_OK;
}

tort_status tort_compile_bounds(tort_compilation *c) {
    const tort_plan *plan = c->plan;
    int64_t *live = tort_arena_array(&c->arena, (size_t)plan->step_count + 1, sizeof *live);
    if (!live) return tort_out_of_memory(c->error, 0);
    const tort_status status = find_live(c, live);
    if (status) return status;
    c->peak_step = -1;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const int64_t overlapping = live[i] - saved_by(c, &plan->steps[i]);
        if (live[i] > (int64_t)c->separate_bytes) c->separate_bytes = (uint64_t)live[i];
        if (c->peak_step >= 0 && overlapping <= (int64_t)c->bound_bytes) continue;
        c->bound_bytes = (uint64_t)overlapping;
        c->peak_step = i;
    }
    return TORT_OK;
}
