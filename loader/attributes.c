/* attributes.c - AttributeProto -> tort_attribute: the one field that its type names, references of functions
 * resolved, tensors as weights, graphs as bodies. */
#include <string.h>

#include "loader/loader.h"

/* Names of tort_attribute_kind and which field of AttributeProto holds each. */
static const char *const kind_names[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};

enum { LAST_KIND = TORT_ATTR_TYPE_PROTOS };

static bool has_field(const TortOnnx__AttributeProto *proto, int32_t kind) {
    switch (kind) {
    case TORT_ATTR_FLOAT: return proto->has_f;
    case TORT_ATTR_INT: return proto->has_i;
    case TORT_ATTR_STRING: return proto->has_s;
    case TORT_ATTR_TENSOR: return proto->t;
    case TORT_ATTR_GRAPH: return proto->g;
    case TORT_ATTR_FLOATS: return proto->n_floats;
    case TORT_ATTR_INTS: return proto->n_ints;
    case TORT_ATTR_STRINGS: return proto->n_strings;
    case TORT_ATTR_TENSORS: return proto->n_tensors;
    case TORT_ATTR_GRAPHS: return proto->n_graphs;
    case TORT_ATTR_SPARSE_TENSOR: return proto->sparse_tensor;
    case TORT_ATTR_SPARSE_TENSORS: return proto->n_sparse_tensors;
    case TORT_ATTR_TYPE_PROTO: return proto->tp;
    case TORT_ATTR_TYPE_PROTOS: return proto->n_type_protos;
    default: return false;
    }
}

/* The kind: as stated, or in the oldest files as shown by the field that is there. */
static tort_status kind_of(tort_loader *loader, const TortOnnx__AttributeProto *proto, int32_t *kind) {
    *kind = proto->type;
    if (*kind < 0 || *kind > LAST_KIND)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d; ONNX has 1 to %d", *kind, LAST_KIND);
    for (int32_t k = 1; k <= LAST_KIND; k++) {
        if (!has_field(proto, k)) continue;
        if (*kind == 0) *kind = k;
        if (*kind != k)
            return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds %s", kind_names[*kind],
                             kind_names[k]);
    }
    if (*kind == 0) return tort_fail(loader->error, TORT_E_MODEL, "it has neither type nor value");
    bool single_message = *kind == TORT_ATTR_TENSOR || *kind == TORT_ATTR_GRAPH || *kind == TORT_ATTR_SPARSE_TENSOR ||
                          *kind == TORT_ATTR_TYPE_PROTO;
    if (single_message && !has_field(proto, *kind))
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds none", kind_names[*kind]);
    return TORT_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static bool copy_string(tort_loader *loader, const ProtobufCBinaryData *bytes, tort_string *out) {
    out->length = bytes->len;
    out->data = tort_arena_text(&loader->model->arena, bytes->len ? (const char *)bytes->data : "", bytes->len);
    return out->data;
}

static tort_status load_strings(tort_loader *loader, const TortOnnx__AttributeProto *proto, tort_attribute *attribute) {
    tort_string *strings = tort_arena_array(&loader->model->arena, proto->n_strings, sizeof *strings);
    if (!strings) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_strings; i++)
        if (!copy_string(loader, &proto->strings[i], &strings[i])) return tort_no_memory(loader);
    attribute->u.strings = strings;
    attribute->count = (int32_t)proto->n_strings;
    return TORT_OK;
}

/* An array of `count` numbers in the model's arena; NULL: out of memory. */
static void *copy_numbers(tort_loader *loader, const void *numbers, size_t count, size_t size) {
    void *copy = tort_arena_array(&loader->model->arena, count, size);
    if (copy && count) memcpy(copy, numbers, count * size);
    return copy;
}

static tort_status load_weights(tort_loader *loader, TortOnnx__TensorProto **tensors,
                                TortOnnx__SparseTensorProto **sparse, size_t count, tort_attribute *attribute) {
    int32_t *weights = tort_arena_array(&loader->model->arena, count, sizeof *weights);
    if (!weights) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        tort_status status = tensors ? tort_load_tensor(loader, tensors[i], &weights[i])
                                     : tort_load_sparse(loader, sparse[i], &weights[i]);
        if (status) return status;
    }
    attribute->u.weights = weights;
    attribute->count = (int32_t)count;
    return TORT_OK;
}

static tort_status load_types(tort_loader *loader, TortOnnx__TypeProto **types, size_t count,
                              tort_attribute *attribute) {
    tort_composite *composites = tort_arena_array(&loader->model->arena, count, sizeof *composites);
    if (!composites) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        int32_t index;
        tort_status status = tort_load_composite(loader, types[i], &index);
        if (status) return status;
        composites[i] = loader->model->composites[index];
    }
    attribute->u.type = composites;
    attribute->count = (int32_t)count;
    return TORT_OK;
}

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

static tort_status load_body(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *proto, const char *path,
                             tort_bodies *bodies, int32_t *graph) {
    if (!tort_grow(loader->env, (void **)&bodies->scopes, &bodies->capacity, bodies->count + 1, sizeof *bodies->scopes))
        return tort_no_memory(loader);
    tort_scope *body = &bodies->scopes[bodies->count++];
    *body = (tort_scope){.outer = scope, .call = scope->call};
    return tort_load_graph(loader, proto, path, body, graph);
}

