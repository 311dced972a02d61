/* build_model.c - small models made in C (build_model.h). */
#include "tests/build_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORTS 16

model_builder build_begin(const tort_env *env) {
    model_builder b = {.model = tort_model_new(env)};
    if (!b.model) return b;
    if (tort_model_add_graph(b.model, "test", "") == 0) {
        tort_graph *graph = &b.model->graphs[0];
        graph->inputs = tort_arena_array(&b.model->arena, MAX_PORTS, sizeof *graph->inputs);
        graph->outputs = tort_arena_array(&b.model->arena, MAX_PORTS, sizeof *graph->outputs);
        if (graph->inputs && graph->outputs) return b;
    }
    tort_model_free(b.model);
    b.model = NULL;
    return b;
}

static void give_up(model_builder *b) {
    tort_model_free(b->model);
    b->model = NULL;
}

static int32_t add_value(model_builder *b, const char *name) {
    if (!b->model) return -1;
    int32_t value = tort_graph_add_value(b->model, 0, name);
    if (value < 0) give_up(b);
    return value;
}

int32_t build_input(model_builder *b, const char *name, tort_type type, int32_t rank, const int64_t *dims) {
    int32_t value = add_value(b, name);
    if (value < 0) return -1;
    tort_graph *graph = &b->model->graphs[0];
    tort_info *info = &graph->values[value].info;
    info->type = type;
    info->rank = rank;
    for (int32_t i = 0; i < rank; i++) info->dims[i] = dims[i] < 0 ? tort_dim_symbol(&b->model->dims, "n") : dims[i];
    graph->inputs[graph->input_count++] = value;
    graph->values[value].is_input = true;
    return value;
}

int32_t build_weight(model_builder *b, const char *name, const tort_tensor *tensor) {
    int32_t value = add_value(b, name);
    if (value < 0) return -1;
    int32_t weight = tort_model_add_weight_data(b->model, tensor);
    if (weight < 0) {
        give_up(b);
        return -1;
    }
    b->model->graphs[0].values[value].weight = weight;
    return value;
}

int32_t build_node(model_builder *b, const char *op, const char *name, const int32_t *inputs) {
    char output_name[64];
    snprintf(output_name, sizeof output_name, "%s_out", name);
    int32_t value = add_value(b, output_name), count = 0;
    if (value < 0) return -1;
    while (inputs[count] >= 0) count++;
    tort_arena *arena = &b->model->arena;
    int32_t *in = tort_arena_array(arena, (size_t)count + 1, sizeof *in),
            *out = tort_arena_array(arena, 1, sizeof *out);
    tort_node node = {.name = tort_arena_text(arena, name, strlen(name)),
                      .domain = "",
                      .op_type = tort_arena_text(arena, op, strlen(op)),
                      .opset = 21,
                      .inputs = in,
                      .outputs = out,
                      .input_count = count,
                      .output_count = 1,
                      .file_index = b->model->graphs[0].node_count};
    if (!in || !out || !node.name || !node.op_type) {
        give_up(b);
        return -1;
    }
    memcpy(in, inputs, (size_t)count * sizeof *in);
    *out = value;
    if (tort_graph_add_node(b->model, 0, &node) < 0) {
        give_up(b);
        return -1;
    }
    return value;
}

void build_output(model_builder *b, int32_t value) {
    if (!b->model || value < 0) return;
    tort_graph *graph = &b->model->graphs[0];
    graph->outputs[graph->output_count++] = value;
}

tort_model *build_end(model_builder *b, tort_error *error) {
    if (!b->model) {
        tort_fail(error, TORT_E_MEMORY, "out of memory while building");
        return NULL;
    }
    tort_status status = tort_model_finish(b->model, 0, error);
    if (status) give_up(b);
    return b->model;
}
