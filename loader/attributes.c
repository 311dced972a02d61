/* attributes.c - AttributeProto -> tort_attribute: the one field that its type names, references of functions
 * resolved, tensors as weights, graphs as bodies. */
#include <string.h>

#include "loader/loader.h"

static const char *const kind_names[] = {
    [0] = "undefined",
    [TORT_ATTR_FLOAT] = "float",
    [TORT_ATTR_INT] = "int",
    [TORT_ATTR_STRING] = "string",
    [TORT_ATTR_TENSOR] = "tensor",
    [TORT_ATTR_GRAPH] = "graph",
    [TORT_ATTR_FLOATS] = "floats",
    [TORT_ATTR_INTS] = "ints",
    [TORT_ATTR_STRINGS] = "strings",
    [TORT_ATTR_TENSORS] = "tensors",
    [TORT_ATTR_GRAPHS] = "graphs",
    [TORT_ATTR_SPARSE_TENSOR] = "sparse_tensor",
    [TORT_ATTR_SPARSE_TENSORS] = "sparse_tensors",
    [TORT_ATTR_TYPE_PROTO] = "type_proto",
    [TORT_ATTR_TYPE_PROTOS] = "type_protos",
};

enum { LAST_KIND = TORT_ATTR_TYPE_PROTOS };

/* How many values of a kind are there: 0 or 1 where it is no list. */
static size_t count_of(const TortOnnx__AttributeProto *proto, int32_t kind) {
    switch (kind) {
    case TORT_ATTR_FLOAT: return proto->has_f != 0;
    case TORT_ATTR_INT: return proto->has_i != 0;
    case TORT_ATTR_STRING: return proto->has_s != 0;
    case TORT_ATTR_TENSOR: return proto->t != NULL;
    case TORT_ATTR_GRAPH: return proto->g != NULL;
    case TORT_ATTR_FLOATS: return proto->n_floats;
    case TORT_ATTR_INTS: return proto->n_ints;
    case TORT_ATTR_STRINGS: return proto->n_strings;
    case TORT_ATTR_TENSORS: return proto->n_tensors;
    case TORT_ATTR_GRAPHS: return proto->n_graphs;
    case TORT_ATTR_SPARSE_TENSOR: return proto->sparse_tensor != NULL;
    case TORT_ATTR_SPARSE_TENSORS: return proto->n_sparse_tensors;
    case TORT_ATTR_TYPE_PROTO: return proto->tp != NULL;
    case TORT_ATTR_TYPE_PROTOS: return proto->n_type_protos;
    default: return 0;
    }
}

/* A message, without which there is no value; a number or text that is not there is 0 or "". */
static bool must_be_there(int32_t kind) {
    return kind == TORT_ATTR_TENSOR || kind == TORT_ATTR_GRAPH || kind == TORT_ATTR_SPARSE_TENSOR ||
           kind == TORT_ATTR_TYPE_PROTO;
}

/* The kind: as stated, or in the oldest files as shown by the field that is there. */
static tort_status kind_of(tort_loader *loader, const TortOnnx__AttributeProto *proto, int32_t *kind) {
    *kind = proto->type;
    if (*kind < 0 || *kind > LAST_KIND)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %d; ONNX has 1 to %d", *kind, LAST_KIND);
    for (int32_t k = 1; k <= LAST_KIND; k++) {
        if (count_of(proto, k) == 0) continue;
        if (*kind == 0) *kind = k;
        if (*kind != k)
            return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds %s", kind_names[*kind],
                             kind_names[k]);
    }
    if (*kind == 0) return tort_fail(loader->error, TORT_E_MODEL, "it has neither type nor value");
    if (must_be_there(*kind) && count_of(proto, *kind) == 0)
        return tort_fail(loader->error, TORT_E_MODEL, "its type is %s, but it holds none", kind_names[*kind]);
    return TORT_OK;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static tort_status load_list(tort_loader *loader, const void *values, size_t size, tort_attribute *attribute) {
    void *list = tort_arena_array(&loader->model->arena, (size_t)attribute->count, size);
    if (!list) return tort_no_memory(loader);
    if (attribute->count) memcpy(list, values, (size_t)attribute->count * size);
    attribute->u.ints = list;
    return TORT_OK;
}

static tort_status load_string(tort_loader *loader, const ProtobufCBinaryData *bytes, tort_string *string) {
    *string = (tort_string){"", bytes->len};
    if (bytes->len) string->data = tort_arena_text(&loader->model->arena, (const char *)bytes->data, bytes->len);
    return string->data ? TORT_OK : tort_no_memory(loader);
}

