/* attributes.c - AttributeProto -> tort_attribute: takes the one field that its type names, resolves references to
 * parameters of functions, loads tensors as weights and graphs as bodies. */
#include "loader/loader.h"

/* The kinds, which are ONNX's types of attributes: number of the field of AttributeProto, and size of an element in the
 * model's list (0: the model does not store it as a list). */
static const struct {
    const char *name;
    uint32_t field;
    size_t size;
} kinds[] = {
    [0] = {"undefined", 0, 0},
    [TORT_ATTR_FLOAT] = {"float", 2, 0},
    [TORT_ATTR_INT] = {"int", 3, 0},
    [TORT_ATTR_STRING] = {"string", 4, 0},
    [TORT_ATTR_TENSOR] = {"tensor", 5, sizeof(int32_t)},
    [TORT_ATTR_GRAPH] = {"graph", 6, sizeof(int32_t)},
    [TORT_ATTR_FLOATS] = {"floats", 7, sizeof(float)},
    [TORT_ATTR_INTS] = {"ints", 8, sizeof(int64_t)},
    [TORT_ATTR_STRINGS] = {"strings", 9, sizeof(tort_string)},
    [TORT_ATTR_TENSORS] = {"tensors", 10, sizeof(int32_t)},
    [TORT_ATTR_GRAPHS] = {"graphs", 11, sizeof(int32_t)},
    [TORT_ATTR_SPARSE_TENSOR] = {"sparse_tensor", 22, sizeof(int32_t)},
    [TORT_ATTR_SPARSE_TENSORS] = {"sparse_tensors", 23, sizeof(int32_t)},
    [TORT_ATTR_TYPE_PROTO] = {"type_proto", 14, sizeof(tort_value_type)},
    [TORT_ATTR_TYPE_PROTOS] = {"type_protos", 15, sizeof(tort_value_type)},
};

enum { LAST_KIND = TORT_ATTR_TYPE_PROTOS };

static const ProtobufCFieldDescriptor *field_of(int32_t kind) {
    return protobuf_c_message_descriptor_get_field(&tort_onnx__attribute_proto__descriptor, kinds[kind].field);
}

/* Number of values of a kind in the message; 0 or 1 if the kind is not a list. */
static size_t count_of(const TortOnnx__AttributeProto *proto, int32_t kind) {
    const ProtobufCFieldDescriptor *field = field_of(kind);
    const char *at = (const char *)proto;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)(const void *)(at + field->quantifier_offset);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return *(void *const *)(const void *)(at + field->offset) != NULL;
    return *(const protobuf_c_boolean *)(const void *)(at + field->quantifier_offset) != 0;
}

/* True if a value of the kind is a message, which cannot be absent; an absent number or text is 0 or "". */
static bool must_be_there(int32_t kind) {
    return field_of(kind)->type == PROTOBUF_C_TYPE_MESSAGE && field_of(kind)->label != PROTOBUF_C_LABEL_REPEATED;
}

/* Finds the kind: the stated type or, in the oldest files, that of the field that is there. */
static tort_status kind_of(tort_loader *loader, const TortOnnx__AttributeProto *proto, int32_t *kind) {
    *kind = proto->type;
    if (*kind < 0 || *kind > LAST_KIND)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d; ONNX has 1 to %d", *kind, LAST_KIND);
    for (int32_t k = 1; k <= LAST_KIND; k++) {
        if (count_of(proto, k) == 0) continue;
        if (*kind == 0) *kind = k;
        if (*kind != k)
            return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds %s", kinds[*kind].name,
                             kinds[k].name);
    }
    if (*kind == 0) return tort_fail(loader->error, TORT_E_MODEL, "it has neither type nor value");
    if (must_be_there(*kind) && count_of(proto, *kind) == 0)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds none", kinds[*kind].name);
    return TORT_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static tort_status load_string(tort_loader *loader, const ProtobufCBinaryData *bytes, tort_string *string) {
    *string = (tort_string){"", bytes->len};
    if (bytes->len) string->data = tort_arena_text(&loader->model->arena, (const char *)bytes->data, bytes->len);
    return string->data ? TORT_OK : tort_no_memory(loader);
}

