/* attributes.c - AttributeProto -> tort_attribute: the one field that its type names, references of functions
 * resolved, tensors as weights, graphs as bodies. */
#include <string.h>

#include "loader/loader.h"

/* Names of tort_attribute_kind, and which field of AttributeProto holds each. */
static const struct {
    const char *name;
    uint32_t field;
    bool single; /* a message that must be there */
} kinds[] = {
    [0] = {"undefined", 0, false},
    [TORT_ATTR_FLOAT] = {"float", ATTRIBUTE_F, false},
    [TORT_ATTR_INT] = {"int", ATTRIBUTE_I, false},
    [TORT_ATTR_STRING] = {"string", ATTRIBUTE_S, false},
    [TORT_ATTR_TENSOR] = {"tensor", ATTRIBUTE_T, true},
    [TORT_ATTR_GRAPH] = {"graph", ATTRIBUTE_G, true},
    [TORT_ATTR_FLOATS] = {"floats", ATTRIBUTE_FLOATS, false},
    [TORT_ATTR_INTS] = {"ints", ATTRIBUTE_INTS, false},
    [TORT_ATTR_STRINGS] = {"strings", ATTRIBUTE_STRINGS, false},
    [TORT_ATTR_TENSORS] = {"tensors", ATTRIBUTE_TENSORS, false},
    [TORT_ATTR_GRAPHS] = {"graphs", ATTRIBUTE_GRAPHS, false},
    [TORT_ATTR_SPARSE_TENSOR] = {"sparse_tensor", ATTRIBUTE_SPARSE_TENSOR, true},
    [TORT_ATTR_SPARSE_TENSORS] = {"sparse_tensors", ATTRIBUTE_SPARSE_TENSORS, false},
    [TORT_ATTR_TYPE_PROTO] = {"type_proto", ATTRIBUTE_TP, true},
    [TORT_ATTR_TYPE_PROTOS] = {"type_protos", ATTRIBUTE_TYPE_PROTOS, false},
};

enum { LAST_KIND = TORT_ATTR_TYPE_PROTOS };

/* What an AttributeProto says beside its value. */
typedef struct attribute_proto {
    tort_message message;
    const char *name, *reference;
    int32_t type;
    uint32_t given; /* a bit a field that holds something */
} attribute_proto;

static attribute_proto read_attribute(tort_message message) {
    attribute_proto proto = {.message = message, .name = "", .reference = ""};
    for (tort_field field; tort_next_field(&message, &field);) {
        bool empty_list = (field.number == ATTRIBUTE_FLOATS || field.number == ATTRIBUTE_INTS) &&
                          field.kind == TORT_SLIM_TEXT && field.length == 0;
        if (!empty_list) proto.given |= 1u << field.number;
        if (field.number == ATTRIBUTE_NAME) proto.name = field.text;
        if (field.number == ATTRIBUTE_REF_ATTR_NAME) proto.reference = field.text;
        if (field.number == ATTRIBUTE_TYPE) proto.type = (int32_t)field.integer;
    }
    return proto;
}

int32_t tort_attribute_type(tort_message message) {
    return read_attribute(message).type;
}

/* The kind: as stated, or in the oldest files as shown by the field that is there. */
static tort_status kind_of(tort_loader *loader, const attribute_proto *proto, int32_t *kind) {
    *kind = proto->type;
    if (*kind < 0 || *kind > LAST_KIND)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d; ONNX has 1 to %d", *kind, LAST_KIND);
    for (int32_t k = 1; k <= LAST_KIND; k++) {
        if (!(proto->given >> kinds[k].field & 1)) continue;
        if (*kind == 0) *kind = k;
        if (*kind != k)
            return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds %s", kinds[*kind].name,
                             kinds[k].name);
    }
    if (*kind == 0) return tort_fail(loader->error, TORT_E_MODEL, "it has neither type nor value");
    if (kinds[*kind].single && !(proto->given >> kinds[*kind].field & 1))
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds none", kinds[*kind].name);
    return TORT_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* Of a number or a text that stands there several times the last one counts; none is 0 or "". */
