/* ports.c - the values that callers of a compiled model give and take: inputs and outputs of the model; or, by the
 * options, what the first step makes of an input, and what the last step makes an output of: integers beside a border
 * of scales, a value in the layout of its kernel. These, and all outputs, are in callers' buffers and not in the arena,
 * so the plan is laid out anew. */
#include <string.h>

#include "runtime/firmware/compile/compilation.h"
#include "runtime/core/plan/plan_parts.h"

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The only step that reads the slot, as its input 0; -1: others read it too, it is an output, or it has a second shape.
 */
static int32_t reader_of(const tort_plan *plan, int32_t slot) {
    int32_t reader = -1, count = plan->slots[slot].output >= 0;
    for (int32_t i = 0; i < plan->slot_count; i++)
        count += plan->slots[i].home == TORT_HOME_ALIAS && plan->slots[i].source == slot;
    for (int32_t i = 0; i < plan->step_count; i++)
        for (int32_t k = 0; k < plan->steps[i].input_count; k++) {
            if (plan->operands[plan->steps[i].operands + k] != slot) continue;
            reader = k ? -1 : i;
            count++;
        }
    return count == 1 ? reader : -1;
}

static bool is_border(const tort_compilation *c, const tort_step *step) {
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && c->lowered->units[step->node].kernel->border;
}

static bool converts(const tort_compilation *c, const tort_step *step) {
    if (step->kind != TORT_STEP_CONVERT || !c->layout) return false;
    const int32_t to = c->plan->operands[step->operands + 1];
    const tort_layout *layout = c->session->layouts[c->plan->slots[to].layout].layout;
    return layout && !strcmp(layout->name, c->layout);
}

