/* graph.c - GraphProto -> tort_graph: scopes of names, values, nodes.
 *
 * All names of a graph are declared before its nodes are loaded, so nodes may come in any order; the core sorts them.
 * A name that a body does not know is looked up outwards, and becomes an input of every body on the way. Names that
 * come from the file are borrowed from the slim copy. Read next: bodies.c, functions.c. */
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

/* What a value is called in the model: inside a call, after the call, so that it differs from call to call. */
static const char *value_name(tort_loader *loader, const tort_scope *scope, const char *name) {
    if (!scope->call || scope->outer) return name; /* a body is a graph of its own */
    return tort_arena_format(&loader->model->arena, "%s/%s", scope->call->prefix, name);
}

tort_status tort_declare_value(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value) {
    const char *full = value_name(loader, scope, name);
    if (!full) return tort_no_memory(loader);
    *value = tort_graph_add_value(loader->model, scope->graph, "");
    if (*value < 0 || !tort_names_add(&scope->names, name, *value)) return tort_no_memory(loader);
    value_at(loader, scope, *value)->name = full;
    return TORT_OK;
}

/* Makes a value of the outer graph an input of the body. */
static tort_status capture(tort_loader *loader, tort_scope *scope, const char *name, int32_t outer, int32_t *value) {
    int32_t n = scope->captured_count;
    if (!tort_grow(loader->env, (void **)&scope->captured_outer, &scope->outer_capacity, n + 1, sizeof(int32_t)) ||
        !tort_grow(loader->env, (void **)&scope->captured_inner, &scope->inner_capacity, n + 1, sizeof(int32_t)))
        return tort_no_memory(loader);
    tort_status status = tort_declare_value(loader, scope, name, value);
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
    if (!*name) return TORT_OK; /* nothing can read it */
    if (tort_names_find(&scope->names, name, &value))
        return tort_fail(loader->error, TORT_E_MODEL, "there are two of this name");
    tort_status status = tort_declare_value(loader, scope, name, &value);
    if (!status) value_at(loader, scope, value)->weight = weight;
    return status;
}

static tort_status load_initializers(tort_loader *loader, tort_scope *scope, tort_message graph) {
    tort_field field;
    tort_message rest = graph;
    for (size_t i = 0; tort_next_of(&rest, GRAPH_INITIALIZER, &field); i++) {
        int32_t weight;
        tort_tensor_proto proto = tort_read_tensor(field.message);
        tort_status status = tort_load_tensor(loader, &proto, &weight);
        if (!status) status = add_initializer(loader, scope, proto.name, weight);
        if (status) tort_error_prefix(loader->error, "initializer %zu \"%.150s\"", i, proto.name);
        if (status) return status;
    }
    rest = graph;
    for (size_t i = 0; tort_next_of(&rest, GRAPH_SPARSE_INITIALIZER, &field); i++) {
        int32_t weight;
        const char *name;
        tort_status status = tort_load_sparse(loader, field.message, &name, &weight);
        if (!status) status = add_initializer(loader, scope, name, weight);
        if (status) tort_error_prefix(loader->error, "sparse_initializer %zu \"%.150s\"", i, name);
        if (status) return status;
    }
    return TORT_OK;
}

typedef struct value_info {
    const char *name;
    tort_message type; /* without a message: none */
} value_info;

static value_info read_value_info(tort_message message) {
    value_info info = {.name = ""};
    for (tort_field field; tort_next_field(&message, &field);) {
        if (field.number == VALUE_INFO_NAME) info.name = field.text;
        if (field.number == VALUE_INFO_TYPE) info.type = field.message;
    }
    return info;
}

/* Dimensions of the main graph have names; those of a body may differ from call to call. */
static tort_status declare_type(tort_loader *loader, tort_scope *scope, const value_info *declared, int32_t value) {
    tort_info info = {.rank = -1, .nest = -1};
    tort_status status = tort_load_type(loader, declared->type, scope->graph == 0, &info);
    if (!status) value_at(loader, scope, value)->info = info;
    return status;
}

