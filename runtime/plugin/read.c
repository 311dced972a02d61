/* read.c - a graph of ONNX Runtime as a model of tinyort, without a file between them (plugin.h).
 *
 * Values are known by name: those that nodes make, constants, and what is left, which comes from outside. Names of
 * dimensions are kept, so that equal ones stay equal. A body of control flow is a graph of the model, whose inputs end
 * with what its node reads from around its bodies; the host lists that (implicit inputs). */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/base/names.h"
#include "runtime/core/graph/graph.h"
#include "runtime/plugin/plugin.h"

typedef struct reader {
    const plugin_host *host;
    const ort_api *api;
    tort_model *model;
    int32_t graph;     /* that is read */
    tort_names names;  /* its values by name */
    tort_names opsets; /* domain -> version */
    bool *unread;      /* by node; NULL: one that cannot be read is an error */
    int32_t depth;     /* of bodies */
    tort_error *error;
} reader;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const tort_status tried = plugin_check(r->host, (call), r->error);                                             \
        if (tried) return tried;                                                                                       \
    } while (0)

static tort_status no_memory(const reader *r) {
    return tort_out_of_memory(r->error, 0);
}

static const char *keep(reader *r, const char *text) {
    return tort_arena_text(&r->model->arena, text, strlen(text));
}

/* ---- types and tensors ------------------------------------------------------------------------------------------- */

static tort_status read_dims(reader *r, const ort_shape_info *shape, tort_info *info) {
    const char *names[TORT_MAX_RANK] = {0};
    int64_t dims[TORT_MAX_RANK];
    size_t rank;
    if (!r->api->has_shape(shape)) return TORT_OK;
    TRY(r->api->rank(shape, &rank));
    if (rank > TORT_MAX_RANK)
        return tort_fail(r->error, TORT_E_UNSUPPORTED, "a tensor has %zu dimensions; at most %d are supported", rank,
                         TORT_MAX_RANK);
    TRY(r->api->dims(shape, dims, rank));
    TRY(r->api->dim_names(shape, names, rank));
    if (!rank) return TORT_OK; /* left open: exporters call scalars what has shape [1] */
    info->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++)
        info->dims[i] = dims[i] >= 0 ? dims[i] : tort_dim_symbol(&r->model->dims, names[i] ? names[i] : "");
    return r->model->dims.failed ? no_memory(r) : TORT_OK;
}

static tort_status read_element(reader *r, const ort_type_info *type, int kind, int32_t depth, tort_value_type *out);

/* A type without its shape; undefined if it is one that tinyort does not have, such as a map. */
static tort_status read_value_type(reader *r, const ort_type_info *type, int32_t depth, tort_value_type *out) {
    const ort_shape_info *shape = NULL;
    int kind = 0, element = 0;
    *out = (tort_value_type){.type = TORT_UNDEFINED};
    TRY(r->api->kind_of(type, &kind));
    if (kind == ORT_KIND_SEQUENCE || kind == ORT_KIND_OPTIONAL) {
        tort_status status = read_element(r, type, kind, depth, out);
        if (status || out->type == TORT_UNDEFINED) return status;
        *out = kind == ORT_KIND_SEQUENCE ? tort_sequence_type(*out) : tort_optional_type(*out);
        return TORT_OK;
    }
    if (kind != ORT_KIND_TENSOR) return TORT_OK;
    TRY(r->api->tensor_info_of(type, &shape));
    TRY(r->api->element_type(shape, &element));
    *out = tort_tensor_type(plugin_type(element));
    return TORT_OK;
}

/* The type of the elements of a sequence, or of what is in an optional. */
static tort_status read_element(reader *r, const ort_type_info *type, int kind, int32_t depth, tort_value_type *out) {
    const ort_sequence_type *sequence;
    const ort_optional_type *optional;
    ort_type_info *element;
    if (depth == TORT_MAX_NESTING) return TORT_OK;
    if (kind == ORT_KIND_SEQUENCE) {
        TRY(r->api->as_sequence(type, &sequence));
        TRY(r->api->sequence_element(sequence, &element));
    } else {
        TRY(r->api->as_optional(type, &optional));
        TRY(r->api->optional_element(optional, &element));
    }
    const tort_status status = read_value_type(r, element, depth + 1, out);
    r->api->release_type(element);
    return status;
}

