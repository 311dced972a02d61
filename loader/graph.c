/* graph.c - GraphProto -> tort_graph: scopes of names, values, nodes, and what bodies take from around them.
 *
 * All names of a graph are declared before its nodes are loaded, so nodes may come in any order; the core sorts them.
 * A name that a body does not know is looked up outwards, and becomes an input of every body on the way. */
#include <string.h>

#include "loader/loader.h"

/* ---- scopes ----------------------------------------------------------------------------------------------------- */

void tort_scope_free(tort_loader *loader, tort_scope *scope) {
    if (scope->names.env) tort_names_free(&scope->names);
    tort_free(loader->env, scope->captured_outer, (size_t)scope->outer_capacity * sizeof(int32_t));
    tort_free(loader->env, scope->captured_inner, (size_t)scope->inner_capacity * sizeof(int32_t));
}

static tort_value *value_at(tort_loader *loader, const tort_scope *scope, int32_t value) {
    return &loader->model->graphs[scope->graph].values[value];
}

/* What a value is called in the model: inside a call, after the call, so that it differs from call to call. */
static const char *value_name(tort_loader *loader, const tort_scope *scope, const char *name) {
    if (!scope->call || scope->outer) return name; /* a body is a graph of its own */
    return tort_arena_format(&loader->scratch, "%s/%s", scope->call->prefix, name);
}

tort_status tort_declare_value(tort_loader *loader, tort_scope *scope, const char *name, int32_t *value) {
    const char *full = value_name(loader, scope, name);
    if (!full) return tort_no_memory(loader);
    *value = tort_graph_add_value(loader->model, scope->graph, full);
    if (*value < 0 || !tort_names_add(&scope->names, name, *value)) return tort_no_memory(loader);
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
    if (!*name) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    if (tort_names_find(&scope->names, name, &value))
        return tort_fail(loader->error, TORT_E_MODEL, "there are two of this name");
    tort_status status = tort_declare_value(loader, scope, name, &value);
    if (!status) value_at(loader, scope, value)->weight = weight;
    return status;
}

static tort_status load_initializers(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *proto) {
    for (size_t i = 0; i < proto->n_initializer; i++) {
        int32_t weight;
        const char *name = tort_text_of(proto->initializer[i]->name);
        tort_status status = tort_load_tensor(loader, proto->initializer[i], &weight);
        if (!status) status = add_initializer(loader, scope, name, weight);
        if (status) tort_error_prefix(loader->error, "initializer %zu \"%.150s\"", i, name);
        if (status) return status;
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
        int32_t weight;
        TortOnnx__SparseTensorProto *sparse = proto->sparse_initializer[i];
        const char *name = sparse->values ? tort_text_of(sparse->values->name) : "";
        tort_status status = tort_load_sparse(loader, sparse, &weight);
        if (!status) status = add_initializer(loader, scope, name, weight);
        if (status) tort_error_prefix(loader->error, "sparse_initializer %zu \"%.150s\"", i, name);
        if (status) return status;
    }
    return TORT_OK;
}

/* Dimensions of the main graph have names; those of a body may differ from call to call. */
static tort_status declare_type(tort_loader *loader, tort_scope *scope, const TortOnnx__ValueInfoProto *proto,
                                int32_t value) {
    if (!proto->type) return TORT_OK;
    tort_info info = {.rank = -1, .composite = -1};
    tort_status status = tort_load_type(loader, proto->type, scope->graph == 0, &info);
    if (!status) value_at(loader, scope, value)->info = info;
    return status;
}

static tort_status load_input(tort_loader *loader, tort_scope *scope, const TortOnnx__ValueInfoProto *proto,
                              int32_t *value) {
    const char *name = tort_text_of(proto->name);
    if (!*name) return tort_fail(loader->error, TORT_E_MODEL, "it has no name");
    tort_status status = TORT_OK;
    if (!tort_names_find(&scope->names, name, value)) /* else an initializer: its default */
        status = tort_declare_value(loader, scope, name, value);
    if (status) return status;
    if (value_at(loader, scope, *value)->is_input)
        return tort_fail(loader->error, TORT_E_MODEL, "there are two of this name");
    value_at(loader, scope, *value)->is_input = true;
    return declare_type(loader, scope, proto, *value);
}

