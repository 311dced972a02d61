/* model.c - builds the checked graph, and answers the application's queries about it.
 *
 * The loader and tests add graphs, values, nodes and weights; tort_model_finish (finish.c) checks the whole. Small data
 * lives in the model's arena. Read next: weights.c, finish.c. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/graph/weights.h"

tort_model *tort_model_new(const tort_env *env) {
    tort_env complete = tort_env_complete(env);
    tort_env_choose_key(&complete);
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
    tort_dims_free(&model->dims);
    tort_arena_free(&model->arena);
    tort_free(&outer, model, sizeof *model);
}

tort_status tort_model_check_target(const tort_model *model, const char *path, tort_error *error) {
    struct stat facts;
    if (!model->source_reads || lstat(path, &facts) != 0 ||
        !model->source_reads(model->source_ud, facts.st_dev, facts.st_ino))
        return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "\"%s\" is a file that this model is read from: write to another path", path);
}

/* ---- arrays of exact size ---------------------------------------------------------------------------------------- */

/* Sets the capacity to `wanted` elements, no fewer than are used. */
static bool resize(const tort_env *env, void **array, int32_t *capacity, int32_t wanted, size_t size) {
    size_t bytes;
    if (wanted == *capacity) return true;
    if (!tort_mul_size((uint64_t)wanted, size, &bytes)) return false;
    void *block = env->alloc(env->alloc_ud, *array, (size_t)*capacity * size, bytes);
    if (!block && bytes) return false;
    *array = block;
    *capacity = wanted;
    return true;
}

