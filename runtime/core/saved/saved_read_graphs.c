/* saved_read_graphs.c - reads the graphs of a saved plan from untrusted bytes: graphs of a model, and the decisions
 * about their nodes (saved_format.h, GRPH).
 *
 * Every index is checked against its range, every operand against the values made before, every body for having one
 * node. Attributes and types are checked by the functions that check a model file. */
#include <string.h>

#include "runtime/core/saved/saved_format.h"

typedef struct reader {
    tort_saved *saved;
    tort_saved_in *in;
    tort_model *model;
    tort_arena *arena;
    int32_t g; /* index of the graph being read */
    tort_graph *graph;
    tort_saved_graph *decisions;
    uint8_t *made;                  /* by value: 0, SHAPED or MADE before this point */
    uint8_t *bodies;                /* by graph: its depth; 0: no node has it as a body yet */
    uint64_t packed_from, data_end; /* the rest of DATA: packed weights */
    bool no_memory;
} reader;

/* SHAPED: inferred for shape arithmetic, but never computed, as the node became a part of a fused one. */
enum { SHAPED = 1, MADE = 2 };

/* Allocates in the arena; NULL also if the section is bad. */
static void *array(reader *r, int32_t count, size_t size) {
    void *memory = r->in->bad ? NULL : tort_arena_array(r->arena, (size_t)count + 1, size);
    if (!memory && !r->in->bad) r->no_memory = true;
    return memory;
}

static bool fine(const reader *r) {
    return !r->in->bad && !r->no_memory;
}

static bool refuse(reader *r) {
    r->in->bad = true;
    return false;
}