static void load_scalar(tort_message message, tort_attribute *attribute) {
    if (attribute->kind == TORT_ATTR_STRING) attribute->u.s = (tort_string){"", 0};
    for (tort_field field; tort_next_of(&message, kinds[attribute->kind].field, &field);) {
        if (attribute->kind == TORT_ATTR_FLOAT)
            memcpy(&attribute->u.f, field.four, sizeof attribute->u.f);
        else if (attribute->kind == TORT_ATTR_INT)
            attribute->u.i = (int64_t)field.integer;
        else
            attribute->u.s = (tort_string){field.text, field.length};
    }
}

static bool load_integers(tort_loader *loader, tort_message message, tort_attribute *attribute) {
    int64_t value;
    tort_numbers list = tort_numbers_of(message, ATTRIBUTE_INTS);
    for (attribute->count = 0; tort_next_integer(&list, &value);) attribute->count++;
    int64_t *ints = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *ints);
    if (!ints) return false;
    list = tort_numbers_of(message, ATTRIBUTE_INTS);
    for (int32_t i = 0; tort_next_integer(&list, &value); i++) ints[i] = value;
    attribute->u.ints = ints;
    return true;
}

static bool load_floats(tort_loader *loader, tort_message message, tort_attribute *attribute) {
    float value;
    tort_numbers list = tort_numbers_of(message, ATTRIBUTE_FLOATS);
    for (attribute->count = 0; tort_next_float(&list, &value);) attribute->count++;
    float *floats = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *floats);
    if (!floats) return false;
    list = tort_numbers_of(message, ATTRIBUTE_FLOATS);
    for (int32_t i = 0; tort_next_float(&list, &value); i++) floats[i] = value;
    attribute->u.floats = floats;
    return true;
}

static bool load_strings(tort_loader *loader, tort_message message, tort_attribute *attribute) {
    tort_string *strings = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *strings);
    if (!strings) return false;
    tort_field field;
    for (int32_t i = 0; tort_next_of(&message, ATTRIBUTE_STRINGS, &field); i++)
        strings[i] = (tort_string){field.text, field.length};
    attribute->u.strings = strings;
    return true;
}

static tort_status load_weight(tort_loader *loader, tort_message message, bool sparse, int32_t *weight) {
    const char *name;
    if (sparse) return tort_load_sparse(loader, message, &name, weight);
    tort_tensor_proto tensor = tort_read_tensor(message);
    return tort_load_tensor(loader, &tensor, weight);
}

static tort_status load_weights(tort_loader *loader, tort_message message, tort_attribute *attribute) {
    bool sparse = attribute->kind == TORT_ATTR_SPARSE_TENSOR || attribute->kind == TORT_ATTR_SPARSE_TENSORS;
    int32_t *weights = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *weights);
    if (!weights) return tort_no_memory(loader);
    tort_field field;
    for (int32_t i = 0; tort_next_of(&message, kinds[attribute->kind].field, &field); i++) {
        tort_status status = load_weight(loader, field.message, sparse, &weights[i]);
        if (status) return status;
    }
    attribute->u.weights = weights;
    return TORT_OK;
}

static tort_status load_types(tort_loader *loader, tort_message message, tort_attribute *attribute) {
    tort_value_type *types = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *types);
    if (!types) return tort_no_memory(loader);
    tort_field field;
    for (int32_t i = 0; tort_next_of(&message, kinds[attribute->kind].field, &field); i++) {
        tort_status status = tort_load_value_type(loader, field.message, &types[i]);
        if (status) return status;
    }
    attribute->u.types = types;
    return TORT_OK;
}

