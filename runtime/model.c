/* model.c - building the checked graph, and what an application may ask of it.
 *
 * The loader and tests add graphs, values, nodes and weights; tort_model_finish (finish.c) checks the whole. Everything
 * small lives in the model's arena and goes with it. Read next: weights.c, finish.c. */
#include <string.h>

#include "runtime/weights.h"

tort_model *tort_model_new(const tort_env *env) {
    tort_env complete = tort_env_complete(env);
    tort_model *model = tort_alloc_zero(&complete, 1, sizeof *model);
    if (!model) return NULL;
    model->env = tort_account_open(&model->account, &complete, sizeof *model);
    tort_arena_init(&model->arena, &model->env);
    tort_dims_init(&model->dims, &model->env, &model->arena);
    model->path = model->producer = model->producer_version = model->graph_name = "";
    model->store = tort_weight_store_new(&model->env);
    if (!model->store) {
        tort_model_free(model);
        return NULL;
    }
    return model;
}

void tort_model_free(tort_model *model) {
    if (!model) return;
    if (model->source_close) model->source_close(model->source_ud);
    const tort_env env = model->env, outer = model->account.inner;
    if (model->store) tort_weight_store_free(model->store);
    for (int32_t g = 0; g < model->graph_count; g++) {
        const tort_graph *graph = &model->graphs[g];
        tort_free(&env, graph->values, (size_t)graph->value_capacity * sizeof *graph->values);
        tort_free(&env, graph->nodes, (size_t)graph->node_capacity * sizeof *graph->nodes);
    }
    tort_free(&env, model->graphs, (size_t)model->graph_capacity * sizeof *model->graphs);
    tort_free(&env, model->weights, (size_t)model->weight_capacity * sizeof *model->weights);
    tort_free(&env, model->composites, (size_t)model->composite_capacity * sizeof *model->composites);
    tort_dims_free(&model->dims);
    tort_arena_free(&model->arena);
    tort_free(&outer, model, sizeof *model);
}

int32_t tort_model_add_graph(tort_model *model, const char *name, const char *path) {
    if (!tort_grow(&model->env, (void **)&model->graphs, &model->graph_capacity, model->graph_count + 1,
                   sizeof *model->graphs))
        return -1;
    tort_graph graph = {.name = tort_arena_text(&model->arena, name, strlen(name)),
                        .path = tort_arena_text(&model->arena, path, strlen(path))};
    if (!graph.name || !graph.path) return -1;
    model->graphs[model->graph_count] = graph;
    return model->graph_count++;
}

int32_t tort_model_add_weight(tort_model *model, const tort_weight *weight) {
    if (!tort_grow(&model->env, (void **)&model->weights, &model->weight_capacity, model->weight_count + 1,
                   sizeof *model->weights) ||
        !tort_weight_store_grow(model->store, model->weight_count + 1))
        return -1;
    model->weights[model->weight_count] = *weight;
    return model->weight_count++;
}

int32_t tort_model_add_weight_data(tort_model *model, const tort_tensor *tensor) {
    tort_weight weight = {.type = tensor->type, .rank = tensor->rank, .encoding = TORT_ENCODING_MEMORY};
    memcpy(weight.dims, tensor->dims, sizeof weight.dims);
    if (!tort_tensor_bytes(tensor, &weight.bytes)) return -1;
    int32_t index = tort_model_add_weight(model, &weight);
    if (index < 0 || !tort_weight_store_put(model->store, index, tensor->data, weight.bytes)) return -1;
    return index;
}

int32_t tort_model_add_composite(tort_model *model, const tort_composite *composite) {
    for (int32_t i = 0; i < model->composite_count; i++) {
        const tort_composite *have = &model->composites[i];
        if (have->kind == composite->kind && have->key == composite->key && have->element == composite->element &&
            have->type == composite->type && have->inner == composite->inner)
            return i;
    }
    if (!tort_grow(&model->env, (void **)&model->composites, &model->composite_capacity, model->composite_count + 1,
                   sizeof *model->composites))
        return -1;
    model->composites[model->composite_count] = *composite;
    return model->composite_count++;
}

int32_t tort_graph_add_value(tort_model *model, int32_t graph_index, const char *name) {
    tort_graph *graph = &model->graphs[graph_index];
    if (!tort_grow(&model->env, (void **)&graph->values, &graph->value_capacity, graph->value_count + 1,
                   sizeof *graph->values))
        return -1;
    tort_value value = {.name = tort_arena_text(&model->arena, name, strlen(name)),
                        .info = {.rank = -1, .composite = -1},
                        .producer = -1,
                        .weight = -1};
    if (!value.name) return -1;
    graph->values[graph->value_count] = value;
    return graph->value_count++;
}

int32_t tort_graph_add_node(tort_model *model, int32_t graph_index, const tort_node *node) {
    tort_graph *graph = &model->graphs[graph_index];
    if (!tort_grow(&model->env, (void **)&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes))
        return -1;
    graph->nodes[graph->node_count] = *node;
    return graph->node_count++;
}

/* ---- what an application may ask ----------------------------------------------------------------------------------
 */

static tort_port port_of(const tort_model *model, int32_t value_index) {
    const tort_value *value = &model->graphs[0].values[value_index];
    tort_port port = {.name = value->name, .type = value->info.type, .rank = value->info.rank};
    for (int32_t i = 0; i < TORT_MAX_RANK; i++) {
        port.dim_names[i] = "";
        if (i >= port.rank) continue;
        tort_dim dim = value->info.dims[i];
        port.dims[i] = tort_dim_known(dim) ? dim : -1;
        if (tort_dim_known(dim)) continue;
        const tort_dim_expr *expr = &model->dims.exprs[~dim];
        if (expr->op == TORT_DIM_SYMBOL && expr->name) port.dim_names[i] = expr->name;
    }
    return port;
}

int32_t tort_model_input_count(const tort_model *model) {
    return model->graphs[0].input_count;
}

int32_t tort_model_output_count(const tort_model *model) {
    return model->graphs[0].output_count;
}

tort_port tort_model_input(const tort_model *model, int32_t index) {
    return port_of(model, model->graphs[0].inputs[index]);
}

tort_port tort_model_output(const tort_model *model, int32_t index) {
    return port_of(model, model->graphs[0].outputs[index]);
}
