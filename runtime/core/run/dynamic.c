/* dynamic.c - steps whose shapes depend on data (NonZero, Range with a computed limit, Reshape to a computed shape).
 *
 * Before such a step runs, the operator's infer is called again, with the data of the inputs whose values determine
 * shapes; then params are resolved and memory is allocated, within the session's dynamic_limit. Only these steps
 * allocate in a run. This file decides nothing: provider and kernel are in the plan. */
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/providers/layouts.h"
#include "runtime/core/providers/link.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes of host memory that dynamic steps may still take; a device enforces its own limit. */
static uint64_t room_left(const tort_context *context, int32_t memory) {
    const uint64_t limit = memory ? UINT64_MAX : tort_room_for_values(context->session, memory);
    uint64_t taken = tort_held_bytes(context->held);
    for (int32_t i = 0; i < context->session->graph_count; i++)
        if (context->frames[i].arenas) taken += context->frames[i].arenas[memory].bytes;
    return taken < limit ? limit - taken : 0;
}

static void give_back(tort_context *context, int32_t memory, tort_region *region) {
    tort_chain_free(context->session, &context->env, memory, region->base, region->bytes);
    context->held->regions -= region->bytes;
    *region = (tort_region){0};
}

void tort_dynamic_drain(tort_context *context) {
    for (int32_t m = 0; context->scratch && m < context->session->memory_count; m++)
        if (context->scratch[m].base) give_back(context, m, &context->scratch[m]);
    while (context->spare_count > 0) {
        tort_spare *spare = &context->spares[--context->spare_count];
        give_back(context, spare->memory, &spare->region);
    }
}

/* Takes the smallest spare region that is large enough. In host memory it may be at most twice as large; on a device
 * allocating is slow, so any will do. */
static bool take_spare(tort_context *context, int32_t memory, size_t bytes, tort_region *region) {
    tort_spare *best = NULL;
    for (int32_t i = 0; i < context->spare_count; i++) {
        tort_spare *spare = &context->spares[i];
        if (spare->memory != memory || spare->region.bytes < bytes) continue;
        if (!memory && spare->region.bytes / 2 > bytes) continue;
        if (!best || spare->region.bytes < best->region.bytes) best = spare;
    }
    if (!best) return false;
    *region = best->region;
    *best = context->spares[--context->spare_count];
    return true;
}

static tort_status check_limits(tort_context *context, int32_t memory, size_t bytes, tort_error *error) {
    const uint64_t limit = context->session->options.dynamic_limit;
    if (bytes > limit || tort_held_bytes(context->held) > limit - bytes || bytes > room_left(context, memory))
        tort_dynamic_drain(context);
    if (bytes > limit || tort_held_bytes(context->held) > limit - bytes)
        return tort_fail(error, TORT_E_MEMORY,
                         "a value whose shape depends on data needs %zu bytes; %llu of at most %llu are in use (option "
                         "dynamic_limit)",
                         bytes, (unsigned long long)tort_held_bytes(context->held), (unsigned long long)limit);
    if (bytes > room_left(context, memory))
        return tort_fail(
            error, TORT_E_MEMORY,
            "a value whose shape depends on data needs %zu bytes, %llu are left of what %s may use (option "
            "mem_limit)",
            bytes, (unsigned long long)room_left(context, memory),
            context->session->memories[memory].owner->provider->name);
    return TORT_OK;
}

static tort_status alloc_region(tort_context *context, int32_t memory, size_t bytes, tort_region *region,
                                tort_error *error) {
    void *base;
    tort_status status = tort_chain_alloc(context->session, &context->env, memory, bytes, "values", &base, error);
    if (status) return status;
    *region = (tort_region){base, bytes};
    context->held->regions += bytes;
    return TORT_OK;
}

/* On a device, 1.5 times the largest spare, as all spares were too small: values that grow from run to run
 * then need few allocations. */
static size_t with_growth(const tort_context *context, int32_t memory, size_t bytes) {
    const uint64_t limit = context->session->options.dynamic_limit;
    size_t largest = 0;
    for (int32_t i = 0; memory && i < context->spare_count; i++) {
        const tort_spare *spare = &context->spares[i];
        if (spare->memory == memory && spare->region.bytes > largest) largest = spare->region.bytes;
    }
    const size_t grown = largest + largest / 2;
    return grown > bytes && grown <= limit && tort_held_bytes(context->held) <= limit - grown ? grown : bytes;
}

