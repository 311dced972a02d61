/* cpu_kernel_models.c - models of the random nodes of cpu_kernel_cases.c, for cpu_kernels.c and tests/fuzz_rows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/core/graph/infer.h"
#include "tests/unit/cpu_kernel_cases.h"

/* Gives the model the tensors that are attributes. */
static void add_tensors(tort_model *model, random_node *random) {
    for (int32_t i = 0; i < random->attribute_count; i++) {
        tort_attribute *attribute = &random->attributes[i];
        if (attribute->kind != TORT_ATTR_TENSOR) continue;
        int32_t *weight = tort_arena_array(&model->arena, 1, sizeof *weight);
        cr_assert(weight);
        *weight = tort_model_add_weight_data(model, &random->tensors[attribute->u.i]);
        cr_assert(*weight >= 0);
        attribute->u.weights = weight;
    }
}

static tort_model *model_of(const char *domain, const char *op, random_node *random, const tort_env *env,
                            tort_error *error) {
    tort_model *model = tort_model_new(env);
    cr_assert(model && tort_model_add_graph(model, "test", "") == 0);
    int32_t *ports = tort_arena_array(&model->arena, 2 * MAX_INPUTS + MAX_OUTPUTS, sizeof *ports);
    cr_assert(ports);
    tort_graph *graph = &model->graphs[0];
    graph->inputs = ports + MAX_INPUTS;
    add_tensors(model, random);
    for (int32_t i = 0; i < random->input_count; i++) {
        char name[16];
        ports[i] = -1;
        if (!tort_present(&random->inputs[i])) continue;
        snprintf(name, sizeof name, "x%d", i);
        ports[i] = tort_graph_add_value(model, 0, name);
        tort_graph_value *value = &graph->values[ports[i]];
        if (random->constant[i]) {
            value->weight = tort_model_add_weight_data(model, &random->inputs[i]);
            cr_assert(value->weight >= 0);
            continue;
        }
        value->info.type = random->inputs[i].type;
        value->info.rank = random->inputs[i].rank;
        memcpy(value->info.dims, random->inputs[i].dims, sizeof value->info.dims);
        graph->inputs[graph->input_count++] = ports[i];
    }
    ports[2 * MAX_INPUTS] = tort_graph_add_value(model, 0, "y");
    for (int32_t i = 1; i < MAX_OUTPUTS; i++)
        ports[2 * MAX_INPUTS + i] =
            i <= random->scalar_outputs ? tort_graph_add_value(model, 0, i == 1 ? "scale" : "zero_point") : -1;
    graph->outputs = ports + 2 * MAX_INPUTS;
    graph->output_count = 1;
    const tort_node node = {.name = "node",
                            .domain = domain,
                            .op_type = op,
                            .opset = random->opset,
                            .inputs = ports,
                            .outputs = graph->outputs,
                            .attributes = random->attributes,
                            .input_count = random->input_count,
                            .output_count = random->second_output ? 2 : 1 + random->scalar_outputs,
                            .attribute_count = random->attribute_count};
    cr_assert(tort_graph_add_node(model, 0, &node) == 0);
    if (tort_model_finish(model, 0, error) == TORT_OK) return model;
    tort_model_free(model);
    return NULL;
}

/* For a fused operator: gives the node of the plain one its epilogue. False: that is not valid. */
static bool fuse(const kernel_case *kernel, random_node *random, random_source *source, const tort_env *env) {
    tort_error error = {0};
    tort_pass pass;
    tort_model *model = model_of("", kernel->plain, random, env, &error);
    if (!model) return false;
    tort_info infos[MAX_INPUTS + 1];
    for (int32_t i = 0; i < model->graphs[0].value_count; i++) infos[i] = model->graphs[0].values[i].info;
    cr_assert(tort_pass_init(&pass, model, &model->graphs[0], infos, &model->dims, &model->arena, &error) == 0);
    add_epilogue(random, source, kernel, &tort_pass_view(&pass, 0).outputs[0]);
    tort_pass_free(&pass);
    tort_model_free(model);
    return true;
}

bool make_random_node(const kernel_case *kernel, random_node *random, random_source *source, const tort_env *env) {
    kernel->make(random, source);
    return !kernel->plain || fuse(kernel, random, source, env);
}

bool to_halves(random_node *random, tort_type half) {
    bool any = half == TORT_FLOAT;
    for (int32_t i = 0; i < random->input_count; i++) {
        tort_tensor *tensor = &random->inputs[i];
        if (tensor->type != TORT_FLOAT || half == TORT_FLOAT) continue;
        const int64_t count = tort_count(tensor);
        void *halves = malloc((size_t)count * sizeof(uint16_t) + 64);
        cr_assert(halves);
        tort_store_floats(half, halves, 0, count, tensor->data);
        free(tensor->data);
        tensor->data = halves;
        tensor->type = half;
        any = true;
    }
    return any;
}

tort_model *random_node_model(const kernel_case *kernel, random_node *random, const tort_env *env, tort_error *error) {
    return model_of(kernel->domain, kernel->op, random, env, error);
}

void make_known(tort_info *info, const tort_tensor *t) {
    const uint8_t *bytes = t->data;
    size_t count;
    info->data = t->data;
    if (!bytes || tort_type_bits(t->type) != 8 || !tort_tensor_bytes(t, &count) || !count) return;
    info->uniform = !memcmp(bytes, bytes + 1, count - 1);
    info->byte = bytes[0];
}

void free_random_node(random_node *random) {
    for (int32_t i = 0; i < random->input_count; i++) free(random->inputs[i].data);
    free(random->block);
}
