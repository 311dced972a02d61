/* plan_steps.c - makes the outline of a plan: steps in order, with copies between memories and conversions between
 * layouts, and the lifetime of each value.
 *
 * An outline depends on the placed graph and on TORT_KNOWN_ bits, not on sizes, so plans for other input shapes with
 * the same bits share it. If input shapes are unknown it is incomplete: for reports only. This file must not decide
 * where a node runs: place.c has. Read next: plan_sizes.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/lowered/bodies.h"
#include "runtime/core/lowered/unit_view.h"
#include "runtime/core/plan/planned.h"

typedef struct builder {
    tort_session *session;
    const tort_lowered *lowered;
    const tort_graph *graph;
    const uint8_t *known;
    tort_outline *outline;
    tort_plan *plan;
    int32_t *slot_of; /* by value * form_count + form: the slot; -1 */
    int32_t *made_as; /* by value: the form in which it was made; -1 */
    int32_t form_count;
    tort_error *error;
} builder;

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* A form is a number for a memory and layout: first each memory, plain; then each layout,
 * which belongs to one memory. */
static int32_t layout_of(const builder *b, int32_t form) {
    return form < b->session->memory_count ? 0 : form - b->session->memory_count + 1;
}

static int32_t memory_of(const builder *b, int32_t form) {
    const int32_t layout = layout_of(b, form);
    return layout ? b->session->layouts[layout].link->memory : form;
}