/* If a device is out of memory, frees the spares and tries again. */
tort_status tort_region_alloc(tort_context *context, int32_t memory, size_t bytes, tort_region *region,
                              tort_error *error) {
    if (take_spare(context, memory, bytes, region)) return TORT_OK;
    const size_t more = with_growth(context, memory, bytes);
    if (more > bytes && alloc_region(context, memory, more, region, NULL) == TORT_OK) return TORT_OK;
    tort_status status = check_limits(context, memory, bytes, error);
    if (status) return status;
    status = alloc_region(context, memory, bytes, region, error);
    if (status != TORT_E_MEMORY || !memory) return status;
    tort_dynamic_drain(context);
    return alloc_region(context, memory, bytes, region, error);
}

/* Keeps the region as a spare, since allocating on a device is slow. If all places are taken,
 * the smallest one is freed. */
void tort_region_free(tort_context *context, int32_t memory, tort_region *region) {
    if (!region->base) return;
    tort_spare *to = &context->spares[context->spare_count];
    if (context->spare_count < TORT_MAX_SPARES) {
        context->spare_count++;
    } else {
        to = &context->spares[0];
        for (int32_t i = 1; i < context->spare_count; i++)
            if (context->spares[i].region.bytes < to->region.bytes) to = &context->spares[i];
        if (to->region.bytes >= region->bytes) {
            give_back(context, memory, region);
            return;
        }
        give_back(context, to->memory, &to->region);
    }
    *to = (tort_spare){*region, memory};
    *region = (tort_region){0};
}

static void free_slot(tort_frame *frame, int32_t slot) {
    if (frame->values[slot]) {
        tort_value_release(frame->values[slot]);
        frame->values[slot] = NULL;
        frame->dynamic_count--;
    }
    if (!frame->dynamic[slot].base) return;
    tort_region_free(frame->context, frame->planned->plan.slots[slot].memory, &frame->dynamic[slot]);
    frame->dynamic_count--;
}

void tort_dynamic_free_all(tort_frame *frame) {
    if (!frame->planned) return;
    for (int32_t i = 0; frame->dynamic_count && i < frame->planned->plan.slot_count; i++) free_slot(frame, i);
}

/* Frees the slot, through aliases, if this step was the last to read it. */
static void free_operand(tort_frame *frame, int32_t slot, int32_t step_index) {
    const tort_plan *plan = &frame->planned->plan;
    slot = tort_plan_owner(plan, slot);
    if (slot >= 0 && plan->slots[slot].last_step == step_index) free_slot(frame, slot);
}

void tort_dynamic_free_unread(tort_frame *frame, int32_t step_index) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_step *step = &plan->steps[step_index];
    for (int32_t i = 0; i < step->input_count + step->output_count; i++)
        free_operand(frame, plan->operands[step->operands + i], step_index);
    for (int32_t i = 0; i < step->shape_count; i++)
        free_operand(frame, plan->operands[step->shape_operands + i], step_index);
}

/* ---- inference in a run ------------------------------------------------------------------------------------------ */

static tort_info info_of(const tort_tensor *tensor) {
    tort_info info = {.type = tensor->type, .nest = -1, .rank = tensor->rank};
    memcpy(info.dims, tensor->dims, sizeof info.dims);
    return info;
}

/* Copies the data of a list: infer and resolve must see the same numbers, and the caller's memory may change. What is
 * longer than a list of parameters is read by infer alone, and the step is held to the shape that came of it. */
static bool keep_list(tort_arena *arena, tort_info *info) {
    enum { LONGEST = 256 };
    tort_tensor list;
    int64_t count;
    size_t bytes;
    if (!info->data || info->type == TORT_STRING || !tort_info_tensor(info, &list) ||
        !tort_tensor_count(&list, &count) || count > LONGEST || !tort_tensor_bytes(&list, &bytes))
        return true;
    void *copy = tort_arena_alloc(arena, bytes + 1);
    if (copy && bytes) memcpy(copy, info->data, bytes);
    info->data = copy;
    return copy != NULL;
}

/* A view of the node with the present shapes of its inputs, and their data if it is in host memory. */
static tort_node_view live_view(tort_frame *frame, const tort_step *step) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_node *node = &frame->lowered->graph.nodes[step->node];
    tort_info *in = frame->infos, *out = frame->infos + frame->widest;
    for (int32_t i = 0; i < node->input_count; i++) {
        int32_t slot = i < step->input_count ? plan->operands[step->operands + i] : -1;
        in[i] = (tort_info){.rank = -1, .nest = -1};
        if (slot < 0 && node->inputs[i] >= 0) { /* an alias has only its data; its shape comes below */
            in[i] = frame->planned->infos[node->inputs[i]];
            in[i].data = NULL;
        }
        if (slot >= 0) {
            in[i] = info_of(&frame->tensors[slot]);
            if (plan->slots[slot].memory == 0 && !plan->slots[slot].layout) in[i].data = frame->tensors[slot].data;
        }
        int32_t live = i < step->shape_count ? plan->operands[step->shape_operands + i] : -1;
        if (live >= 0) {
            in[i] = info_of(&frame->tensors[live]);
            in[i].data = frame->tensors[live].data;
        }
    }
    for (int32_t i = 0; i < node->output_count; i++) out[i] = (tort_info){.rank = -1, .nest = -1};
    return tort_view_of_node(node, frame->context->session->model, in, out);
}

