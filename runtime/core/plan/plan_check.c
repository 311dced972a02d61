/* plan_check.c - checks every plan before it runs, whether this build, a file or a test made it.
 *
 * Indices, offsets and sizes are within bounds; a value is made before it is read, and lives until its last
 * read; no two live blocks overlap, scratch included. run.c trusts what passes. Only plain data is known here:
 * no kernels, no graph. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/plan/plan.h"
#include "runtime/core/plan/timeline.h"

static tort_status bad(tort_error *error, const char *what, int32_t index) {
    return tort_fail(error, TORT_E_INTERNAL, "the plan is not sound: %s %d", what, index);
}

/* True if [offset, offset + bytes) lies within [0, room). */
static bool within(uint64_t offset, uint64_t bytes, uint64_t room) {
    return offset <= room && bytes <= room - offset;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static tort_status check_shape(const tort_slot *slot, int32_t index, tort_error *error) {
    tort_tensor tensor = {.type = slot->type, .rank = slot->rank};
    size_t bytes;
    if (slot->rank > TORT_MAX_RANK) return bad(error, "rank of slot", index);
    if (slot->bytes < 0) return TORT_OK; /* known during the run only */
    memcpy(tensor.dims, slot->dims, sizeof tensor.dims);
    if (slot->rank < 0 || !tort_tensor_bytes(&tensor, &bytes) || bytes > (uint64_t)slot->bytes)
        return bad(error, "size of slot", index);
    return slot->layout || bytes == (uint64_t)slot->bytes ? TORT_OK : bad(error, "size of slot", index);
}

static tort_status check_alias(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_slot *slot = &plan->slots[index];
    if (slot->source < 0 || slot->source >= index) return bad(error, "source of slot", index);
    const tort_slot *source = &plan->slots[slot->source];
    if (source->memory != slot->memory) return bad(error, "memory of the alias in slot", index);
    if (source->layout) return bad(error, "layout of what is aliased by slot", index);
    if (slot->last_step >= 0 && (source->first_step > slot->first_step || source->last_step < slot->last_step))
        return bad(error, "life time of what is aliased by slot", index);
    return TORT_OK;
}

/* Checks offset, bounds and alignment of a slot of a complete plan. */
static tort_status check_place(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_slot *slot = &plan->slots[index];
    const bool arena = tort_in_arena(slot);
    const int64_t bytes = tort_placed_bytes(slot);
    if (!arena && slot->home != TORT_HOME_LITERAL) return TORT_OK;
    if (slot->bytes < 0) return bad(error, "unknown size of slot", index);
    if (!within(slot->offset, (uint64_t)bytes, arena ? plan->arena_bytes[slot->memory] : plan->literal_bytes))
        return bad(error, "offset of slot", index);
    const uint64_t align = !arena             ? 16
                           : slot->strided    ? (uint64_t)tort_type_bits(slot->type) / 8
                           : !slot->memory    ? TORT_HOST_ALIGN
                           : slot->within < 0 ? TORT_DEVICE_ALIGN
                                              : TORT_DEVICE_PART_ALIGN;
    return !align || slot->offset % align ? bad(error, "alignment of slot", index) : TORT_OK;
}

/* Values in a layout are made by steps only: inputs, constants and literals are plain. */
static bool layout_is_sound(const tort_plan *plan, const tort_slot *slot) {
    const bool made = slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_DYNAMIC;
    return slot->layout >= 0 && slot->layout < plan->layout_count && (!slot->layout || made);
}

/* The source must be a literal of the same value; the copy stays valid for the whole run. */
static bool upload_is_sound(const tort_plan *plan, const tort_slot *slot) {
    const tort_slot *source = slot->source >= 0 && slot->source < plan->slot_count ? &plan->slots[slot->source] : NULL;
    return source && source->home == TORT_HOME_LITERAL && source->value == slot->value && slot->memory &&
           slot->first_step == 0 && slot->last_step == plan->step_count;
}

static tort_status check_slot(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_slot *slot = &plan->slots[index];
    if (slot->value < 0 || slot->value >= plan->value_count) return bad(error, "value of slot", index);
    if (slot->memory < 0 || slot->memory >= plan->memory_count) return bad(error, "memory of slot", index);
    if (!layout_is_sound(plan, slot)) return bad(error, "layout of slot", index);
    if (slot->output < -1 || slot->output >= plan->output_count) return bad(error, "output of slot", index);
    if (slot->home == TORT_HOME_INPUT && (slot->source < 0 || slot->source >= plan->input_count))
        return bad(error, "input of slot", index);
    if (slot->within < -1 || slot->within >= plan->slot_count) return bad(error, "what holds slot", index);
    if (slot->last_step >= 0 && (slot->first_step < 0 || slot->first_step > slot->last_step))
        return bad(error, "life time of slot", index);
    if (slot->last_step > plan->step_count) return bad(error, "life time of slot", index);
    if (slot->home == TORT_HOME_OBJECT && slot->memory) return bad(error, "value on a device in slot", index);
    if (slot->home == TORT_HOME_LITERAL && slot->memory) return bad(error, "literal on a device in slot", index);
    if (slot->home == TORT_HOME_UPLOADED && !upload_is_sound(plan, slot))
        return bad(error, "what is uploaded to slot", index);
    return slot->home == TORT_HOME_ALIAS ? check_alias(plan, index, error) : TORT_OK;
}

static tort_status check_slot_size(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_slot *slot = &plan->slots[index];
    tort_status status = check_shape(slot, index, error);
    if (!status && slot->home == TORT_HOME_ALIAS) {
        const int64_t bytes = plan->slots[slot->source].bytes;
        if (bytes >= 0 && slot->bytes >= 0 && bytes != slot->bytes)
            return bad(error, "size of the alias in slot", index);
    }
    if (!status && plan->complete && slot->last_step >= 0) status = check_place(plan, index, error);
    return status;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static bool operands_exist(const tort_plan *plan, int32_t first, int64_t count) {
    return first >= 0 && count >= 0 && first + count <= plan->operand_count;
}

/* True if a step writes the slot; otherwise it is an input, a constant or a literal. */
static bool is_made(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_DYNAMIC || slot->home == TORT_HOME_ALIAS ||
           slot->home == TORT_HOME_OBJECT;
}

/* A value that is read must be made by an earlier step or exist from the start, and be live at this step. */
static tort_status check_read(const tort_plan *plan, int32_t index, int32_t operand, tort_error *error) {
    const int32_t slot = plan->operands[operand];
    if (slot < -1 || slot >= plan->slot_count) return bad(error, "operand of step", index);
    if (slot < 0) return TORT_OK;
    const tort_slot *s = &plan->slots[slot];
    if (is_made(s) && s->first_step >= index) return bad(error, "an input that is not made yet in step", index);
    return s->last_step < index ? bad(error, "an input that is gone in step", index) : TORT_OK;
}

static tort_status check_write(const tort_plan *plan, int32_t index, int32_t operand, tort_error *error) {
    const int32_t slot = plan->operands[operand];
    if (slot < -1 || slot >= plan->slot_count) return bad(error, "operand of step", index);
    if (slot < 0) return TORT_OK;
    const tort_slot *s = &plan->slots[slot];
    if (!is_made(s)) return bad(error, "an output that is not to be written in step", index);
    if (s->first_step != index) return bad(error, "an output made twice by step", index);
    return TORT_OK;
}

static tort_status check_kind(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    const bool kernel = step->kind == TORT_STEP_KERNEL, view = step->kind == TORT_STEP_VIEW,
               one = !kernel && !view && step->kind != TORT_STEP_CALL;
    if (step->provider < (kernel || view ? 0 : -1) || step->provider >= plan->provider_count)
        return bad(error, "provider of step", index);
    const bool moves = step->kind == TORT_STEP_COPY || step->kind == TORT_STEP_CONVERT;
    if (step->node < (moves ? -1 : 0) || step->node >= plan->node_count) return bad(error, "node of step", index);
    if (one && (step->input_count != 1 || step->output_count != 1)) return bad(error, "operands of step", index);
    if (step->params > plan->params_bytes) return bad(error, "params of step", index);
    if (step->memory < 0 || step->memory >= plan->memory_count) return bad(error, "memory of step", index);
    return TORT_OK;
}

/* True if none of the operands is in a layout. */
static bool all_plain(const tort_plan *plan, int32_t first, int32_t count) {
    bool plain = true;
    for (int32_t i = 0; plain && i < count; i++) {
        const int32_t slot = plan->operands[first + i];
        plain = slot < 0 || !plan->slots[slot].layout;
    }
    return plain;
}

/* True for one value in one memory, into a layout or out of one. */
static bool is_conversion(const tort_slot *from, const tort_slot *to) {
    return from->value == to->value && from->memory == to->memory && !from->layout != !to->layout;
}

/* Only kernels and conversions may have operands in a layout, and SHAPE steps, which read no bytes. */
static tort_status check_layouts(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    const bool converts = step->kind == TORT_STEP_CONVERT;
    if (converts || step->kind == TORT_STEP_COPY) {
        const int32_t from = plan->operands[step->operands], to = plan->operands[step->operands + 1];
        if (from < 0 || to < 0) return bad(error, "what is copied by step", index);
        if (converts && (step->provider < 0 || !is_conversion(&plan->slots[from], &plan->slots[to])))
            return bad(error, "what is converted by step", index);
    }
    const bool any = converts || step->kind == TORT_STEP_KERNEL || step->kind == TORT_STEP_SHAPE;
    const bool plain = (any || all_plain(plan, step->operands, step->input_count + step->output_count)) &&
                       all_plain(plan, step->shape_operands, step->shape_count);
    return plain ? TORT_OK : bad(error, "layouts of the operands of step", index);
}

static tort_status check_step_size(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    if (step->kind == TORT_STEP_COPY) {
        const int32_t from = plan->operands[step->operands], to = plan->operands[step->operands + 1];
        if (plan->slots[from].bytes != plan->slots[to].bytes) return bad(error, "what is copied by step", index);
    }
    if (step->kind != TORT_STEP_KERNEL || !plan->complete || !step->scratch_bytes) return TORT_OK;
    if (!within(step->scratch_offset, step->scratch_bytes, plan->arena_bytes[step->memory]) ||
        step->scratch_offset % (step->memory ? TORT_DEVICE_ALIGN : TORT_HOST_ALIGN))
        return bad(error, "scratch of step", index);
    return TORT_OK;
}

static tort_status check_step(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    if (step->input_count < 0 || step->output_count < 0 ||
        !operands_exist(plan, step->operands, (int64_t)step->input_count + step->output_count))
        return bad(error, "operands of step", index);
    if (!operands_exist(plan, step->shape_operands, step->shape_count))
        return bad(error, "shape operands of step", index);
    tort_status status = check_kind(plan, index, error);
    for (int32_t i = 0; !status && i < step->input_count; i++)
        status = check_read(plan, index, step->operands + i, error);
    for (int32_t i = 0; !status && i < step->shape_count; i++)
        status = check_read(plan, index, step->shape_operands + i, error);
    for (int32_t i = 0; !status && i < step->output_count; i++)
        status = check_write(plan, index, step->operands + step->input_count + i, error);
    return status ? status : check_layouts(plan, index, error);
}

static tort_status check_output(const tort_plan *plan, int32_t port, tort_error *error) {
    int32_t slot = plan->output_slots[port];
    if (slot < 0 || slot >= plan->slot_count) return bad(error, "output", port);
    slot = tort_plan_owner(plan, slot);
    if (plan->slots[slot].layout) return bad(error, "layout of output", port);
    const tort_home home = plan->slots[slot].home;
    /* Other outputs may hold the same object; a value that a trip passes on unchanged is an input, or a constant. */
    const bool shared = home == TORT_HOME_OBJECT || home == TORT_HOME_INPUT || home == TORT_HOME_CONSTANT;
    if (plan->slots[slot].output != port && !shared)
        return bad(error, "bytes that are not an output's own, of output", port);
    return plan->slots[slot].last_step < plan->step_count ? bad(error, "life time of output", port) : TORT_OK;
}

/* ---- shared bytes ------------------------------------------------------------------------------------------------ */

static bool lies_in(const tort_slot *part, const tort_slot *whole) {
    return part->home == TORT_HOME_ARENA && whole->home == TORT_HOME_ARENA && part->memory == whole->memory &&
           !part->layout && !whole->layout && part->offset >= whole->offset &&
           within(part->offset - whole->offset, (uint64_t)part->bytes, (uint64_t)whole->bytes);
}

/* Either each output lies within the input; or all inputs lie within the output, and fill it. */
static tort_status check_view(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    const int32_t inputs = step->operands, outputs = inputs + step->input_count;
    const int32_t first = step->input_count ? tort_plan_owner(plan, plan->operands[inputs]) : -1;
    const int32_t joined = step->output_count ? plan->operands[outputs] : -1;
    bool parts = first >= 0, joins = joined >= 0 && step->output_count == 1;
    int64_t bytes = 0;
    for (int32_t i = 0; parts && i < step->output_count; i++)
        parts =
            plan->operands[outputs + i] < 0 || lies_in(&plan->slots[plan->operands[outputs + i]], &plan->slots[first]);
    for (int32_t i = 0; joins && i < step->input_count; i++) {
        const int32_t slot = tort_plan_owner(plan, plan->operands[inputs + i]);
        joins = slot < 0 || lies_in(&plan->slots[slot], &plan->slots[joined]);
        if (slot >= 0) bytes += plan->slots[slot].bytes;
    }
    joins = joins && bytes == plan->slots[joined].bytes;
    return parts || joins ? TORT_OK : bad(error, "bytes of what is viewed in step", index);
}

static tort_status check_in_place(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_step *step = &plan->steps[index];
    const int32_t output = step->output_count ? plan->operands[step->operands + step->input_count] : -1;
    for (int32_t i = 0; i < 32; i++) {
        if (!(step->in_place >> i & 1)) continue;
        const int32_t slot = i < step->input_count ? tort_plan_owner(plan, plan->operands[step->operands + i]) : -1;
        const bool same = slot >= 0 && output >= 0 && plan->slots[slot].offset == plan->slots[output].offset &&
                          plan->slots[slot].bytes == plan->slots[output].bytes &&
                          plan->slots[slot].layout == plan->slots[output].layout;
        if (!same || step->kind != TORT_STEP_KERNEL) return bad(error, "what is written over in step", index);
    }
    return TORT_OK;
}

/* True if the output begins at one of the distances from the input that the kernel allows, or does not overlap it. */
static bool is_apart(const tort_overlap *overlap, const tort_slot *input, const tort_slot *output) {
    const int64_t distance = (int64_t)output->offset - (int64_t)input->offset;
    return distance <= -overlap->below || distance >= overlap->rise || distance <= -output->bytes ||
           distance >= input->bytes;
}

/* input: the slot that output 0 of the step may overlap. */
static tort_status check_distance(const tort_plan *plan, int32_t index, int32_t input, const tort_overlap *overlap,
                                  tort_error *error) {
    const tort_step *step = &plan->steps[index];
    const int32_t output = step->output_count ? plan->operands[step->operands + step->input_count] : -1;
    const bool sound = step->kind == TORT_STEP_KERNEL && overlap->may && overlap->below >= 0 && overlap->rise > 0 &&
                       input >= 0 && input < plan->slot_count && output >= 0 && plan->slots[input].bytes >= 0 &&
                       plan->slots[output].bytes >= 0 && is_apart(overlap, &plan->slots[input], &plan->slots[output]);
    return sound ? TORT_OK : bad(error, "distance of input and output in step", index);
}

/* ---- bands ----------------------------------------------------------------------------------------------------- */

static tort_status check_bands(const tort_plan *plan, int32_t index, tort_error *error) {
    const tort_band_steps *bands = &plan->bands[index];
    if (!plan->banding->is_sound(plan, index)) return bad(error, "bands of group", index);
    if (!bands->overlaps) return TORT_OK;
    return check_distance(plan, bands->first + bands->count - 1, bands->input, &bands->overlap, error);
}

/* ---- overlap ----------------------------------------------------------------------------------------------------- */

/* Bytes of an arena over a period: a slot that a step writes, or the scratch of a step. Step i has two times: at 2i it
 * reads and writes; at 2i + 1 begin the outputs written in place, or over an input, while the inputs they overwrite end
 * at 2i. */
typedef struct range {
    uint64_t begin, end;
    int32_t first, last, memory, index;
} range;

static int compare_ranges(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* True if the view exposes the slot's bytes: an output lies in it, or it in an output. Not true for the second input of
 * CastLike, of which only the type is read. */
static bool is_shown(const tort_plan *plan, const tort_step *step, int32_t slot) {
    bool shown = false;
    for (int32_t i = 0; !shown && slot >= 0 && i < step->output_count; i++) {
        const int32_t output = plan->operands[step->operands + step->input_count + i];
        shown = output >= 0 && (lies_in(&plan->slots[output], &plan->slots[slot]) ||
                                lies_in(&plan->slots[slot], &plan->slots[output]));
    }
    return shown;
}

/* A view writes nothing, so its outputs are not ranges of their own; the slots it exposes
 * live as long as its outputs. */
static void hold_viewed(const tort_plan *plan, const tort_step *step, range *slots) {
    int32_t last = -1;
    for (int32_t i = 0; i < step->output_count; i++) {
        const int32_t slot = plan->operands[step->operands + step->input_count + i];
        if (slot < 0) continue;
        if (slots[slot].last > last) last = slots[slot].last;
        slots[slot].end = slots[slot].begin;
    }
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = tort_plan_owner(plan, plan->operands[step->operands + i]);
        if (is_shown(plan, step, slot) && slots[slot].last < last) slots[slot].last = last;
    }
}

/* The input ends, and the output begins, within the time of a step or of a group. */
static void write_over_at(const tort_plan *plan, int32_t input, int32_t output, int32_t time, range *slots) {
    const int32_t slot = tort_plan_owner(plan, input);
    if (output >= 0) slots[output].first = 2 * time + 1;
    if (slot >= 0 && slots[slot].last == 2 * time + 1) slots[slot].last = 2 * time;
}

static void write_over(const tort_plan *plan, const tort_step *step, int32_t index, range *slots) {
    const int32_t output = plan->operands[step->operands + step->input_count];
    for (int32_t i = 0; i < step->input_count && i < 32; i++) {
        const bool over = step->overlaps ? i == 0 : step->in_place >> i & 1;
        if (over) write_over_at(plan, plan->operands[step->operands + i], output, index, slots);
    }
}

/* Adds the scratch of a step. Steps of a group that do not keep theirs from band to band may have one place. */
static void add_scratch(const tort_plan *plan, int32_t index, range *ranges, size_t *count) {
    const tort_step *s = &plan->steps[index];
    const int32_t time = tort_step_time(plan, index);
    range *before = *count > (size_t)plan->slot_count ? &ranges[*count - 1] : NULL;
    const uint64_t end = s->scratch_offset + s->scratch_bytes;
    const bool shared = before && s->bands && plan->steps[before->index].bands == s->bands && !s->rows.reduces &&
                        !plan->steps[before->index].rows.reduces && before->begin == s->scratch_offset;
    if (!shared)
        ranges[(*count)++] = (range){s->scratch_offset, end, 2 * time, 2 * time + 1, s->memory, index};
    else if (before->end < end)
        before->end = end;
}

/* Collects the ranges of slots, then of scratch; drops empty ones, such as of slots that no step
 * writes. Returns the count. */
static size_t collect_ranges(const tort_plan *plan, range *ranges) {
    size_t count = (size_t)plan->slot_count;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *s = &plan->slots[i];
        const bool arena = tort_in_arena(s) && s->bytes > 0 && s->last_step >= 0;
        const int32_t first = tort_step_time(plan, s->first_step), last = tort_step_time(plan, s->last_step);
        ranges[i] = (range){s->offset, s->offset, 0, -1, s->memory, i};
        if (s->last_step >= 0) ranges[i].first = 2 * first, ranges[i].last = 2 * last + 1;
        if (arena) ranges[i].end += (uint64_t)tort_placed_bytes(s);
    }
    for (int32_t i = plan->step_count - 1; i >= 0; i--) {
        const tort_step *s = &plan->steps[i];
        if (s->kind == TORT_STEP_VIEW) hold_viewed(plan, s, ranges);
        if (s->in_place || s->overlaps) write_over(plan, s, i, ranges);
        if (s->kind == TORT_STEP_KERNEL && s->scratch_bytes) add_scratch(plan, i, ranges, &count);
    }
    for (int32_t i = 0; i < plan->band_count; i++) {
        const tort_band_steps *bands = &plan->bands[i];
        const tort_step *last = &plan->steps[bands->first + bands->count - 1];
        if (bands->overlaps)
            write_over_at(plan, bands->input, plan->operands[last->operands + last->input_count], bands->first, ranges);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].end > ranges[i].begin) ranges[kept++] = ranges[i];
    return kept;
}