static int32_t form_of(const builder *b, int32_t memory, int32_t layout) {
    return layout ? b->session->memory_count + layout - 1 : memory;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static int32_t *slot_cell(const builder *b, int32_t value, int32_t form) {
    return &b->slot_of[(size_t)value * (size_t)b->form_count + (size_t)form];
}

static bool is_sized(const builder *b, int32_t value) {
    return b->known[value] & TORT_KNOWN_BYTES;
}

static tort_kind kind_of(const builder *b, int32_t value) {
    return b->lowered->infos[value].kind;
}

/* A new slot for a value in a form; -1: out of memory. */
static int32_t add_slot(builder *b, int32_t value, int32_t form, tort_home home, int32_t source) {
    if (!tort_grow(&b->session->env, (void **)&b->plan->slots, &b->outline->slot_capacity, b->plan->slot_count + 1,
                   sizeof *b->plan->slots))
        return -1;
    tort_slot slot = {.value = value,
                      .memory = memory_of(b, form),
                      .layout = layout_of(b, form),
                      .home = home,
                      .source = source,
                      .output = -1,
                      .within = -1,
                      .rank = -1,
                      .bytes = -1,
                      .first_step = INT32_MAX,
                      .last_step = -1};
    if (kind_of(b, value) != TORT_TENSOR && home != TORT_HOME_INPUT) slot.home = TORT_HOME_OBJECT;
    if (slot.home == TORT_HOME_ARENA && !is_sized(b, value) && b->plan->complete) slot.home = TORT_HOME_DYNAMIC;
    b->plan->slots[b->plan->slot_count] = slot;
    *slot_cell(b, value, form) = b->plan->slot_count;
    if (b->made_as[value] < 0) b->made_as[value] = form;
    return b->plan->slot_count++;
}

static int32_t reserve_operands(builder *b, int32_t count) {
    int32_t first = b->plan->operand_count;
    if (!tort_grow(&b->session->env, (void **)&b->plan->operands, &b->outline->operand_capacity, first + count,
                   sizeof *b->plan->operands))
        return -1;
    for (int32_t i = 0; i < count; i++) b->plan->operands[first + i] = -1;
    b->plan->operand_count += count;
    return first;
}

static tort_status add_step(builder *b, const tort_step *step) {
    if (!tort_grow(&b->session->env, (void **)&b->plan->steps, &b->outline->step_capacity, b->plan->step_count + 1,
                   sizeof *b->plan->steps))
        return tort_out_of_memory(b->error, sizeof *step);
    b->plan->steps[b->plan->step_count++] = *step;
    return TORT_OK;
}

/* ---- where an operand comes from --------------------------------------------------------------------------------- */

static tort_status ensure(builder *b, int32_t value, int32_t form, int32_t node, int32_t *slot);

/* The provider whose copy function moves bytes to and from a device memory; -1: the core moves them within the host. */
static int32_t owner_of(const builder *b, int32_t memory) {
    return memory ? (int32_t)(b->session->memories[memory].owner - b->session->chain) : -1;
}

/* Adds a step of one input and one output that moves a value from one slot to another. */
static tort_status add_move(builder *b, tort_step step, int32_t from, int32_t to) {
    step.operands = reserve_operands(b, 2);
    if (step.operands < 0) return tort_out_of_memory(b->error, 0);
    b->plan->operands[step.operands] = from;
    b->plan->operands[step.operands + 1] = to;
    step.input_count = step.output_count = 1;
    step.dynamic = b->plan->slots[to].home == TORT_HOME_DYNAMIC;
    return add_step(b, &step);
}

static tort_status add_copy(builder *b, int32_t from, int32_t to, int32_t node) {
    const int32_t source = b->plan->slots[from].memory, target = b->plan->slots[to].memory;
    const tort_step step = {.kind = TORT_STEP_COPY,
                            .node = node,
                            .provider = owner_of(b, target ? target : source),
                            .direction = source == target ? TORT_ON_DEVICE
                                         : target         ? TORT_TO_DEVICE
                                                          : TORT_TO_HOST};
    return add_move(b, step, from, to);
}

static tort_status add_conversion(builder *b, int32_t from, int32_t to, int32_t node) {
    const int32_t source = b->plan->slots[from].layout, target = b->plan->slots[to].layout;
    const tort_link *link = b->session->layouts[target ? target : source].link;
    const int32_t provider = (int32_t)(link - b->session->chain);
    return add_move(b, (tort_step){.kind = TORT_STEP_CONVERT, .node = node, .provider = provider}, from, to);
}

/* The form from which one step makes another one. A layout is made from plain in its memory. Plain is made in
 * the same memory from the layout, else copied from plain in the memory where the value was made, between two
 * devices through the host. */
static int32_t form_before(const builder *b, int32_t value, int32_t form) {
    const int32_t made = b->made_as[value];
    if (layout_of(b, form)) return memory_of(b, form);
    const int32_t memory = memory_of(b, made);
    if (memory == form) return made;
    return memory && form ? 0 : memory;
}

/* Adds the copy or conversion that makes an existing value in another form. */
static tort_status bring(builder *b, int32_t value, int32_t form, int32_t node, int32_t *slot) {
    int32_t from = -1;
    if (!layout_of(b, form) && b->made_as[value] < 0)
        return tort_fail(b->error, TORT_E_INTERNAL, "value \"%s\" is read before it is made",
                         b->graph->values[value].name);
    const int32_t before = form_before(b, value, form);
    tort_status status = ensure(b, value, before, node, &from);
    if (status) return status;
    *slot = add_slot(b, value, form, TORT_HOME_ARENA, -1);
    if (*slot < 0) return tort_out_of_memory(b->error, 0);
    const bool converts = layout_of(b, form) || layout_of(b, before);
    return (converts ? add_conversion : add_copy)(b, from, *slot, node);
}

/* The slot of a value in a form; adds constants, literals, copies and conversions when first needed. */
static tort_status ensure(builder *b, int32_t value, int32_t form, int32_t node, int32_t *slot) {
    *slot = *slot_cell(b, value, form);
    if (*slot >= 0) return TORT_OK;
    if (layout_of(b, form)) return bring(b, value, form, node, slot);
    if (tort_is_constant(b->lowered, value)) {
        *slot = add_slot(b, value, form, TORT_HOME_CONSTANT, -1);
        return *slot < 0 ? tort_out_of_memory(b->error, 0) : TORT_OK;
    }
    int32_t producer = b->graph->values[value].producer;
    bool literal = producer >= 0 && b->lowered->units[producer].provider == TORT_AT_FOLDED;
    if (literal && form == 0) {
        *slot = add_slot(b, value, 0, TORT_HOME_LITERAL, -1);
        return *slot < 0 ? tort_out_of_memory(b->error, 0) : TORT_OK;
    }
    if (literal) {
        int32_t host;
        tort_status status = ensure(b, value, 0, node, &host);
        if (!status) *slot = add_slot(b, value, form, TORT_HOME_UPLOADED, host);
        return status || *slot >= 0 ? status : tort_out_of_memory(b->error, 0);
    }
    return bring(b, value, form, node, slot);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static tort_status add_inputs(builder *b, int32_t index, int32_t operands) {
    const tort_node *node = tort_unit_node(b->lowered, index);
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t where = node->inputs[i] < 0 ? -1 : tort_operand_memory(b->lowered, index, i);
        int32_t slot;
        if (where < 0) continue;
        const int32_t layout = tort_input_layout(&b->lowered->units[index], i);
        tort_status status = ensure(b, node->inputs[i], form_of(b, where, layout), index, &slot);
        if (status) return status;
        b->plan->operands[operands + i] = slot;
    }
    return TORT_OK;
}

static tort_status add_outputs(builder *b, int32_t index, int32_t operands, int32_t memory, tort_home home) {
    const tort_node *node = tort_unit_node(b->lowered, index);
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        const int32_t form = form_of(b, memory, tort_output_layout(&b->lowered->units[index], i));
        int32_t slot = add_slot(b, node->outputs[i], form, home, -1);
        if (slot < 0) return tort_out_of_memory(b->error, 0);
        b->plan->operands[operands + i] = slot;
    }
    return TORT_OK;
}