/* The type and shape of a value; what the host does not know, or tinyort does not have, stays unknown. */
static tort_status read_type(reader *r, const ort_value_info *value, tort_info *info) {
    const ort_type_info *type = NULL;
    const ort_shape_info *shape = NULL;
    tort_value_type whole;
    *info = (tort_info){.rank = -1, .nest = -1};
    TRY(r->api->value_type(value, &type));
    if (!type) return TORT_OK;
    const tort_status status = read_value_type(r, type, 0, &whole);
    if (status || whole.type == TORT_UNDEFINED) return status;
    info->kind = tort_type_kind(whole);
    info->type = whole.type;
    if (info->kind != TORT_TENSOR) {
        info->nest = (int32_t)whole.nest;
        return TORT_OK;
    }
    TRY(r->api->tensor_info_of(type, &shape));
    return read_dims(r, shape, info);
}

/* Adds a tensor of strings to the model's weights. */
static tort_status read_texts(reader *r, const ort_value *value, tort_tensor *tensor, int32_t *weight) {
    size_t bytes = 0;
    tort_status status = plugin_check(r->host, plugin_strings(r->api, value, tensor), r->error);
    tort_string *strings = tensor->data;
    if (!status) tort_tensor_bytes(tensor, &bytes); /* its size was checked when they were read */
    for (size_t i = 0; !status && i < bytes / sizeof *strings; i++) {
        strings[i].data = tort_arena_text(&r->model->arena, strings[i].data, strings[i].length);
        if (!strings[i].data) status = no_memory(r);
    }
    *weight = status ? -1 : tort_model_add_weight_data(r->model, tensor);
    free(strings);
    return status || *weight >= 0 ? status : no_memory(r);
}