/* Sweeps over the ranges by begin: a range overlaps if an earlier one, live at the same time, ends behind its begin.
 * O(n log n) by the timeline. */
tort_status tort_plan_check_overlap(const tort_env *env, const tort_plan *plan, tort_error *error) {
    if (!plan->complete) return TORT_OK;
    const size_t room = (size_t)plan->slot_count + (size_t)plan->step_count + 1;
    range *ranges = tort_alloc_zero(env, room, sizeof *ranges);
    tort_timeline ends;
    if (!ranges || !tort_timeline_open(&ends, env, 2 * (plan->step_count + 1))) {
        tort_free(env, ranges, room * sizeof *ranges);
        return tort_out_of_memory(error, room * sizeof *ranges);
    }
    const size_t count = collect_ranges(plan, ranges);
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    tort_status status = TORT_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const range *r = &ranges[i];
        if (i && r->memory != ranges[i - 1].memory) tort_timeline_clear(&ends);
        if (tort_timeline_highest(&ends, r->first, r->last) > r->begin)
            status = bad(error, "two things at one place and time, one in slot or step", r->index);
        tort_timeline_raise(&ends, r->first, r->last, r->end);
    }
    tort_timeline_close(&ends, env);
    tort_free(env, ranges, room * sizeof *ranges);
    return status;
}