static bool step_is_dynamic(const builder *b, const tort_step *step) {
    if (!b->plan->complete) return false;
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        int32_t slot = b->plan->operands[step->operands + i];
        if (slot >= 0 && !is_sized(b, b->plan->slots[slot].value)) return true;
    }
    return false;
}

/* True if data that is known only in the run determines the node's output shapes. Even if inference
 * knows a shape without it (Reshape of 12 elements to a list of length 1), infer is called again before
 * the step, to check the data. */
static bool shaped_by_data(const builder *b, const tort_node *node) {
    if (!b->plan->complete) return false;
    for (int32_t i = 0; i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        const bool known = b->known[node->inputs[i]] & TORT_KNOWN_ELEMENTS;
        if (!known && !tort_is_constant(b->lowered, node->inputs[i])) return true;
    }
    return false;
}

/* Adds host slots for the inputs whose values determine shapes, so that the step can infer in the run. */
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

/* True if a shape of the node is unknown though all input shapes of the model are known. */
static bool shapes_unknown(const builder *b, const tort_node *node) {
    bool unknown = false;
    for (int32_t i = 0; i < node->input_count; i++)
        unknown |= node->inputs[i] >= 0 && !(b->known[node->inputs[i]] & TORT_KNOWN_SHAPE);
    for (int32_t i = 0; i < node->output_count; i++)
        unknown |= node->outputs[i] >= 0 && !(b->known[node->outputs[i]] & TORT_KNOWN_SHAPE);
    return unknown && b->plan->complete;
}

static tort_status reserve_params(builder *b, int32_t index, tort_step *step) {
    size_t end;
    step->params = b->plan->params_bytes;
    if (!tort_add_size((uint64_t)step->params, tort_unit_params_bytes(b->lowered, index), &end) ||
        !tort_align_size(end, TORT_PARAMS_ALIGN, &end))
        return tort_out_of_memory(b->error, 0);
    b->plan->params_bytes = end;
    return TORT_OK;
}

/* True if an operand is not a tensor: the kernel then makes tort_values of all its outputs. */
static bool makes_values(const builder *b, const tort_node *node) {
    bool values = false;
    for (int32_t i = 0; i < node->input_count; i++)
        values |= node->inputs[i] >= 0 && kind_of(b, node->inputs[i]) != TORT_TENSOR;
    for (int32_t i = 0; i < node->output_count; i++)
        values |= node->outputs[i] >= 0 && kind_of(b, node->outputs[i]) != TORT_TENSOR;
    return values;
}

/* Sizes of segments depend on input shapes only, so an unknown size is one that overflows. */
static tort_status refuse_dynamic(const builder *b, int32_t index) {
    tort_fail(b->error, TORT_E_INPUT, "for these input shapes the size of a value is not known before the run");
    tort_error_at_unit(b->error, b->lowered, index);
    return TORT_E_INPUT;
}

static tort_status add_kernel(builder *b, int32_t index) {
    const tort_node *node = tort_unit_node(b->lowered, index);
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
    if (!status && !step.values && !unit->kernel->measure && (asked || shapes_unknown(b, node)))
        status = add_shape_operands(b, index, &step);
    if (!status)
        status = add_outputs(b, index, step.operands + node->input_count, memory,
                             step.values ? TORT_HOME_OBJECT : TORT_HOME_ARENA);
    if (status) return status;
    step.dynamic = !step.values && (asked || step_is_dynamic(b, &step));
    if (step.dynamic && unit->segment) return refuse_dynamic(b, index);
    b->outline->fits |= !step.dynamic && unit->kernel->fit;
    status = reserve_params(b, index, &step);
    return status ? status : add_step(b, &step);
}

