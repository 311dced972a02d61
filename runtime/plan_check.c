/* plan_check.c - guards every plan before it runs, whoever made it: this build, a file, a test.
 *
 * Bounds of every index and offset, order of steps, and that no two slots that live at one time share bytes. What it
 * lets through, run.c trusts. */
#include <stdlib.h>

#include "runtime/plan.h"

static tort_status bad(tort_error *error, const char *what, int32_t index) {
    return tort_fail(error, TORT_E_INTERNAL, "the plan is not sound: %s %d", what, index);
}

static bool slot_or_absent(const tort_plan *plan, int32_t slot) {
    return slot >= -1 && slot < plan->slot_count;
}

static tort_status check_slot(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_slot *slot = &plan->slots[index];
    if (slot->memory < 0 || slot->memory >= plan->memory_count) return bad(error, "memory of slot", index);
    if (slot->rank > TORT_MAX_RANK) return bad(error, "rank of slot", index);
    if (slot->home == TORT_HOME_ALIAS && (slot->source < 0 || slot->source >= index))
        return bad(error, "source of slot", index);
    if (slot->home == TORT_HOME_ALIAS && plan->slots[slot->source].memory != slot->memory)
        return bad(error, "memory of the alias in slot", index);
    if (slot->home == TORT_HOME_INPUT && (slot->source < 0 || slot->source >= plan->input_count))
        return bad(error, "input of slot", index);
    if (!plan->complete || slot->last_step < 0) return TORT_OK;
    uint64_t bytes = slot->bytes < 0 ? 0 : (uint64_t)slot->bytes;
    uint64_t room = slot->home == TORT_HOME_ARENA     ? plan->arena_bytes[slot->memory]
                    : slot->home == TORT_HOME_LITERAL ? plan->literal_bytes
                                                      : UINT64_MAX;
    if (slot->home == TORT_HOME_ARENA && slot->bytes < 0) return bad(error, "unknown size of slot", index);
    if (slot->home != TORT_HOME_ARENA && slot->home != TORT_HOME_LITERAL) return TORT_OK;
    if (slot->offset > room || bytes > room - slot->offset) return bad(error, "offset of slot", index);
    if (slot->offset % (slot->memory ? TORT_DEVICE_ALIGN : 16)) return bad(error, "alignment of slot", index);
    return TORT_OK;
}

static tort_status check_step(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    int64_t last = (int64_t)step->operands + step->input_count + step->output_count;
    if (step->operands < 0 || step->input_count < 0 || step->output_count < 0 || last > plan->operand_count)
        return bad(error, "operands of step", index);
    if (step->shape_operands >= 0 && (int64_t)step->shape_operands + step->input_count > plan->operand_count)
        return bad(error, "shape operands of step", index);
    if (step->params > plan->params_bytes) return bad(error, "params of step", index);
    if (step->provider >= plan->memory_count - 1) return bad(error, "provider of step", index);
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        int32_t slot = plan->operands[step->operands + i];
        if (!slot_or_absent(plan, slot)) return bad(error, "operand of step", index);
        if (slot < 0) continue;
        bool is_output = i >= step->input_count;
        if (is_output && plan->slots[slot].first_step != index && plan->slots[slot].home != TORT_HOME_ALIAS)
            return bad(error, "an output made twice by step", index);
        if (!is_output && plan->slots[slot].first_step >= index && plan->slots[slot].home == TORT_HOME_ARENA)
            return bad(error, "an input that is not made yet in step", index);
    }
    return TORT_OK;
}

/* ---- overlap: sorted by offset, only neighbours can meet --------------------------------------------------------- */

typedef struct range {
    uint64_t begin, end;
    int32_t first, last, memory, index;
} range;

static int compare_range(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static tort_status check_overlap(const tort_env *env, const tort_plan *plan, tort_error *error) {
    size_t room = (size_t)plan->slot_count + (size_t)plan->step_count;
    range *ranges = tort_alloc_zero(env, room + 1, sizeof *ranges);
    size_t count = 0;
    if (!ranges) return tort_out_of_memory(error, room * sizeof *ranges);
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *s = &plan->slots[i];
        if (s->home != TORT_HOME_ARENA || s->bytes <= 0 || s->last_step < 0) continue;
        ranges[count++] = (range){s->offset, s->offset + (uint64_t)s->bytes, s->first_step, s->last_step, s->memory, i};
    }
    qsort(ranges, count, sizeof *ranges, compare_range);
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < count; i++)
        for (size_t k = i + 1; !status && k < count; k++) {
            if (ranges[k].memory != ranges[i].memory || ranges[k].begin >= ranges[i].end) break;
            if (ranges[i].first <= ranges[k].last && ranges[k].first <= ranges[i].last)
                status = bad(error, "two values at one place and time, one in slot", ranges[k].index);
        }
    tort_free(env, ranges, (room + 1) * sizeof *ranges);
    return status;
}

tort_status tort_plan_check(const tort_env *env, const tort_plan *plan, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->slot_count; i++) status = check_slot(plan, i, error);
    for (int32_t i = 0; !status && i < plan->step_count; i++) status = check_step(plan, i, error);
    for (int32_t i = 0; !status && i < plan->output_count; i++)
        if (plan->output_slots[i] < 0 || plan->output_slots[i] >= plan->slot_count) status = bad(error, "output", i);
    if (!status && plan->complete) status = check_overlap(env, plan, error);
    return status;
}
