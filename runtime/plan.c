/* plan.c - turns a placed graph and input shapes into steps over slots.
 *
 * It decides the order, the copies between memories and every size; memplan.c gives the offsets. With unknown input
 * shapes the plan is incomplete: it can be reported, not run. It must not decide where a node runs: place.c has.
 * Read next: memplan.c, plan_check.c, run.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/session_state.h"

#define PARAMS_ALIGN 16

typedef struct builder {
    tort_session *session;
    tort_lowered *lowered;
    const tort_graph *graph;
    tort_planned *planned;
    tort_plan *plan;
    tort_pass pass;
    int32_t *slot_of; /* value * memory_count + memory -> slot, -1 */
    int32_t *home_of; /* value -> memory in which it was made, -1 */
    tort_error *error;
} builder;

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static int32_t *slot_cell(const builder *b, int32_t value, int32_t memory) {
    return &b->slot_of[(size_t)value * (size_t)b->session->memory_count + (size_t)memory];
}

/* A new slot for a value in a memory; -1: out of memory. */
static int32_t add_slot(builder *b, int32_t value, int32_t memory, tort_home home, int32_t source) {
    tort_planned *planned = b->planned;
    if (!tort_grow(&b->session->env, (void **)&b->plan->slots, &planned->slot_capacity, b->plan->slot_count + 1,
                   sizeof *b->plan->slots))
        return -1;
    const tort_info *info = &planned->infos[value];
    tort_slot slot = {.value = value,
                      .memory = memory,
                      .home = home,
                      .source = source,
                      .output = -1,
                      .type = info->type,
                      .rank = info->rank,
                      .bytes = -1,
                      .first_step = b->plan->step_count,
                      .last_step = b->plan->step_count};
    for (int32_t i = 0; i < TORT_MAX_RANK; i++)
        slot.dims[i] = i >= info->rank ? 0 : tort_dim_known(info->dims[i]) ? info->dims[i] : -1;
    tort_tensor tensor;
    size_t bytes;
    if (tort_info_tensor(info, &tensor) && tort_tensor_bytes(&tensor, &bytes) && bytes <= INT64_MAX)
        slot.bytes = (int64_t)bytes;
    if (info->kind != TORT_TENSOR && home != TORT_HOME_INPUT) slot.home = TORT_HOME_OBJECT;
    if (slot.bytes < 0 && slot.home == TORT_HOME_ARENA && b->plan->complete) slot.home = TORT_HOME_DYNAMIC;
    b->plan->slots[b->plan->slot_count] = slot;
    *slot_cell(b, value, memory) = b->plan->slot_count;
    if (b->home_of[value] < 0) b->home_of[value] = memory;
    return b->plan->slot_count++;
}

static int32_t reserve_operands(builder *b, int32_t count) {
    int32_t first = b->plan->operand_count;
    if (!tort_grow(&b->session->env, (void **)&b->plan->operands, &b->planned->operand_capacity, first + count,
                   sizeof *b->plan->operands))
        return -1;
    for (int32_t i = 0; i < count; i++) b->plan->operands[first + i] = -1;
    b->plan->operand_count += count;
    return first;
}

static tort_status add_step(builder *b, const tort_step *step) {
    if (!tort_grow(&b->session->env, (void **)&b->plan->steps, &b->planned->step_capacity, b->plan->step_count + 1,
                   sizeof *b->plan->steps))
        return tort_out_of_memory(b->error, sizeof *step);
    b->plan->steps[b->plan->step_count++] = *step;
    return TORT_OK;
}

/* ---- literals: integers that shapes determine -------------------------------------------------------------------- */