/* Inputs and outputs are in the memories that the bodies chose, see bodies.c. */
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

/* An alias stays in the memory of its input; metadata reads a shape only, so any form of the value will do. */
static tort_status add_host_step(builder *b, int32_t index) {
    const tort_node *node = &b->graph->nodes[index];
    bool alias = node->op->flags & TORT_OP_ALIAS;
    tort_step step = {.kind = alias ? TORT_STEP_ALIAS : TORT_STEP_SHAPE,
                      .node = index,
                      .provider = -1,
                      .input_count = 1,
                      .output_count = 1};
    if (node->outputs[0] < 0) return TORT_OK; /* no node reads it */
    const int32_t made = b->made_as[node->inputs[0]] < 0 ? 0 : b->made_as[node->inputs[0]];
    const int32_t memory = memory_of(b, made);
    int32_t input;
    step.operands = reserve_operands(b, 2);
    if (step.operands < 0) return tort_out_of_memory(b->error, 0);
    tort_status status = ensure(b, node->inputs[0], alias ? memory : made, index, &input);
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

static bool has_own_bytes(const tort_slot *slot) {
    return slot->home == TORT_HOME_ARENA || slot->home == TORT_HOME_DYNAMIC || slot->home == TORT_HOME_OBJECT;
}

/* An output must be in its bound memory and own its bytes: an input of the caller, a weight, or a value that is another
 * output already, is copied. Exception: carried values that a trip passes on unchanged. */
static tort_status add_output(builder *b, int32_t port) {
    int32_t value = b->graph->outputs[port], memory = b->lowered->output_memory[port], slot;
    tort_status status = ensure(b, value, memory, -1, &slot);
    if (status) return status;
    b->plan->output_slots[port] = slot;
    if (b->lowered->passed[port]) return TORT_OK;
    const tort_slot *root = &b->plan->slots[tort_plan_owner(b->plan, slot)];
    if (kind_of(b, value) == TORT_TENSOR && (!has_own_bytes(root) || root->output >= 0)) {
        int32_t copy = add_slot(b, value, memory, TORT_HOME_ARENA, -1);
        if (copy < 0) return tort_out_of_memory(b->error, 0);
        *slot_cell(b, value, memory) = slot; /* another output of the same value gets its own copy */
        status = add_copy(b, slot, copy, -1);
        slot = copy;
    }
    if (kind_of(b, value) == TORT_TENSOR) b->plan->slots[tort_plan_owner(b->plan, slot)].output = port;
    b->plan->output_slots[port] = slot;
    return status;
}

/* ---- lifetimes --------------------------------------------------------------------------------------------------- */

static void see(tort_plan *plan, int32_t slot, int32_t step) {
    while (slot >= 0) {
        tort_slot *s = &plan->slots[slot];
        if (step < s->first_step) s->first_step = step;
        if (step > s->last_step) s->last_step = step;
        slot = s->home == TORT_HOME_ALIAS ? s->source : -1;
    }
}

/* Makes the slot live from the first step to the end, as its contents stay from run to run. */
static void keep(const tort_plan *plan, tort_slot *slot) {
    slot->first_step = 0;
    slot->last_step = plan->step_count;
}

/* True for copies of model outputs to the host. Not in bodies, whose outputs the caller reads at once. */
static bool is_late(const builder *b, int32_t index) {
    const tort_step *step = &b->plan->steps[index];
    if (step->kind != TORT_STEP_COPY || step->provider < 0 || step->direction != TORT_TO_HOST) return false;
    return b->lowered == tort_main_graph(b->session) &&
           b->plan->slots[b->plan->operands[step->operands + 1]].last_step == index;
}

static void set_life_times(builder *b) {
    tort_plan *plan = b->plan;
    for (int32_t i = 0; i < plan->step_count; i++) {
        const tort_step *step = &plan->steps[i];
        for (int32_t k = 0; k < step->input_count + step->output_count; k++)
            see(plan, plan->operands[step->operands + k], i);
        for (int32_t k = 0; k < step->shape_count; k++) see(plan, plan->operands[step->shape_operands + k], i);
    }
    for (int32_t i = 0; i < plan->step_count; i++) plan->steps[i].late = is_late(b, i);
    tort_plan_decide_recording(b->lowered, plan);
    for (int32_t i = 0; i < plan->output_count; i++) see(plan, plan->output_slots[i], plan->step_count);
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i].home == TORT_HOME_UPLOADED) keep(plan, &plan->slots[i]);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tort_status build_steps(builder *b) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < b->graph->input_count; i++) {
        const int32_t value = b->graph->inputs[i];
        b->plan->input_slots[i] = -1;
        if (tort_is_constant(b->lowered, value)) continue; /* captured by a body: the same constant is read inside */
        b->plan->input_slots[i] = add_slot(b, value, b->lowered->input_memory[i], TORT_HOME_INPUT, i);
        if (b->plan->input_slots[i] < 0) status = tort_out_of_memory(b->error, 0);
    }
    for (int32_t place = 0; !status && place < b->graph->node_count; place++) {
        const int32_t i = tort_unit_in_order(b->lowered, place);
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

static void set_counts(builder *b, bool complete) {
    tort_plan *plan = b->plan;
    plan->complete = complete;
    plan->memory_count = b->session->memory_count;
    plan->provider_count = b->session->chain_count;
    plan->layout_count = b->session->layout_count;
    plan->node_count = b->graph->node_count;
    plan->value_count = b->graph->value_count;
    plan->input_count = b->graph->input_count;
    plan->output_count = b->graph->output_count;
}

static tort_status build(builder *b) {
    const tort_env *env = &b->session->env;
    const size_t values = (size_t)b->graph->value_count, cells = values * (size_t)b->form_count + 1;
    tort_arena *arena = &b->outline->arena;
    uint8_t *known = tort_arena_array(arena, values + 1, 1);
    b->plan->input_slots = tort_arena_array(arena, (size_t)b->graph->input_count + 1, sizeof(int32_t));
    b->plan->output_slots = tort_arena_array(arena, (size_t)b->graph->output_count + 1, sizeof(int32_t));
    b->slot_of = tort_alloc(env, cells * sizeof *b->slot_of);
    b->made_as = tort_alloc(env, (values + 1) * sizeof *b->made_as);
    const bool there = known && b->plan->input_slots && b->plan->output_slots && b->slot_of && b->made_as;
    tort_status status = there ? TORT_OK : tort_out_of_memory(b->error, cells * sizeof *b->slot_of);
    if (there) {
        memset(b->slot_of, 0xff, cells * sizeof *b->slot_of);
        memset(b->made_as, 0xff, (values + 1) * sizeof *b->made_as);
        memcpy(known, b->known, values);
        b->outline->known = known;
        status = build_steps(b);
    }
    if (!status) set_life_times(b);
    tort_free(env, b->slot_of, cells * sizeof *b->slot_of);
    tort_free(env, b->made_as, (values + 1) * sizeof *b->made_as);
    return status;
}

tort_status tort_outline_make(const tort_lowered *lowered, const uint8_t *known, bool complete, tort_outline **out,
                              tort_error *error) {
    tort_session *session = lowered->session;
    tort_outline *outline = tort_alloc_zero(&session->env, 1, sizeof *outline);
    if (!outline) return tort_out_of_memory(error, sizeof *outline);
    builder b = {.session = session,
                 .lowered = lowered,
                 .graph = &lowered->graph,
                 .known = known,
                 .outline = outline,
                 .plan = &outline->plan,
                 .form_count = session->memory_count + session->layout_count - 1,
                 .error = error};
    tort_arena_init(&outline->arena, &session->env);
    set_counts(&b, complete);
    tort_status status = build(&b);
    if (!status) status = tort_plan_check_steps(&outline->plan, error);
    if (status)
        tort_outline_free(session, outline);
    else
        *out = outline;
    return status;
}

void tort_outline_free(const tort_session *session, tort_outline *outline) {
    if (!outline) return;
    const tort_env *env = &session->env;
    tort_free(env, outline->plan.slots, (size_t)outline->slot_capacity * sizeof *outline->plan.slots);
    tort_free(env, outline->plan.steps, (size_t)outline->step_capacity * sizeof *outline->plan.steps);
    tort_free(env, outline->plan.operands, (size_t)outline->operand_capacity * sizeof *outline->plan.operands);
    tort_arena_free(&outline->arena);
    tort_free(env, outline, sizeof *outline);
}