static tort_status load_inputs(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *proto) {
    int32_t *inputs = tort_arena_array(&loader->model->arena, proto->n_input, sizeof *inputs);
    if (!inputs) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_input; i++) {
        tort_status status = load_input(loader, scope, proto->input[i], &inputs[i]);
        if (status) tort_error_prefix(loader->error, "input %zu \"%.150s\"", i, tort_text_of(proto->input[i]->name));
        if (status) return status;
    }
    tort_graph *graph = &loader->model->graphs[scope->graph];
    graph->inputs = inputs;
    graph->input_count = (int32_t)proto->n_input;
    return TORT_OK;
}

static tort_status load_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *proto) {
    int32_t *outputs = tort_arena_array(&loader->model->arena, proto->n_output, sizeof *outputs);
    if (!outputs) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = tort_text_of(proto->output[i]->name);
        tort_status status = tort_resolve_name(loader, scope, name, &outputs[i]);
        if (!status && outputs[i] < 0) status = tort_fail(loader->error, TORT_E_MODEL, "it has no value");
        if (!status && !value_at(loader, scope, outputs[i])->is_input)
            status = declare_type(loader, scope, proto->output[i], outputs[i]);
        if (status) tort_error_prefix(loader->error, "output %zu \"%.150s\"", i, name);
        if (status) return status;
        value_at(loader, scope, outputs[i])->is_output = true;
    }
    tort_graph *graph = &loader->model->graphs[scope->graph];
    graph->outputs = outputs;
    graph->output_count = (int32_t)proto->n_output;
    return TORT_OK;
}