/* Makes a zeroed block at least `need` bytes long, keeping what it holds. */
static tort_status grow_bytes(const builder *b, uint8_t **bytes, uint64_t *capacity, uint64_t need) {
    if (need <= *capacity) return TORT_OK;
    size_t larger = (size_t)need * 2;
    uint8_t *grown = need < SIZE_MAX / 4 ? tort_alloc_zero(&b->session->env, 1, larger) : NULL;
    if (!grown) return tort_out_of_memory(b->error, larger);
    if (*capacity) memcpy(grown, *bytes, (size_t)*capacity);
    tort_free(&b->session->env, *bytes, (size_t)*capacity);
    *bytes = grown;
    *capacity = larger;
    return TORT_OK;
}

static tort_status add_literal(builder *b, int32_t slot_index) {
    tort_slot *slot = &b->plan->slots[slot_index];
    const tort_info *info = &b->planned->infos[slot->value];
    size_t at = (size_t)b->plan->literal_bytes, bytes = slot->bytes > 0 ? (size_t)slot->bytes : 0, end;
    if (!tort_align_size(at + bytes, PARAMS_ALIGN, &end)) return tort_out_of_memory(b->error, bytes);
    tort_status status = grow_bytes(b, &b->plan->literals, &b->planned->literal_capacity, end + 1); /* never NULL */
    if (status) return status;
    if (b->plan->complete) {
        const int64_t wanted = (int64_t)info->element_count * tort_type_bits(info->type) / 8;
        if (!tort_elements_known(info) || slot->bytes != wanted)
            return tort_fail(b->error, TORT_E_INTERNAL, "shape arithmetic \"%s\" did not come to numbers",
                             b->graph->values[slot->value].name);
        tort_write_elements(info, b->plan->literals + at);
    }
    slot->offset = at;
    b->plan->literal_bytes = end;
    return TORT_OK;
}

/* ---- where an operand comes from --------------------------------------------------------------------------------- */

static tort_status ensure(builder *b, int32_t value, int32_t memory, int32_t node, int32_t *slot);

/* The provider whose copy function moves bytes in and out of a device memory; -1: the host's are moved by the core. */
static int32_t owner_of(const builder *b, int32_t memory) {
    return memory ? (int32_t)(b->session->memories[memory].owner - b->session->chain) : -1;
}

static tort_status add_copy(builder *b, int32_t from, int32_t to, int32_t node) {
    int32_t operands = reserve_operands(b, 2);
    if (operands < 0) return tort_out_of_memory(b->error, 0);
    b->plan->operands[operands] = from;
    b->plan->operands[operands + 1] = to;
    const tort_slot *source = &b->plan->slots[from], *target = &b->plan->slots[to];
    tort_step step = {.kind = TORT_STEP_COPY,
                      .node = node,
                      .provider = owner_of(b, target->memory ? target->memory : source->memory),
                      .direction = source->memory == target->memory ? TORT_ON_DEVICE
                                   : target->memory                 ? TORT_TO_DEVICE
                                                                    : TORT_TO_HOST,
                      .operands = operands,
                      .input_count = 1,
                      .output_count = 1,
                      .dynamic = target->home == TORT_HOME_DYNAMIC};
    return add_step(b, &step);
}

/* A live value that is in another memory: copied, by way of the host between two devices. */
static tort_status copy_to(builder *b, int32_t value, int32_t memory, int32_t node, int32_t *slot) {
    int32_t from_memory = b->home_of[value], from = -1;
    if (from_memory < 0)
        return tort_fail(b->error, TORT_E_INTERNAL, "value \"%s\" is read before it is made",
                         b->graph->values[value].name);
    if (from_memory && memory) from_memory = 0;
    tort_status status = ensure(b, value, from_memory, node, &from);
    if (status) return status;
    *slot = add_slot(b, value, memory, TORT_HOME_ARENA, -1);
    return *slot < 0 ? tort_out_of_memory(b->error, 0) : add_copy(b, from, *slot, node);
}

