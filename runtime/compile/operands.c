/* operands.c - where the values of a plan are in firmware: parameters, arrays of weights, the arena. */
#include <ctype.h>

#include "runtime/compile/unit.h"

const char *tort_compile_type(tort_type type) {
    static const struct {
        tort_type type;
        const char *name;
    } types[] = {
        {TORT_FLOAT, "float"},       {TORT_DOUBLE, "double"},   {TORT_INT8, "int8_t"},   {TORT_UINT8, "uint8_t"},
        {TORT_INT16, "int16_t"},     {TORT_UINT16, "uint16_t"}, {TORT_INT32, "int32_t"}, {TORT_UINT32, "uint32_t"},
        {TORT_INT64, "int64_t"},     {TORT_UINT64, "uint64_t"}, {TORT_BOOL, "uint8_t"},  {TORT_FLOAT16, "uint16_t"},
        {TORT_BFLOAT16, "uint16_t"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) return types[i].name;
    return NULL;
}

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
    if (tort_compile_type(slot->type)) return TORT_OK;
    return tort_fail(unit->error, TORT_E_PLACEMENT,
                     "%s '%s' is %s, which has no type in C99: export the model in another", what, name,
                     tort_type_name(slot->type));
}

/* The slot into which a step converts an input of the model; -1: it does something else with it, or does not read it.
 */
static int32_t converted_by(const tort_compile_unit *unit, const tort_step *step, int32_t input, bool *reads) {
    const tort_plan *plan = unit->plan;
    *reads = false;
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t owner = tort_plan_owner(plan, plan->operands[step->operands + i]);
        *reads =
            *reads || (owner >= 0 && plan->slots[owner].home == TORT_HOME_INPUT && plan->slots[owner].source == input);
    }
    if (!*reads || step->kind != TORT_STEP_CONVERT) return -1;
    const int32_t to = plan->operands[step->operands + step->input_count];
    const tort_layout *layout = unit->session->layouts[plan->slots[to].layout].layout;
    return layout && !strcmp(layout->name, unit->layout) ? to : -1;
}

/* Finds the inputs that are read in the layout of the options alone: callers give them in it. */
static tort_status find_given(tort_compile_unit *unit) {
    const tort_plan *plan = unit->plan;
    bool any = false;
    for (int32_t input = 0; input < plan->input_count; input++) {
        int32_t to = -1;
        bool only = true, reads;
        for (int32_t i = 0; i < plan->step_count; i++) {
            const int32_t slot = converted_by(unit, &plan->steps[i], input, &reads);
            only = only && (!reads || slot >= 0);
            if (slot >= 0) to = slot;
        }
        if (to >= 0 && only) unit->given[to] = input + 1;
        any = any || (to >= 0 && only);
    }
    return any ? TORT_OK
               : tort_fail(unit->error, TORT_E_USAGE, "--layout: no input is read in layout '%s' alone", unit->layout);
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
        if (plan->slots[i].home == TORT_HOME_ARENA && !plan->slots[i].memory && !unit->direct[i] && !unit->given[i])
            reach(unit, plan->slots[i].offset + (uint64_t)tort_placed_bytes(&plan->slots[i]));
    for (int32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].scratch_bytes) reach(unit, plan->steps[i].scratch_offset + plan->steps[i].scratch_bytes);
}

tort_status tort_compile_ports(tort_compile_unit *unit) {
    const tort_plan *plan = unit->plan;
    const size_t constants = (size_t)unit->session->constant_count;
    tort_status status = TORT_OK;
    unit->direct = tort_arena_array(&unit->arena, (size_t)plan->slot_count + 1, sizeof *unit->direct);
    unit->numbers = tort_arena_array(&unit->arena, constants + 1, sizeof *unit->numbers);
    unit->given = tort_arena_array(&unit->arena, (size_t)plan->slot_count + 1, sizeof *unit->given);
    if (!unit->direct || !unit->numbers || !unit->given) return tort_out_of_memory(unit->error, 0);
    for (size_t i = 0; i < constants; i++) unit->numbers[i] = -1;
    for (int32_t i = 0; !status && i < plan->input_count; i++)
        if (plan->input_slots[i] >= 0) status = check_port(unit, "input", &plan->slots[plan->input_slots[i]]);
    for (int32_t i = 0; !status && i < plan->output_count; i++)
        status = check_port(unit, "output", &plan->slots[plan->output_slots[i]]);
    find_direct(unit);
    if (!status && unit->layout) status = find_given(unit);
    find_arena(unit);
    return status;
}