tort_status tort_plan_check_steps(const tort_plan *plan, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->slot_count; i++) status = check_slot(plan, i, error);
    for (int32_t i = 0; !status && i < plan->step_count; i++) status = check_step(plan, i, error);
    for (int32_t i = 0; !status && i < plan->output_count; i++) status = check_output(plan, i, error);
    return status;
}

tort_status tort_plan_check_sizes(const tort_plan *plan, tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->slot_count; i++) status = check_slot_size(plan, i, error);
    for (int32_t i = 0; !status && i < plan->step_count; i++) status = check_step_size(plan, i, error);
    for (int32_t i = 0; !status && i < plan->step_count; i++) {
        if (plan->steps[i].kind == TORT_STEP_VIEW) status = check_view(plan, i, error);
        if (!status && plan->steps[i].in_place) status = check_in_place(plan, i, error);
        const int32_t input =
            plan->steps[i].input_count ? tort_plan_owner(plan, plan->operands[plan->steps[i].operands]) : -1;
        if (!status && plan->steps[i].overlaps) status = check_distance(plan, i, input, &plan->steps[i].overlap, error);
    }
    for (int32_t i = 0; !status && i < plan->band_count; i++) status = check_bands(plan, i, error);
    return status;
}

tort_status tort_plan_check(const tort_env *env, const tort_plan *plan, tort_error *error) {
    tort_status status = tort_plan_check_steps(plan, error);
    if (!status) status = tort_plan_check_sizes(plan, error);
    return status ? status : tort_plan_check_overlap(env, plan, error);
}