/* The slot of a value in a memory; adds constants, literals and copies where they are first needed. */
static tort_status ensure(builder *b, int32_t value, int32_t memory, int32_t node, int32_t *slot) {
    *slot = *slot_cell(b, value, memory);
    if (*slot >= 0) return TORT_OK;
    if (b->planned->infos[value].constant) {
        *slot = add_slot(b, value, memory, TORT_HOME_CONSTANT, -1);
        return *slot < 0 ? tort_out_of_memory(b->error, 0) : TORT_OK;
    }
    int32_t producer = b->graph->values[value].producer;
    bool literal = producer >= 0 && b->lowered->units[producer].provider == TORT_AT_FOLDED;
    if (literal && memory == 0) {
        *slot = add_slot(b, value, 0, TORT_HOME_LITERAL, -1);
        return *slot < 0 ? tort_out_of_memory(b->error, 0) : add_literal(b, *slot);
    }
    if (literal) {
        int32_t host;
        tort_status status = ensure(b, value, 0, node, &host);
        if (status) return status;
    }
    return copy_to(b, value, memory, node, slot);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static tort_status add_inputs(builder *b, int32_t index, int32_t operands) {
    const tort_node *node = &b->graph->nodes[index];
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t where = node->inputs[i] < 0 ? -1 : tort_operand_memory(b->lowered, index, i);
        int32_t slot;
        if (where < 0) continue;
        tort_status status = ensure(b, node->inputs[i], where, index, &slot);
        if (status) return status;
        b->plan->operands[operands + i] = slot;
    }
    return TORT_OK;
}

static tort_status add_outputs(builder *b, int32_t index, int32_t operands, int32_t memory, tort_home home,
                               int32_t source) {
    const tort_node *node = &b->graph->nodes[index];
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        int32_t slot = add_slot(b, node->outputs[i], memory, home, source);
        if (slot < 0) return tort_out_of_memory(b->error, 0);
        b->plan->operands[operands + i] = slot;
    }
    return TORT_OK;
}

static bool step_is_dynamic(const builder *b, const tort_step *step) {
    if (!b->plan->complete) return false;
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        int32_t slot = b->plan->operands[step->operands + i];
        if (slot >= 0 && b->plan->slots[slot].bytes < 0) return true;
    }
    return false;
}

/* Do values that come while running have a say in the shapes of this node's outputs? Where infer told the shapes
 * without them (Reshape of 12 elements to a list of one), it is asked again right before the step. */
static bool shaped_by_data(const builder *b, const tort_node *node) {
    if (!b->plan->complete) return false;
    for (int32_t i = 0; i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        const tort_info *info = &b->planned->infos[node->inputs[i]];
        if (!info->constant && !tort_elements_known(info)) return true;
    }
    return false;
}

/* Host slots for the inputs whose values determine shapes, so that the step can infer while running. */
static tort_status add_shape_operands(builder *b, int32_t index, tort_step *step) {
    const tort_node *node = &b->graph->nodes[index];
    step->shape_operands = reserve_operands(b, node->input_count);
    if (step->shape_operands < 0) return tort_out_of_memory(b->error, 0);
    step->shape_count = node->input_count;
    for (int32_t i = 0; i < node->input_count && i < 32; i++) {
        int32_t slot;
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        tort_status status = ensure(b, node->inputs[i], 0, index, &slot);
        if (status) return status;
        b->plan->operands[step->shape_operands + i] = slot;
    }
    return TORT_OK;
}

/* Is a shape of this node still unknown when the shapes of all inputs of the model are known? */
static bool shapes_unknown(const builder *b, const tort_node *node) {
    bool unknown = false;
    for (int32_t i = 0; i < node->input_count; i++)
        unknown |= node->inputs[i] >= 0 && !tort_shape_known(&b->planned->infos[node->inputs[i]]);
    for (int32_t i = 0; i < node->output_count; i++)
        unknown |= node->outputs[i] >= 0 && !tort_shape_known(&b->planned->infos[node->outputs[i]]);
    return unknown && b->plan->complete;
}

