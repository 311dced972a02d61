/* operands.c - C expressions for the values of a plan: parameters, arrays of weights, the arena. */

#include "runtime/firmware/compile/compilation.h"
#include "runtime/core/base/ascii.h"

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
    for (; *name; name++) fputc(tort_is_word(*name) || strchr("_-./: ,#", *name) ? *name : '_', file);
}

int64_t tort_compile_row(const tort_compilation *c, const tort_step *step, int32_t operand) {
    const tort_band_steps *bands = &c->plan->bands[step->bands - 1];
    const tinyort_layer *layer = &bands->layers[step - c->plan->steps - bands->first];
    const tort_slot *slot = &c->plan->slots[c->plan->operands[step->operands + operand]];
    const int64_t rows = operand < step->input_count ? layer->in_rows : layer->out_rows;
    return slot->bytes / rows / (tort_type_bits(slot->type) / 8);
}

/* ---- constant arrays --------------------------------------------------------------------------------------------- */

const char *tort_compile_list(tort_compilation *c, const tort_compile_array *array) {
    if (c->array_count == c->array_room) {
        const int32_t room = c->array_room ? 2 * c->array_room : 32;
        tort_compile_array *grown = tort_arena_array(&c->arena, (size_t)room, sizeof *grown);
        if (!grown) return NULL;
        if (c->array_count) memcpy(grown, c->arrays, (size_t)c->array_count * sizeof *grown);
        c->arrays = grown;
        c->array_room = room;
    }
    c->arrays[c->array_count++] = *array;
    c->weight_bytes += (uint64_t)array->count * (uint64_t)tort_type_bits(array->type) / 8;
    return array->name;
}

/* Lists the elements of a slot: of a constant of the session, or (-1) those at `data`. */
static const char *list_slot(tort_compilation *c, const tort_slot *slot, int32_t constant, const void *data) {
    const tort_compile_array array = {
        .name = tort_arena_format(&c->arena, "%s_w%d", c->name, (int)c->array_count),
        .of = c->lowered->graph.values[slot->value].name,
        .type = slot->type,
        .count = tort_compile_elements(slot),
        .constant = constant,
        .data = data,
    };
    return array.name ? tort_compile_list(c, &array) : NULL;
}

/* The constant that a slot reads, which is listed when it is first asked for. */
static const char *weight_of(tort_compilation *c, const tort_slot *slot) {
    const int32_t constant = c->lowered->constant_of[slot->value], number = c->array_count;
    if (c->numbers[constant] >= 0) return c->arrays[c->numbers[constant]].name;
    const char *name = list_slot(c, slot, constant, NULL);
    if (name) c->numbers[constant] = number;
    return name;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

const char *tort_compile_operand(tort_compilation *c, int32_t number) {
    const int32_t owner = tort_plan_owner(c->plan, number);
    if (owner < 0) return "NULL";
    const tort_slot *slot = &c->plan->slots[owner];
    const char *type = tort_compile_type(slot->type);
    if (!type || slot->memory) return NULL;
    switch (slot->home) {
    case TORT_HOME_INPUT: return tort_arena_format(&c->arena, "in%d", (int)slot->source);
    case TORT_HOME_OUTPUT: return tort_arena_format(&c->arena, "out%d", (int)slot->output);
    case TORT_HOME_CONSTANT: return weight_of(c, slot);
    case TORT_HOME_LITERAL:
        return list_slot(c, slot, -1, c->plan->literals + slot->offset); /* again, if it is read again */
    case TORT_HOME_ARENA: break;
    default: return NULL;
    }
    return tort_arena_format(&c->arena, "(%s *)(values + %llu)", type, (unsigned long long)slot->offset);
}
