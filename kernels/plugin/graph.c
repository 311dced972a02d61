/* graph.c - a segment as a plugin reads it: graph, nodes, attributes and values (host.h).
 *
 * Tensors and their types are members of these objects or of a state: nothing is allocated for a question, and what the
 * plugin gives back is not freed. Read next: tensors.c. */
#include "kernels/plugin/host.h"

/* ---- made of the view -------------------------------------------------------------------------------------------- */

static int32_t count_symbols(const tort_segment_view *s) {
    int32_t count = 0;
    for (int32_t v = 0; v < s->value_count; v++)
        for (int32_t d = 0; d < s->values[v].rank; d++) count += s->values[v].dims[d] < 0;
    return count;
}

static int32_t count_attributes(const tort_segment_view *s) {
    int32_t count = 0;
    for (int32_t i = 0; i < s->node_count; i++)
        for (int32_t a = 0; a < s->nodes[i].attribute_count; a++) count++;
    return count;
}

static tort_status read_value(ort_graph *graph, int32_t v, tort_error *error) {
    const tort_segment_view *s = graph->view;
    const tort_info *info = &s->values[v];
    ort_value_info *value = &graph->values[v];
    ort_shape_info *shape = &value->value.type.tensor;
    *value = (ort_value_info){.graph = graph, .name = s->names[v], .number = v};
    shape->type = tort_host_element(info->type);
    shape->rank = info->rank;
    for (int32_t d = 0; d < info->rank; d++) {
        shape->dims[d] = info->dims[d] < 0 ? -1 : info->dims[d];
        shape->names[d] = "";
        if (info->dims[d] < 0)
            shape->names[d] =
                tort_dim_text(s->dims, info->dims[d], graph->symbols[graph->symbol_count++], sizeof *graph->symbols);
    }
    tort_tensor tensor = {.type = info->type, .rank = info->rank};
    if (v < s->input_count || v >= s->input_count + s->constant_count || !info->data) return TORT_OK;
    for (int32_t d = 0; d < info->rank; d++) tensor.dims[d] = info->dims[d];
    memcpy(&tensor.data, &info->data, sizeof tensor.data); /* drops const: a plugin only reads it */
    if (info->rank >= 0 && tort_host_fill(&value->value, &tensor)) return TORT_OK;
    return tort_fail(error, TORT_E_UNSUPPORTED, "constant \"%.100s\" is no tensor that a plugin could read",
                     value->name);
}

static tort_status read_attribute(ort_graph *graph, const tort_attribute *from, ort_attribute *to, tort_error *error) {
    const void *data = NULL;
    *to = (ort_attribute){.from = from};
    if (from->kind != TORT_ATTR_TENSOR || !graph->model) return TORT_OK;
    const tort_weight *weight = tort_weight_of(graph->model, from->u.weights[0]);
    tort_status status = tort_weight_acquire(graph->model, from->u.weights[0], &data, error);
    if (status) return status;
    tort_tensor tensor = {.type = weight->type, .rank = weight->rank};
    memcpy(tensor.dims, weight->dims, sizeof tensor.dims);
    memcpy(&tensor.data, &data, sizeof tensor.data);
    if (tort_host_fill(&to->tensor, &tensor)) return TORT_OK;
    tort_weight_release(graph->model, from->u.weights[0]);
    return tort_fail(error, TORT_E_UNSUPPORTED, "attribute \"%.100s\" is no tensor that a plugin could read",
                     from->name);
}

static tort_status read_node(ort_graph *graph, int32_t i, tort_error *error) {
    const tort_segment_node *from = &graph->view->nodes[i];
    ort_node *node = &graph->nodes[i];
    tort_status status = TORT_OK;
    *node = (ort_node){.graph = graph,
                       .name = from->name ? from->name : "",
                       .op = from->op->name,
                       .domain = from->op->domain ? from->op->domain : "",
                       .inputs = from->inputs,
                       .outputs = from->outputs,
                       .attributes = graph->attributes + graph->attribute_count,
                       .input_count = from->input_count,
                       .output_count = from->output_count,
                       .opset = from->opset,
                       .id = (size_t)i};
    for (int32_t a = 0; !status && a < from->attribute_count; a++) {
        status = read_attribute(graph, &from->attributes[a], &graph->attributes[graph->attribute_count], error);
        if (status) break;
        graph->attribute_count++;
        node->attribute_count++;
    }
    int32_t d = 0;
    while (d < graph->domain_count && strcmp(graph->domains[d], node->domain) != 0) d++;
    if (d < graph->domain_count || d == TORT_HOST_DOMAINS) return status;
    graph->domains[d] = node->domain;
    graph->versions[d] = node->opset;
    graph->domain_count++;
    return status;
}