/* Reserves the step's params, and for a step of known shapes decodes them and sizes its scratch. */
static tort_status measure(builder *b, int32_t index, tort_step *step) {
    const tort_node *node = &b->graph->nodes[index];
    const tort_unit *unit = &b->lowered->units[index];
    size_t end;
    step->params = b->plan->params_bytes;
    if (!tort_align_size((size_t)step->params + tort_params_bytes(node), PARAMS_ALIGN, &end))
        return tort_out_of_memory(b->error, 0);
    b->plan->params_bytes = end;
    tort_status status = grow_bytes(b, &b->planned->params, &b->planned->params_capacity, end + 1); /* never NULL */
    if (status || step->dynamic || !b->plan->complete) return status;
    void *params = b->planned->params + step->params;
    tort_node_view view = tort_pass_view(&b->pass, index);
    size_t scratch = 0;
    status = tort_pass_acquire(&b->pass, index, b->error);
    if (!status) status = tort_resolve_node(&view, params, &scratch, b->error);
    view.params = params;
    const tort_link *link = &b->session->chain[unit->provider];
    if (!tort_runs_reference(link->provider, unit->kernel)) scratch = 0; /* resolve asked for the plain loop */
    if (!status && unit->kernel->size) {
        status = unit->kernel->size(&link->target, &view, &scratch, b->error);
    }
    if (status) tort_error_at_unit(b->error, b->lowered, index);
    tort_pass_release(&b->pass, index);
    step->scratch_bytes = scratch;
    return status;
}

/* Is an operand no tensor? Then the kernel makes all of its outputs values. */
static bool makes_values(const builder *b, const tort_node *node) {
    bool values = false;
    for (int32_t i = 0; i < node->input_count; i++)
        values |= node->inputs[i] >= 0 && b->planned->infos[node->inputs[i]].kind != TORT_TENSOR;
    for (int32_t i = 0; i < node->output_count; i++)
        values |= node->outputs[i] >= 0 && b->planned->infos[node->outputs[i]].kind != TORT_TENSOR;
    return values;
}

static tort_status add_kernel(builder *b, int32_t index) {
    const tort_node *node = &b->graph->nodes[index];
    const tort_unit *unit = &b->lowered->units[index];
    int32_t memory = b->session->chain[unit->provider].memory;
    tort_step step = {.kind = TORT_STEP_KERNEL,
                      .node = index,
                      .provider = unit->provider,
                      .memory = memory,
                      .input_count = node->input_count,
                      .output_count = node->output_count};
    step.operands = reserve_operands(b, node->input_count + node->output_count);
    if (step.operands < 0) return tort_out_of_memory(b->error, 0);
    step.values = makes_values(b, node);
    tort_status status = add_inputs(b, index, step.operands);
    const bool asked = !step.values && shaped_by_data(b, node);
    if (!status && !step.values && (asked || shapes_unknown(b, node))) status = add_shape_operands(b, index, &step);
    if (!status)
        status = add_outputs(b, index, step.operands + node->input_count, memory,
                             step.values ? TORT_HOME_OBJECT : TORT_HOME_ARENA, -1);
    if (status) return status;
    step.dynamic = !step.values && (asked || step_is_dynamic(b, &step));
    status = measure(b, index, &step);
    return status ? status : add_step(b, &step);
}

/* Bodies say in which memory they take what goes in, and leave what comes out. */
static tort_status add_call(builder *b, int32_t index) {
    const tort_node *node = &b->graph->nodes[index];
    tort_step step = {.kind = TORT_STEP_CALL,
                      .node = index,
                      .provider = -1,
                      .input_count = node->input_count,
                      .output_count = node->output_count};
    step.operands = reserve_operands(b, node->input_count + node->output_count);
    if (step.operands < 0) return tort_out_of_memory(b->error, 0);
    tort_status status = add_inputs(b, index, step.operands);
    for (int32_t i = 0; !status && i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        const int32_t slot =
            add_slot(b, node->outputs[i], tort_result_memory(b->lowered, index, i), TORT_HOME_ARENA, -1);
        if (slot < 0) status = tort_out_of_memory(b->error, 0);
        b->plan->operands[step.operands + node->input_count + i] = slot;
    }
    return status ? status : add_step(b, &step);
}