static tort_status load_bodies(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto **graphs, size_t count,
                               const char *node_name, tort_bodies *bodies, tort_attribute *attribute) {
    tort_arena *arena = &loader->model->arena;
    int32_t *indices = tort_arena_array(arena, count, sizeof *indices);
    if (!indices) return tort_no_memory(loader);
    const char *around = loader->model->graphs[scope->graph].path, *slash = *around ? "/" : "";
    for (size_t i = 0; i < count; i++) {
        char *path = attribute->kind == TORT_ATTR_GRAPH
                         ? tort_arena_format(arena, "%s%s%s/%s", around, slash, node_name, attribute->name)
                         : tort_arena_format(arena, "%s%s%s/%s_%zu", around, slash, node_name, attribute->name, i);
        if (!path) return tort_no_memory(loader);
        tort_status status = load_body(loader, scope, graphs[i], path, bodies, &indices[i]);
        if (status) return status;
    }
    attribute->u.graphs = indices;
    attribute->count = (int32_t)count;
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_value(tort_loader *loader, tort_scope *scope, TortOnnx__AttributeProto *proto,
                              const char *node_name, tort_attribute *attribute, tort_bodies *bodies) {
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT: attribute->u.f = proto->f; return TORT_OK;
    case TORT_ATTR_INT: attribute->u.i = proto->i; return TORT_OK;
    case TORT_ATTR_STRING: return copy_string(loader, &proto->s, &attribute->u.s) ? TORT_OK : tort_no_memory(loader);
    case TORT_ATTR_FLOATS:
        attribute->count = (int32_t)proto->n_floats;
        attribute->u.floats = copy_numbers(loader, proto->floats, proto->n_floats, sizeof(float));
        return attribute->u.floats ? TORT_OK : tort_no_memory(loader);
    case TORT_ATTR_INTS:
        attribute->count = (int32_t)proto->n_ints;
        attribute->u.ints = copy_numbers(loader, proto->ints, proto->n_ints, sizeof(int64_t));
        return attribute->u.ints ? TORT_OK : tort_no_memory(loader);
    case TORT_ATTR_STRINGS: return load_strings(loader, proto, attribute);
    case TORT_ATTR_TENSOR: return load_weights(loader, &proto->t, NULL, 1, attribute);
    case TORT_ATTR_TENSORS: return load_weights(loader, proto->tensors, NULL, proto->n_tensors, attribute);
    case TORT_ATTR_SPARSE_TENSOR: return load_weights(loader, NULL, &proto->sparse_tensor, 1, attribute);
    case TORT_ATTR_SPARSE_TENSORS:
        return load_weights(loader, NULL, proto->sparse_tensors, proto->n_sparse_tensors, attribute);
    case TORT_ATTR_TYPE_PROTO: return load_types(loader, &proto->tp, 1, attribute);
    case TORT_ATTR_TYPE_PROTOS: return load_types(loader, proto->type_protos, proto->n_type_protos, attribute);
    case TORT_ATTR_GRAPH: return load_bodies(loader, scope, &proto->g, 1, node_name, bodies, attribute);
    case TORT_ATTR_GRAPHS:
        return load_bodies(loader, scope, proto->graphs, proto->n_graphs, node_name, bodies, attribute);
    }
    return tort_fail(loader->error, TORT_E_INTERNAL, "attribute of kind %d", (int)attribute->kind);
}

/* *present is false for a reference to a parameter that the call does not give. */
static tort_status load_attribute(tort_loader *loader, tort_scope *scope, TortOnnx__AttributeProto *proto,
                                  const char *node_name, tort_attribute *attribute, tort_bodies *bodies,
                                  bool *present) {
    const char *name = tort_text_of(proto->name);
    *present = false;
    if (!*name) return tort_fail(loader->error, TORT_E_MODEL, "an attribute without a name");
    bool reference = *tort_text_of(proto->ref_attr_name);
    if (reference) {
        tort_status status = tort_attribute_reference(loader, scope, proto, &proto);
        if (status || !proto) return status;
    }
    int32_t kind;
    tort_status status = kind_of(loader, proto, &kind);
    if (status) return status;
    if (reference && (kind == TORT_ATTR_GRAPH || kind == TORT_ATTR_GRAPHS)) /* its names are those of the caller */
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a graph that is handed to a function as an attribute");
    *attribute = (tort_attribute){.kind = (tort_attribute_kind)kind, .count = 1};
    attribute->name = tort_arena_text(&loader->model->arena, name, strlen(name));
    if (!attribute->name) return tort_no_memory(loader);
    *present = true;
    return load_value(loader, scope, proto, node_name, attribute, bodies);
}

static tort_status check_unique(tort_loader *loader, const tort_attribute *attributes, int32_t count) {
    for (int32_t i = 0; i + 1 < count; i++)
        if (strcmp(attributes[i].name, attributes[count - 1].name) == 0)
            return tort_fail(loader->error, TORT_E_MODEL, "it is there twice");
    return TORT_OK;
}

tort_status tort_load_attributes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *proto,
                                 const char *node_name, tort_node *node, tort_bodies *bodies) {
    if (proto->n_attribute > TORT_MOST_ATTRIBUTES)
        return tort_fail(loader->error, TORT_E_MODEL, "%zu attributes; at most %d are taken", proto->n_attribute,
                         TORT_MOST_ATTRIBUTES);
    tort_attribute *attributes = tort_arena_array(&loader->model->arena, proto->n_attribute, sizeof *attributes);
    if (!attributes) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_attribute; i++) {
        bool present;
        tort_attribute *next = &attributes[node->attribute_count];
        tort_status status = load_attribute(loader, scope, proto->attribute[i], node_name, next, bodies, &present);
        node->attribute_count += present;
        if (!status && present) status = check_unique(loader, attributes, node->attribute_count);
        if (status) tort_error_prefix(loader->error, "attribute \"%.100s\"", tort_text_of(proto->attribute[i]->name));
        if (status) return status;
    }
    node->attributes = attributes;
    return TORT_OK;
}