static tort_status load_input(tort_loader *loader, tort_scope *scope, const value_info *declared, int32_t *value) {
    if (!*declared->name) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    tort_status status = TORT_OK;
    if (!tort_names_find(&scope->names, declared->name, value)) /* else an initializer: its default */
        status = tort_declare_value(loader, scope, declared->name, value);
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

static tort_status load_inputs(tort_loader *loader, tort_scope *scope, tort_message graph) {
    int32_t count = tort_count_of(graph, GRAPH_INPUT);
    int32_t *inputs = tort_arena_array(&loader->model->arena, (size_t)count, sizeof *inputs);
    if (!inputs) return tort_no_memory(loader);
    tort_field field;
    for (size_t i = 0; tort_next_of(&graph, GRAPH_INPUT, &field); i++) {
        value_info declared = read_value_info(field.message);
        tort_status status = load_input(loader, scope, &declared, &inputs[i]);
        if (status) tort_error_prefix(loader->error, "input %zu \"%.150s\"", i, declared.name);
        if (status) return status;
    }
    loader->model->graphs[scope->graph].inputs = inputs;
    loader->model->graphs[scope->graph].input_count = count;
    return TORT_OK;
}

static tort_status load_output(tort_loader *loader, tort_scope *scope, const value_info *declared, int32_t *value) {
    tort_status status = tort_resolve_name(loader, scope, declared->name, value);
    if (status) return status;
    if (*value < 0) return tort_fail(loader->error, TORT_E_MODEL, "it has no value");
    if (!value_at(loader, scope, *value)->is_input) status = declare_type(loader, scope, declared, *value);
    value_at(loader, scope, *value)->is_output = true;
    return status;
}

static tort_status load_outputs(tort_loader *loader, tort_scope *scope, tort_message graph) {
    int32_t count = tort_count_of(graph, GRAPH_OUTPUT);
    int32_t *outputs = tort_arena_array(&loader->model->arena, (size_t)count, sizeof *outputs);
    if (!outputs) return tort_no_memory(loader);
    tort_field field;
    for (size_t i = 0; tort_next_of(&graph, GRAPH_OUTPUT, &field); i++) {
        value_info declared = read_value_info(field.message);
        tort_status status = load_output(loader, scope, &declared, &outputs[i]);
        if (status) tort_error_prefix(loader->error, "output %zu \"%.150s\"", i, declared.name);
        if (status) return status;
    }
    loader->model->graphs[scope->graph].outputs = outputs;
    loader->model->graphs[scope->graph].output_count = count;
    return TORT_OK;
}

/* What exporters declare of values in between. A name that the graph does not have is none of our business. */
static tort_status load_value_info(tort_loader *loader, tort_scope *scope, tort_message graph) {
    tort_field field;
    for (size_t i = 0; tort_next_of(&graph, GRAPH_VALUE_INFO, &field); i++) {
        int32_t value;
        value_info declared = read_value_info(field.message);
        if (!tort_names_find(&scope->names, declared.name, &value)) continue;
        const tort_graph_value *have = value_at(loader, scope, value);
        if (have->is_input || have->is_output || have->weight >= 0) continue;
        tort_status status = declare_type(loader, scope, &declared, value);
        if (status) tort_error_prefix(loader->error, "value_info %zu \"%.150s\"", i, declared.name);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

tort_node_proto tort_read_node(tort_message message) {
    tort_node_proto node = {.message = message, .name = "", .op_type = "", .domain = "", .overload = ""};
    for (tort_field field; tort_next_field(&message, &field);) {
        switch (field.number) {
        case NODE_INPUT: node.input_count++; break;
        case NODE_OUTPUT: node.output_count++; break;
        case NODE_NAME: node.name = field.text; break;
        case NODE_OP_TYPE: node.op_type = field.text; break;
        case NODE_ATTRIBUTE: node.attribute_count++; break;
        case NODE_DOMAIN: node.domain = tort_domain_of(field.text); break;
        case NODE_OVERLOAD: node.overload = field.text; break;
        default: break;
        }
    }
    return node;
}

static tort_status declare_output(tort_loader *loader, tort_scope *scope, const char *name, size_t node) {
    int32_t value;
    if (!*name) return TORT_OK;
    if (!tort_names_find(&scope->names, name, &value)) return tort_declare_value(loader, scope, name, &value);
    if (value >= 0) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "node %zu: output \"%.150s\" is an input of the function", node,
                     name);
}

/* Whether a value has one source only is checked by the core, when the graph is whole. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, tort_message message, uint32_t number) {
    tort_field node, output;
    for (size_t i = 0; tort_next_of(&message, number, &node); i++) {
        while (tort_next_of(&node.message, NODE_OUTPUT, &output)) {
            tort_status status = declare_output(loader, scope, output.text, i);
            if (status) return status;
        }
    }
    return TORT_OK;
}

static tort_status node_opset(tort_loader *loader, const tort_scope *scope, const char *domain, int32_t *version) {
    if (scope->call && tort_names_find(&scope->call->function->opsets, domain, version)) return TORT_OK;
    if (tort_names_find(&loader->opsets, domain, version)) return TORT_OK;
    *version = 1; /* of the oldest files, which import nothing */
    if (!*domain && loader->model->opset_count == 0) return TORT_OK;
    return tort_fail(loader->error, TORT_E_MODEL, "its domain \"%.100s\" is not in opset_import", domain);
}

/* Its name, in a call after the call. A node without one is named by the core, which knows all names of the graph. */
static const char *node_name(tort_loader *loader, const tort_scope *scope, const tort_node_proto *proto, size_t index) {
    tort_arena *arena = &loader->model->arena;
    if (!scope->call || scope->outer) return proto->name;
    if (*proto->name) return tort_arena_format(arena, "%s/%s", scope->call->prefix, proto->name);
    return tort_arena_format(arena, "%s/%s_%zu", scope->call->prefix, proto->op_type, index);
}

static tort_status resolve_outputs(tort_loader *loader, tort_scope *scope, const tort_node_proto *proto,
                                   tort_node *node) {
    int32_t *outputs = tort_arena_array(&loader->model->arena, (size_t)proto->output_count, sizeof *outputs);
    if (!outputs) return tort_no_memory(loader);
    tort_message rest = proto->message;
    tort_field field;
    for (int32_t i = 0; tort_next_of(&rest, NODE_OUTPUT, &field); i++) {
        outputs[i] = -1;
        if (*field.text) tort_names_find(&scope->names, field.text, &outputs[i]);
    }
    node->outputs = outputs;
    node->output_count = proto->output_count;
    return TORT_OK;
}

static tort_status add_operator(tort_loader *loader, const tort_scope *scope, const tort_node *node) {
    if (tort_is_modified_attention(loader, node)) return tort_split_attention(loader, scope, node);
    return tort_graph_add_node(loader->model, scope->graph, node) < 0 ? tort_no_memory(loader) : TORT_OK;
}

static tort_status load_operator(tort_loader *loader, tort_scope *scope, const tort_node_proto *proto,
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

static tort_status load_node(tort_loader *loader, tort_scope *scope, const tort_node_proto *proto, size_t index,
                             int32_t file_index) {
    if (!*proto->op_type) return tort_fail(loader->error, TORT_E_MODEL, "it has no op_type");
    tort_function *function;
    tort_status status = tort_find_function(loader, proto, &function);
    if (status) return status;
    if (function) return tort_expand_call(loader, scope, function, proto, index, file_index);
    tort_node node = {.file_index = file_index,
                      .name = node_name(loader, scope, proto, index),
                      .domain = proto->domain,
                      .op_type = proto->op_type};
    return node.name ? load_operator(loader, scope, proto, &node) : tort_no_memory(loader);
}

enum { MOST_NAMED = 8 }; /* nodes around each other that an error names */

tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, tort_message message, uint32_t number,
                            int32_t file_index) {
    tort_field field;
    for (size_t i = 0; tort_next_of(&message, number, &field); i++) {
        tort_node_proto proto = tort_read_node(field.message);
        tort_status status = load_node(loader, scope, &proto, i, file_index < 0 ? (int32_t)i : file_index);
        if (!status) continue;
        if (loader->depth <= MOST_NAMED) /* else the outer ones fill the message */
            tort_error_prefix(loader->error, "node %zu \"%.100s\" (%.60s)", i, proto.name, proto.op_type);
        if (loader->error && scope->graph == 0 && !scope->call) loader->error->node = (int32_t)i;
        return status;
    }
    return TORT_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Bytes in the slim copy of a node, and of an input or a tensor, that are not refused: smaller ones get no room. */
enum { SMALLEST_NODE = 4, SMALLEST_VALUE = 6 };

/* Room for what the graph has by itself, not for what calls and captures add. */
static bool reserve(tort_loader *loader, int32_t graph, tort_message message) {
    int32_t nodes = 0, values = 0, weights = 0;
    for (tort_field field; tort_next_field(&message, &field);) {
        ptrdiff_t size = field.kind == TORT_SLIM_MESSAGE ? field.message.end - field.message.at : 0;
        if (field.number == GRAPH_NODE) {
            nodes += size >= SMALLEST_NODE;
            values += tort_count_of(field.message, NODE_OUTPUT);
        }
        if (field.number == GRAPH_INPUT) values += size >= SMALLEST_VALUE;
        if (field.number == GRAPH_INITIALIZER || field.number == GRAPH_SPARSE_INITIALIZER)
            weights += size >= SMALLEST_VALUE;
    }
    return tort_graph_reserve(loader->model, graph, values + weights, nodes) &&
           tort_model_reserve_weights(loader->model, weights);
}

tort_status tort_load_graph(tort_loader *loader, tort_message message, tort_scope *scope, int32_t *graph) {
    tort_status status = tort_enter(loader);
    if (status) return status;
    tort_names_init(&scope->names, loader->env);
    *graph = scope->graph = tort_model_add_graph(loader->model, "", "");
    if (*graph < 0 || !reserve(loader, *graph, message)) return tort_no_memory(loader);
    loader->model->graphs[*graph].name = tort_text_in(message, GRAPH_NAME);
    status = load_initializers(loader, scope, message);
    if (!status) status = load_inputs(loader, scope, message);
    if (!status) status = tort_declare_outputs(loader, scope, message, GRAPH_NODE);
    if (!status) status = tort_load_nodes(loader, scope, message, GRAPH_NODE, -1);
    if (!status) status = load_outputs(loader, scope, message);
    if (!status) status = load_value_info(loader, scope, message);
    tort_leave(loader);
    return status;
}