/* A shape that was planned without the data that determines it (see shaped_by_data in plan_steps.c)
 * must agree with the data. */
static tort_status check_planned(const tort_slot *where, const tort_info *info, tort_error *error) {
    int32_t d = 0;
    while (d < info->rank && d < where->rank && info->dims[d] == where->dims[d]) d++;
    if (d == info->rank && d == where->rank) return TORT_OK;
    if (info->rank != where->rank)
        return tort_fail(error, TORT_E_RUN, "the values of its inputs ask for an output of rank %d, its shape for %d",
                         (int)info->rank, (int)where->rank);
    return tort_fail(error, TORT_E_RUN,
                     "the values of its inputs ask for %lld elements along dimension %d, the shapes for %lld",
                     (long long)info->dims[d], (int)d, (long long)where->dims[d]);
}

static tort_status allocate_output(tort_frame *frame, int32_t slot, const tort_info *info, tort_error *error) {
    const tort_slot *where = &frame->planned->plan.slots[slot];
    tort_tensor *tensor = &frame->tensors[slot];
    size_t bytes;
    if (info->type != where->type || info->rank < 0)
        return tort_fail(error, TORT_E_INTERNAL, "the shape of an output is still unknown while running");
    tensor->rank = info->rank;
    for (int32_t d = 0; d < info->rank; d++) {
        if (!tort_dim_known(info->dims[d]))
            return tort_fail(error, TORT_E_RUN, "dimension %d of an output is larger than can be counted", (int)d);
        tensor->dims[d] = info->dims[d];
    }
    if (!tort_layout_bytes(frame->context->session, where->layout, tensor, &bytes))
        return tort_fail(error, TORT_E_RUN, "the size of an output overflows%s",
                         where->layout ? ", or its layout does not hold its shape" : "");
    if (where->bytes >= 0) return check_planned(where, info, error);
    if (where->home == TORT_HOME_ALIAS) return TORT_OK;
    if (where->home != TORT_HOME_DYNAMIC)
        return tort_fail(error, TORT_E_INTERNAL, "an output of unknown size has no memory of its own");
    tensor->data = tort_outputs_place(frame, slot, bytes);
    if (tensor->data) return TORT_OK;
    tort_status status = tort_region_alloc(frame->context, where->memory, bytes, &frame->dynamic[slot], error);
    if (status) return status;
    frame->dynamic_count++;
    tensor->data = frame->dynamic[slot].base;
    return TORT_OK;
}

tort_status tort_dynamic_place(tort_frame *frame, int32_t slot, const tort_tensor *shape, tort_error *error) {
    const tort_info info = info_of(shape);
    return allocate_output(frame, slot, &info, error);
}

static tort_status infer_live(tort_frame *frame, tort_node_view *view, tort_dims *dims, tort_arena *arena,
                              tort_error *error) {
    for (int32_t i = 0; i < view->input_count; i++)
        if (!keep_list(arena, &frame->infos[i])) return tort_out_of_memory(error, 0);
    tort_infer infer = {.node = view,
                        .outputs = frame->infos + frame->widest,
                        .dims = dims,
                        .arena = arena,
                        .watch = &frame->context->watch,
                        .error = error};
    tort_status status = view->op->infer(&infer);
    if (!status && dims->failed) status = tort_out_of_memory(error, 0);
    if (status == TORT_E_MODEL) { /* the cause is data, not the file */
        status = TORT_E_RUN;
        if (error) error->code = status;
    }
    return status;
}

static tort_status reserve_scratch(tort_frame *frame, int32_t memory, size_t bytes, tort_error *error) {
    tort_region *scratch = &frame->context->scratch[memory];
    if (bytes <= scratch->bytes) return TORT_OK;
    tort_region_free(frame->context, memory, scratch);
    return tort_region_alloc(frame->context, memory, bytes, scratch, error);
}

