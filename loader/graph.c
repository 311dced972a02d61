/* graph.c - GraphProto -> tort_graph: scopes of names, values, nodes.
 *
 * All names of a graph are declared before its nodes are loaded, so nodes may come in any order; the core sorts them. A
 * name that a body does not declare is looked up in the outer scopes, and becomes an input of every body on the way.
 * Scopes borrow names from the parsed structs; the model keeps copies. Read next: bodies.c, functions.c. */
#include <string.h>

#include "loader/loader.h"

/* ---- scopes ----------------------------------------------------------------------------------------------------- */

void tort_scope_free(tort_loader *loader, tort_scope *scope) {
    if (scope->names.env) tort_names_free(&scope->names);
    tort_free(loader->env, scope->captured_outer, (size_t)scope->outer_capacity * sizeof(int32_t));
    tort_free(loader->env, scope->captured_inner, (size_t)scope->inner_capacity * sizeof(int32_t));
}

static tort_graph_value *value_at(tort_loader *loader, const tort_scope *scope, int32_t value) {
    return &loader->model->graphs[scope->graph].values[value];
}

/* True if the scope's values have the same names in the model as in the file. In a call they get the call's prefix,
 * which differs from call to call; a body is a graph of its own and needs none. */
static bool has_plain_names(const tort_scope *scope) {
    return !scope->call || scope->outer;
}

static const char *value_name(tort_loader *loader, const tort_scope *scope, const char *name) {
    if (has_plain_names(scope)) return tort_keep_text(loader, name);
    return tort_arena_format(&loader->model->arena, "%s/%s", scope->call->prefix, name);
}

/* Adds a value whose name is `full` in the model and `name` in the scope. */
static tort_status add_value(tort_loader *loader, tort_scope *scope, const char *name, const char *full,
                             int32_t *value) {
    if (!full) return tort_no_memory(loader);
    *value = tort_graph_add_value(loader->model, scope->graph, "");
    if (*value < 0 || !tort_names_add(&scope->names, name, *value)) return tort_no_memory(loader);
    value_at(loader, scope, *value)->name = full;
    return TORT_OK;
}

static tort_status declare_value(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value) {
    return add_value(loader, scope, name, value_name(loader, scope, name), value);
}

/* Makes a value of the outer graph an input of the body. */
static tort_status capture(tort_loader *loader, tort_scope *scope, const char *name, int32_t outer, int32_t *value) {
    int32_t n = scope->captured_count;
    if (!tort_grow(loader->env, (void **)&scope->captured_outer, &scope->outer_capacity, n + 1, sizeof(int32_t)) ||
        !tort_grow(loader->env, (void **)&scope->captured_inner, &scope->inner_capacity, n + 1, sizeof(int32_t)))
        return tort_no_memory(loader);
    const char *full =
        has_plain_names(scope->outer) ? value_at(loader, scope->outer, outer)->name : value_name(loader, scope, name);
    tort_status status = add_value(loader, scope, name, full, value);
    if (status) return status;
    value_at(loader, scope, *value)->is_input = true;
    scope->captured_outer[n] = outer;
    scope->captured_inner[n] = *value;
    scope->captured_count++;
    return TORT_OK;
}