/* An alias stays in the memory of its input; metadata reads only a shape, wherever the value is. */
static tort_status add_host_step(builder *b, int32_t index) {
    const tort_node *node = &b->graph->nodes[index];
    bool alias = node->op->flags & TORT_OP_ALIAS;
    tort_step step = {.kind = alias ? TORT_STEP_ALIAS : TORT_STEP_SHAPE,
                      .node = index,
                      .provider = -1,
                      .input_count = 1,
                      .output_count = 1};
    if (node->outputs[0] < 0) return TORT_OK; /* nobody wants it */
    int32_t memory = b->home_of[node->inputs[0]] > 0 ? b->home_of[node->inputs[0]] : 0, input;
    step.operands = reserve_operands(b, 2);
    if (step.operands < 0) return tort_out_of_memory(b->error, 0);
    tort_status status = ensure(b, node->inputs[0], memory, index, &input);
    if (status) return status;
    b->plan->operands[step.operands] = input;
    const bool asked = shaped_by_data(b, node);
    if (asked || shapes_unknown(b, node)) status = add_shape_operands(b, index, &step);
    if (status) return status;
    int32_t output = alias ? add_slot(b, node->outputs[0], memory, TORT_HOME_ALIAS, input)
                           : add_slot(b, node->outputs[0], 0, TORT_HOME_ARENA, -1);
    if (output < 0) return tort_out_of_memory(b->error, 0);
    b->plan->operands[step.operands + 1] = output;
    step.dynamic = asked || step_is_dynamic(b, &step);
    return add_step(b, &step);
}

/* ---- graph outputs ----------------------------------------------------------------------------------------------- */

/* The slot whose bytes a slot has. */
static tort_slot *root_of(tort_plan *plan, int32_t slot) {
    while (plan->slots[slot].home == TORT_HOME_ALIAS) slot = plan->slots[slot].source;
    return &plan->slots[slot];
}

static bool has_own_bytes(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_DYNAMIC || slot->home == TORT_HOME_OBJECT;
}

/* An output must be in the memory it is bound to, and its bytes the context's and its own: what is the caller's input,
 * a weight, or an output already, is copied. */
static tort_status add_output(builder *b, int32_t port) {
    int32_t value = b->graph->outputs[port], memory = b->lowered->output_memory[port], slot;
    tort_status status = ensure(b, value, memory, -1, &slot);
    if (status) return status;
    const tort_slot *root = root_of(b->plan, slot);
    if (b->planned->infos[value].kind == TORT_TENSOR && (!has_own_bytes(root) || root->output >= 0)) {
        int32_t copy = add_slot(b, value, memory, TORT_HOME_ARENA, -1);
        if (copy < 0) return tort_out_of_memory(b->error, 0);
        *slot_cell(b, value, memory) = slot; /* another output of the same value gets a copy of its own */
        status = add_copy(b, slot, copy, -1);
        slot = copy;
    }
    if (b->planned->infos[value].kind == TORT_TENSOR) root_of(b->plan, slot)->output = port;
    b->plan->output_slots[port] = slot;
    return status;
}

/* ---- life times and memory --------------------------------------------------------------------------------------- */

static void see(tort_plan *plan, int32_t slot, int32_t step) {
    while (slot >= 0) {
        tort_slot *s = &plan->slots[slot];
        if (step < s->first_step) s->first_step = step;
        if (step > s->last_step) s->last_step = step;
        slot = s->home == TORT_HOME_ALIAS ? s->source : -1;
    }
}