/* Makes the capacity at least `need`: exactly that the first time, later growing by at least half. */
static bool reserve(const tort_env *env, void **array, int32_t *capacity, int32_t need, size_t size) {
    if (need <= *capacity) return true;
    int32_t half = *capacity > INT32_MAX / 3 * 2 ? INT32_MAX : *capacity + *capacity / 2;
    return resize(env, array, capacity, half > need ? half : need, size);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static const char *keep_text(tort_model *model, const char *text) {
    return *text ? tort_arena_text(&model->arena, text, strlen(text)) : "";
}

int32_t tort_model_add_graph(tort_model *model, const char *name, const char *path) {
    if (!tort_grow(&model->env, (void **)&model->graphs, &model->graph_capacity, model->graph_count + 1,
                   sizeof *model->graphs))
        return -1;
    tort_graph graph = {.name = keep_text(model, name), .path = keep_text(model, path)};
    if (!graph.name || !graph.path) return -1;
    model->graphs[model->graph_count] = graph;
    return model->graph_count++;
}

bool tort_model_reserve_weights(tort_model *model, int32_t more) {
    int32_t need = model->weight_count + more;
    return reserve(&model->env, (void **)&model->weights, &model->weight_capacity, need, sizeof *model->weights) &&
           tort_weight_store_grow(model->store, need);
}

int32_t tort_model_add_weight(tort_model *model, const tort_weight *weight) {
    if (!tort_grow(&model->env, (void **)&model->weights, &model->weight_capacity, model->weight_count + 1,
                   sizeof *model->weights) ||
        !tort_weight_store_grow(model->store, model->weight_count + 1))
        return -1;
    model->weights[model->weight_count] = *weight;
    return model->weight_count++;
}

int32_t tort_model_add_weight_space(tort_model *model, tort_tensor *tensor) {
    tort_weight weight = {.type = tensor->type, .rank = tensor->rank, .encoding = TORT_ENCODING_MEMORY};
    memcpy(weight.dims, tensor->dims, sizeof weight.dims);
    if (!tort_tensor_bytes(tensor, &weight.bytes)) return -1;
    int32_t index = tort_model_add_weight(model, &weight);
    if (index < 0) return -1;
    tensor->data = tort_weight_store_put(model->store, index, weight.bytes);
    return tensor->data ? index : -1;
}

int32_t tort_model_add_weight_data(tort_model *model, const tort_tensor *tensor) {
    tort_tensor copy = *tensor;
    size_t bytes;
    int32_t index = tort_model_add_weight_space(model, &copy);
    if (index >= 0 && tort_tensor_bytes(tensor, &bytes) && bytes) memcpy(copy.data, tensor->data, bytes);
    return index;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

bool tort_graph_reserve(tort_model *model, int32_t graph_index, int32_t values, int32_t nodes) {
    tort_graph *graph = &model->graphs[graph_index];
    return reserve(&model->env, (void **)&graph->values, &graph->value_capacity, graph->value_count + values,
                   sizeof *graph->values) &&
           reserve(&model->env, (void **)&graph->nodes, &graph->node_capacity, graph->node_count + nodes,
                   sizeof *graph->nodes);
}

bool tort_graph_trim(tort_model *model, int32_t graph_index) {
    tort_graph *graph = &model->graphs[graph_index];
    return resize(&model->env, (void **)&graph->values, &graph->value_capacity, graph->value_count,
                  sizeof *graph->values) &&
           resize(&model->env, (void **)&graph->nodes, &graph->node_capacity, graph->node_count, sizeof *graph->nodes);
}

int32_t tort_graph_add_value(tort_model *model, int32_t graph_index, const char *name) {
    tort_graph *graph = &model->graphs[graph_index];
    if (!tort_grow(&model->env, (void **)&graph->values, &graph->value_capacity, graph->value_count + 1,
                   sizeof *graph->values))
        return -1;
    tort_graph_value value = {
        .name = keep_text(model, name), .info = {.rank = -1, .nest = -1}, .producer = -1, .weight = -1};
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

/* ---- queries of the application ---------------------------------------------------------------------------------- */

/* The size of a dimension, or -1 and its name, if it has one. */
static void name_dim(const tort_model *model, tort_dim dim, int64_t *size, const char **name) {
    *size = dim;
    if (tort_dim_known(dim)) return;
    const tort_dim_expr *expr = tort_dim_expression(&model->dims, dim);
    *size = -1;
    if (expr->op == TORT_DIM_SYMBOL && expr->name) *name = expr->name;
}

const char *tort_list_values(const tort_graph *graph, const int32_t *values, int32_t count, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (int32_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%.60s", i ? ", " : "", graph->values[values[i]].name);
    return buffer;
}

/* Describes a value; `declared`, the same as the file has it, tells of dimensions that inference leaves open. NULL: it
 * has nothing more. */
static void describe(const tort_model *model, int32_t value_index, const tort_info *declared, tort_port *port) {
    const tort_graph_value *value = &model->graphs[0].values[value_index];
    port->name = value->name;
    port->type = value->info.type;
    port->rank = value->info.rank;
    port->value_type = tort_info_type(&value->info);
    if (declared && declared->rank != port->rank) declared = NULL;
    for (int32_t i = 0; i < port->rank; i++) {
        name_dim(model, value->info.dims[i], &port->dims[i], &port->dim_names[i]);
        if (port->dims[i] < 0 && declared) name_dim(model, declared->dims[i], &port->dims[i], &port->dim_names[i]);
    }
}

/* Fills only as much as the caller's struct_size, which may be that of an older tinyort.h. */
static tort_status fill_port(const tort_model *model, bool output, int32_t index, tort_port *out, tort_error *error) {
    if (!model || !out) return tort_fail(error, TORT_E_USAGE, "a port is told of a model, in a tort_port: one is NULL");
    const tort_graph *graph = &model->graphs[0];
    const int32_t count = output ? graph->output_count : graph->input_count;
    const size_t size = out->struct_size;
    const bool known = index >= 0 && index < count;
    tort_status status = tort_check_struct_size(size, "tort_port", error);
    if (status) return status;
    tort_port port = {.struct_size = size, .name = "", .rank = -1, .value_type = tort_tensor_type(TORT_UNDEFINED)};
    for (int32_t i = 0; i < TORT_MAX_RANK; i++) port.dim_names[i] = "";
    const tort_info *declared = output ? model->declared_outputs : NULL;
    if (known)
        describe(model, (output ? graph->outputs : graph->inputs)[index], declared ? &declared[index] : NULL, &port);
    memcpy(out, &port, size < sizeof port ? size : sizeof port);
    if (known) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE, "there is no %s %d: the model has %d", output ? "output" : "input", index,
                     count);
}

int32_t tort_model_input_count(const tort_model *model) {
    return model ? model->graphs[0].input_count : 0;
}

int32_t tort_model_output_count(const tort_model *model) {
    return model ? model->graphs[0].output_count : 0;
}

tort_status tort_model_input(const tort_model *model, int32_t index, tort_port *port, tort_error *error) {
    return fill_port(model, false, index, port, error);
}

tort_status tort_model_output(const tort_model *model, int32_t index, tort_port *port, tort_error *error) {
    return fill_port(model, true, index, port, error);
}

static int32_t port_named(const tort_model *model, bool output, const char *name) {
    if (!model || !name) return -1;
    const tort_graph *graph = &model->graphs[0];
    const int32_t *values = output ? graph->outputs : graph->inputs;
    const int32_t count = output ? graph->output_count : graph->input_count;
    for (int32_t i = 0; i < count; i++)
        if (!strcmp(graph->values[values[i]].name, name)) return i;
    return -1;
}

int32_t tort_model_input_index(const tort_model *model, const char *name) {
    return port_named(model, false, name);
}

int32_t tort_model_output_index(const tort_model *model, const char *name) {
    return port_named(model, true, name);
}

const char *tort_model_graph_name(const tort_model *model) {
    return model ? model->graph_name : "";
}

const char *tort_model_producer(const tort_model *model) {
    return model ? model->producer : "";
}

const char *tort_model_producer_version(const tort_model *model) {
    return model ? model->producer_version : "";
}

int64_t tort_model_ir_version(const tort_model *model) {
    return model ? model->ir_version : 0;
}

int64_t tort_model_opset(const tort_model *model, const char *domain) {
    if (!domain || strcmp(domain, "ai.onnx") == 0) domain = "";
    for (int32_t i = 0; model && i < model->opset_count; i++)
        if (strcmp(model->opsets[i].domain, domain) == 0) return model->opsets[i].version;
    return 0;
}

int32_t tort_model_opset_count(const tort_model *model) {
    return model ? model->opset_count : 0;
}

const char *tort_model_opset_domain(const tort_model *model, int32_t index) {
    return model && index >= 0 && index < model->opset_count ? model->opsets[index].domain : NULL;
}

int32_t tort_model_metadata_count(const tort_model *model) {
    return model ? model->metadata_count : 0;
}

tort_metadata tort_model_metadata(const tort_model *model, int32_t index) {
    if (!model || index < 0 || index >= model->metadata_count) return (tort_metadata){"", ""};
    return model->metadata[index];
}

/* ---- what is known of a value ------------------------------------------------------------------------------------ */

bool tort_info_tensor(const tort_info *info, tort_tensor *out) {
    *out = (tort_tensor){.type = info->type};
    if (info->type == TORT_UNDEFINED || !tort_shape_known(info)) return false;
    out->rank = info->rank;
    for (int32_t i = 0; i < info->rank; i++) out->dims[i] = info->dims[i];
    return true;
}
