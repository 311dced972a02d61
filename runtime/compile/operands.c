/* operands.c - where the values of a plan are in firmware: parameters, arrays of weights, the arena. */
#include <ctype.h>

#include "runtime/compile/unit.h"

int64_t tort_compile_elements(const tort_slot *slot) {
    int64_t count = 1;
    for (int32_t i = 0; i < slot->rank; i++) count *= slot->dims[i];
    return count;
}

void tort_compile_name(FILE *file, const char *name) {
    for (; *name; name++) fputc(isalnum((unsigned char)*name) || strchr("_-./: ,#", *name) ? *name : '_', file);
}

static tort_status check_port(const tort_compile_unit *unit, const char *what, const tort_slot *slot) {
    const char *name = unit->lowered->graph.values[slot->value].name;
    if (slot->home == TORT_HOME_DYNAMIC || slot->home == TORT_HOME_OBJECT)
        return tort_fail(unit->error, TORT_E_PLACEMENT,
                         "%s '%s' has no size before the run: firmware needs tensors of known shape", what, name);
    if (slot->type == TORT_FLOAT) return TORT_OK;
    return tort_fail(unit->error, TORT_E_PLACEMENT, "%s '%s' is %s, firmware takes float32: export the model so", what,
                     name, tort_type_name(slot->type));
}

/* A slot is direct if no other slot shares its bytes: a caller's buffer can then replace them. */
static void find_direct(tort_compile_unit *unit) {
    const tort_plan *plan = unit->plan;
    for (int32_t i = 0; i < plan->slot_count; i++)
        unit->direct[i] = plan->slots[i].output >= 0 && plan->slots[i].home == TORT_HOME_ARENA;
    for (int32_t i = 0; i < plan->slot_count; i++) {
        if (plan->slots[i].within < 0) continue;
        unit->direct[i] = false;
        unit->direct[plan->slots[i].within] = false;
    }
}

static void reach(tort_compile_unit *unit, uint64_t end) {
    if (end > unit->arena_bytes) unit->arena_bytes = end;
}

/* Bytes of the arena: the plan's without outputs at its end that are written into the caller's buffers. */
static void find_arena(tort_compile_unit *unit) {
    const tort_plan *plan = unit->plan;
    for (int32_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i].home == TORT_HOME_ARENA && !plan->slots[i].memory && !unit->direct[i])
            reach(unit, plan->slots[i].offset + (uint64_t)plan->slots[i].bytes);
    for (int32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].scratch_bytes) reach(unit, plan->steps[i].scratch_offset + plan->steps[i].scratch_bytes);
}

tort_status tort_compile_ports(tort_compile_unit *unit) {
    const tort_plan *plan = unit->plan;
    const size_t constants = (size_t)unit->session->constant_count;
    tort_status status = TORT_OK;
    unit->direct = tort_arena_array(&unit->arena, (size_t)plan->slot_count + 1, sizeof *unit->direct);
    unit->numbers = tort_arena_array(&unit->arena, constants + 1, sizeof *unit->numbers);
    unit->slots = tort_arena_array(&unit->arena, constants + 1, sizeof *unit->slots);
    if (!unit->direct || !unit->numbers || !unit->slots) return tort_out_of_memory(unit->error, 0);
    for (size_t i = 0; i < constants; i++) unit->numbers[i] = -1;
    for (int32_t i = 0; !status && i < plan->input_count; i++)
        if (plan->input_slots[i] >= 0) status = check_port(unit, "input", &plan->slots[plan->input_slots[i]]);
    for (int32_t i = 0; !status && i < plan->output_count; i++)
        status = check_port(unit, "output", &plan->slots[plan->output_slots[i]]);
    find_direct(unit);
    find_arena(unit);
    return status;
}

/* The number of the weight that a slot reads, which is given to it when it is first asked for. */
static int32_t weight_of(tort_compile_unit *unit, int32_t slot) {
    const int32_t constant = unit->lowered->constant_of[unit->plan->slots[slot].value];
    if (unit->numbers[constant] < 0) {
        unit->slots[unit->weight_count] = slot;
        unit->numbers[constant] = unit->weight_count++;
        unit->weight_bytes += (uint64_t)unit->plan->slots[slot].bytes;
    }
    return unit->numbers[constant];
}

const char *tort_compile_place(tort_compile_unit *unit, uint64_t offset) {
    if (!offset) return "values";
    return tort_arena_format(&unit->arena, "values + %llu", (unsigned long long)(offset / sizeof(float)));
}

const char *tort_compile_operand(tort_compile_unit *unit, int32_t number) {
    const int32_t owner = tort_plan_owner(unit->plan, number);
    if (owner < 0) return "NULL";
    const tort_slot *slot = &unit->plan->slots[owner];
    if (slot->type != TORT_FLOAT || slot->memory || slot->layout) return NULL;
    if (slot->home == TORT_HOME_INPUT) return tort_arena_format(&unit->arena, "in%d", (int)slot->source);
    if (slot->home == TORT_HOME_CONSTANT)
        return tort_arena_format(&unit->arena, "%s_w%d", unit->name, (int)weight_of(unit, owner));
    if (slot->home != TORT_HOME_ARENA) return NULL;
    if (unit->direct[owner]) return tort_arena_format(&unit->arena, "out%d", (int)slot->output);
    return tort_compile_place(unit, slot->offset);
}