static tort_status load_strings(tort_loader *loader, const TortOnnx__AttributeProto *proto, tort_attribute *attribute) {
    tort_string *strings = tort_arena_array(&loader->model->arena, proto->n_strings, sizeof *strings);
    if (!strings) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_strings; i++) {
        tort_status status = load_string(loader, &proto->strings[i], &strings[i]);
        if (status) return status;
    }
    attribute->u.strings = strings;
    return TORT_OK;
}

static tort_status load_weights(tort_loader *loader, TortOnnx__TensorProto *const *tensors, tort_attribute *attribute) {
    int32_t *weights = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *weights);
    if (!weights) return tort_no_memory(loader);
    for (int32_t i = 0; i < attribute->count; i++) {
        tort_status status = tort_load_tensor(loader, tensors[i], &weights[i]);
        if (status) return status;
    }
    attribute->u.weights = weights;
    return TORT_OK;
}

static tort_status load_sparse(tort_loader *loader, TortOnnx__SparseTensorProto *const *tensors,
                               tort_attribute *attribute) {
    int32_t *weights = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *weights);
    if (!weights) return tort_no_memory(loader);
    for (int32_t i = 0; i < attribute->count; i++) {
        tort_status status = tort_load_sparse(loader, tensors[i], &weights[i]);
        if (status) return status;
    }
    attribute->u.weights = weights;
    return TORT_OK;
}

static tort_status load_types(tort_loader *loader, TortOnnx__TypeProto *const *protos, tort_attribute *attribute) {
    tort_value_type *types = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *types);
    if (!types) return tort_no_memory(loader);
    for (int32_t i = 0; i < attribute->count; i++) {
        tort_status status = tort_load_value_type(loader, protos[i], &types[i]);
        if (status) return status;
    }
    attribute->u.types = types;
    return TORT_OK;
}

static tort_status load_graphs(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *const *protos,
                               tort_bodies *bodies, tort_attribute *attribute) {
    int32_t *graphs = tort_arena_array(&loader->model->arena, (size_t)attribute->count, sizeof *graphs);
    if (!graphs) return tort_no_memory(loader);
    for (int32_t i = 0; i < attribute->count; i++) {
        tort_status status = tort_load_body(loader, scope, protos[i], bodies, &graphs[i]);
        if (status) return status;
    }
    attribute->u.graphs = graphs;
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_value(tort_loader *loader, tort_scope *scope, const TortOnnx__AttributeProto *proto,
                              tort_attribute *attribute, tort_bodies *bodies) {
    attribute->count = (int32_t)count_of(proto, attribute->kind);
    switch (attribute->kind) {
    case TORT_ATTR_FLOAT: attribute->u.f = proto->f; break;
    case TORT_ATTR_INT: attribute->u.i = proto->i; break;
    case TORT_ATTR_STRING: attribute->count = 1; return load_string(loader, &proto->s, &attribute->u.s);
    case TORT_ATTR_FLOATS: return load_list(loader, proto->floats, sizeof *proto->floats, attribute);
    case TORT_ATTR_INTS: return load_list(loader, proto->ints, sizeof *proto->ints, attribute);
    case TORT_ATTR_STRINGS: return load_strings(loader, proto, attribute);
    case TORT_ATTR_TENSOR: return load_weights(loader, &proto->t, attribute);
    case TORT_ATTR_TENSORS: return load_weights(loader, proto->tensors, attribute);
    case TORT_ATTR_SPARSE_TENSOR: return load_sparse(loader, &proto->sparse_tensor, attribute);
    case TORT_ATTR_SPARSE_TENSORS: return load_sparse(loader, proto->sparse_tensors, attribute);
    case TORT_ATTR_GRAPH: return load_graphs(loader, scope, &proto->g, bodies, attribute);
    case TORT_ATTR_GRAPHS: return load_graphs(loader, scope, proto->graphs, bodies, attribute);
    case TORT_ATTR_TYPE_PROTO: return load_types(loader, &proto->tp, attribute);
    case TORT_ATTR_TYPE_PROTOS: return load_types(loader, proto->type_protos, attribute);
    }
    attribute->count = 1;
    return TORT_OK;
}

/* *present is false for a reference to a parameter that the call does not give. */
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
    if (*reference && (kind == TORT_ATTR_GRAPH || kind == TORT_ATTR_GRAPHS)) /* its names are those of the caller */
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a graph that is handed to a function as an attribute");
    *attribute = (tort_attribute){.name = name, .kind = (tort_attribute_kind)kind};
    *present = true;
    return load_value(loader, scope, proto, attribute, bodies);
}

/* `names` holds those before. */
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