int64_t tort_compile_row(const tort_compile_unit *unit, const tort_step *step, int32_t operand) {
    const tort_band_steps *stream = &unit->plan->streams[step->stream - 1];
    const tinyort_layer *layer = &stream->layers[step - unit->plan->steps - stream->first];
    const tort_slot *slot = &unit->plan->slots[unit->plan->operands[step->operands + operand]];
    const int64_t rows = operand < step->input_count ? layer->in_rows : layer->out_rows;
    return slot->bytes / rows / (tort_type_bits(slot->type) / 8);
}

/* ---- constant arrays --------------------------------------------------------------------------------------------- */

const char *tort_compile_list(tort_compile_unit *unit, const tort_compile_array *array) {
    if (unit->array_count == unit->array_room) {
        const int32_t room = unit->array_room ? 2 * unit->array_room : 32;
        tort_compile_array *grown = tort_arena_array(&unit->arena, (size_t)room, sizeof *grown);
        if (!grown) return NULL;
        if (unit->array_count) memcpy(grown, unit->arrays, (size_t)unit->array_count * sizeof *grown);
        unit->arrays = grown;
        unit->array_room = room;
    }
    unit->arrays[unit->array_count++] = *array;
    unit->weight_bytes += (uint64_t)array->count * (uint64_t)tort_type_bits(array->type) / 8;
    return array->name;
}

/* Lists the constant that a slot reads when it is first asked for. */
static const char *weight_of(tort_compile_unit *unit, const tort_slot *slot) {
    const int32_t constant = unit->lowered->constant_of[slot->value];
    if (unit->numbers[constant] >= 0) return unit->arrays[unit->numbers[constant]].name;
    const int32_t number = unit->array_count;
    const tort_compile_array array = {
        .name = tort_arena_format(&unit->arena, "%s_w%d", unit->name, (int)number),
        .of = unit->lowered->graph.values[slot->value].name,
        .type = slot->type,
        .count = tort_compile_elements(slot),
        .constant = constant,
    };
    const char *name = array.name ? tort_compile_list(unit, &array) : NULL;
    if (name) unit->numbers[constant] = number;
    return name;
}

/* Lists integers that the plan has computed from shapes; a slot that is read again is listed again. */
static const char *literal_of(tort_compile_unit *unit, const tort_slot *slot) {
    const tort_compile_array array = {
        .name = tort_arena_format(&unit->arena, "%s_w%d", unit->name, (int)unit->array_count),
        .of = unit->lowered->graph.values[slot->value].name,
        .type = slot->type,
        .count = tort_compile_elements(slot),
        .constant = -1,
        .data = unit->plan->literals + slot->offset,
    };
    return array.name ? tort_compile_list(unit, &array) : NULL;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

const char *tort_compile_operand(tort_compile_unit *unit, int32_t number) {
    const int32_t owner = tort_plan_owner(unit->plan, number);
    if (owner < 0) return "NULL";
    const tort_slot *slot = &unit->plan->slots[owner];
    const char *type = tort_compile_type(slot->type);
    if (!type || slot->memory) return NULL;
    switch (slot->home) {
    case TORT_HOME_INPUT: return tort_arena_format(&unit->arena, "in%d", (int)slot->source);
    case TORT_HOME_CONSTANT: return weight_of(unit, slot);
    case TORT_HOME_LITERAL: return literal_of(unit, slot);
    case TORT_HOME_ARENA: break;
    default: return NULL;
    }
    if (unit->given[owner]) return tort_arena_format(&unit->arena, "in%d", (int)unit->given[owner] - 1);
    if (unit->direct[owner]) return tort_arena_format(&unit->arena, "out%d", (int)slot->output);
    return tort_arena_format(&unit->arena, "(%s *)(values + %llu)", type, (unsigned long long)slot->offset);
}