tort_status tort_resolve_name(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value) {
    *value = -1;
    if (!*name || tort_names_find(&scope->names, name, value)) return TORT_OK;
    if (!scope->outer)
        return tort_fail(loader->error, TORT_E_MODEL,
                         "\"%.150s\" is not made by any node, and is neither an input nor an initializer", name);
    int32_t outer;
    tort_status status = tort_resolve_name(loader, scope->outer, name, &outer);
    if (status || outer < 0) return status;
    return capture(loader, scope, name, outer, value);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static tort_status add_initializer(tort_loader *loader, tort_scope *scope, const char *name, int32_t weight) {
    int32_t value;
    if (!*name) return TORT_OK; /* no node can read it */
    if (tort_names_find(&scope->names, name, &value))
        return tort_fail(loader->error, TORT_E_MODEL, "there are two of this name");
    tort_status status = declare_value(loader, scope, name, &value);
    if (!status) value_at(loader, scope, value)->weight = weight;
    return status;
}

/* Loads the dense or the sparse initializers. The name of a sparse tensor is that of its values. */
static tort_status load_initializers(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto,
                                     bool sparse) {
    const size_t count = sparse ? proto->n_sparse_initializer : proto->n_initializer;
    for (size_t i = 0; i < count; i++) {
        int32_t weight;
        TortOnnx__TensorProto *tensor = sparse ? proto->sparse_initializer[i]->values : proto->initializer[i];
        const char *name = tort_text_of(tensor ? tensor->name : NULL);
        tort_status status = sparse ? tort_load_sparse(loader, proto->sparse_initializer[i], &weight)
                                    : tort_load_tensor(loader, tensor, &weight);
        if (!status) status = add_initializer(loader, scope, name, weight);
        if (status) tort_error_prefix(loader->error, "%sinitializer %zu \"%.150s\"", sparse ? "sparse_" : "", i, name);
        if (status) return status;
    }
    return TORT_OK;
}

/* Loads a declared type. Only dimension names of the main graph are kept: in a body, sizes may differ from run to run
 * of it. */
static tort_status declare_type(tort_loader *loader, tort_scope *scope, const TortOnnx__ValueInfoProto *declared,
                                int32_t value) {
    tort_info info = {.rank = -1, .nest = -1};
    tort_status status = tort_load_type(loader, declared->type, scope->graph == 0, &info);
    if (!status) value_at(loader, scope, value)->info = info;
    return status;
}

static tort_status load_input(tort_loader *loader, tort_scope *scope, const TortOnnx__ValueInfoProto *declared,
                              int32_t *value) {
    const char *name = tort_text_of(declared->name);
    if (!*name) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    tort_status status = TORT_OK;
    if (!tort_names_find(&scope->names, name, value)) /* otherwise it is an initializer: the input's default */
        status = declare_value(loader, scope, name, value);
    if (status) return status;
    if (value_at(loader, scope, *value)->is_input)
        return tort_fail(loader->error, TORT_E_MODEL, "there are two of this name");
    value_at(loader, scope, *value)->is_input = true;
    status = declare_type(loader, scope, declared, *value);
    const tort_graph_value *made = value_at(loader, scope, *value);
    if (!status && scope->graph == 0 && made->info.type == TORT_UNDEFINED && made->info.nest < 0 && made->weight < 0)
        return tort_fail(loader->error, TORT_E_MODEL, "it has no type: a caller could not know what to give");
    return status;
}

static tort_status load_output(tort_loader *loader, tort_scope *scope, const TortOnnx__ValueInfoProto *declared,
                               int32_t *value) {
    tort_status status = tort_resolve_name(loader, scope, tort_text_of(declared->name), value);
    if (status) return status;
    if (*value < 0) return tort_fail(loader->error, TORT_E_MODEL, "it has no value");
    if (!value_at(loader, scope, *value)->is_input) status = declare_type(loader, scope, declared, *value);
    value_at(loader, scope, *value)->is_output = true;
    return status;
}

/* Loads the declared inputs or outputs of the graph. */
static tort_status load_ports(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto, bool output) {
    TortOnnx__ValueInfoProto *const *declared = output ? proto->output : proto->input;
    const size_t count = output ? proto->n_output : proto->n_input;
    int32_t *values = tort_arena_array(&loader->model->arena, count, sizeof *values);
    if (!values) return tort_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        tort_status status = (output ? load_output : load_input)(loader, scope, declared[i], &values[i]);
        if (status)
            tort_error_prefix(loader->error, "%s %zu \"%.150s\"", output ? "output" : "input", i,
                              tort_text_of(declared[i]->name));
        if (status) return status;
    }
    tort_graph *graph = &loader->model->graphs[scope->graph];
    *(output ? &graph->outputs : &graph->inputs) = values;
    *(output ? &graph->output_count : &graph->input_count) = (int32_t)count;
    return TORT_OK;
}

/* Loads declared types of values that are neither inputs nor outputs. Names that the graph does not have are ignored.
 */
static tort_status load_value_info(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto) {
    for (size_t i = 0; i < proto->n_value_info; i++) {
        int32_t value;
        const char *name = tort_text_of(proto->value_info[i]->name);
        if (!tort_names_find(&scope->names, name, &value)) continue;
        const tort_graph_value *have = value_at(loader, scope, value);
        if (have->is_input || have->is_output || have->weight >= 0) continue;
        tort_status status = declare_type(loader, scope, proto->value_info[i], value);
        if (status) tort_error_prefix(loader->error, "value_info %zu \"%.150s\"", i, name);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static tort_status declare_output(tort_loader *loader, tort_scope *scope, const char *name, size_t node) {
    int32_t value;
    if (!*name) return TORT_OK;
    if (!tort_names_find(&scope->names, name, &value)) return declare_value(loader, scope, name, &value);
    if (value >= 0) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "node %zu: output \"%.150s\" is an input of the function", node,
                     name);
}

/* Declares the nodes' outputs. The core checks later, when the graph is complete, that a value has only one source. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes,
                                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            tort_status status = declare_output(loader, scope, nodes[i]->output[k], i);
            if (status) return status;
        }
    }
    return TORT_OK;
}

static tort_status node_opset(tort_loader *loader, const tort_scope *scope, const char *domain, int32_t *version) {
    if (scope->call && tort_names_find(&scope->call->function->opsets, domain, version)) return TORT_OK;
    if (tort_names_find(&loader->opsets, domain, version)) return TORT_OK;
    *version = 1; /* files before IR version 3 import nothing */
    if (!*domain && loader->model->opset_count == 0) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "its domain \"%.100s\" is not in opset_import", domain);
}

/* Name of a node, in a call with the call's prefix. A node without a name is named by the core, which knows all names
 * of the graph. */
