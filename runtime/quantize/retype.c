/* retype.c - a net with some of its nodes of another type of floats (retype.h).
 *
 * The rows of the operators tell which operands change together: those of one constraint that allows the new type.
 * Scales of Resize are float32 whatever its input is. A value has the type that its maker gives it; whoever reads it in
 * the other one shares a single Cast. Inputs, outputs and what bodies capture have their name in the type that they
 * keep. */
#include "runtime/quantize/retype.h"

#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/graph/check.h"
#include "runtime/export/message.h"

/* ---- what can change --------------------------------------------------------------------------------------------- */

static const char *const type_attributes[]; /* at the end */

bool tort_retype_is_from(const tort_retype *retype, int32_t value) {
    return value >= 0 && retype->from >> retype->net->values[value].type & 1;
}

/* Formal k of a row's inputs or outputs, the last of which may stand for many. */
static bool formal_at(const char *text, int32_t k, tort_formal *formal) {
    const char *cursor = text;
    for (int32_t i = 0; i <= k; i++) {
        if (!tort_formal_next(&cursor, formal)) return false;
        if (formal->mode == '*' || formal->mode == '+') return true;
    }
    return true;
}

static bool takes(const tort_op *row, const tort_formal *formal, tort_type type) {
    tort_type_set set;
    return tort_formal_types(formal, row->types, &set) && set.tensor >> type & 1;
}

static bool is_same_type(const tort_formal *a, const tort_formal *b) {
    return a->type_length == b->type_length && !memcmp(a->type, b->type, a->type_length);
}

/* The attribute of a row that names the type of its output; NULL: none does. */
static const char *type_attribute(const tort_op *row) {
    const char *cursor = row->attributes;
    tort_attribute_formal formal;
    while (tort_attribute_formal_next(&cursor, &formal))
        for (size_t i = 0; formal.types && type_attributes[i]; i++)
            if (strlen(type_attributes[i]) == formal.name_length &&
                !memcmp(type_attributes[i], formal.name, formal.name_length))
                return type_attributes[i];
    return NULL;
}

static bool fills(const tort_op *row) {
    return !strcmp(row->name, "ConstantOfShape");
}

static bool has_body(const TortOnnx__NodeProto *node) {
    bool has = false;
    for (size_t i = 0; i < node->n_attribute; i++) has = has || node->attribute[i]->g || node->attribute[i]->n_graphs;
    return has;
}

static const tort_op *row_of(const tort_retype *r, const TortOnnx__NodeProto *node) {
    const TortOnnx__ModelProto *proto = r->net->proto;
    const char *domain = node->domain && strcmp(node->domain, "ai.onnx") != 0 ? node->domain : "";
    const tort_op *const *family;
    int32_t count;
    for (size_t i = 0; i < proto->n_opset_import; i++)
        if (!strcmp(proto->opset_import[i]->domain, domain))
            return tort_op_find(r->model->op_table, domain, node->op_type, proto->opset_import[i]->version, &family,
                                &count);
    return NULL;
}

static bool is_unknown(const tort_net *net, int32_t value) {
    return value >= 0 && net->values[value].type == TORT_UNDEFINED;
}

/* Finds which operands of a node move by its row. */
static void move_operands(const tort_retype *r, int32_t index, const tort_op *row) {
    const tort_net_node *node = &r->net->nodes[index];
    bool *moves = r->moves[index];
    tort_formal formal, other;
    for (int32_t k = 0; k < node->input_count; k++)
        moves[k] =
            tort_retype_is_from(r, node->inputs[k]) && formal_at(row->inputs, k, &formal) && takes(row, &formal, r->to);
    for (int32_t o = 0; o < node->output_count; o++) {
        bool *out = &moves[node->input_count + o];
        if (!tort_retype_is_from(r, node->outputs[o]) || !formal_at(row->outputs, o, &formal) ||
            !takes(row, &formal, r->to))
            continue;
        *out = o == 0 && (type_attribute(row) || fills(row));
        for (int32_t k = 0; k < node->input_count; k++)
            *out = *out || (moves[k] && formal_at(row->inputs, k, &other) && is_same_type(&formal, &other));
    }
}

