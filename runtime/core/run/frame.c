/* frame.c - the memory of a running graph: sized for a plan before the first step, kept while the plan stays.
 *
 * Everything that a run with known shapes needs is allocated here. Read next: run.c, dynamic.c. */
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/plan/bounds.h"
#include "runtime/core/plan/planned.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/link.h"

static void free_arena(tort_frame *frame, int32_t memory) {
    tort_region *region = &frame->arenas[memory];
    if (!region->base) return;
    tort_chain_free(frame->context->session, &frame->context->env, memory, region->base, region->bytes);
    *region = (tort_region){0};
}

static tort_status alloc_arena(tort_frame *frame, int32_t memory, uint64_t bytes, tort_error *error) {
    void *base;
    tort_status status =
        tort_chain_alloc(frame->context->session, &frame->context->env, memory, (size_t)bytes, "values", &base, error);
    if (!status) frame->arenas[memory] = (tort_region){base, (size_t)bytes};
    return status;
}

/* An arena that must grow becomes at least 1.5 times as large, so that ever longer sequences need few allocations; the
 * first arena has the exact size. */
static uint64_t with_growth(const tort_session *session, int32_t memory, uint64_t had, uint64_t bytes) {
    const uint64_t room = tort_room_for_values(session, memory), grown = had + had / 2;
    return grown <= bytes ? bytes : grown <= room ? grown : bytes;
}

static tort_status grow_arena(tort_frame *frame, int32_t memory, uint64_t bytes, tort_error *error) {
    tort_session *session = frame->context->session;
    tort_region *region = &frame->arenas[memory];
    if (bytes == 0) bytes = 1; /* empty tensors need a pointer, too */
    if (bytes <= region->bytes) return TORT_OK;
    if (memory && !session->memories[memory].owner->opened) return TORT_OK;
    const uint64_t more = with_growth(session, memory, region->bytes, bytes);
    free_arena(frame, memory);
    if (more > bytes && alloc_arena(frame, memory, more, NULL) == TORT_OK) return TORT_OK;
    return alloc_arena(frame, memory, bytes, error);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static tort_table_sizes sizes_for(const tort_lowered *lowered, const tort_plan *plan) {
    size_t widest = TORT_INFER_OUTPUTS, params = 16;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        const tort_node *node = step->node >= 0 ? &lowered->graph.nodes[step->node] : NULL;
        const size_t width = (size_t)step->input_count + (size_t)step->output_count;
        const size_t all = node ? (size_t)node->input_count + (size_t)node->output_count : 0;
        if (width > widest) widest = width;
        if (all > widest) widest = all;
        const size_t bytes = node ? tort_params_bytes(lowered->session->model, node) : 0;
        if (bytes > params) params = bytes;
    }
    return (tort_table_sizes){(size_t)plan->slot_count + 1, widest + 1, 2 * widest + 1, params};
}

size_t tort_frame_ports(const tort_lowered *lowered) {
    return (size_t)lowered->graph.input_count + (size_t)lowered->graph.output_count + 1;
}

size_t tort_frame_bytes(const tort_plan *plan, const tort_lowered *lowered) {
    const tort_table_sizes sizes = sizes_for(lowered, plan);
    return tort_frame_ports(lowered) * (sizeof(bool) + sizeof(tort_buffer) + sizeof(void *)) +
           sizes.slots * (sizeof(tort_tensor) + sizeof(tort_region) + sizeof(tort_value *)) +
           sizes.operands * (sizeof(tort_tensor) + 2 * sizeof(tort_value *)) + sizes.infos * sizeof(tort_info) +
           sizes.params;
}

size_t tort_arena_bytes(const tort_plan *plan) {
    return tort_aligned_bytes(plan->arena_bytes[0] ? (size_t)plan->arena_bytes[0] : 1);
}