/* Loads element i of an attribute of a kind that is a list in the model into `list`. */
static tort_status load_element(tort_loader *loader, tort_scope *scope, const TortOnnx__AttributeProto *proto,
                                int32_t kind, int32_t i, tort_bodies *bodies, void *list) {
    int32_t *number = (int32_t *)list + i;
    switch (kind) {
    case TORT_ATTR_FLOATS: ((float *)list)[i] = proto->floats[i]; break;
    case TORT_ATTR_INTS: ((int64_t *)list)[i] = proto->ints[i]; break;
    case TORT_ATTR_STRINGS: return load_string(loader, &proto->strings[i], (tort_string *)list + i);
    case TORT_ATTR_TENSOR: return tort_load_tensor(loader, proto->t, number);
    case TORT_ATTR_TENSORS: return tort_load_tensor(loader, proto->tensors[i], number);
    case TORT_ATTR_SPARSE_TENSOR: return tort_load_sparse(loader, proto->sparse_tensor, number);
    case TORT_ATTR_SPARSE_TENSORS: return tort_load_sparse(loader, proto->sparse_tensors[i], number);
    case TORT_ATTR_GRAPH: return tort_load_body(loader, scope, proto->g, bodies, number);
    case TORT_ATTR_GRAPHS: return tort_load_body(loader, scope, proto->graphs[i], bodies, number);
    case TORT_ATTR_TYPE_PROTO: return tort_load_value_type(loader, proto->tp, (tort_value_type *)list + i);
    default: return tort_load_value_type(loader, proto->type_protos[i], (tort_value_type *)list + i);
    }
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_value(tort_loader *loader, tort_scope *scope, const TortOnnx__AttributeProto *proto,
                              tort_attribute *attribute, tort_bodies *bodies) {
    const int32_t kind = (int32_t)attribute->kind;
    attribute->count = 1;
    if (kind == TORT_ATTR_FLOAT) attribute->u.f = proto->f;
    if (kind == TORT_ATTR_INT) attribute->u.i = proto->i;
    if (kind == TORT_ATTR_STRING) return load_string(loader, &proto->s, &attribute->u.s);
    if (kinds[kind].size == 0) return TORT_OK;
    attribute->count = (int32_t)count_of(proto, kind);
    void *list = tort_arena_array(&loader->model->arena, (size_t)attribute->count, kinds[kind].size);
    if (!list) return tort_no_memory(loader);
    attribute->u.ints = list;
    for (int32_t i = 0; i < attribute->count; i++) {
        tort_status status = load_element(loader, scope, proto, kind, i, bodies, list);
        if (status) return status;
    }
    return TORT_OK;
}

/* Loads an attribute; *present is false for a reference to a parameter that the call does not give. */
static tort_status load_attribute(tort_loader *loader, tort_scope *scope, const TortOnnx__AttributeProto *proto,
                                  tort_attribute *attribute, tort_bodies *bodies, bool *present) {
    const char *reference = tort_text_of(proto->ref_attr_name),
               *name = tort_keep_once(loader, tort_text_of(proto->name));
    *present = false;
    if (!name) return tort_no_memory(loader);
    if (!*name) return tort_fail(loader->error, TORT_E_MODEL, "an attribute without a name");
    if (*reference) {
        tort_status status = tort_attribute_reference(loader, scope, reference, proto->type, &proto);
        if (status || !proto) return status;
    }
    int32_t kind;
    tort_status status = kind_of(loader, proto, &kind);
    if (status) return status;
    if (*reference && (kind == TORT_ATTR_GRAPH || kind == TORT_ATTR_GRAPHS)) /* names belong to the caller's scope */
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a graph that is handed to a function as an attribute");
    *attribute = (tort_attribute){.name = name, .kind = (tort_attribute_kind)kind};
    *present = true;
    return load_value(loader, scope, proto, attribute, bodies);
}

/* Refuses an attribute whose name is among those before it (`names`). */
static tort_status check_unique(tort_loader *loader, const tort_attribute *attributes, int32_t last,
                                tort_names *names) {
    int32_t other;
    if (tort_names_find(names, attributes[last].name, &other))
        return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    return tort_names_add(names, attributes[last].name, last) ? TORT_OK : tort_no_memory(loader);
}

static tort_status load_all(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                            tort_attribute *attributes, tort_node *node, tort_bodies *bodies, tort_names *names) {
    for (size_t i = 0; i < proto->n_attribute; i++) {
        bool present;
        tort_attribute *next = &attributes[node->attribute_count];
        tort_status status = load_attribute(loader, scope, proto->attribute[i], next, bodies, &present);
        if (!status && present) status = check_unique(loader, attributes, node->attribute_count, names);
        node->attribute_count += present;
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", tort_text_of(proto->attribute[i]->name));
        if (status) return status;
    }
    node->attributes = attributes;
    return TORT_OK;
}

tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                 tort_node *node, tort_bodies *bodies) {
    if (proto->n_attribute == 0) return TORT_OK;
    tort_attribute *attributes = tort_arena_array(&loader->model->arena, proto->n_attribute, sizeof *attributes);
    if (!attributes) return tort_no_memory(loader);
    tort_names names;
    tort_names_init(&names, loader->env);
    tort_status status = load_all(loader, scope, proto, attributes, node, bodies, &names);
    tort_names_free(&names);
    return status;
}