static void look_at(tort_retype *r, int32_t index) {
    const tort_net_node *node = &r->net->nodes[index];
    const int32_t operands = node->input_count + node->output_count;
    const tort_op *row = row_of(r, node->proto);
    bool floats = false, unknown = false, made = false;
    r->moves[index] = tort_make(r->maker, (size_t)operands, sizeof(bool));
    for (int32_t k = 0; k < operands; k++) {
        const int32_t value = k < node->input_count ? node->inputs[k] : node->outputs[k - node->input_count];
        floats = floats || tort_retype_is_from(r, value);
        unknown = unknown || is_unknown(r->net, value);
    }
    if (row && !unknown && !has_body(node->proto)) move_operands(r, index, row);
    for (int32_t k = 0; k < operands; k++) {
        r->able[index] = r->able[index] || r->moves[index][k];
        made = made || (k >= node->input_count && r->moves[index][k]);
    }
    r->either[index] = r->able[index] && !made && (row->flags & TORT_OP_METADATA || !strcmp(node->op, "Cast"));
    if (r->either[index]) r->able[index] = false;
    if (!floats || r->able[index] || r->either[index]) return;
    r->why[index] = has_body(node->proto) ? "its bodies stay as they are"
                    : !row                ? "nothing is known of its operator"
                    : unknown             ? "it reads or makes what is no tensor"
                              : tort_make_text(r->maker, "%s takes no %s in this opset", node->proto->op_type,
                                               tort_type_name(r->to));
}

void tort_retype_open(tort_retype *r, const tort_net *net, const tort_model *model, tort_type to, uint64_t from,
                      tort_maker *maker) {
    const size_t nodes = (size_t)net->node_count;
    *r = (tort_retype){.net = net,
                       .model = model,
                       .to = to,
                       .from = from,
                       .moves = tort_make(maker, nodes, sizeof *r->moves),
                       .able = tort_make(maker, nodes, sizeof *r->able),
                       .either = tort_make(maker, nodes, sizeof *r->either),
                       .why = tort_make(maker, nodes, sizeof *r->why),
                       .constants = tort_make(maker, (size_t)net->value_count, sizeof *r->constants),
                       .maker = maker};
    for (int32_t i = 0; i < net->node_count; i++) look_at(r, i);
}

/* ---- types of values --------------------------------------------------------------------------------------------- */

/* A message in the making. What says "new" is true for the new type, false for the one that a value has in the net. */
typedef struct change {
    tort_retype *r;
    const bool *changed;
    bool ports;
    tort_maker *maker;
    tort_net_writer out;
    char **names[2]; /* by new, by value: its name in this type; NULL: none so far */
    bool *old;       /* by value: a constant that a node reads as it is */
    char **as;       /* by value: the name of the output that it becomes behind a Cast without effect; NULL */
} change;

/* True if the value's maker gives it the new type. */
static bool is_made_new(const change *c, int32_t value) {
    const tort_net_value *v = &c->r->net->values[value];
    if (!tort_retype_is_from(c->r, value) || v->constant) return false;
    if (v->producer < 0) return c->ports && v->is_input && !v->captured;
    const tort_net_node *node = &c->r->net->nodes[v->producer];
    for (int32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] == value)
            return c->changed[v->producer] && c->r->moves[v->producer][node->input_count + o];
    return false;
}

/* True if the value is of the new type under its own name. */
static bool is_named_new(const change *c, int32_t value) {
    const tort_net_value *v = &c->r->net->values[value];
    if (v->captured) return false;
    if (v->constant) return c->old && !c->old[value] && !v->is_output && tort_retype_is_from(c->r, value);
    if (v->is_output || v->is_input) return c->ports && tort_retype_is_from(c->r, value);
    return is_made_new(c, value);
}

/* True if a node reads its input k in the new type. */
static bool is_read_new(const change *c, int32_t index, int32_t k) {
    if (c->r->either[index]) return is_made_new(c, c->r->net->nodes[index].inputs[k]);
    return c->changed[index] && c->r->moves[index][k];
}

static tort_type type_of(const change *c, int32_t value, bool new) {
    return new &&tort_retype_is_from(c->r, value) ? c->r->to : c->r->net->values[value].type;
}