static tort_status resolve_live(tort_frame *frame, const tort_step *step, tort_node_view *view, tort_error *error) {
    tort_session *session = frame->context->session;
    const tort_link *link = &session->chain[step->provider];
    const tort_unit *unit = &frame->lowered->units[step->node];
    const tort_kernel *kernel = unit->kernel;
    const bool once = tort_is_once(frame->lowered, step->node);
    size_t scratch = unit->scratch_bytes;
    memset(frame->params, 0, frame->params_bytes);
    tort_status status = once ? TORT_OK : tort_resolve_node(view, frame->params, &scratch, error);
    view->params = once ? unit->params : frame->params;
    view->kernel = kernel;
    if (!tort_runs_reference(link->provider, kernel)) scratch = 0; /* only the reference loop needs it */
    if (!status && kernel->size) status = kernel->size(&link->target, view, &scratch, error);
    if (!status) status = reserve_scratch(frame, link->memory, scratch, error);
    if (status || !kernel->fit) return status;
    tort_fit fit = {.node = view,
                    .target = &link->target,
                    .scratch = scratch,
                    .device = link->device,
                    .stream = frame->context->streams[link->memory],
                    .env = &frame->context->env,
                    .error = error};
    status = tort_link_noted(link, kernel->fit(&fit));
    frame->fitted = fit.fitted;
    return status;
}

void tort_dynamic_unfit(tort_frame *frame, const tort_step *step) {
    const tort_session *session = frame->context->session;
    if (!frame->fitted) return;
    const tort_link *link = &session->chain[step->provider];
    frame->lowered->units[step->node].kernel->unfit(link->device, &frame->context->env, frame->fitted);
    frame->fitted = NULL;
}

/* Allocates the output of a dynamic copy or conversion. */
static tort_status prepare_move(tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    tort_info info = info_of(&frame->tensors[plan->operands[step->operands]]);
    return allocate_output(frame, plan->operands[step->operands + 1], &info, error);
}

/* Allocates the outputs that the node has. */
static tort_status allocate_outputs(tort_frame *frame, const tort_step *step, tort_error *error) {
    tort_info *outputs = frame->infos + frame->widest;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < step->output_count; i++) {
        int32_t slot = frame->planned->plan.operands[step->operands + step->input_count + i];
        if (slot >= 0)
            status = allocate_output(frame, slot, &outputs[i], error);
        else
            outputs[i].type = TORT_UNDEFINED; /* infer may fill an output that the node omits */
    }
    return status;
}

/* The kernel measures the outputs. Scratch has what it found, so that memory for them is not to be made of it. */
static tort_status measure_live(tort_frame *frame, const tort_step *step, tort_node_view *view, tort_error *error) {
    tort_region *scratch = &frame->context->scratch[step->memory];
    tort_status status = resolve_live(frame, step, view, error);
    if (!status) status = tort_frame_measure(frame, step, frame->infos + frame->widest, error);
    const tort_region found = *scratch;
    *scratch = (tort_region){0};
    if (!status) status = allocate_outputs(frame, step, error);
    *scratch = found;
    return status;
}

/* Infers types and shapes, resolves params and allocates outputs of a dynamic step, from the data that exists now. */
tort_status tort_dynamic_prepare(tort_frame *frame, const tort_step *step, tort_error *error) {
    if (step->kind == TORT_STEP_COPY || step->kind == TORT_STEP_CONVERT) return prepare_move(frame, step, error);
    if (step->kind == TORT_STEP_SHAPE) return TORT_OK;
    const tort_env *env = &frame->context->env;
    tort_arena arena;
    tort_dims dims;
    tort_arena_init(&arena, env);
    tort_dims_init(&dims, env, &arena);
    tort_node_view view = live_view(frame, step);
    tort_status status = infer_live(frame, &view, &dims, &arena, error);
    const bool kernel = step->kind == TORT_STEP_KERNEL;
    const bool measures = kernel && frame->lowered->units[step->node].kernel->measure;
    if (!status && measures) status = measure_live(frame, step, &view, error);
    if (!status && !measures) status = allocate_outputs(frame, step, error);
    if (!status && !measures && kernel) status = resolve_live(frame, step, &view, error);
    tort_dims_free(&dims);
    tort_arena_free(&arena);
    return status;
}

/* Runs a Shape or Size step: infer computes the integers. */
tort_status tort_dynamic_shape(tort_frame *frame, const tort_step *step, tort_error *error) {
    const tort_env *env = &frame->context->env;
    tort_arena arena;
    tort_dims dims;
    tort_arena_init(&arena, env);
    tort_dims_init(&dims, env, &arena);
    tort_node_view view = live_view(frame, step);
    tort_status status = infer_live(frame, &view, &dims, &arena, error);
    int32_t slot = frame->planned->plan.operands[step->operands + 1];
    const tort_info *info = &view.outputs[0];
    if (!status) status = allocate_output(frame, slot, info, error);
    if (!status && !info->elements) status = tort_fail(error, TORT_E_INTERNAL, "metadata did not come to numbers");
    if (!status) tort_write_elements(info, frame->tensors[slot].data);
    tort_dims_free(&dims);
    tort_arena_free(&arena);
    return status;
}