static tort_status load_graphs(tort_loader *loader, tort_scope *scope, tort_message message, tort_bodies *bodies,
                               tort_attribute *attribute) {
    int32_t *graphs = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *graphs);
    if (!graphs) return tort_no_memory(loader);
    tort_field field;
    for (int32_t i = 0; tort_next_of(&message, kinds[attribute->kind].field, &field); i++) {
        tort_status status = tort_load_body(loader, scope, field.message, bodies, &graphs[i]);
        if (status) return status;
    }
    attribute->u.graphs = graphs;
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_value(tort_loader *loader, tort_scope *scope, tort_message message, tort_attribute *attribute,
                              tort_bodies *bodies) {
    bool ok = true;
    attribute->count = 1;
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT:
    case TORT_ATTR_INT:
    case TORT_ATTR_STRING: load_scalar(message, attribute); return TORT_OK;
    case TORT_ATTR_FLOATS: ok = load_floats(loader, message, attribute); break;
    case TORT_ATTR_INTS: ok = load_integers(loader, message, attribute); break;
    default:
        attribute->count = tort_count_of(message, kinds[attribute->kind].field);
        switch (attribute->kind) {
        case TORT_ATTR_STRINGS: ok = load_strings(loader, message, attribute); break;
        case TORT_ATTR_GRAPH:
        case TORT_ATTR_GRAPHS: return load_graphs(loader, scope, message, bodies, attribute);
        case TORT_ATTR_TYPE_PROTO:
        case TORT_ATTR_TYPE_PROTOS: return load_types(loader, message, attribute);
        default: return load_weights(loader, message, attribute);
        }
    }
    return ok ? TORT_OK : tort_no_memory(loader);
}

/* *present is false for a reference to a parameter that the call does not give. */
static tort_status load_attribute(tort_loader *loader, tort_scope *scope, const attribute_proto *proto,
                                  tort_attribute *attribute, tort_bodies *bodies, bool *present) {
    attribute_proto value = *proto;
    *present = false;
    if (!*proto->name) return tort_fail(loader->error, TORT_E_MODEL, "an attribute without a name");
    bool reference = *proto->reference;
    if (reference) {
        tort_message referred;
        tort_status status = tort_attribute_reference(loader, scope, proto->reference, proto->type, &referred);
        if (status || !referred.at) return status;
        value = read_attribute(referred);
    }
    int32_t kind;
    tort_status status = kind_of(loader, &value, &kind);
    if (status) return status;
    if (reference && (kind == TORT_ATTR_GRAPH || kind == TORT_ATTR_GRAPHS)) /* its names are those of the caller */
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a graph that is handed to a function as an attribute");
    *attribute = (tort_attribute){.name = proto->name, .kind = (tort_attribute_kind)kind};
    *present = true;
    return load_value(loader, scope, value.message, attribute, bodies);
}

/* `names` holds those before. */
static tort_status check_unique(tort_loader *loader, const tort_attribute *attributes, int32_t last,
                                tort_names *names) {
    int32_t other;
    if (tort_names_find(names, attributes[last].name, &other))
        return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    return tort_names_add(names, attributes[last].name, last) ? TORT_OK : tort_no_memory(loader);
}

static tort_status load_all(tort_loader *loader, tort_scope *scope, const tort_node_proto *proto,
                            tort_attribute *attributes, tort_node *node, tort_bodies *bodies, tort_names *names) {
    tort_message rest = proto->message;
    for (tort_field field; tort_next_of(&rest, NODE_ATTRIBUTE, &field);) {
        bool present;
        attribute_proto attribute = read_attribute(field.message);
        tort_attribute *next = &attributes[node->attribute_count];
        tort_status status = load_attribute(loader, scope, &attribute, next, bodies, &present);
        if (!status && present) status = check_unique(loader, attributes, node->attribute_count, names);
        node->attribute_count += present;
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", attribute.name);
        if (status) return status;
    }
    node->attributes = attributes;
    return TORT_OK;
}

tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, const tort_node_proto *proto, tort_node *node,
                                 tort_bodies *bodies) {
    if (proto->attribute_count == 0) return TORT_OK;
    if (proto->attribute_count > TORT_MOST_ATTRIBUTES)
        return tort_fail(loader->error, TORT_E_MODEL, "%d attributes; at most %d are taken", proto->attribute_count,
                         TORT_MOST_ATTRIBUTES);
    tort_attribute *attributes =
        tort_arena_array(&loader->model->arena, (size_t)proto->attribute_count, sizeof *attributes);
    if (!attributes) return tort_no_memory(loader);
    tort_names names;
    tort_names_init(&names, loader->env);
    tort_status status = load_all(loader, scope, proto, attributes, node, bodies, &names);
    tort_names_free(&names);
    return status;
}