/* True for a Cast that neither changes the type of its input nor stood for nothing before. */
static bool is_idle(const change *c, int32_t index) {
    const tort_net_node *node = &c->r->net->nodes[index];
    if (strcmp(node->op, "Cast") != 0 || node->inputs[0] < 0 || node->outputs[0] < 0) return false;
    if (c->r->net->values[node->inputs[0]].constant) return false;
    return type_of(c, node->inputs[0], is_read_new(c, index, 0)) ==
           type_of(c, node->outputs[0], is_made_new(c, node->outputs[0]));
}

int32_t tort_retype_casts(const tort_retype *r, const bool *changed, bool ports, uint8_t *need) {
    const change c = {.r = (tort_retype *)(uintptr_t)r, .changed = changed, .ports = ports};
    int32_t count = 0;
    memset(need, 0, (size_t)r->net->value_count);
    for (int32_t i = 0; i < r->net->node_count; i++)
        for (int32_t k = 0; k < r->net->nodes[i].input_count; k++) {
            const int32_t value = r->net->nodes[i].inputs[k];
            if (!tort_retype_is_from(r, value) || !tort_net_is_live(r->net, value)) continue;
            need[value] |= (uint8_t)(1u << (is_read_new(&c, i, k) ? 1 : 0));
        }
    for (int32_t v = 0; v < r->net->value_count; v++) {
        if (!tort_retype_is_from(r, v) || !tort_net_is_live(r->net, v)) continue;
        const bool made = is_made_new(&c, v), port = r->net->values[v].is_output || r->net->values[v].captured;
        if (port && is_named_new(&c, v) != made) need[v] |= (uint8_t)(1u << !made);
        if (!(need[v] >> !made & 1)) continue;
        need[v] |= TORT_RETYPE_CAST;
        count++;
    }
    return count;
}

/* ---- names, Casts and constants ---------------------------------------------------------------------------------- */

static char *name_of(change *c, int32_t value, bool new) {
    const tort_net *net = c->r->net;
    if (c->as[value] && is_made_new(c, value) == new) return c->as[value];
    if (is_named_new(c, value) == new) return net->values[value].name;
    const char *suffix = tort_make_text(c->maker, "_%s", tort_type_name(type_of(c, value, new)));
    return tort_net_fresh(net, net->values[value].name, suffix, c->maker);
}

static TortOnnx__TensorProto *constant_of(tort_retype *r, int32_t value) {
    enum { BLOCK = 1024 };
    const TortOnnx__TensorProto *from = r->net->values[value].constant;
    tort_tensor *tensor;
    float block[BLOCK];
    size_t bytes = 0;
    if (r->constants[value]) return r->constants[value];
    tensor = tort_make(r->maker, 1, sizeof *tensor);
    *tensor = (tort_tensor){.type = r->to, .rank = (int32_t)from->n_dims};
    for (size_t i = 0; i < from->n_dims; i++) tensor->dims[i] = from->dims[i];
    tort_tensor_bytes(tensor, &bytes);
    tensor->data = tort_make(r->maker, bytes, 1);
    const int64_t count = tort_net_count(from);
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t n = count - at < BLOCK ? count - at : BLOCK;
        tort_load_floats((tort_type)from->data_type, from->raw_data.data, at, n, block);
        tort_store_floats(r->to, tensor->data, at, n, block);
    }
    r->constants[value] = tort_pb_make_tensor(&r->maker->arena, tensor, from->name);
    if (!r->constants[value]) longjmp(*r->maker->out_of_memory, 1);
    return r->constants[value];
}