static const int32_t *read_indices(reader *r, int32_t first, int32_t last, int32_t *count) {
    *count = tort_get_count(r->in, sizeof(int32_t));
    int32_t *list = array(r, *count, sizeof *list);
    for (int32_t i = 0; list && i < *count; i++) list[i] = tort_get_within(r->in, first, last);
    return list;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Reads the nesting of a type, as in tort_value_type.nest. */
static uint32_t read_nest(reader *r) {
    enum { LEVEL_BITS = 8, KIND_BITS = 3 };
    const uint32_t nest = tort_get_u32(r->in);
    bool good = !(nest >> LEVEL_BITS * TORT_MAX_NESTING);
    for (uint32_t rest = nest; rest; rest >>= LEVEL_BITS) {
        const uint32_t kind = rest & ((1u << KIND_BITS) - 1), key = (rest & ((1u << LEVEL_BITS) - 1)) >> KIND_BITS;
        good = good && kind >= TORT_SEQUENCE && kind <= TORT_MAP && (kind == TORT_MAP) == (key != 0) &&
               key < TORT_TYPE_COUNT;
    }
    if (good) return nest;
    r->in->bad = true;
    return 0;
}

static tort_dim read_dim(reader *r) {
    const uint32_t tag = tort_get_u8(r->in);
    if (tag == TORT_SAVED_SYMBOL) return tort_dim_symbol(&r->model->dims, tort_get_text(r->in));
    if (tag == TORT_SAVED_FRESH || tag == TORT_SAVED_DYNAMIC)
        return tort_dim_fresh(&r->model->dims, tag == TORT_SAVED_DYNAMIC);
    const int64_t size = tort_get_i64(r->in);
    if (tag != TORT_SAVED_KNOWN || size < 0) r->in->bad = true;
    return size < 0 ? 0 : size;
}

static void read_info(reader *r, tort_info *info) {
    *info = (tort_info){.rank = -1, .nest = -1};
    info->type = (tort_type)tort_get_within(r->in, TORT_UNDEFINED, TORT_TYPE_COUNT - 1);
    const uint32_t nest = read_nest(r);
    if (nest) info->nest = (int32_t)nest;
    info->kind = tort_type_kind((tort_value_type){.nest = nest});
    info->rank = tort_get_within(r->in, -1, nest ? -1 : TORT_MAX_RANK);
    for (int32_t d = 0; d < info->rank; d++) info->dims[d] = read_dim(r);
}

static bool read_values(reader *r) {
    const int32_t count = tort_get_count(r->in, 22);
    r->made = array(r, count, 1);
    if (!fine(r) || !tort_graph_reserve(r->model, r->g, count, 0)) return false;
    for (int32_t v = 0; v < count && fine(r); v++) {
        tort_graph_value value = {.name = tort_get_text(r->in), .producer = -1};
        value.consumers = tort_get_u8(r->in) & TORT_SAVED_READ ? 1 : 0;
        value.weight = tort_get_within(r->in, -1, r->model->weight_count - 1);
        read_info(r, &value.info);
        r->made[v] = value.weight >= 0 ? MADE : 0;
        r->graph->values[r->graph->value_count++] = value;
    }
    return fine(r);
}

static bool make(reader *r, int32_t value, uint8_t made) {
    if (r->made[value]) return refuse(r);
    r->made[value] = made;
    return true;
}

static bool read_ports(reader *r) {
    tort_graph *graph = r->graph;
    const int32_t last = graph->value_count - 1;
    const int32_t *inputs = read_indices(r, 0, last, &graph->input_count);
    const int32_t *outputs = read_indices(r, 0, last, &graph->output_count);
    if (!fine(r)) return false;
    memcpy(&graph->inputs, &inputs, sizeof inputs); /* drops const: the graph owns them now */
    memcpy(&graph->outputs, &outputs, sizeof outputs);
    for (int32_t i = 0; i < graph->input_count; i++)
        if (!make(r, graph->inputs[i], MADE)) return false;
    return true;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const tort_string *read_strings(reader *r, int32_t count) {
    tort_string *strings = array(r, count, sizeof *strings);
    for (int32_t i = 0; strings && i < count; i++) strings[i] = tort_get_string(r->in);
    return strings;
}

static const void *read_numbers(reader *r, int32_t count, size_t size) {
    void *numbers = array(r, count, size);
    if (numbers) tort_get(r->in, numbers, (size_t)count * size);
    return numbers;
}

static const tort_value_type *read_type(reader *r) {
    tort_value_type *type = array(r, 1, sizeof *type);
    if (!type) return NULL;
    type->type = (tort_type)tort_get_within(r->in, TORT_UNDEFINED, TORT_TYPE_COUNT - 1);
    type->nest = read_nest(r);
    return type;
}

/* A body belongs to one node, and comes after the graph of that node. */
static const int32_t *read_bodies(reader *r, int32_t count) {
    int32_t *graphs = array(r, count, sizeof *graphs);
    for (int32_t i = 0; graphs && i < count; i++) {
        graphs[i] = tort_get_within(r->in, r->g + 1, r->model->graph_count - 1);
        if (r->in->bad || r->bodies[graphs[i]] || r->bodies[r->g] >= TORT_SAVED_NESTING) {
            refuse(r);
            return graphs;
        }
        r->bodies[graphs[i]] = (uint8_t)(r->bodies[r->g] + 1);
    }
    return graphs;
}

static const int32_t *read_tensors(reader *r, int32_t count) {
    int32_t *weights = array(r, count, sizeof *weights);
    for (int32_t i = 0; weights && i < count; i++) {
        weights[i] = tort_get_within(r->in, 0, r->model->weight_count - 1);
        if (!r->in->bad && !(r->saved->flags[weights[i]] & TORT_SAVED_CONTENTS)) refuse(r);
    }
    return weights;
}

/* Reads the attribute kinds that operator rows can declare. A node with another kind is refused later, when it is
 * bound to its row. */
static void read_attribute(reader *r, tort_attribute *attribute) {
    attribute->name = tort_get_text(r->in);
    attribute->kind = (tort_attribute_kind)tort_get_within(r->in, TORT_ATTR_FLOAT, TORT_ATTR_TYPE_PROTO);
    const int32_t count = tort_get_count(r->in, sizeof(float));
    attribute->count = count;
    if (count != 1 && (attribute->kind < TORT_ATTR_FLOATS || attribute->kind > TORT_ATTR_GRAPHS)) refuse(r);
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT: tort_get(r->in, &attribute->u.f, sizeof attribute->u.f); break;
    case TORT_ATTR_INT: attribute->u.i = tort_get_i64(r->in); break;
    case TORT_ATTR_STRING: attribute->u.s = tort_get_string(r->in); break;
    case TORT_ATTR_FLOATS: attribute->u.floats = read_numbers(r, count, sizeof(float)); break;
    case TORT_ATTR_INTS: attribute->u.ints = read_numbers(r, count, sizeof(int64_t)); break;
    case TORT_ATTR_STRINGS: attribute->u.strings = read_strings(r, count); break;
    case TORT_ATTR_GRAPH:
    case TORT_ATTR_GRAPHS: attribute->u.graphs = read_bodies(r, count); break;
    case TORT_ATTR_TYPE_PROTO: attribute->u.types = read_type(r); break;
    default: attribute->u.weights = read_tensors(r, count);
    }
}

static bool read_attributes(reader *r, tort_node *node) {
    node->attribute_count = tort_get_count(r->in, 13);
    tort_attribute *list = array(r, node->attribute_count, sizeof *list);
    for (int32_t i = 0; fine(r) && i < node->attribute_count; i++) read_attribute(r, &list[i]);
    node->attributes = list;
    return fine(r);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool read_operands(reader *r, tort_node *node) {
    const int32_t last = r->graph->value_count - 1;
    node->captured = tort_get_i32(r->in);
    node->inputs = read_indices(r, -1, last, &node->input_count);
    node->outputs = read_indices(r, -1, last, &node->output_count);
    if (!fine(r)) return false;
    if (node->captured < 0 || node->captured > node->input_count) return refuse(r);
    for (int32_t i = node->input_count - node->captured; i < node->input_count; i++)
        if (node->inputs[i] < 0) return refuse(r);
    return true;
}

static bool read_said(reader *r, tort_unit *unit) {
    unit->reason_count = tort_get_count(r->in, 47);
    tort_reason *list = array(r, unit->reason_count, sizeof *list);
    for (int32_t i = 0; fine(r) && i < unit->reason_count; i++) {
        tort_reason *reason = &list[i];
        reason->provider = tort_get_within(r->in, 0, r->saved->link_count - 1);
        reason->kernel = tort_get_text(r->in);
        reason->code = (tort_verdict_code)tort_get_within(r->in, TORT_YES, TORT_VERDICT_COUNT - 1);
        reason->message = tort_get_text(r->in);
        reason->cure = tort_get_text(r->in);
        const char *fusion = tort_get_text(r->in);
        reason->fusion = *fusion ? fusion : NULL;
        reason->segment = tort_get_within(r->in, 0, 1);
        reason->precision = tort_get_within(r->in, 0, 1);
        reason->bytes = tort_get_i64(r->in);
        reason->root = tort_get_within(r->in, -1, r->graph->node_capacity - 1);
    }
    unit->reasons = list;
    return fine(r);
}

/* Checks that packed weights lie in DATA behind the constants; that only units which share them overlap is checked when
 * these are known (tort_saved_check_places). */
static bool take_packed(reader *r, tort_saved_unit *unit) {
    const uint64_t at = tort_get_u64(r->in), bytes = tort_get_u64(r->in);
    if (!bytes) return fine(r);
    if (at < r->packed_from || at % TORT_SAVED_ALIGN || at > r->data_end || bytes > r->data_end - at) return refuse(r);
    unit->packed_at = at;
    unit->packed_bytes = bytes;
    return fine(r);
}

static bool read_parts(reader *r, tort_saved_unit *unit) {
    unit->unit.from = read_indices(r, 0, r->graph->node_capacity - 1, &unit->unit.from_count);
    if (!fine(r)) return false;
    if (!unit->unit.from_count) {
        unit->unit.from = NULL;
        return true;
    }
    unit->name = tort_get_text(r->in);
    unit->op_type = tort_get_text(r->in);
    return fine(r);
}

static bool read_unit(reader *r, tort_saved_unit *unit, uint32_t bits) {
    const int32_t links = r->saved->link_count;
    unit->ghost = bits & TORT_SAVED_GHOST;
    unit->unit.pinned = bits & TORT_SAVED_PINNED;
    unit->unit.still_inferred = bits & TORT_SAVED_STILL_INFERRED;
    unit->unit.provider = tort_get_within(r->in, TORT_AT_FUSED, links - 1);
    unit->kernel = tort_get_text(r->in);
    unit->unit.label = tort_get_text(r->in);
    unit->unit.pin = tort_get_within(r->in, 0, links - 1);
    unit->unit.products = tort_get_within(r->in, 0, r->graph->node_capacity);
    unit->unit.folded = unit->unit.provider == TORT_AT_FOLDED;
    if (!read_said(r, &unit->unit) || !read_parts(r, unit) || !take_packed(r, unit)) return false;
    unit->part = bits & TORT_SAVED_PART;
    unit->group = unit->part ? tort_get_within(r->in, 0, r->graph->node_capacity - 1) : -1;
    if (unit->part && (unit->unit.provider < 0 || unit->unit.from_count)) return refuse(r);
    const bool runs = unit->unit.provider >= TORT_AT_HOST;
    if (unit->unit.provider == TORT_AT_NOWHERE || (runs && unit->ghost)) return refuse(r);
    return (unit->packed_bytes == 0 || (runs && unit->unit.provider >= 0)) ? true : refuse(r);
}

/* Checks what the node reads and makes. What runs reads only what is made. */
static bool connect(reader *r, const tort_node *node, int32_t provider) {
    const uint8_t least = provider >= TORT_AT_HOST ? MADE : SHAPED;
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && r->made[node->inputs[i]] < least) return refuse(r);
    for (int32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] >= 0 && !make(r, node->outputs[i], provider == TORT_AT_FUSED ? SHAPED : MADE))
            return false;
    return true;
}