/* Arrays have one element more than is used, as none of no bytes is allocated. */
tort_status tort_host_read_graph(tort_host *host, const tort_env *env, const tort_node_view *node, ort_graph *graph,
                                 tort_error *error) {
    const tort_segment_view *s = node->segment;
    *graph = (ort_graph){.host = host, .env = env, .model = node->model, .view = s};
    graph->values = tort_alloc_zero(env, (size_t)s->value_count + 1, sizeof *graph->values);
    graph->nodes = tort_alloc_zero(env, (size_t)s->node_count + 1, sizeof *graph->nodes);
    graph->attributes = tort_alloc_zero(env, (size_t)count_attributes(s) + 1, sizeof *graph->attributes);
    graph->symbols = tort_alloc_zero(env, (size_t)count_symbols(s) + 1, sizeof *graph->symbols);
    tort_status status = TORT_OK;
    if (!graph->values || !graph->nodes || !graph->attributes || !graph->symbols)
        status = tort_fail(error, TORT_E_MEMORY, "no memory for a graph of %d nodes", (int)s->node_count);
    for (int32_t v = 0; !status && v < s->value_count; v++) status = read_value(graph, v, error);
    for (int32_t i = 0; !status && i < s->node_count; i++) status = read_node(graph, i, error);
    return status;
}

void tort_host_free_graph(ort_graph *graph) {
    const tort_segment_view *s = graph->view;
    for (int32_t a = 0; a < graph->attribute_count; a++)
        if (graph->attributes[a].tensor.data)
            tort_weight_release(graph->model, graph->attributes[a].from->u.weights[0]);
    tort_free(graph->env, graph->values, ((size_t)s->value_count + 1) * sizeof *graph->values);
    tort_free(graph->env, graph->nodes, ((size_t)s->node_count + 1) * sizeof *graph->nodes);
    tort_free(graph->env, graph->attributes, ((size_t)count_attributes(s) + 1) * sizeof *graph->attributes);
    tort_free(graph->env, graph->symbols, ((size_t)count_symbols(s) + 1) * sizeof *graph->symbols);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* A list of pointers is filled if it has room for all. */
static ort_status *room(size_t given, size_t needed) {
    if (given >= needed) return NULL;
    TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "there are %zu of them, more than the %zu of the list", needed, given);
}

/* Values by their numbers; NULL: absent. */
static ort_status *list_values(const ort_graph *graph, const int32_t *numbers, int32_t count,
                               const ort_value_info **values, size_t given) {
    ort_status *status = room(given, (size_t)count);
    for (int32_t i = 0; !status && i < count; i++) values[i] = numbers[i] < 0 ? NULL : &graph->values[numbers[i]];
    return status;
}