/* The name of a value in a type, behind a Cast if need be. */
static char *read_as(change *c, int32_t value, bool new) {
    char **name = &c->names[new][value];
    if (*name || !*c->r->net->values[value].name) return *name;
    *name = name_of(c, value, new);
    if (c->r->net->values[value].constant) {
        TortOnnx__TensorProto *tensor = tort_make(c->maker, 1, sizeof *tensor);
        *tensor = new ? *constant_of(c->r, value) : *c->r->net->values[value].constant;
        tensor->name = *name;
        tort_net_add_initializer(&c->out, tensor);
    } else if (c->names[!new][value]) {
        TortOnnx__NodeProto *cast = tort_net_node_of(&c->out, "Cast", *name, (char *[]){c->names[!new][value], NULL});
        tort_net_set_int(&c->out, cast, "to", type_of(c, value, new));
    }
    return *name;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Gives the attribute that names the type of output 0 the new one. */
static void set_type(change *c, TortOnnx__NodeProto *node, const char *name) {
    TortOnnx__AttributeProto **all = tort_make(c->maker, node->n_attribute, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (strcmp(node->attribute[i]->name, name) != 0) all[count++] = node->attribute[i];
    node->attribute = all;
    node->n_attribute = count;
    tort_net_set_int(&c->out, node, name, c->r->to);
}

/* Gives ConstantOfShape an element of the new type. */
static void set_fill(change *c, TortOnnx__NodeProto *node) {
    TortOnnx__AttributeProto **all = tort_make(c->maker, 1, sizeof *all);
    TortOnnx__AttributeProto *attribute = all[0] = tort_make(c->maker, 1, sizeof *attribute);
    tort_tensor *tensor = tort_make(c->maker, 1, sizeof *tensor);
    *tensor = (tort_tensor){.type = c->r->to, .rank = 1, .dims = {1}, .data = tort_make(c->maker, sizeof(double), 1)};
    float element = 0;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->t)
            tort_load_floats((tort_type)node->attribute[i]->t->data_type, node->attribute[i]->t->raw_data.data, 0, 1,
                             &element);
    tort_store_floats(c->r->to, tensor->data, 0, 1, &element);
    tort_onnx__attribute_proto__init(attribute);
    attribute->name = (char *)(uintptr_t) "value";
    attribute->has_type = true;
    attribute->type = TORT_ATTR_TENSOR;
    attribute->t = tort_pb_make_tensor(&c->maker->arena, tensor, "");
    if (!attribute->t) longjmp(*c->maker->out_of_memory, 1);
    node->attribute = all;
    node->n_attribute = 1;
}

static void write_node(change *c, int32_t index) {
    const tort_net_node *node = &c->r->net->nodes[index];
    TortOnnx__NodeProto *to = tort_net_copy_node(&c->out, node, 0);
    for (int32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] >= 0) to->input[k] = read_as(c, node->inputs[k], is_read_new(c, index, k));
    if (is_idle(c, index)) {
        const tort_net_value *out = &c->r->net->values[node->outputs[0]];
        const bool new = is_made_new(c, node->outputs[0]);
        c->names[new][node->outputs[0]] = to->input[0];
        if (!out->is_output && !out->captured) return;
        if (c->as[node->inputs[0]] && c->as[node->inputs[0]] == out->name) return;
        if (is_named_new(c, node->outputs[0]) != new) return;
        to->op_type = (char *)(uintptr_t) "Identity";
        to->n_attribute = 0;
    } else if (c->changed[index] && c->r->moves[index][node->input_count]) {
        const tort_op *row = row_of(c->r, node->proto);
        if (type_attribute(row)) set_type(c, to, type_attribute(row));
        if (fills(row)) set_fill(c, to);
    }
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0) {
            const bool new = is_made_new(c, node->outputs[k]);
            to->output[k] = c->names[new][node->outputs[k]] = name_of(c, node->outputs[k], new);
        }
    tort_net_add_node(&c->out, to);
}

static void find_old(change *c) {
    const tort_net *net = c->r->net;
    c->old = tort_make(c->maker, (size_t)net->value_count, sizeof *c->old);
    for (int32_t i = 0; i < net->node_count; i++)
        for (int32_t k = 0; k < net->nodes[i].input_count; k++)
            if (net->nodes[i].inputs[k] >= 0 && !is_read_new(c, i, k)) c->old[net->nodes[i].inputs[k]] = true;
}

/* A Cast without effect before an output: what it reads gets the output's name. */
static void rename_outputs(change *c) {
    const tort_net *net = c->r->net;
    for (int32_t i = 0; i < net->node_count; i++) {
        if (!is_idle(c, i)) continue;
        const tort_net_value *from = &net->values[net->nodes[i].inputs[0]],
                             *to = &net->values[net->nodes[i].outputs[0]];
        const bool free = from->producer >= 0 && !from->is_output && !from->captured && !from->is_input &&
                          !is_idle(c, from->producer) && !c->as[net->nodes[i].inputs[0]];
        if (free && to->is_output &&
            is_named_new(c, net->nodes[i].outputs[0]) == is_made_new(c, net->nodes[i].outputs[0]))
            c->as[net->nodes[i].inputs[0]] = to->name;
    }
}

