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

/* Returns the list, or a larger copy of it if it is full, with room for one more. NULL: out of memory. */
static void *with_room(tort_compilation *c, void *list, int32_t count, int32_t *room, size_t size) {
    if (count < *room) return list;
    *room = *room ? 2 * *room : 32;
    void *grown = tort_arena_array(&c->arena, (size_t)*room, size);
    if (grown && count) memcpy(grown, list, (size_t)count * size);
    return grown;
}

const char *tort_compile_list(tort_compilation *c, const tort_compile_array *array) {
    c->arrays = with_room(c, c->arrays, c->array_count, &c->array_room, sizeof *c->arrays);
    if (!c->arrays) return NULL;
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

/* ---- constants of calls ------------------------------------------------------------------------------------------ */

/* Lists a constant of a call with the weights, so that another training changes no code. */
static const char *list_constant(tort_compilation *c, const char *of, tort_type type, const void *data, size_t count) {
    const size_t bytes = count * (size_t)tort_type_bits(type) / 8;
    void *copy = tort_arena_alloc(&c->arena, bytes);
    const tort_compile_array array = {.name = tort_arena_format(&c->arena, "%s_s%d", c->name, (int)c->array_count),
                                      .of = tort_arena_format(&c->arena, "%s", of),
                                      .type = type,
                                      .count = (int64_t)count,
                                      .constant = -1,
                                      .data = copy,
                                      .read = true};
    if (!copy || !array.name || !array.of) return NULL;
    memcpy(copy, data, bytes);
    return tort_compile_list(c, &array);
}

/* Returns the address of a struct: structs with the same text are one, unless they are with the weights, where another
 * training may make them differ. */
static const char *constant_of(void *compilation, const char *type, const char *initializer, const int32_t *members,
                               size_t count) {
    tort_compilation *c = compilation;
    if (c->update) {
        const char *name = list_constant(c, type, TORT_INT32, members, count);
        return name ? tort_arena_format(&c->arena, "(const %s *)(const void *)%s", type, name) : NULL;
    }
    for (int32_t i = 0; i < c->shape_count; i++)
        if (!strcmp(c->shapes[i].type, type) && !strcmp(c->shapes[i].initializer, initializer))
            return c->shapes[i].address;
    c->shapes = with_room(c, c->shapes, c->shape_count, &c->shape_room, sizeof *c->shapes);
    if (!c->shapes) return NULL;
    const tort_compile_constant made = {.address =
                                            tort_arena_format(&c->arena, "&%s_s%d", c->name, (int)c->shape_count),
                                        .type = tort_arena_format(&c->arena, "%s", type),
                                        .initializer = tort_arena_format(&c->arena, "%s", initializer)};
    if (!made.address || !made.type || !made.initializer) return NULL;
    c->shapes[c->shape_count++] = made;
    return made.address;
}

static const char *number_of(void *compilation, float number) {
    tort_compilation *c = compilation;
    char text[TORT_COMPILE_FLOAT];
    if (!c->update) return tort_arena_format(&c->arena, "%s", tort_compile_float(number, text));
    const char *name = list_constant(c, "a number", TORT_FLOAT, &number, 1);
    return name ? tort_arena_format(&c->arena, "%s[0]", name) : NULL;
}

void tort_compile_constants(tort_compilation *c, tort_emit *emit) {
    emit->constant = constant_of;
    emit->number = number_of;
    emit->ud = c;
}

tort_status tort_compile_borders(tort_compilation *c) {
    for (int32_t i = 0; i < c->plan->input_count + c->plan->output_count; i++) {
        const bool input = i < c->plan->input_count;
        tort_compile_port *port = input ? &c->inputs[i] : &c->outputs[i - c->plan->input_count];
        float scale;
        int32_t zero;
        if (!c->update || !tort_compile_scale(c, port, &scale, &zero)) continue;
        port->scale = list_constant(c, "the scale of a port", TORT_FLOAT, &scale, 1);
        port->zero = list_constant(c, "the zero point of a port", TORT_INT32, &zero, 1);
        if (!port->scale || !port->zero) return tort_out_of_memory(c->error, 0);
    }
    return TORT_OK;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

const char *tort_compile_place(tort_compilation *c, uint64_t offset) {
    const bool slow = c->fast_bytes && offset >= c->fast_bytes;
    if (!offset || (slow && offset == c->fast_bytes)) return slow ? "slow" : "values";
    return tort_arena_format(&c->arena, "%s + %llu", slow ? "slow" : "values",
                             (unsigned long long)(slow ? offset - c->fast_bytes : offset));
}

const char *tort_compile_operand(tort_compilation *c, int32_t number) {
    const int32_t owner = tort_plan_owner(c->plan, number);
    if (owner < 0) return "NULL";
    const tort_slot *slot = &c->plan->slots[owner];
    const char *type = tort_compile_type(slot->type);
    if (!type || slot->memory) return NULL;
    switch (slot->home) {
    case TORT_HOME_INPUT: return tort_arena_format(&c->arena, "state->in%d", (int)slot->source);
    case TORT_HOME_OUTPUT: return tort_arena_format(&c->arena, "state->out%d", (int)slot->output);
    case TORT_HOME_CONSTANT: return weight_of(c, slot);
    case TORT_HOME_LITERAL:
        return list_slot(c, slot, -1, c->plan->literals + slot->offset); /* again, if it is read again */
    case TORT_HOME_ARENA: break;
    default: return NULL;
    }
    const char *place = tort_compile_place(c, slot->offset);
    return place ? tort_arena_format(&c->arena, "(%s *)(%s)", type, place) : NULL;
}