static ort_status *list_range(const ort_graph *graph, int32_t first, int32_t count, const ort_value_info **values,
                              size_t given) {
    ort_status *status = room(given, (size_t)count);
    for (int32_t i = 0; !status && i < count; i++) values[i] = &graph->values[first + i];
    return status;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

GETTER(graph_name, const ort_graph, const char *, "tinyort")
GETTER(model_path, const ort_graph, const char *, "")
GETTER(ir_version, const ort_graph, int64_t, 10) /* nothing that depends on it is in a graph as it is read here */
GETTER(opset_count, const ort_graph, size_t, (size_t)it->domain_count)

ort_status *tort_host_opsets(const ort_graph *graph, const char **domains, int64_t *versions, size_t count) {
    ort_status *status = room(count, (size_t)graph->domain_count);
    for (int32_t d = 0; !status && d < graph->domain_count; d++) {
        domains[d] = graph->domains[d];
        versions[d] = graph->versions[d];
    }
    return status;
}

GETTER(graph_input_count, const ort_graph, size_t, (size_t)it->view->input_count)

ort_status *tort_host_graph_inputs(const ort_graph *graph, const ort_value_info **values, size_t count) {
    return list_range(graph, 0, graph->view->input_count, values, count);
}

GETTER(graph_output_count, const ort_graph, size_t, (size_t)it->view->output_count)

ort_status *tort_host_graph_outputs(const ort_graph *graph, const ort_value_info **values, size_t count) {
    return list_values(graph, graph->view->outputs, graph->view->output_count, values, count);
}

GETTER(initializer_count, const ort_graph, size_t, (size_t)it->view->constant_count)

ort_status *tort_host_initializers(const ort_graph *graph, const ort_value_info **values, size_t count) {
    return list_range(graph, graph->view->input_count, graph->view->constant_count, values, count);
}

GETTER(node_count, const ort_graph, size_t, (size_t)it->view->node_count)

ort_status *tort_host_nodes(const ort_graph *graph, const ort_node **nodes, size_t count) {
    ort_status *status = room(count, (size_t)graph->view->node_count);
    for (int32_t i = 0; !status && i < graph->view->node_count; i++) nodes[i] = &graph->nodes[i];
    return status;
}

GETTER(parent_node, const ort_graph, const ort_node *, NULL)

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

GETTER(node_id, const ort_node, size_t, it->id)
GETTER(node_name, const ort_node, const char *, it->name)
GETTER(node_op, const ort_node, const char *, it->op)
GETTER(node_domain, const ort_node, const char *, it->domain)
GETTER(since_version, const ort_node, int, it->opset)
GETTER(node_ep, const ort_node, const char *, it->graph->host->name)
GETTER(graph_of, const ort_node, const ort_graph *, it->graph)
GETTER(node_input_count, const ort_node, size_t, (size_t)it->input_count)

ort_status *tort_host_node_inputs(const ort_node *node, const ort_value_info **values, size_t count) {
    return list_values(node->graph, node->inputs, node->input_count, values, count);
}

GETTER(node_output_count, const ort_node, size_t, (size_t)it->output_count)

ort_status *tort_host_node_outputs(const ort_node *node, const ort_value_info **values, size_t count) {
    return list_values(node->graph, node->outputs, node->output_count, values, count);
}

/* Nodes with bodies are not in segments. */
GETTER(implicit_count, const ort_node, size_t, 0)

ort_status *tort_host_implicit(const ort_node *node, const ort_value_info **values, size_t count) {
    (void)node, (void)values, (void)count;
    return NULL;
}

GETTER(body_count, const ort_node, size_t, 0)

ort_status *tort_host_bodies(const ort_node *node, const ort_graph **bodies, size_t count, const char **attributes) {
    (void)node, (void)bodies, (void)count, (void)attributes;
    return NULL;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

GETTER(attribute_count, const ort_node, size_t, (size_t)it->attribute_count)

ort_status *tort_host_attributes(const ort_node *node, const ort_attribute **attributes, size_t count) {
    ort_status *status = room(count, (size_t)node->attribute_count);
    for (int32_t a = 0; !status && a < node->attribute_count; a++) attributes[a] = &node->attributes[a];
    return status;
}

ort_status *tort_host_attribute_named(const ort_node *node, const char *name, const ort_attribute **attribute) {
    *attribute = NULL;
    for (int32_t a = 0; name && a < node->attribute_count; a++)
        if (!strcmp(node->attributes[a].from->name, name)) *attribute = &node->attributes[a];
    return NULL;
}

GETTER(attribute_name, const ort_attribute, const char *, it->from->name)

static int type_of_attribute(const ort_attribute *attribute) {
    static const int types[] = {[TORT_ATTR_FLOAT] = ORT_ATTR_FLOAT,    [TORT_ATTR_INT] = ORT_ATTR_INT,
                                [TORT_ATTR_STRING] = ORT_ATTR_STRING,  [TORT_ATTR_TENSOR] = ORT_ATTR_TENSOR,
                                [TORT_ATTR_FLOATS] = ORT_ATTR_FLOATS,  [TORT_ATTR_INTS] = ORT_ATTR_INTS,
                                [TORT_ATTR_STRINGS] = ORT_ATTR_STRINGS};
    return attribute->from->kind <= TORT_ATTR_STRINGS ? types[attribute->from->kind] : 0;
}

GETTER(attribute_type, const ort_attribute, int, type_of_attribute(it))

ort_status *tort_host_attribute_tensor(const ort_attribute *attribute, ort_value **value) {
    *value = attribute->tensor.data ? (ort_value *)(uintptr_t)&attribute->tensor : NULL;
    return *value ? NULL : tort_host_create_status(ORT_INVALID_ARGUMENT, "the attribute is no tensor");
}

/* Strings of a list are one after another, with an end each. */
static size_t copy_strings(const tort_string *strings, int32_t count, char *to) {
    size_t at = 0;
    for (int32_t i = 0; i < count; i++) {
        if (to && strings[i].length) memcpy(to + at, strings[i].data, strings[i].length);
        at += strings[i].length + 1;
        if (to) to[at - 1] = 0;
    }
    return at;
}

/* Where the bytes of an attribute are that is neither a tensor nor a list of strings; a string is without an end. */
static const void *bytes_of(const tort_attribute *a, size_t *size) {
    const size_t count = (size_t)a->count;
    switch (a->kind) {
    case TORT_ATTR_INT: *size = sizeof a->u.i; return &a->u.i;
    case TORT_ATTR_FLOAT: *size = sizeof a->u.f; return &a->u.f;
    case TORT_ATTR_INTS: *size = count * sizeof *a->u.ints; return a->u.ints;
    case TORT_ATTR_FLOATS: *size = count * sizeof *a->u.floats; return a->u.floats;
    case TORT_ATTR_STRING: *size = a->u.s.length; return a->u.s.data;
    default: return NULL;
    }
}

ort_status *tort_host_read_attribute(const ort_attribute *attribute, int type, void *data, size_t size,
                                     size_t *needed) {
    const tort_attribute *a = attribute->from;
    *needed = 0;
    if (type != type_of_attribute(attribute) || type == ORT_ATTR_TENSOR || !type)
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "attribute \"%.100s\" is of another type", a->name);
    const void *from = bytes_of(a, needed);
    if (type == ORT_ATTR_STRINGS) *needed = copy_strings(a->u.strings, a->count, NULL);
    if (size < *needed || (*needed && !data))
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "attribute \"%.100s\" takes %zu bytes", a->name, *needed);
    if (type == ORT_ATTR_STRINGS)
        copy_strings(a->u.strings, a->count, data);
    else if (*needed)
        memcpy(data, from, *needed);
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

GETTER(value_name, const ort_value_info, const char *, it->name)
GETTER(value_type, const ort_value_info, const ort_type_info *, &it->value.type)

static bool is_constant(const ort_value_info *value) {
    const tort_segment_view *s = value->graph->view;
    return value->number >= s->input_count && value->number < s->input_count + s->constant_count;
}

ort_status *tort_host_initializer(const ort_value_info *value, const ort_value **tensor) {
    *tensor = NULL;
    if (!is_constant(value))
        TORT_HOST_FAIL(ORT_INVALID_ARGUMENT, "\"%.100s\" is no constant of this graph", value->name);
    if (!value->value.data)
        TORT_HOST_FAIL(ORT_FAIL, "constant \"%.100s\" is not loaded yet: its contents are given to Compile",
                       value->name);
    *tensor = &value->value;
    return NULL;
}

GETTER(external, const ort_value_info, ort_external *, NULL)
GETTER(is_constant, const ort_value_info, bool, is_constant(it))
GETTER(is_required_input, const ort_value_info, bool, it->number < it->graph->view->input_count)
GETTER(is_optional_input, const ort_value_info, bool, false)

ort_status *tort_host_is_graph_output(const ort_value_info *value, bool *is) {
    const tort_segment_view *s = value->graph->view;
    *is = false;
    for (int32_t o = 0; o < s->output_count; o++) *is |= s->outputs[o] == value->number;
    return NULL;
}

GETTER(is_from_around, const ort_value_info, bool, false)

ort_status *tort_host_producer(const ort_value_info *value, const ort_node **node, size_t *output) {
    const ort_graph *graph = value->graph;
    *node = NULL;
    for (int32_t i = 0; i < graph->view->node_count; i++)
        for (int32_t o = 0; o < graph->nodes[i].output_count; o++) {
            if (graph->nodes[i].outputs[o] != value->number) continue;
            *node = &graph->nodes[i];
            if (output) *output = (size_t)o; /* not every plugin asks for it */
        }
    return NULL;
}

/* Fills the lists, as far as they go; returns how many inputs read the value. */
static size_t find_consumers(const ort_value_info *value, const ort_node **nodes, int64_t *inputs, size_t max) {
    const ort_graph *graph = value->graph;
    size_t count = 0;
    for (int32_t i = 0; i < graph->view->node_count; i++)
        for (int32_t k = 0; k < graph->nodes[i].input_count; k++) {
            if (graph->nodes[i].inputs[k] != value->number) continue;
            if (count < max) {
                nodes[count] = &graph->nodes[i];
                inputs[count] = k;
            }
            count++;
        }
    return count;
}

GETTER(consumer_count, const ort_value_info, size_t, find_consumers(it, NULL, NULL, 0))

ort_status *tort_host_consumers(const ort_value_info *value, const ort_node **nodes, int64_t *inputs, size_t count) {
    return room(count, find_consumers(value, nodes, inputs, count));
}