static void free_tables(tort_frame *frame) {
    const tort_env *env = &frame->context->env;
    const tort_table_sizes sizes = frame->tables;
    tort_free(env, frame->tensors, sizes.slots * sizeof *frame->tensors);
    tort_free(env, frame->values, sizes.slots * sizeof *frame->values);
    tort_free(env, frame->operand_values, sizes.operands * sizeof *frame->operand_values);
    tort_free(env, frame->made_values, sizes.operands * sizeof *frame->made_values);
    tort_free(env, frame->dynamic, sizes.slots * sizeof *frame->dynamic);
    tort_free(env, frame->operands, sizes.operands * sizeof *frame->operands);
    tort_free(env, frame->infos, sizes.infos * sizeof *frame->infos);
    tort_free(env, frame->params, sizes.params);
    frame->tensors = frame->operands = NULL;
    frame->values = frame->made_values = NULL;
    frame->operand_values = NULL;
    frame->dynamic = NULL;
    frame->infos = NULL;
    frame->params = NULL;
    frame->tables = (tort_table_sizes){0};
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Reuses the tables if they are large enough, since plans for other shapes mostly have the same steps.
 * They are empty between runs. */
static tort_status size_tables(tort_frame *frame, const tort_table_sizes *need, tort_error *error) {
    const tort_env *env = &frame->context->env;
    tort_table_sizes *now = &frame->tables;
    if (need->slots <= now->slots && need->operands <= now->operands && need->infos <= now->infos &&
        need->params <= now->params)
        return TORT_OK;
    const tort_table_sizes sizes = {larger(need->slots, now->slots), larger(need->operands, now->operands),
                                    larger(need->infos, now->infos), larger(need->params, now->params)};
    free_tables(frame);
    *now = sizes;
    frame->tensors = tort_alloc_zero(env, sizes.slots, sizeof *frame->tensors);
    frame->values = tort_alloc_zero(env, sizes.slots, sizeof *frame->values);
    frame->operand_values = tort_alloc_zero(env, sizes.operands, sizeof *frame->operand_values);
    frame->made_values = tort_alloc_zero(env, sizes.operands, sizeof *frame->made_values);
    frame->dynamic = tort_alloc_zero(env, sizes.slots, sizeof *frame->dynamic);
    frame->operands = tort_alloc_zero(env, sizes.operands, sizeof *frame->operands);
    frame->infos = tort_alloc_zero(env, sizes.infos, sizeof *frame->infos);
    frame->params = tort_alloc_zero(env, 1, sizes.params);
    if (frame->tensors && frame->values && frame->operand_values && frame->made_values && frame->dynamic &&
        frame->operands && frame->infos && frame->params)
        return TORT_OK;
    free_tables(frame);
    return tort_out_of_memory(error, sizes.slots * sizeof *frame->tensors);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Tells the provider the copies between host and device in a run, so that it can reserve memory for them: if they are
 * more than before. */
static void stage_copies(const tort_frame *frame, int32_t memory) {
    const tort_context *context = frame->context;
    const tort_plan *plan = &frame->planned->plan;
    tort_staged *most = &context->staged[memory], now = {0, 0};
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        if (step->kind != TORT_STEP_COPY || step->provider < 0 || step->direction == TORT_ON_DEVICE) continue;
        const tort_slot *slot = &plan->slots[plan->operands[step->operands]];
        if (slot->bytes <= 0 || context->session->chain[step->provider].memory != memory) continue;
        now.copies++;
        now.bytes += (size_t)slot->bytes;
    }
    if (now.copies <= most->copies && now.bytes <= most->bytes) return;
    if (now.copies < most->copies) now.copies = most->copies;
    if (now.bytes < most->bytes) now.bytes = most->bytes;
    *most = now;
    tort_link_stage(context->session->memories[memory].owner, context->streams[memory], now.copies, now.bytes);
}

/* Grows tables and arenas as the plan needs. */
static tort_status size_frame(tort_frame *frame, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_table_sizes sizes = sizes_for(frame->lowered, plan);
    tort_status status = size_tables(frame, &sizes, error);
    for (int32_t m = 0; !status && m < plan->memory_count; m++)
        status = grow_arena(frame, m, plan->arena_bytes[m], error);
    for (int32_t m = 1; !status && m < plan->memory_count; m++) stage_copies(frame, m);
    frame->widest = (int32_t)sizes.operands - 1;
    frame->params_bytes = sizes.params;
    return status;
}

/* Uploads literals that a device reads: once for each plan, not for each run. */
static tort_status upload_literals(const tort_frame *frame, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        if (slot->home != TORT_HOME_UPLOADED || slot->bytes <= 0) continue;
        const tort_link *link = frame->context->session->memories[slot->memory].owner;
        status = tort_link_copy(
            link, frame->context->streams[slot->memory], frame->arenas[slot->memory].base + slot->offset,
            plan->literals + plan->slots[slot->source].offset, (size_t)slot->bytes, TORT_TO_DEVICE, error);
        if (status) tort_link_failed(link, status, error);
    }
    return status;
}