/* What exporters declare of values in between. A name that the graph does not have is none of our business. */
static tort_status load_value_info(tort_loader *loader, tort_scope *scope, TortOnnx__GraphProto *proto) {
    for (size_t i = 0; i < proto->n_value_info; i++) {
        int32_t value;
        const char *name = tort_text_of(proto->value_info[i]->name);
        if (!tort_names_find(&scope->names, name, &value)) continue;
        const tort_value *have = value_at(loader, scope, value);
        if (have->is_input || have->is_output || have->weight >= 0) continue;
        tort_status status = declare_type(loader, scope, proto->value_info[i], value);
        if (status) tort_error_prefix(loader->error, "value_info %zu \"%.150s\"", i, name);
        if (status) return status;
    }
    return TORT_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* Whether a value has one source only is checked by the core, when the graph is whole. */
tort_status tort_declare_outputs(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto **nodes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            const char *name = tort_text_of(nodes[i]->output[k]);
            int32_t value;
            if (!*name) continue;
            if (!tort_names_find(&scope->names, name, &value)) {
                tort_status status = tort_declare_value(loader, scope, name, &value);
                if (status) return status;
            } else if (value < 0) {
                return tort_fail(loader->error, TORT_E_MODEL, "node %zu: output \"%.150s\" is an input of the function",
                                 i, name);
            }
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

/* Its name, or "Conv_12"; in a function after the call. */
static const char *node_name(tort_loader *loader, const tort_scope *scope, const TortOnnx__NodeProto *proto,
                             size_t index) {
    tort_arena *arena = &loader->model->arena;
    const char *name = tort_text_of(proto->name);
    const char *prefix = scope->call && !scope->outer ? scope->call->prefix : "", *slash = *prefix ? "/" : "";
    if (*name) return tort_arena_format(arena, "%s%s%s", prefix, slash, name);
    return tort_arena_format(arena, "%s%s%s_%zu", prefix, slash, proto->op_type, index);
}

static tort_status resolve_outputs(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                   tort_node *node) {
    int32_t *outputs = tort_arena_array(&loader->model->arena, proto->n_output, sizeof *outputs);
    if (!outputs) return tort_no_memory(loader);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = tort_text_of(proto->output[i]);
        outputs[i] = -1;
        if (*name) tort_names_find(&scope->names, name, &outputs[i]);
    }
    node->outputs = outputs;
    node->output_count = (int32_t)proto->n_output;
    return TORT_OK;
}

/* ---- what bodies capture ---------------------------------------------------------------------------------------- */

/* The values that the bodies of a node take from outside, each once. */
typedef struct captures {
    tort_names numbers; /* name in the bodies -> number */
    int32_t *outer;     /* of each its value outside, in the scratch arena */
    int32_t count;
} captures;

static tort_status unite_captures(tort_loader *loader, const tort_bodies *bodies, captures *all) {
    size_t most = 0;
    for (int32_t b = 0; b < bodies->count; b++) most += (size_t)bodies->scopes[b].captured_count;
    all->outer = tort_arena_array(&loader->scratch, most, sizeof *all->outer);
    if (!all->outer) return tort_no_memory(loader);
    for (int32_t b = 0; b < bodies->count; b++) {
        const tort_scope *body = &bodies->scopes[b];
        for (int32_t i = 0; i < body->captured_count; i++) {
            int32_t number;
            const char *name = value_at(loader, body, body->captured_inner[i])->name;
            if (tort_names_find(&all->numbers, name, &number)) continue;
            all->outer[all->count] = body->captured_outer[i];
            if (!tort_names_add(&all->numbers, name, all->count++)) return tort_no_memory(loader);
        }
    }
    return TORT_OK;
}

/* Appends all captured values to a body's inputs; one that it does not use gets a value without a name. */
static tort_status extend_inputs(tort_loader *loader, const tort_scope *body, const captures *all) {
    int32_t own = loader->model->graphs[body->graph].input_count;
    int32_t *inputs = tort_arena_array(&loader->model->arena, (size_t)own + (size_t)all->count, sizeof *inputs);
    if (!inputs) return tort_no_memory(loader);
    if (own) memcpy(inputs, loader->model->graphs[body->graph].inputs, (size_t)own * sizeof *inputs);
    for (int32_t i = 0; i < all->count; i++) inputs[own + i] = -1;
    for (int32_t i = 0; i < body->captured_count; i++) {
        int32_t number = 0;
        tort_names_find(&all->numbers, value_at(loader, body, body->captured_inner[i])->name, &number);
        inputs[own + number] = body->captured_inner[i];
    }
    for (int32_t i = own; i < own + all->count; i++) {
        if (inputs[i] >= 0) continue;
        inputs[i] = tort_graph_add_value(loader->model, body->graph, "");
        if (inputs[i] < 0) return tort_no_memory(loader);
    }
    loader->model->graphs[body->graph].inputs = inputs;
    loader->model->graphs[body->graph].input_count = own + all->count;
    return TORT_OK;
}

/* The node's inputs: its own, then what its bodies capture; every body's inputs end with the same values. */
static tort_status resolve_inputs(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                  const captures *all, tort_node *node) {
    size_t own = proto->n_input;
    int32_t *inputs = tort_arena_array(&loader->model->arena, own + (size_t)all->count, sizeof *inputs);
    if (!inputs) return tort_no_memory(loader);
    for (size_t i = 0; i < own; i++) {
        tort_status status = tort_resolve_name(loader, scope, tort_text_of(proto->input[i]), &inputs[i]);
        if (status) tort_error_prefix(loader->error, "input %zu", i);
        if (status) return status;
    }
    if (all->count) memcpy(inputs + own, all->outer, (size_t)all->count * sizeof *inputs);
    node->inputs = inputs;
    node->input_count = (int32_t)own + all->count;
    node->captured = all->count;
    return TORT_OK;
}

static tort_status connect_node(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                const tort_bodies *bodies, captures *all, tort_node *node) {
    tort_status status = unite_captures(loader, bodies, all);
    for (int32_t b = 0; !status && b < bodies->count; b++) status = extend_inputs(loader, &bodies->scopes[b], all);
    if (!status) status = resolve_inputs(loader, scope, proto, all, node);
    if (!status) status = resolve_outputs(loader, scope, proto, node);
    return status;
}

static tort_status load_operator(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *proto, tort_node *node) {
    tort_bodies bodies = {0};
    tort_status status = node_opset(loader, scope, node->domain, &node->opset);
    if (!status) status = tort_load_attributes(loader, scope, proto, node->name, node, &bodies);
    if (!status) {
        captures all = {0};
        tort_names_init(&all.numbers, loader->env);
        status = connect_node(loader, scope, proto, &bodies, &all, node);
        tort_names_free(&all.numbers);
    }
    if (!status && tort_graph_add_node(loader->model, scope->graph, node) < 0) status = tort_no_memory(loader);
    for (int32_t b = 0; b < bodies.count; b++) tort_scope_free(loader, &bodies.scopes[b]);
    tort_free(loader->env, bodies.scopes, (size_t)bodies.capacity * sizeof *bodies.scopes);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static tort_status load_node(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto *proto, size_t index,
                             int32_t file_index) {
    tort_arena *arena = &loader->model->arena;
    const char *domain = tort_domain_of(proto->domain), *op_type = tort_text_of(proto->op_type);
    if (!*op_type) return tort_fail(loader->error, TORT_E_MODEL, "it has no op_type");
    tort_node node = {.file_index = file_index, .name = node_name(loader, scope, proto, index)};
    node.domain = tort_arena_text(arena, domain, strlen(domain));
    node.op_type = tort_arena_text(arena, op_type, strlen(op_type));
    if (!node.name || !node.domain || !node.op_type) return tort_no_memory(loader);
    tort_function *function;
    tort_status status = tort_find_function(loader, proto, &function);
    if (status) return status;
    if (function) return tort_expand_call(loader, scope, function, proto, node.name, file_index);
    return load_operator(loader, scope, proto, &node);
}

enum { MOST_NAMED = 8 }; /* nodes around each other that an error names */

tort_status tort_load_nodes(tort_loader *loader, tort_scope *scope, TortOnnx__NodeProto **nodes, size_t count,
                            int32_t file_index) {
    for (size_t i = 0; i < count; i++) {
        tort_status status = load_node(loader, scope, nodes[i], i, file_index < 0 ? (int32_t)i : file_index);
        if (!status) continue;
        if (loader->depth <= MOST_NAMED) /* else the outer ones fill the message */
            tort_error_prefix(loader->error, "node %zu \"%.100s\" (%.60s)", i, tort_text_of(nodes[i]->name),
                              tort_text_of(nodes[i]->op_type));
        if (loader->error && scope->graph == 0 && !scope->call) loader->error->node = (int32_t)i;
        return status;
    }
    return TORT_OK;
}

tort_status tort_load_graph(tort_loader *loader, TortOnnx__GraphProto *proto, const char *path, tort_scope *scope,
                            int32_t *graph) {
    tort_status status = tort_enter(loader);
    if (status) return status;
    *graph = tort_model_add_graph(loader->model, tort_text_of(proto->name), path);
    if (*graph < 0) return tort_no_memory(loader);
    scope->graph = *graph;
    tort_names_init(&scope->names, loader->env);
    status = load_initializers(loader, scope, proto);
    if (!status) status = load_inputs(loader, scope, proto);
    if (!status) status = tort_declare_outputs(loader, scope, proto->node, proto->n_node);
    if (!status) status = tort_load_nodes(loader, scope, proto->node, proto->n_node, -1);
    if (!status) status = load_outputs(loader, scope, proto);
    if (!status) status = load_value_info(loader, scope, proto);
    tort_leave(loader);
    return status;
}