static void set_life_times(builder *b) {
    tort_plan *plan = b->plan;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        plan->slots[i].first_step = INT32_MAX;
        plan->slots[i].last_step = -1;
    }
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        for (int32_t k = 0; k < step->input_count + step->output_count; k++)
            see(plan, plan->operands[step->operands + k], i);
        for (int32_t k = 0; k < step->shape_count; k++) see(plan, plan->operands[step->shape_operands + k], i);
    }
    for (int32_t i = 0; i < plan->output_count; i++) see(plan, plan->output_slots[i], plan->step_count);
}

static tort_status lay_out_memory(builder *b, int32_t memory) {
    tort_plan *plan = b->plan;
    size_t room = (size_t)plan->slot_count + (size_t)plan->step_count;
    uint64_t align = memory ? TORT_DEVICE_ALIGN : TORT_HOST_ALIGN;
    tort_block *blocks = tort_alloc_zero(&b->session->env, room + 1, sizeof *blocks);
    uint64_t **targets = tort_alloc_zero(&b->session->env, room + 1, sizeof *targets);
    int32_t count = 0;
    tort_status status = blocks && targets ? TORT_OK : tort_out_of_memory(b->error, room * sizeof *blocks);
    for (int32_t i = 0; !status && i < plan->slot_count; i++) {
        tort_slot *slot = &plan->slots[i];
        if (slot->memory != memory || slot->home != TORT_HOME_ARENA || slot->bytes < 0 || slot->last_step < 0) continue;
        targets[count] = &slot->offset;
        blocks[count++] = (tort_block){(uint64_t)slot->bytes, 0, slot->first_step, slot->last_step};
    }
    for (int32_t i = 0; !status && i < plan->step_count; i++) {
        tort_step *step = &plan->steps[i];
        if (!step->scratch_bytes || step->memory != memory) continue;
        targets[count] = &step->scratch_offset;
        blocks[count++] = (tort_block){step->scratch_bytes, 0, i, i};
    }
    if (!status) {
        uint64_t naive = 0;
        plan->arena_bytes[memory] = tort_memory_plan(&b->session->env, blocks, count, align);
        for (int32_t i = 0; i < count; i++) {
            *targets[i] = blocks[i].offset;
            naive += (blocks[i].bytes + align - 1) & ~(align - 1);
        }
        plan->naive_bytes[memory] = naive;
        if (plan->arena_bytes[memory] == UINT64_MAX)
            status = tort_fail(b->error, TORT_E_MEMORY, "the plan does not fit an address space, or memory ran out");
    }
    tort_free(&b->session->env, blocks, (room + 1) * sizeof *blocks);
    tort_free(&b->session->env, targets, (room + 1) * sizeof *targets);
    return status;
}

/* The node that makes the largest value of a memory; -1: none does. */
static int32_t largest_maker(const builder *b, int32_t memory, uint64_t *bytes) {
    int32_t node = -1;
    *bytes = 0;
    for (int32_t i = 0; i < b->plan->slot_count; i++) {
        const tort_slot *slot = &b->plan->slots[i];
        if (slot->memory != memory || slot->home != TORT_HOME_ARENA || slot->bytes <= (int64_t)*bytes) continue;
        *bytes = (uint64_t)slot->bytes;
        node = b->graph->values[slot->value].producer;
    }
    return node;
}

/* Weights and values together, against what the memory's provider may use. */
static tort_status check_room(const builder *b, int32_t memory) {
    const tort_session *session = b->session;
    const uint64_t values = b->plan->arena_bytes[memory];
    if (values <= tort_room_for_values(session, memory)) return TORT_OK;
    const tort_link *link = session->memories[memory].owner;
    uint64_t largest;
    const int32_t maker = largest_maker(b, memory, &largest);
    char weights[64] = "", most[160] = "";
    if (!link->target.values_only)
        snprintf(weights, sizeof weights, "%llu bytes for weights and ",
                 (unsigned long long)session->weight_bytes[memory]);
    if (maker >= 0)
        snprintf(most, sizeof most, " (the largest, %llu, is made by node %d \"%.60s\")", (unsigned long long)largest,
                 maker, b->graph->nodes[maker].name);
    tort_fail(b->error, TORT_E_MEMORY, "%s needs %s%llu for values%s, but may use %llu%s: %s, or lower the batch",
              link->provider->name, weights, (unsigned long long)values, most, (unsigned long long)link->target.memory,
              link->target.values_only ? " where no mem_limit says otherwise" : "",
              memory ? "raise mem_limit, pin nodes to another provider" : "allow more with the option mem_limit");
    if (b->error) b->error->provider = link->provider->name;
    return TORT_E_MEMORY;
}