static void drop_plan(tort_frame *frame) {
    if (!frame->planned) return;
    tort_dynamic_free_all(frame);
    tort_leave_plan(frame->planned);
    frame->planned = NULL;
}

/* Prepares the frame for its plan, which it keeps only if that succeeds, or if the plan is its own. */
static tort_status open_plan(tort_frame *frame, tort_error *error) {
    tort_status status = size_frame(frame, error);
    if (!status) status = upload_literals(frame, error);
    if (status && frame->lowered->bound)
        frame->planned->ready = false;
    else if (status)
        drop_plan(frame);
    return status;
}

tort_status tort_frame_adopt(tort_frame *frame, tort_planned *planned, tort_error *error) {
    drop_plan(frame);
    frame->planned = planned;
    return open_plan(frame, error);
}

tort_status tort_frame_reserve(tort_frame *frame, tort_error *error) {
    tort_status status = tort_plan_bounds(frame->lowered, &frame->context->env, &frame->planned, error);
    if (status) return status;
    frame->planned->bound = frame->lowered->bound;
    return size_frame(frame, error);
}

tort_status tort_frame_choose_plan(tort_frame *frame, const tort_tensor *inputs, tort_error *error) {
    bool changed;
    tort_dynamic_free_all(frame); /* by the slots of the plan before */
    tort_status status = tort_plan_for(frame->lowered, inputs, &frame->planned, &changed, error);
    if (status ==
        TORT_E_MODEL) { /* the file was accepted: the sizes of this run are to blame, or the branch it takes */
        status = TORT_E_INPUT;
        if (error) error->code = status;
    }
    return status || !changed ? status : open_plan(frame, error);
}

/* ---- values of slots --------------------------------------------------------------------------------------------- */

const tort_value *tort_frame_value(const tort_frame *frame, int32_t slot) {
    const tort_slot *where = &frame->planned->plan.slots[slot];
    if (frame->lowered->infos[where->value].kind == TORT_TENSOR) return NULL;
    return where->home == TORT_HOME_INPUT ? frame->input_values[where->source] : frame->values[slot];
}

const void *tort_frame_params(const tort_frame *frame, const tort_step *step) {
    const tort_unit *unit = &frame->lowered->units[step->node];
    if (!unit->segment && tort_is_once(frame->lowered, step->node)) return unit->params;
    return step->dynamic ? frame->params : frame->planned->params + step->params;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

tort_status tort_frame_open(tort_frame *frame, tort_context *context, tort_lowered *lowered, tort_error *error) {
    const size_t ports = tort_frame_ports(lowered), memories = (size_t)context->session->memory_count;
    *frame = (tort_frame){.context = context, .lowered = lowered};
    frame->arenas = tort_arena_array(&context->arena, memories, sizeof *frame->arenas);
    frame->direct = tort_alloc_zero(&context->env, ports, sizeof *frame->direct);
    frame->buffers = tort_alloc_zero(&context->env, ports, sizeof *frame->buffers);
    const bool body = lowered != tort_main_graph(context->session);
    frame->seen = tort_alloc_zero(&context->env, ports, sizeof *frame->seen);
    const bool opened =
        frame->arenas && frame->direct && frame->buffers && frame->seen && (!body || tort_trip_open(frame));
    return opened ? tort_states_open(frame, error) : tort_out_of_memory(error, 0);
}

void tort_frame_close(tort_frame *frame) {
    if (!frame->context) return;
    const tort_env *env = &frame->context->env;
    const size_t ports = tort_frame_ports(frame->lowered);
    tort_trip_close(frame);
    tort_states_close(frame);
    drop_plan(frame);
    free_tables(frame);
    for (int32_t m = 0; frame->arenas && m < frame->context->session->memory_count; m++) free_arena(frame, m);
    tort_free(env, frame->direct, ports * sizeof *frame->direct);
    tort_free(env, frame->buffers, ports * sizeof *frame->buffers);
    tort_free(env, frame->seen, ports * sizeof *frame->seen);
}