/* ---- ports and shapes -------------------------------------------------------------------------------------------- */

/* A copy of a port, of another type. */
static TortOnnx__ValueInfoProto *port_of(change *c, const TortOnnx__ValueInfoProto *from, tort_type type) {
    TortOnnx__ValueInfoProto *port = tort_make(c->maker, 1, sizeof *port);
    *port = *from;
    if (!from->type || from->type->value_case != TORT_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return port;
    port->type = tort_make(c->maker, 1, sizeof *port->type);
    *port->type = *from->type;
    port->type->tensor_type = tort_make(c->maker, 1, sizeof *port->type->tensor_type);
    *port->type->tensor_type = *from->type->tensor_type;
    port->type->tensor_type->elem_type = (int32_t)type;
    return port;
}

static TortOnnx__ValueInfoProto **ports_of(change *c, TortOnnx__ValueInfoProto *const *from, size_t count) {
    TortOnnx__ValueInfoProto **ports = tort_make(c->maker, count, sizeof *ports);
    for (size_t i = 0; i < count; i++) {
        const int32_t value = tort_net_find(c->r->net, from[i]->name);
        ports[i] = port_of(c, from[i], type_of(c, value, is_named_new(c, value)));
    }
    return ports;
}

/* The shapes of values between that are made under their own names. */
static void add_shapes(change *c) {
    const TortOnnx__GraphProto *from = c->r->net->proto->graph;
    TortOnnx__GraphProto *graph = c->out.proto->graph;
    graph->value_info = tort_make(c->maker, from->n_value_info, sizeof *graph->value_info);
    for (size_t i = 0; i < from->n_value_info; i++) {
        const int32_t value = tort_net_find(c->r->net, from->value_info[i]->name);
        if (value < 0) continue;
        const bool new = is_named_new(c, value);
        const char *name = c->names[new][value];
        if (name && !strcmp(name, from->value_info[i]->name))
            graph->value_info[graph->n_value_info++] = port_of(c, from->value_info[i], type_of(c, value, new));
    }
}

/* Inputs are there from the beginning; what bodies capture and the graph gives out, in the type that it keeps. */
static void keep_name(change *c, int32_t value) {
    const tort_net_value *v = &c->r->net->values[value];
    if (v->is_output || v->captured) read_as(c, value, is_named_new(c, value));
}

TortOnnx__ModelProto *tort_retype_write(tort_retype *r, const bool *changed, bool ports, tort_maker *maker) {
    const tort_net *net = r->net;
    const size_t values = (size_t)net->value_count;
    change c = {.r = r,
                .changed = changed,
                .ports = ports,
                .maker = maker,
                .names = {tort_make(maker, values, sizeof(char *)), tort_make(maker, values, sizeof(char *))},
                .as = tort_make(maker, values, sizeof(char *))};
    tort_net_begin(&c.out, net, maker);
    TortOnnx__GraphProto *graph = c.out.proto->graph;
    graph->input = ports_of(&c, graph->input, graph->n_input);
    graph->output = ports_of(&c, graph->output, graph->n_output);
    find_old(&c);
    rename_outputs(&c);
    for (int32_t i = 0; i < net->value_count; i++) {
        if (net->values[i].is_input) c.names[is_named_new(&c, i)][i] = net->values[i].name;
        if (net->values[i].constant && !net->values[i].is_input) keep_name(&c, i);
    }
    for (int32_t i = 0; i < net->node_count; i++) {
        write_node(&c, i);
        for (int32_t k = 0; k < net->nodes[i].output_count; k++)
            if (net->nodes[i].outputs[k] >= 0) keep_name(&c, net->nodes[i].outputs[k]);
    }
    add_shapes(&c);
    return c.out.proto;
}

/* Attributes of rows whose value is the type of output 0. */
static const char *const type_attributes[] = {"to", "dtype", "output_datatype", NULL};
