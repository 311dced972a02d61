/* bodies.c - values that the bodies of a node (If, Loop, Scan) capture from outer scopes become inputs of the node.
 *
 * A body is a graph of its own. graph.c records its captures; here the captures of all bodies of a node are united and
 * appended to the node's inputs, and the inputs of every body are made to end with all of them, in one order. */
#include <string.h>

#include "loader/loader.h"

tort_status tort_load_body(tort_loader *loader, tort_scope *scope, const TortOnnx__GraphProto *proto,
                           tort_bodies *bodies, int32_t *graph) {
    if (bodies->count == TORT_MAX_BODIES)
        return tort_fail(loader->error, TORT_E_UNSUPPORTED, "a node of more than %d bodies", TORT_MAX_BODIES);
    tort_scope *body = &bodies->scopes[bodies->count++];
    *body = (tort_scope){.outer = scope, .call = scope->call};
    return tort_load_graph(loader, proto, body, graph);
}

/* The union of the captures of a node's bodies. */
typedef struct captures {
    tort_names numbers; /* name in the bodies -> index in `outer` */
    int32_t *outer;     /* the captured values of the outer graph */
    int32_t count, capacity;
} captures;

static const char *captured_name(const tort_loader *loader, const tort_scope *body, int32_t i) {
    return loader->model->graphs[body->graph].values[body->captured_inner[i]].name;
}

static bool unite(tort_loader *loader, const tort_bodies *bodies, captures *all) {
    for (int32_t b = 0; b < bodies->count; b++) {
        const tort_scope *body = &bodies->scopes[b];
        for (int32_t i = 0; i < body->captured_count; i++) {
            int32_t number;
            const char *name = captured_name(loader, body, i);
            if (tort_names_find(&all->numbers, name, &number)) continue;
            if (!tort_grow(loader->env, (void **)&all->outer, &all->capacity, all->count + 1, sizeof *all->outer))
                return false;
            all->outer[all->count] = body->captured_outer[i];
            if (!tort_names_add(&all->numbers, name, all->count++)) return false;
        }
    }
    return true;
}

/* Appends all captured values to a body's inputs; a value without a name stands for one that this body does not use.
 * Completes the body. */
static bool extend_inputs(tort_loader *loader, const tort_scope *body, const captures *all) {
    tort_graph *graph = &loader->model->graphs[body->graph];
    int32_t own = graph->input_count, missing = all->count - body->captured_count;
    if (all->count == 0) return tort_graph_trim(loader->model, body->graph);
    int32_t *inputs = tort_arena_array(&loader->model->arena, (size_t)own + (size_t)all->count, sizeof *inputs);
    if (!inputs || !tort_graph_reserve(loader->model, body->graph, missing, 0)) return false;
    if (own) memcpy(inputs, graph->inputs, (size_t)own * sizeof *inputs);
    for (int32_t i = 0; i < all->count; i++) inputs[own + i] = -1;
    for (int32_t i = 0; i < body->captured_count; i++) {
        int32_t number = 0;
        tort_names_find(&all->numbers, captured_name(loader, body, i), &number);
        inputs[own + number] = body->captured_inner[i];
    }
    for (int32_t i = own; i < own + all->count; i++) {
        if (inputs[i] < 0) inputs[i] = tort_graph_add_value(loader->model, body->graph, "");
        if (inputs[i] < 0) return false;
    }
    graph->inputs = inputs;
    graph->input_count = own + all->count;
    return tort_graph_trim(loader->model, body->graph);
}

static tort_status resolve_inputs(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                  const captures *all, tort_node *node) {
    const size_t own = proto->n_input;
    int32_t *inputs = tort_arena_array(&loader->model->arena, own + (size_t)all->count, sizeof *inputs);
    if (!inputs) return tort_no_memory(loader);
    for (size_t i = 0; i < own; i++) {
        tort_status status = tort_resolve_name(loader, scope, proto->input[i], &inputs[i]);
        if (status) tort_error_prefix(loader->error, "input %zu", i);
        if (status) return status;
    }
    if (all->count) memcpy(inputs + own, all->outer, (size_t)all->count * sizeof *inputs);
    node->inputs = inputs;
    node->input_count = (int32_t)own + all->count;
    node->captured = all->count;
    return TORT_OK;
}

tort_status tort_connect_bodies(tort_loader *loader, tort_scope *scope, const TortOnnx__NodeProto *proto,
                                const tort_bodies *bodies, tort_node *node) {
    captures all = {0};
    tort_names_init(&all.numbers, loader->env);
    bool ok = unite(loader, bodies, &all);
    for (int32_t b = 0; ok && b < bodies->count; b++) ok = extend_inputs(loader, &bodies->scopes[b], &all);
    tort_status status = ok ? resolve_inputs(loader, scope, proto, &all, node) : tort_no_memory(loader);
    tort_names_free(&all.numbers);
    tort_free(loader->env, all.outer, (size_t)all.capacity * sizeof *all.outer);
    return status;
}