/* Adds a tensor to the model's weights: by reference, if the host keeps it until the model is compiled, else a copy. */
static tort_status read_tensor(reader *r, const ort_value *value, bool kept, int32_t *weight) {
    tort_tensor tensor = {0};
    const void *data = NULL;
    size_t bytes;
    TRY(plugin_shape(r->api, value, &tensor));
    if (tensor.rank > TORT_MAX_RANK)
        return tort_fail(r->error, TORT_E_UNSUPPORTED, "a constant of %d dimensions and type %s", (int)tensor.rank,
                         tort_type_name(tensor.type));
    if (tensor.type == TORT_STRING) return read_texts(r, value, &tensor, weight);
    TRY(r->api->data(value, &data));
    memcpy(&tensor.data, &data, sizeof data); /* drops const: it is read or copied */
    if (!tort_tensor_bytes(&tensor, &bytes))
        return tort_fail(r->error, TORT_E_UNSUPPORTED, "a constant is larger than can be counted");
    *weight =
        kept && bytes ? plugin_constants_add(r->model, &tensor, bytes) : tort_model_add_weight_data(r->model, &tensor);
    return *weight < 0 ? no_memory(r) : TORT_OK;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Adds a value of this name to the graph, unless it is there; -1 for an absent one. */
static tort_status add_value(reader *r, const ort_value_info *value, int32_t *number) {
    const char *name = "";
    *number = -1;
    if (!value) return TORT_OK;
    TRY(r->api->value_name(value, &name));
    if (!*name || tort_names_find(&r->names, name, number)) return TORT_OK;
    const char *kept = keep(r, name);
    *number = kept ? tort_graph_add_value(r->model, r->graph, "") : -1;
    if (*number < 0 || !tort_names_add(&r->names, kept, *number)) return no_memory(r);
    r->model->graphs[r->graph].values[*number].name = kept;
    return TORT_OK;
}

/* Adds a value that a node makes, with the type that the host knows. */
static tort_status add_made(reader *r, const ort_value_info *value, int32_t *number) {
    tort_info info;
    tort_status status = add_value(r, value, number);
    if (status || *number < 0) return status;
    status = read_type(r, value, &info);
    r->model->graphs[r->graph].values[*number].info = info;
    return status;
}

/* Adds a value that a node reads; a constant with its contents. *open: it is neither constant nor there yet. */
static tort_status add_read(reader *r, const ort_value_info *value, bool *open) {
    const ort_value *tensor = NULL;
    const int32_t before = r->model->graphs[r->graph].value_count;
    bool constant = false;
    int32_t number, weight;
    tort_status status = add_value(r, value, &number);
    *open = false;
    if (status || number < before) return status; /* absent, or there */
    TRY(r->api->is_constant(value, &constant));
    if (constant) TRY(r->api->initializer(value, &tensor));
    status = tensor ? read_tensor(r, tensor, true, &weight) : TORT_E_UNSUPPORTED;
    *open = status == TORT_E_UNSUPPORTED; /* such as a constant of nine dimensions, whose nodes are not taken */
    if (*open) return TORT_OK;
    if (!status) r->model->graphs[r->graph].values[number].weight = weight;
    return status;
}

static tort_status set_ports(reader *r, const plugin_values *values, bool outputs) {
    int32_t *list = tort_arena_array(&r->model->arena, (size_t)values->count + 1, sizeof *list);
    if (!list) return no_memory(r);
    for (int32_t i = 0; i < values->count; i++) {
        tort_info info;
        bool open;
        tort_status status = outputs ? add_read(r, values->items[i], &open) : TORT_OK; /* it may be a constant */
        if (!status) status = add_value(r, values->items[i], &list[i]);
        if (!status) status = read_type(r, values->items[i], &info);
        if (status) return status;
        tort_graph_value *value = &r->model->graphs[r->graph].values[list[i]];
        if (!outputs || !value->is_input) value->info = info;
        *(outputs ? &value->is_output : &value->is_input) = true;
    }
    tort_graph *graph = &r->model->graphs[r->graph];
    *(outputs ? &graph->outputs : &graph->inputs) = list;
    *(outputs ? &graph->output_count : &graph->input_count) = values->count;
    return TORT_OK;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* The bytes of an attribute, in the model's memory. */
static tort_status read_bytes(reader *r, const ort_attribute *attribute, int type, char **bytes, size_t *size) {
    *size = 0;
    ort_status *asked = r->api->read_attribute(attribute, type, NULL, 0, size); /* fails, and tells the size */
    if (asked) r->api->release_status(asked);
    *bytes = tort_arena_alloc(&r->model->arena, *size + 8);
    if (!*bytes) return no_memory(r);
    memset(*bytes, 0, *size + 8);
    if (*size) TRY(r->api->read_attribute(attribute, type, *bytes, *size, size));
    return TORT_OK;
}

/* A list of strings: one after another, each with its end. */
static tort_status split_strings(reader *r, const char *bytes, size_t size, tort_attribute *out) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += !bytes[i];
    tort_string *strings = tort_arena_array(&r->model->arena, count + 1, sizeof *strings);
    if (!strings) return no_memory(r);
    for (size_t i = 0, at = 0; i < count; i++) {
        strings[i] = (tort_string){bytes + at, strlen(bytes + at)};
        at += strings[i].length + 1;
    }
    out->count = (int32_t)count;
    out->u.strings = strings;
    return TORT_OK;
}

static tort_status read_list(reader *r, const ort_attribute *attribute, int type, tort_attribute *out) {
    char *bytes;
    size_t size;
    const tort_status status = read_bytes(r, attribute, type, &bytes, &size);
    if (status) return status;
    switch (type) {
    case ORT_ATTR_INT: memcpy(&out->u.i, bytes, sizeof out->u.i); break;
    case ORT_ATTR_FLOAT: memcpy(&out->u.f, bytes, sizeof out->u.f); break;
    case ORT_ATTR_STRING: out->u.s = (tort_string){bytes, strnlen(bytes, size)}; break;
    case ORT_ATTR_STRINGS: return split_strings(r, bytes, size, out);
    case ORT_ATTR_INTS:
        out->count = (int32_t)(size / sizeof(int64_t));
        out->u.ints = (const int64_t *)(const void *)bytes;
        break;
    default: out->count = (int32_t)(size / sizeof(float)); out->u.floats = (const float *)(const void *)bytes;
    }
    return TORT_OK;
}

static tort_status read_tensor_attribute(reader *r, const ort_attribute *attribute, tort_attribute *out) {
    ort_value *value;
    int32_t *weight = tort_arena_array(&r->model->arena, 1, sizeof *weight);
    if (!weight) return no_memory(r);
    TRY(r->api->attribute_tensor(attribute, &value));
    const tort_status status = read_tensor(r, value, false, weight);
    r->api->release_value(value);
    out->u.weights = weight;
    return status;
}

static tort_status read_body(reader *r, const ort_node *node, const char *name, int32_t *graph);

static tort_status read_attribute(reader *r, const ort_node *node, const ort_attribute *attribute,
                                  tort_attribute *out) {
    static const tort_attribute_kind kinds[] = {
        [ORT_ATTR_INT] = TORT_ATTR_INT,       [ORT_ATTR_INTS] = TORT_ATTR_INTS,
        [ORT_ATTR_FLOAT] = TORT_ATTR_FLOAT,   [ORT_ATTR_FLOATS] = TORT_ATTR_FLOATS,
        [ORT_ATTR_STRING] = TORT_ATTR_STRING, [ORT_ATTR_STRINGS] = TORT_ATTR_STRINGS,
        [ORT_ATTR_TENSOR] = TORT_ATTR_TENSOR, [ORT_ATTR_GRAPH] = TORT_ATTR_GRAPH};
    const char *name;
    int type = 0;
    TRY(r->api->attribute_name(attribute, &name));
    TRY(r->api->attribute_type(attribute, &type));
    if (type < ORT_ATTR_INT || type > ORT_ATTR_TENSOR)
        return tort_fail(r->error, TORT_E_UNSUPPORTED,
                         "attribute \"%.100s\" is of a type that the plugin does not read", name);
    *out = (tort_attribute){.name = keep(r, name), .kind = kinds[type], .count = 1};
    if (!out->name) return no_memory(r);
    if (type != ORT_ATTR_GRAPH)
        return type == ORT_ATTR_TENSOR ? read_tensor_attribute(r, attribute, out) : read_list(r, attribute, type, out);
    int32_t *graph = tort_arena_array(&r->model->arena, 1, sizeof *graph);
    out->u.graphs = graph;
    return graph ? read_body(r, node, name, graph) : no_memory(r);
}

static tort_status read_attributes(reader *r, const ort_node *from, tort_node *node) {
    size_t count = 0;
    TRY(r->api->attribute_count(from, &count));
    const ort_attribute **list = calloc(count + 1, sizeof *list);
    tort_attribute *attributes = tort_arena_array(&r->model->arena, count + 1, sizeof *attributes);
    tort_status status = list && attributes ? TORT_OK : no_memory(r);
    if (!status && count) status = plugin_check(r->host, r->api->attributes(from, list, count), r->error);
    for (size_t i = 0; !status && i < count; i++) status = read_attribute(r, from, list[i], &attributes[i]);
    node->attributes = attributes;
    node->attribute_count = (int32_t)count;
    free((void *)list);
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static tort_status resolve(reader *r, const plugin_values *values, const int32_t **out, int32_t *count) {
    int32_t *list = tort_arena_array(&r->model->arena, (size_t)values->count + 1, sizeof *list);
    tort_status status = list ? TORT_OK : no_memory(r);
    for (int32_t i = 0; !status && i < values->count; i++) status = add_value(r, values->items[i], &list[i]);
    *out = list;
    *count = values->count;
    return status;
}

static tort_status connect(reader *r, const ort_node *from, tort_node *node) {
    plugin_values values;
    tort_status status = plugin_ports(r->host, from, false, &values, r->error);
    if (!status) status = resolve(r, &values, &node->inputs, &node->input_count);
    node->captured = values.captured;
    free((void *)values.items);
    if (status) return status;
    status = plugin_ports(r->host, from, true, &values, r->error);
    if (!status) status = resolve(r, &values, &node->outputs, &node->output_count);
    free((void *)values.items);
    return status;
}

/* A body that is not needed, as it could not be read to its end. */
static void empty_graph(tort_graph *graph) {
    graph->value_count = graph->node_count = graph->input_count = graph->output_count = 0;
}

static tort_status read_node(reader *r, const ort_node *from, int32_t index) {
    const char *name, *domain, *op;
    TRY(r->api->node_name(from, &name));
    TRY(r->api->node_domain(from, &domain));
    TRY(r->api->node_op(from, &op));
    if (!strcmp(domain, "ai.onnx")) domain = "";
    tort_node node = {.file_index = index, .name = keep(r, name), .domain = keep(r, domain), .op_type = keep(r, op)};
    if (!node.name || !node.domain || !node.op_type) return no_memory(r);
    if (!tort_names_find(&r->opsets, domain, &node.opset)) node.opset = 1;
    const int32_t bodies = r->model->graph_count;
    tort_status status = connect(r, from, &node);
    if (!status) status = read_attributes(r, from, &node);
    if (status == TORT_E_UNSUPPORTED && r->unread) {
        r->unread[index] = true;
        node.domain = PLUGIN_UNREAD;
        node.attribute_count = node.captured = 0;
        for (int32_t g = bodies; g < r->model->graph_count; g++) empty_graph(&r->model->graphs[g]);
        status = TORT_OK;
    }
    if (status) tort_error_prefix(r->error, "node \"%.100s\" (%.60s)", name, op);
    if (status) return status;
    return tort_graph_add_node(r->model, r->graph, &node) < 0 ? no_memory(r) : TORT_OK;
}

/* Adds the values that a node makes, or reads; those that come from outside to *open. */
static tort_status add_ports(reader *r, const ort_node *node, bool outputs, plugin_values *open) {
    plugin_values values;
    tort_status status = plugin_ports(r->host, node, outputs, &values, r->error);
    for (int32_t k = 0; !status && k < values.count; k++) {
        bool is_open = false;
        int32_t number;
        status = outputs ? add_made(r, values.items[k], &number) : add_read(r, values.items[k], &is_open);
        if (!is_open) continue;
        if (!tort_grow(&r->model->env, (void **)&open->items, &open->room, open->count + 1, sizeof *open->items))
            status = no_memory(r);
        else
            open->items[open->count++] = values.items[k];
    }
    free((void *)values.items);
    return status;
}

/* Adds the values that nodes make, then those that they read; *open: what comes from outside. */
static tort_status add_values(reader *r, const ort_node **nodes, int32_t count, plugin_values *open) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < count; i++) status = add_ports(r, nodes[i], true, open);
    for (int32_t i = 0; !status && i < count; i++) status = add_ports(r, nodes[i], false, open);
    return status;
}

