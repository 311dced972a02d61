/* build_model.c - small models made in C (build_model.h). */
#include "tests/build_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OUTPUTS 8 /* of a node */

model_builder build_begin(const tort_env *env) {
    model_builder b = {.model = tort_model_new(env)};
    if (!b.model) return b;
    if (tort_model_add_graph(b.model, "test", "") == 0) return b;
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

/* Appends to a graph's inputs or outputs, which are moved where they are full: at each power of two. */
static bool add_port(model_builder *b, int32_t **ports, int32_t *count, int32_t value) {
    if ((*count & (*count - 1)) == 0) {
        int32_t *grown = tort_arena_array(&b->model->arena, 2 * (size_t)*count + 1, sizeof *grown);
        if (!grown) return false;
        if (*count) memcpy(grown, *ports, (size_t)*count * sizeof *grown);
        *ports = grown;
    }
    (*ports)[(*count)++] = value;
    return true;
}

static tort_dim dim_of(model_builder *b, int64_t size) {
    static const char *const symbols[] = {"n", "m", "k"};
    return size < 0 ? tort_dim_symbol(&b->model->dims, symbols[-1 - size]) : size;
}

int32_t build_input(model_builder *b, const char *name, tort_type type, int32_t rank, const int64_t *dims) {
    int32_t value = add_value(b, name);
    if (value < 0) return -1;
    tort_graph *graph = &b->model->graphs[0];
    tort_info *info = &graph->values[value].info;
    info->type = type;
    info->rank = rank;
    for (int32_t i = 0; i < rank; i++) info->dims[i] = dim_of(b, dims[i]);
    graph->values[value].is_input = true;
    if (add_port(b, &graph->inputs, &graph->input_count, value)) return value;
    give_up(b);
    return -1;
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

void build_wide_node(model_builder *b, const char *op, const char *name, const int32_t *inputs, const char *wanted,
                     int32_t *outputs) {
    int32_t input_count = 0, output_count = 0;
    for (; wanted[output_count] && output_count < MAX_OUTPUTS; output_count++) {
        char output_name[64];
        snprintf(output_name, sizeof output_name, output_count ? "%s_out%d" : "%s_out", name, output_count);
        outputs[output_count] = wanted[output_count] == '1' ? add_value(b, output_name) : -1;
    }
    if (!b->model) return;
    while (inputs[input_count] >= 0) input_count++;
    tort_arena *arena = &b->model->arena;
    int32_t *in = tort_arena_array(arena, (size_t)input_count + 1, sizeof *in),
            *out = tort_arena_array(arena, (size_t)output_count + 1, sizeof *out);
    tort_node node = {.name = tort_arena_text(arena, name, strlen(name)),
                      .domain = "",
                      .op_type = tort_arena_text(arena, op, strlen(op)),
                      .opset = 21,
                      .inputs = in,
                      .outputs = out,
                      .input_count = input_count,
                      .output_count = output_count,
                      .file_index = b->model->graphs[0].node_count};
    if (!in || !out || !node.name || !node.op_type) {
        give_up(b);
        return;
    }
    memcpy(in, inputs, (size_t)input_count * sizeof *in);
    memcpy(out, outputs, (size_t)output_count * sizeof *out);
    if (tort_graph_add_node(b->model, 0, &node) < 0) give_up(b);
}

int32_t build_node(model_builder *b, const char *op, const char *name, const int32_t *inputs) {
    int32_t output = -1;
    build_wide_node(b, op, name, inputs, "1", &output);
    return b->model ? output : -1;
}

void build_output(model_builder *b, int32_t value) {
    if (!b->model || value < 0) return;
    tort_graph *graph = &b->model->graphs[0];
    if (!add_port(b, &graph->outputs, &graph->output_count, value)) give_up(b);
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