static tort_status lay_out(builder *b) {
    tort_status status = TORT_OK;
    set_life_times(b);
    for (int32_t m = 0; !status && m < b->plan->memory_count; m++) {
        status = lay_out_memory(b, m);
        if (!status) status = check_room(b, m);
    }
    return status;
}

/* ---- shapes of this plan ----------------------------------------------------------------------------------------- */

static tort_status take_input_shapes(builder *b, const tort_tensor *inputs) {
    b->plan->complete = true;
    for (int32_t i = 0; i < b->graph->input_count; i++) {
        tort_info *info = &b->planned->infos[b->graph->inputs[i]];
        if (inputs && !info->constant) {
            info->rank = inputs[i].rank;
            memcpy(info->dims, inputs[i].dims, sizeof inputs[i].dims);
        }
        const bool matters = info->kind == TORT_TENSOR && tort_value_is_read(&b->graph->values[b->graph->inputs[i]]);
        if (matters && !tort_shape_known(info)) b->plan->complete = false;
        for (int32_t d = 0; d < TORT_MAX_RANK; d++)
            b->planned->input_dims[i * TORT_MAX_RANK + d] = d < info->rank ? info->dims[d] : 0;
    }
    return TORT_OK;
}

/* A node whose outputs are all constant has nothing left to infer. */
static bool is_settled(const builder *b, const tort_node *node) {
    for (int32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] >= 0 && !b->planned->infos[node->outputs[i]].constant) return false;
    return true;
}

static tort_status infer_concrete(builder *b) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < b->graph->node_count; i++) {
        const tort_unit *unit = &b->lowered->units[i];
        if (unit->provider == TORT_AT_FUSED && !unit->asked) continue;
        if (!is_settled(b, &b->graph->nodes[i])) status = tort_pass_infer(&b->pass, i, b->error);
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status build_steps(builder *b) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < b->graph->input_count; i++) {
        const int32_t value = b->graph->inputs[i];
        b->plan->input_slots[i] = -1;
        if (b->planned->infos[value].constant) continue; /* a body captures it: it is the same constant inside */
        b->plan->input_slots[i] = add_slot(b, value, b->lowered->input_memory[i], TORT_HOME_INPUT, i);
        if (b->plan->input_slots[i] < 0) status = tort_out_of_memory(b->error, 0);
    }
    for (int32_t i = 0; !status && i < b->graph->node_count; i++) {
        int32_t provider = b->lowered->units[i].provider;
        if (provider >= 0)
            status = add_kernel(b, i);
        else if (tort_unit_trips(b->lowered, i))
            status = add_call(b, i);
        else if (provider == TORT_AT_HOST)
            status = add_host_step(b, i);
    }
    for (int32_t i = 0; !status && i < b->graph->output_count; i++) status = add_output(b, i);
    return status;
}