/* Follows an input through steps that the caller does instead. */
static void find_input(tort_compilation *c, int32_t input) {
    const tort_plan *plan = c->plan;
    tort_compile_port *port = &c->inputs[input];
    *port = (tort_compile_port){.slot = plan->input_slots[input], .border = -1};
    for (int32_t step; port->slot >= 0 && (step = reader_of(plan, port->slot)) >= 0;) {
        const bool border = c->integers && port->border < 0 && is_border(c, &plan->steps[step]);
        if (!border && !converts(c, &plan->steps[step])) break;
        if (border) port->border = step;
        port->in_layout = port->in_layout || !border;
        c->skipped[step] = true;
        port->slot = plan->operands[plan->steps[step].operands + plan->steps[step].input_count];
        tort_slot *slot = &c->planned->plan.slots[port->slot];
        slot->home = TORT_HOME_INPUT;
        slot->source = input;
    }
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static bool is_read(const tort_plan *plan, int32_t slot) {
    for (int32_t i = 0; i < plan->step_count; i++)
        for (int32_t k = 0; k < plan->steps[i].input_count; k++)
            if (tort_plan_owner(plan, plan->operands[plan->steps[i].operands + k]) == slot) return true;
    return false;
}

/* The step that writes a slot; -1: none. */
static int32_t maker_of(const tort_plan *plan, int32_t slot) {
    const int32_t step = plan->slots[slot].first_step;
    if (step < 0 || step >= plan->step_count || plan->steps[step].output_count != 1) return -1;
    return plan->operands[plan->steps[step].operands + plan->steps[step].input_count] == slot ? step : -1;
}

/* Moves an output, or what it is made of, to the caller's buffer. One that is an input, a constant, or the bytes of
 * another output is copied at the end. */
static void find_output(tort_compilation *c, int32_t output) {
    tort_plan *plan = &c->planned->plan;
    const int32_t owner = tort_plan_owner(plan, plan->output_slots[output]);
    tort_compile_port *port = &c->outputs[output];
    *port = (tort_compile_port){.slot = plan->output_slots[output], .border = -1};
    if (owner < 0 || plan->slots[owner].home != TORT_HOME_ARENA || plan->slots[owner].output != output) return;
    plan->slots[owner].home = TORT_HOME_OUTPUT;
    const int32_t step = c->integers && !is_read(plan, owner) ? maker_of(plan, owner) : -1;
    if (step < 0 || !is_border(c, &plan->steps[step])) return;
    const int32_t of = tort_plan_owner(plan, plan->operands[plan->steps[step].operands]);
    if (plan->slots[of].home != TORT_HOME_ARENA || plan->slots[of].output >= 0 || plan->slots[of].layout) return;
    plan->slots[of].home = TORT_HOME_OUTPUT;
    plan->slots[of].output = output;
    c->skipped[step] = true;
    port->border = step;
    port->slot = of;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static bool is_float(tort_type type) {
    return type == TORT_FLOAT || type == TORT_DOUBLE || type == TORT_FLOAT16 || type == TORT_BFLOAT16;
}

static tort_status check_port(const tort_compilation *c, const char *what, const tort_compile_port *port,
                              int32_t value) {
    const char *name = c->lowered->graph.values[value].name;
    const tort_slot *slot = port->slot >= 0 ? &c->plan->slots[port->slot] : NULL;
    if (!slot) return TORT_OK; /* an input that nothing reads */
    if (slot->home == TORT_HOME_DYNAMIC || slot->home == TORT_HOME_OBJECT)
        return tort_fail(c->error, TORT_E_PLACEMENT,
                         "%s '%s' has no size before the run: firmware needs tensors of known shape", what, name);
    if (!tort_compile_type(slot->type))
        return tort_fail(c->error, TORT_E_PLACEMENT,
                         "%s '%s' is %s, which has no type in C99: export the model in another", what, name,
                         tort_type_name(slot->type));
    if (c->integers && is_float(slot->type))
        return tort_fail(c->error, TORT_E_USAGE,
                         "--io integer: %s '%s' is %s, and not %s by one node alone: quantize the model, or leave "
                         "--io out",
                         what, name, tort_type_name(slot->type), *what == 'i' ? "quantized" : "dequantized");
    return TORT_OK;
}

static tort_status check_ports(const tort_compilation *c) {
    const tort_graph *graph = &c->lowered->graph;
    tort_status status = TORT_OK;
    bool in_layout = false;
    for (int32_t i = 0; !status && i < c->plan->input_count; i++) {
        status = check_port(c, "input", &c->inputs[i], graph->inputs[i]);
        in_layout = in_layout || c->inputs[i].in_layout;
    }
    for (int32_t i = 0; !status && i < c->plan->output_count; i++)
        status = check_port(c, "output", &c->outputs[i], graph->outputs[i]);
    if (status || !c->layout || in_layout) return status;
    return tort_fail(c->error, TORT_E_USAGE, "--input-layout: no input is read in layout '%s' alone", c->layout);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* The constant input of a step that has one element of a type; NULL: it is not one. */
static const void *constant_of(const tort_compilation *c, const tort_step *step, int32_t input, tort_type type) {
    const int32_t slot = input < step->input_count ? c->plan->operands[step->operands + input] : -1;
    if (slot < 0 || c->plan->slots[slot].home != TORT_HOME_CONSTANT) return NULL;
    const tort_slot *of = &c->plan->slots[slot];
    if (of->type != type || tort_compile_elements(of) != 1) return NULL;
    return c->session->constants[c->lowered->constant_of[of->value]].host;
}

bool tort_compile_scale(const tort_compilation *c, const tort_compile_port *port, float *scale, int32_t *zero) {
    if (port->border < 0) return false;
    const tort_step *step = &c->plan->steps[port->border];
    const float *number = constant_of(c, step, 1, TORT_FLOAT);
    const int8_t *signed_zero = constant_of(c, step, 2, TORT_INT8);
    const uint8_t *zero_point = constant_of(c, step, 2, TORT_UINT8);
    *zero = signed_zero ? *signed_zero : zero_point ? *zero_point : 0;
    if (number) *scale = *number;
    return number != NULL;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Extends the arena that holds these bytes. */
static void reach(tort_compilation *c, uint64_t offset, uint64_t bytes) {
    const bool slow = c->fast_bytes && offset >= c->fast_bytes;
    const uint64_t end = offset + bytes - (slow ? c->fast_bytes : 0);
    uint64_t *arena = slow ? &c->slow_bytes : &c->arena_bytes;
    if (end > *arena) *arena = end;
}

static void find_arena(tort_compilation *c) {
    const tort_plan *plan = c->plan;
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i].home == TORT_HOME_ARENA && !plan->slots[i].memory)
            reach(c, plan->slots[i].offset, (uint64_t)tort_placed_bytes(&plan->slots[i]));
    for (int32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].scratch_bytes) reach(c, plan->steps[i].scratch_offset, plan->steps[i].scratch_bytes);
}

static tort_status lay_out(tort_compilation *c) {
    tort_plan_unband(&c->planned->plan);
    tort_plan_unshare(&c->planned->plan);
    tort_status status = tort_plan_layout(c->planned, c->error);
    if (!status && c->fast_bytes) status = tort_plan_place(c->planned, c->fast_bytes, c->error);
    if (!status) status = tort_plan_check_sizes(c->plan, c->error);
    return status ? status : tort_plan_check_overlap(c->planned->env, c->plan, c->error);
}

tort_status tort_compile_ports(tort_compilation *c) {
    const tort_plan *plan = c->plan;
    const size_t constants = (size_t)c->session->constant_count;
    c->numbers = tort_arena_array(&c->arena, constants + 1, sizeof *c->numbers);
    c->inputs = tort_arena_array(&c->arena, (size_t)plan->input_count + 1, sizeof *c->inputs);
    c->outputs = tort_arena_array(&c->arena, (size_t)plan->output_count + 1, sizeof *c->outputs);
    c->skipped = tort_arena_array(&c->arena, (size_t)plan->step_count + 1, sizeof *c->skipped);
    if (!c->numbers || !c->inputs || !c->outputs || !c->skipped) return tort_out_of_memory(c->error, 0);
    for (size_t i = 0; i < constants; i++) c->numbers[i] = -1;
    for (int32_t i = 0; i < plan->input_count; i++) find_input(c, i);
    for (int32_t i = 0; i < plan->output_count; i++) find_output(c, i);
    tort_status status = check_ports(c);
    if (!status) status = lay_out(c);
    if (!status) find_arena(c);
    if (!status && c->fast_bytes && c->slow_bytes > c->slow_limit)
        return tort_fail(c->error, TORT_E_MEMORY,
                         "--arena: beside %llu bytes of fast memory, %llu of slow memory are needed, but it has %llu",
                         (unsigned long long)c->fast_bytes, (unsigned long long)c->slow_bytes,
                         (unsigned long long)c->slow_limit);
    return status;
}