static bool read_node(reader *r, int32_t index) {
    tort_node *node = &r->graph->nodes[index];
    const uint32_t bits = tort_get_u8(r->in);
    node->name = tort_get_text(r->in);
    node->domain = tort_get_text(r->in);
    node->op_type = tort_get_text(r->in);
    node->opset = tort_get_i32(r->in);
    r->decisions->units[index].since = tort_get_i32(r->in);
    node->file_index = tort_get_i32(r->in);
    if (!(bits & TORT_SAVED_GHOST) && !r->decisions->lowered) return refuse(r);
    if (!(bits & TORT_SAVED_GHOST) && (!read_operands(r, node) || !read_attributes(r, node))) return false;
    tort_saved_unit *unit = &r->decisions->units[index];
    return read_unit(r, unit, bits) && connect(r, node, unit->unit.provider);
}

static bool read_nodes(reader *r) {
    const int32_t count = tort_get_count(r->in, 64);
    if (!fine(r) || !tort_graph_reserve(r->model, r->g, 0, count)) return false;
    r->decisions->units = array(r, count, sizeof *r->decisions->units);
    for (int32_t i = 0; fine(r) && i < count; i++) {
        r->graph->nodes[i] = (tort_node){.name = ""};
        r->graph->node_count++;
        if (!read_node(r, i)) return false;
    }
    for (int32_t i = 0; fine(r) && r->decisions->lowered && i < r->graph->output_count; i++)
        if (r->made[r->graph->outputs[i]] < MADE) return refuse(r);
    return fine(r);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool read_graph(reader *r, int32_t g) {
    r->g = g;
    r->graph = &r->model->graphs[g];
    r->decisions = &r->saved->graphs[g];
    r->graph->name = tort_get_text(r->in);
    r->graph->path = tort_get_text(r->in);
    r->decisions->lowered = tort_get_u8(r->in);
    r->decisions->refused = tort_get_text(r->in);
    r->decisions->refused_node = tort_get_i32(r->in);
    if (r->decisions->lowered ? *r->decisions->refused : g == 0) return refuse(r);
    return read_values(r) && read_ports(r) && read_nodes(r);
}

static bool add_graphs(reader *r) {
    const int32_t count = tort_get_count(r->in, 30);
    if (count < 1) return refuse(r);
    for (int32_t g = 0; g < count; g++)
        if (tort_model_add_graph(r->model, "", "") < 0) return false;
    r->saved->graphs = array(r, count, sizeof *r->saved->graphs);
    r->bodies = array(r, count, 1);
    return fine(r);
}

tort_status tort_saved_read_graphs(tort_saved *saved, tort_saved_in *in, uint64_t data_at, uint64_t data_end,
                                   tort_error *error) {
    reader r = {.saved = saved,
                .in = in,
                .model = saved->model,
                .arena = &saved->model->arena,
                .packed_from = data_at,
                .data_end = data_end};
    bool done = add_graphs(&r);
    for (int32_t g = 0; done && g < saved->model->graph_count; g++) done = read_graph(&r, g);
    if (r.no_memory) return tort_out_of_memory(error, 0);
    if (in->bad || (done && in->at != in->end)) return tort_saved_damaged(error, "its graphs do not hold together");
    return done && !saved->model->dims.failed ? TORT_OK : tort_out_of_memory(error, 0);
}