static tort_status allocate(builder *b) {
    const tort_env *env = &b->session->env;
    tort_planned *planned = b->planned;
    size_t values = (size_t)b->graph->value_count, memories = (size_t)b->session->memory_count;
    tort_arena_init(&planned->arena, env);
    planned->infos = tort_arena_array(&planned->arena, values + 1, sizeof *planned->infos);
    planned->input_dims = tort_arena_array(&planned->arena, (size_t)b->graph->input_count * TORT_MAX_RANK + 1,
                                           sizeof *planned->input_dims);
    b->plan->input_slots = tort_arena_array(&planned->arena, (size_t)b->graph->input_count + 1, sizeof(int32_t));
    b->plan->output_slots = tort_arena_array(&planned->arena, (size_t)b->graph->output_count + 1, sizeof(int32_t));
    b->plan->arena_bytes = tort_arena_array(&planned->arena, memories, sizeof(uint64_t));
    b->plan->naive_bytes = tort_arena_array(&planned->arena, memories, sizeof(uint64_t));
    b->slot_of = tort_alloc(env, (values * memories + 1) * sizeof *b->slot_of);
    b->home_of = tort_alloc(env, (values + 1) * sizeof *b->home_of);
    if (!planned->infos || !planned->input_dims || !b->plan->input_slots || !b->plan->output_slots ||
        !b->plan->arena_bytes || !b->plan->naive_bytes || !b->slot_of || !b->home_of ||
        !tort_dims_copy(&planned->dims, &b->session->dims, env, &planned->arena))
        return tort_out_of_memory(b->error, values * sizeof *planned->infos);
    memset(b->slot_of, 0xff, (values * memories + 1) * sizeof *b->slot_of);
    memset(b->home_of, 0xff, (values + 1) * sizeof *b->home_of);
    memcpy(planned->infos, b->lowered->infos, values * sizeof *planned->infos);
    b->plan->memory_count = b->session->memory_count;
    b->plan->provider_count = b->session->chain_count;
    b->plan->node_count = b->graph->node_count;
    b->plan->value_count = b->graph->value_count;
    b->plan->input_count = b->graph->input_count;
    b->plan->output_count = b->graph->output_count;
    return TORT_OK;
}

static tort_status make_plan(builder *b, const tort_tensor *inputs) {
    tort_planned *planned = b->planned;
    tort_status status =
        tort_lowered_pass(b->lowered, &b->pass, planned->infos, &planned->dims, &planned->arena, b->error);
    if (status) return status;
    status = take_input_shapes(b, inputs);
    if (!status && inputs) status = infer_concrete(b);
    if (!status) status = build_steps(b);
    if (!status) status = lay_out(b);
    if (!status) status = tort_plan_check(&b->session->env, b->plan, b->error);
    tort_pass_free(&b->pass);
    return status;
}

tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **out, tort_error *error) {
    tort_session *session = lowered->session;
    builder b = {.session = session, .lowered = lowered, .graph = &lowered->graph, .error = error};
    b.planned = tort_alloc_zero(&session->env, 1, sizeof *b.planned);
    if (!b.planned) return tort_out_of_memory(error, sizeof *b.planned);
    b.planned->lowered = lowered;
    b.plan = &b.planned->plan;
    tort_status status = allocate(&b);
    if (!status) status = make_plan(&b, inputs);
    const size_t values = (size_t)b.graph->value_count;
    tort_free(&session->env, b.slot_of, (values * (size_t)session->memory_count + 1) * sizeof *b.slot_of);
    tort_free(&session->env, b.home_of, (values + 1) * sizeof *b.home_of);
    if (!status)
        *out = b.planned;
    else
        tort_planned_free(b.planned);
    return status;
}

void tort_planned_free(tort_planned *planned) {
    if (!planned) return;
    const tort_env *env = &planned->lowered->session->env;
    tort_unfit_plan(planned);
    tort_free(env, planned->plan.slots, (size_t)planned->slot_capacity * sizeof *planned->plan.slots);
    tort_free(env, planned->plan.steps, (size_t)planned->step_capacity * sizeof *planned->plan.steps);
    tort_free(env, planned->plan.operands, (size_t)planned->operand_capacity * sizeof *planned->plan.operands);
    tort_free(env, planned->plan.literals, (size_t)planned->literal_capacity);
    tort_free(env, planned->params, (size_t)planned->params_capacity);
    tort_dims_free(&planned->dims);
    tort_arena_free(&planned->arena);
    tort_free(env, planned, sizeof *planned);
}