static tort_status read_opsets(reader *r, const ort_graph *graph) {
    size_t count = 0;
    TRY(r->api->opset_count(graph, &count));
    const char **domains = calloc(count + 1, sizeof *domains);
    int64_t *versions = calloc(count + 1, sizeof *versions);
    r->model->opsets = tort_arena_array(&r->model->arena, count + 1, sizeof *r->model->opsets);
    tort_status status = domains && versions && r->model->opsets ? TORT_OK : no_memory(r);
    if (!status) status = plugin_check(r->host, r->api->opsets(graph, domains, versions, count), r->error);
    for (size_t i = 0; !status && i < count; i++) {
        const char *domain = keep(r, !strcmp(domains[i], "ai.onnx") ? "" : domains[i]);
        int32_t known;
        if (!domain) status = no_memory(r);
        if (status || versions[i] < 1 || versions[i] > 1000 || tort_names_find(&r->opsets, domain, &known)) continue;
        if (!tort_names_add(&r->opsets, domain, (int32_t)versions[i])) status = no_memory(r);
        r->model->opsets[r->model->opset_count++] = (tort_opset){domain, versions[i]};
    }
    free((void *)domains);
    free(versions);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The inputs or outputs of a graph. */
static tort_status graph_ports(const reader *r, const ort_graph *graph, bool outputs, plugin_values *values) {
    size_t count = 0;
    TRY((outputs ? r->api->graph_output_count : r->api->graph_input_count)(graph, &count));
    values->items = calloc(count + 1, sizeof *values->items);
    if (!values->items) return no_memory(r);
    values->count = (int32_t)count;
    TRY((outputs ? r->api->graph_outputs : r->api->graph_inputs)(graph, values->items, count));
    return TORT_OK;
}

/* only, inputs, outputs: as of plugin_read. */
static tort_status read_graph(reader *r, const ort_graph *graph, const ort_node *only, const plugin_values *inputs,
                              const plugin_values *outputs) {
    const ort_node **nodes = NULL;
    plugin_values open = {0}, made = {0};
    int32_t count = 0;
    tort_status status = plugin_nodes(r->host, graph, &nodes, &count, r->error);
    if (!status && only) {
        nodes[0] = only; /* its graph has a node at least, as it is a body */
        count = 1;
    }
    if (!status && inputs) status = set_ports(r, inputs, false);
    if (!status) status = add_values(r, nodes, count, &open);
    if (!status && !inputs) status = set_ports(r, &open, false);
    for (int32_t i = 0; !status && i < count; i++) status = read_node(r, nodes[i], i);
    if (!status && !outputs)
        status = only ? plugin_ports(r->host, only, true, &made, r->error) : graph_ports(r, graph, true, &made);
    if (!status) status = set_ports(r, outputs ? outputs : &made, true);
    free((void *)nodes);
    tort_free(&r->model->env, (void *)open.items, (size_t)open.room * sizeof *open.items);
    free((void *)made.items);
    return status;
}

/* The inputs of a body: its own, then what its node reads from around its bodies. */
static tort_status body_inputs(const reader *r, const ort_node *node, const ort_graph *body, plugin_values *inputs) {
    plugin_values read = {0};
    tort_status status = graph_ports(r, body, false, inputs);
    if (!status) status = plugin_ports(r->host, node, false, &read, r->error);
    const size_t own = (size_t)inputs->count, captured = (size_t)read.captured;
    const ort_value_info **all = status ? NULL : realloc((void *)inputs->items, (own + captured + 1) * sizeof *all);
    if (!status && !all) status = no_memory(r);
    if (all) inputs->items = all;
    if (all && captured) memcpy(all + own, read.items + read.count - captured, captured * sizeof *all);
    if (all) inputs->count = (int32_t)(own + captured);
    free((void *)read.items);
    return status;
}

/* Reads the body that is the node's attribute of this name. */
static tort_status read_body(reader *r, const ort_node *node, const char *name, int32_t *graph) {
    enum { MAX_BODIES = 4, MAX_DEPTH = 32 };
    const ort_graph *bodies[MAX_BODIES];
    const char *names[MAX_BODIES];
    size_t count = 0, at = 0;
    TRY(r->api->body_count(node, &count));
    if (count > MAX_BODIES || r->depth >= MAX_DEPTH)
        return tort_fail(r->error, TORT_E_UNSUPPORTED, "a node has %zu bodies, or bodies are nested too deeply", count);
    TRY(r->api->bodies(node, bodies, count, names));
    while (at < count && strcmp(names[at], name) != 0) at++;
    if (at == count) return tort_fail(r->error, TORT_E_UNSUPPORTED, "there is no body \"%.100s\"", name);
    plugin_values inputs = {0};
    reader inner = *r;
    inner.depth++;
    inner.unread = NULL;
    tort_names_init(&inner.names, &r->model->env);
    *graph = inner.graph = tort_model_add_graph(r->model, name, "");
    tort_status status = *graph < 0 ? no_memory(r) : body_inputs(r, node, bodies[at], &inputs);
    if (!status) status = read_graph(&inner, bodies[at], NULL, &inputs, NULL);
    tort_names_free(&inner.names);
    free((void *)inputs.items);
    return status;
}

tort_status plugin_read(const plugin_host *host, const ort_graph *graph, const ort_node *only,
                        const plugin_values *inputs, const plugin_values *outputs, bool *unread, tort_model **model,
                        tort_error *error) {
    reader r = {.host = host, .api = host->api, .model = tort_model_new(NULL), .unread = unread, .error = error};
    *model = NULL;
    if (!r.model || !plugin_constants_open(r.model)) {
        tort_model_free(r.model);
        return tort_out_of_memory(error, 0);
    }
    tort_names_init(&r.names, &r.model->env);
    tort_names_init(&r.opsets, &r.model->env);
    tort_status status = tort_model_add_graph(r.model, "", "") < 0 ? no_memory(&r) : TORT_OK;
    if (!status) status = read_opsets(&r, graph);
    if (!status) status = read_graph(&r, graph, only, inputs, outputs);
    if (!status) status = tort_model_finish(r.model, 0, error);
    tort_names_free(&r.names);
    tort_names_free(&r.opsets);
    if (status) tort_model_free(r.model);
    if (!status) *model = r.model;
    return status;
}

tort_status plugin_ports(const plugin_host *host, const ort_node *node, bool outputs, plugin_values *values,
                         tort_error *error) {
    const ort_api *api = host->api;
    size_t count = 0, more = 0;
    *values = (plugin_values){0};
    tort_status status =
        plugin_check(host, (outputs ? api->node_output_count : api->node_input_count)(node, &count), error);
    if (!status && !outputs) status = plugin_check(host, api->implicit_count(node, &more), error);
    if (status) return status;
    values->items = calloc(count + more + 1, sizeof *values->items);
    if (!values->items) return tort_out_of_memory(error, count * sizeof *values->items);
    values->count = (int32_t)(count + more);
    values->captured = (int32_t)more;
    status = plugin_check(host, (outputs ? api->node_outputs : api->node_inputs)(node, values->items, count), error);
    if (status || !more) return status;
    return plugin_check(host, api->implicit(node, values->items + count, more), error);
}

tort_status plugin_nodes(const plugin_host *host, const ort_graph *graph, const ort_node ***nodes, int32_t *count,
                         tort_error *error) {
    size_t found = 0;
    tort_status status = plugin_check(host, host->api->node_count(graph, &found), error);
    if (status) return status;
    *nodes = calloc(found + 1, sizeof **nodes);
    if (!*nodes) return tort_out_of_memory(error, found * sizeof **nodes);
    *count = (int32_t)found;
    return found ? plugin_check(host, host->api->nodes(graph, *nodes, found), error) : TORT_OK;
}