static const char *node_name(tort_loader *loader, const tort_scope *scope, const TortOnnx__NodeProto *proto,
                             size_t index) {
    tort_arena *arena = &loader->model->arena;
    const char *name = tort_text_of(proto->name);
    if (has_plain_names(scope)) return tort_keep_text(loader, name);
    if (*name) return tort_arena_format(arena, "%s/%s", scope->call->prefix, name);
    return tort_arena_format(arena, "%s/%s_%zu", scope->call->prefix, proto->op_type, index);
}

static tort_status resolve_outputs(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                   tort_node *node) {
    int32_t *outputs = tort_arena_array(&loader->model->arena, proto->n_output, sizeof *outputs);
    if (!outputs) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_output; i++) {
        outputs[i] = -1;
        if (*proto->output[i]) tort_names_find(&scope->names, proto->output[i], &outputs[i]);
    }
    node->outputs = outputs;
    node->output_count = (int32_t)proto->n_output;
    return TORT_OK;
}

static tort_status add_operator(tort_loader *loader, const tort_scope *scope, const tort_node *node) {
    if (tort_is_modified_attention(loader, node)) return tort_split_attention(loader, scope, node);
    return tort_graph_add_node(loader->model, scope->graph, node) < 0 ? tort_no_memory(loader) : TORT_OK;
}

static tort_status load_operator(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                 tort_node *node) {
    tort_bodies bodies = {.count = 0};
    tort_status status = node_opset(loader, scope, node->domain, &node->opset);
    if (!status) status = tort_load_attributes(loader, scope, proto, node, &bodies);
    if (!status) status = tort_connect_bodies(loader, scope, proto, &bodies, node);
    if (!status) status = resolve_outputs(loader, scope, proto, node);
    if (!status) status = add_operator(loader, scope, node);
    for (int32_t b = 0; b < bodies.count; b++) tort_scope_free(loader, &bodies.scopes[b]);
    return status;
}

static tort_status load_node(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto, size_t index,
                             int32_t file_index) {
    tort_function *function;
    tort_status status = tort_find_function(loader, proto, &function);
    if (status) return status;
    if (function) return tort_expand_call(loader, scope, function, proto, index, file_index);
    tort_node node = {.file_index = file_index,
                      .name = node_name(loader, scope, proto, index),
                      .domain = tort_keep_once(loader, tort_domain_of(proto->domain)),
                      .op_type = tort_keep_once(loader, proto->op_type)};
    if (!node.name || !node.domain || !node.op_type) return tort_no_memory(loader);
    return load_operator(loader, scope, proto, &node);
}

enum { MAX_NAMED = 8 }; /* nested nodes that an error names */

tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *const *nodes, size_t count,
                            int32_t file_index) {
    for (size_t i = 0; i < count; i++) {
        tort_status status = load_node(loader, scope, nodes[i], i, file_index < 0 ? (int32_t)i : file_index);
        if (!status) continue;
        if (loader->depth <= MAX_NAMED) /* otherwise outer nodes would fill the message */
            tort_error_prefix(loader->error, "node %zu \"%.100s\" (%.60s)", i, tort_text_of(nodes[i]->name),
                              nodes[i]->op_type);
        if (loader->error && scope->graph == 0 && !scope->call) loader->error->node = (int32_t)i;
        return status;
    }
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Reserves space for the graph's own values, nodes and weights, not for those that calls and captures add. Values
 * without a name are not counted: they are refused. */
static bool reserve(tort_loader *loader, int32_t graph, const TortOnnx__GraphProto *proto) {
    size_t values = proto->n_sparse_initializer;
    for (size_t i = 0; i < proto->n_input; i++) values += *tort_text_of(proto->input[i]->name) != 0;
    for (size_t i = 0; i < proto->n_initializer; i++) values += *tort_text_of(proto->initializer[i]->name) != 0;
    for (size_t i = 0; i < proto->n_node; i++) values += proto->node[i]->n_output;
    return tort_graph_reserve(loader->model, graph, (int32_t)values, (int32_t)proto->n_node) &&
           tort_model_reserve_weights(loader->model, (int32_t)(proto->n_initializer + proto->n_sparse_initializer));
}

tort_status tort_load_graph(tort_loader *loader, const TortOnnx__GraphProto *proto, tort_scope *scope, int32_t *graph) {
    tort_status status = tort_enter(loader);
    if (status) return status;
    tort_names_init(&scope->names, loader->env);
    const char *name = tort_keep_text(loader, proto->name);
    *graph = scope->graph = name ? tort_model_add_graph(loader->model, name, "") : -1;
    if (*graph < 0 || !reserve(loader, *graph, proto)) return tort_no_memory(loader);
    status = load_initializers(loader, scope, proto, false);
    if (!status) status = load_initializers(loader, scope, proto, true);
    if (!status) status = load_ports(loader, scope, proto, false);
    if (!status) status = tort_declare_outputs(loader, scope, proto->node, proto->n_node);
    if (!status) status = tort_load_nodes(loader, scope, proto->node, proto->n_node, -1);
    if (!status) status = load_ports(loader, scope, proto, true);
    if (!status) status = load_value_info(loader, scope, proto);
    tort_leave(loader);
    return status;
}
