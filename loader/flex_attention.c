/* flex_attention.c - splits a FlexAttention with graphs into nodes: scores, a call of score_mod, Softmax, a call of
 * prob_mod, output.
 *
 * The standard defines it as a function whose parameters are graphs, each called once on a whole tensor, so it is
 * expanded where functions are. Read next: ops/flex_attention.c. */
#include <string.h>

#include "loader/loader.h"
#include "runtime/core/graph/graph.h"
#include "runtime/include/op.h"

enum { QUERY, KEY, VALUE, INPUTS };
enum { SOFTMAX_OPSET = 13 }; /* whatever the model imports: along the last axis by default */

typedef struct splitting {
    tort_loader *loader;
    const tort_node *whole;
    int32_t graph;
    const char *name; /* name of the node; names of the parts begin with it */
} splitting;

static const tort_attribute *graph_of(const tort_node *node, const char *name) {
    for (int32_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name) && node->attributes[i].kind == TORT_ATTR_GRAPH)
            return &node->attributes[i];
    return NULL;
}

/* True if the application registered an operator of this name, which then takes precedence. */
static bool is_own(const tort_model *model, const tort_node *node) {
    for (const tort_op *const *table = model->operators; table && *table; table++)
        for (const tort_op *row = *table; row->name; row++)
            if (!strcmp(row->domain, node->domain) && !strcmp(row->name, node->op_type)) return true;
    return false;
}

bool tort_is_modified_attention(const tort_loader *loader, const tort_node *node) {
    if (strcmp(node->domain, "ai.onnx.preview") || strcmp(node->op_type, "FlexAttention")) return false;
    if (is_own(loader->model, node)) return false;
    return graph_of(node, "score_mod") || graph_of(node, "prob_mod");
}

/* Adds a part of the attention with the given value as its only output. */
static tort_status add_part(const splitting *s, const char *name, tort_node node, int32_t output) {
    tort_model *model = s->loader->model;
    int32_t *outputs = tort_arena_array(&model->arena, 1, sizeof *outputs);
    node.name = tort_arena_format(&model->arena, "%s/%s", s->name, name);
    node.file_index = s->whole->file_index;
    node.outputs = outputs;
    node.output_count = 1;
    if (!outputs || !node.name) return tort_no_memory(s->loader);
    *outputs = output;
    return tort_graph_add_node(model, s->graph, &node) < 0 ? tort_no_memory(s->loader) : TORT_OK;
}

/* Adds a part with a new output, *value. */
static tort_status add_step(const splitting *s, const char *name, tort_node node, int32_t *value) {
    const char *made = tort_arena_format(&s->loader->scratch, "%s/%s", s->name, name);
    *value = made ? tort_graph_add_value(s->loader->model, s->graph, made) : -1;
    return *value < 0 ? tort_no_memory(s->loader) : add_part(s, name, node, *value);
}

/* Adds a call of the graph in attribute `name`, if there is one, on *value and the values that the node captures. */
static tort_status add_call(const splitting *s, const char *name, int32_t *value) {
    const tort_attribute *given = graph_of(s->whole, name);
    tort_model *model = s->loader->model;
    const int32_t captured = s->whole->captured, own = s->whole->input_count - captured;
    if (!given) return TORT_OK;
    const tort_graph *body = &model->graphs[given->u.graphs[0]];
    if (body->input_count - captured != 1 || body->output_count != 1)
        return tort_fail(s->loader->error, TORT_E_MODEL, "%s has %d inputs and %d outputs; expected one of each", name,
                         (int)(body->input_count - captured), (int)body->output_count);
    tort_attribute *attribute = tort_arena_array(&model->arena, 1, sizeof *attribute);
    int32_t *inputs = tort_arena_array(&model->arena, 1 + (size_t)captured, sizeof *inputs);
    if (!attribute || !inputs) return tort_no_memory(s->loader);
    *attribute = *given;
    attribute->name = "body";
    inputs[0] = *value;
    for (int32_t i = 0; i < captured; i++) inputs[1 + i] = s->whole->inputs[own + i];
    const tort_node node = {.domain = "tinyort",
                            .op_type = "Call",
                            .opset = 1,
                            .inputs = inputs,
                            .input_count = 1 + captured,
                            .captured = 1 + captured,
                            .attributes = attribute,
                            .attribute_count = 1};
    return add_step(s, name, node, value);
}

/* Adds the scores. They get all attributes but the graphs: the operator's row refuses attributes that it does not have.
 */
static tort_status add_scores(const splitting *s, int32_t *value) {
    const tort_node *whole = s->whole;
    tort_attribute *attributes =
        tort_arena_array(&s->loader->model->arena, (size_t)whole->attribute_count, sizeof *attributes);
    tort_node node = {.domain = "tinyort",
                      .op_type = "AttentionScores",
                      .opset = 1,
                      .inputs = whole->inputs + QUERY,
                      .input_count = VALUE - QUERY,
                      .attributes = attributes};
    if (!attributes) return tort_no_memory(s->loader);
    for (int32_t i = 0; i < whole->attribute_count; i++)
        if (whole->attributes[i].kind != TORT_ATTR_GRAPH) attributes[node.attribute_count++] = whole->attributes[i];
    return add_step(s, "scores", node, value);
}

static tort_status add_softmax(const splitting *s, int32_t *value) {
    int32_t *input = tort_arena_array(&s->loader->model->arena, 1, sizeof *input);
    const tort_node node = {
        .domain = "", .op_type = "Softmax", .opset = SOFTMAX_OPSET, .inputs = input, .input_count = 1};
    if (!input) return tort_no_memory(s->loader);
    *input = *value;
    return add_step(s, "softmax", node, value);
}

static tort_status add_output(const splitting *s, int32_t probabilities) {
    int32_t *inputs = tort_arena_array(&s->loader->model->arena, 2, sizeof *inputs);
    const tort_node node = {
        .domain = "tinyort", .op_type = "AttentionOutput", .opset = 1, .inputs = inputs, .input_count = 2};
    if (!inputs) return tort_no_memory(s->loader);
    inputs[0] = probabilities;
    inputs[1] = s->whole->inputs[VALUE];
    return add_part(s, "output", node, s->whole->outputs[0]);
}

tort_status tort_split_attention(tort_loader *loader, const tort_scope *scope, const tort_node *node) {
    splitting s = {.loader = loader, .whole = node, .graph = scope->graph, .name = node->name};
    int32_t value = -1;
    if (node->input_count - node->captured != INPUTS || node->output_count != 1)
        return tort_fail(loader->error, TORT_E_MODEL, "it has %d inputs and %d outputs; expected Q, K, V and Y",
                         (int)(node->input_count - node->captured), (int)node->output_count);
    if (!*s.name) s.name = tort_arena_format(&loader->model->arena, "%s_%d", node->op_type, node->file_index);
    if (!s.name) return tort_no_memory(loader);
    tort_status status = add_scores(&s, &value);
    if (!status) status = add_call(&s, "score_mod", &value);
    if (!status) status = add_softmax(&s, &value);
    if (!status) status = add_call(&s, "prob_mod", &value);
    return status ? status : add_output(&s, value);
}
