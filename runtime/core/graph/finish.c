/* finish.c - the end of loading: makes a checked model of the graphs that the loader built.
 *
 * Names nodes and bodies, sorts nodes topologically, binds each to its operator's row, checks arity, attributes and
 * types, and infers types and symbolic shapes. A node without a row is no error here: place.c reports all of them at
 * once. Read next: check.c, infer.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/core/graph/check.h"
#include "runtime/core/graph/infer.h"
#include "runtime/core/base/names.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Nodes named in the file keep their names, the first of duplicates too, so that a made name like "Conv_12" cannot
 * collide. Then the others get theirs: "Conv_12" if unnamed, "name#2" if a duplicate. */
static bool name_all(tort_model *model, tort_graph *graph, tort_names *names, bool *named) {
    int32_t other;
    for (int32_t i = 0; i < graph->node_count; i++) {
        const char *name = graph->nodes[i].name;
        if (!name || !*name || tort_names_find(names, name, &other)) continue;
        if (!tort_names_add(names, name, 1)) return false;
        named[i] = true;
    }
    for (int32_t i = 0; i < graph->node_count; i++) {
        tort_node *node = &graph->nodes[i];
        if (named[i]) continue;
        if (!node->name || !*node->name)
            node->name = tort_arena_format(&model->arena, "%s_%d", node->op_type, node->file_index);
        if (node->name) node->name = tort_names_add_unique(names, &model->arena, node->name);
        if (!node->name) return false;
    }
    return true;
}

static tort_status name_nodes(tort_model *model, tort_graph *graph, tort_error *error) {
    size_t count = (size_t)graph->node_count;
    bool *named = tort_alloc_zero(&model->env, count, sizeof *named);
    tort_names names;
    tort_names_init(&names, &model->env);
    bool ok = named && name_all(model, graph, &names, named);
    tort_names_free(&names);
    tort_free(&model->env, named, count * sizeof *named);
    return ok ? TORT_OK : tort_out_of_memory(error, count * sizeof *named);
}

enum { LONGEST_IN_PATH = 128 }; /* of a node's name; longer ones become operator and index, as paths nest */

static const char *path_of(tort_model *model, const tort_graph *around, const tort_node *node,
                           const tort_attribute *attribute, int32_t i) {
    char name[2 * LONGEST_IN_PATH], number[16] = "";
    const char *slash = *around->path ? "/" : "";
    if (strlen(node->name) <= LONGEST_IN_PATH)
        snprintf(name, sizeof name, "%s", node->name);
    else
        snprintf(name, sizeof name, "%.*s_%d", LONGEST_IN_PATH, node->op_type, node->file_index);
    if (attribute->kind == TORT_ATTR_GRAPHS) snprintf(number, sizeof number, "_%d", i);
    return tort_arena_format(&model->arena, "%s%s%s/%.*s%s", around->path, slash, name, LONGEST_IN_PATH,
                             attribute->name, number);
}

/* Names a body after its node and attribute: "Loop_3/body". */
static tort_status name_bodies(tort_model *model, const tort_graph *graph, tort_error *error) {
    for (int32_t n = 0; n < graph->node_count; n++) {
        const tort_node *node = &graph->nodes[n];
        for (int32_t a = 0; a < node->attribute_count; a++) {
            const tort_attribute *attribute = &node->attributes[a];
            if (attribute->kind != TORT_ATTR_GRAPH && attribute->kind != TORT_ATTR_GRAPHS) continue;
            for (int32_t i = 0; i < attribute->count; i++) {
                const char *path = path_of(model, graph, node, attribute, i);
                if (!path) return tort_out_of_memory(error, LONGEST_IN_PATH);
                model->graphs[attribute->u.graphs[i]].path = path;
            }
        }
    }
    return TORT_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Sets the producer of each value; a value may have one source only. */
static tort_status link_producers(tort_graph *graph, tort_error *error) {
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->output_count; k++) {
            if (node->outputs[k] < 0) continue;
            tort_graph_value *value = &graph->values[node->outputs[k]];
            if (value->producer >= 0 || value->weight >= 0 || value->is_input) {
                tort_fail(error, TORT_E_MODEL, "output \"%s\" is already made by %s", value->name,
                          value->weight >= 0 ? "an initializer"
                          : value->is_input  ? "a graph input"
                                             : graph->nodes[value->producer].name);
                tort_error_at_node(error, graph, i);
                return TORT_E_MODEL;
            }
            value->producer = i;
        }
    }
    return TORT_OK;
}

static bool already_ordered(const tort_graph *graph) {
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] >= 0 && graph->values[node->inputs[k]].producer >= i) return false;
    }
    return true;
}

/* Topological sort by depth-first search with an explicit stack (no recursion on deep graphs): a node follows its
 * producers. state: 0 new, 1 on the stack, 2 done. O(nodes + edges). */
static tort_status order_from(const tort_graph *graph, int32_t root, uint8_t *state, int32_t *stack, int32_t *next,
                              int32_t *order, int32_t *done, tort_error *error) {
    int32_t depth = 0;
    if (state[root]) return TORT_OK;
    stack[depth++] = root;
    state[root] = 1;
    while (depth) {
        int32_t at = stack[depth - 1];
        const tort_node *node = &graph->nodes[at];
        if (next[at] == node->input_count) {
            state[at] = 2;
            order[(*done)++] = at;
            depth--;
            continue;
        }
        int32_t value = node->inputs[next[at]++];
        int32_t producer = value >= 0 ? graph->values[value].producer : -1;
        if (producer < 0 || state[producer] == 2) continue;
        if (state[producer] == 1) {
            tort_fail(error, TORT_E_MODEL, "the graph has a cycle: its input \"%s\" depends on its own output",
                      graph->values[value].name);
            tort_error_at_node(error, graph, at);
            return TORT_E_MODEL;
        }
        state[producer] = 1;
        stack[depth++] = producer;
    }
    return TORT_OK;
}

static tort_status reorder(tort_model *model, tort_graph *graph, tort_error *error) {
    size_t count = (size_t)graph->node_count;
    size_t bytes = count * (3 * sizeof(int32_t) + 1);
    int32_t *stack = tort_alloc_zero(&model->env, count, 3 * sizeof(int32_t) + 1);
    tort_node *sorted = tort_alloc_zero(&model->env, count, sizeof *sorted);
    tort_status status = stack && sorted ? TORT_OK : tort_out_of_memory(error, bytes);
    if (!status) {
        int32_t *next = stack + count, *order = next + count, done = 0;
        uint8_t *state = (uint8_t *)(order + count);
        for (int32_t i = 0; !status && i < graph->node_count; i++)
            status = order_from(graph, i, state, stack, next, order, &done, error);
        for (size_t i = 0; !status && i < count; i++) sorted[i] = graph->nodes[order[i]];
        if (!status) memcpy(graph->nodes, sorted, count * sizeof *sorted);
    }
    tort_free(&model->env, sorted, count * sizeof *sorted);
    tort_free(&model->env, stack, bytes);
    return status;
}

static tort_status order_nodes(tort_model *model, tort_graph *graph, tort_error *error) {
    tort_status status = link_producers(graph, error);
    if (status || already_ordered(graph)) return status;
    status = reorder(model, graph, error);
    for (int32_t i = 0; i < graph->value_count; i++) graph->values[i].producer = -1;
    return status ? status : link_producers(graph, error);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_opened(const tort_model *model, const tort_graph_value *value) {
    for (const char *const *name = model->open_inputs; value->is_input && name && *name; name++)
        if (!strcmp(*name, value->name) || !strcmp(*name, "*")) return true;
    return false;
}

/* Copies type and shape of weights to their values. Inputs with an initializer become constants,
 * unless open_inputs names them. */
static void settle_values(const tort_model *model, tort_graph *graph, bool is_main) {
    for (int32_t i = 0; i < graph->value_count; i++) {
        tort_graph_value *value = &graph->values[i];
        if (value->weight < 0) continue;
        const tort_weight *weight = &model->weights[value->weight];
        const bool opened = is_main && is_opened(model, value);
        if (opened) value->weight = -1;
        if (opened && value->info.type != TORT_UNDEFINED) continue;
        value->info = (tort_info){.type = weight->type, .nest = -1, .rank = weight->rank, .constant = !opened};
        memcpy(value->info.dims, weight->dims, sizeof value->info.dims);
        if (!is_main || opened) continue;
        value->has_default = value->is_input;
        value->is_input = false;
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < graph->input_count; i++)
        if (!is_main || graph->values[graph->inputs[i]].weight < 0) graph->inputs[kept++] = graph->inputs[i];
    graph->input_count = kept;
    for (int32_t i = 0; i < graph->input_count; i++) graph->values[graph->inputs[i]].is_input = true;
    for (int32_t i = 0; i < graph->output_count; i++) graph->values[graph->outputs[i]].is_output = true;
}

/* Every value that is read, and every output, must have a source. */
static tort_status check_sources(tort_graph *graph, tort_error *error) {
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] < 0) continue;
            tort_graph_value *value = &graph->values[node->inputs[k]];
            value->consumers++;
            if (value->producer >= 0 || value->weight >= 0 || value->is_input) continue;
            tort_fail(error, TORT_E_MODEL,
                      "input %d \"%s\" is neither a graph input, an initializer nor the output of a node", k,
                      value->name);
            tort_error_at_node(error, graph, i);
            return TORT_E_MODEL;
        }
    }
    for (int32_t i = 0; i < graph->output_count; i++) {
        const tort_graph_value *value = &graph->values[graph->outputs[i]];
        if (value->producer < 0 && value->weight < 0 && !value->is_input)
            return tort_fail(error, TORT_E_MODEL, "graph output \"%s\" is made by no node", value->name);
    }
    return TORT_OK;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

tort_status tort_model_bind_node(tort_model *model, tort_graph *graph, int32_t i, int assume_opset, tort_error *error) {
    tort_node *node = &graph->nodes[i];
    if (assume_opset && !*node->domain && node->opset > TORT_NEWEST_OPSET) node->opset = assume_opset;
    if (!*node->domain && node->opset > TORT_NEWEST_OPSET)
        return tort_fail(error, TORT_E_MODEL,
                         "the model uses opset %d; the newest that this tinyort knows is %d: export it with "
                         "opset %d, or use --assume-opset %d if its operators did not change since",
                         node->opset, TORT_NEWEST_OPSET, TORT_NEWEST_OPSET, TORT_NEWEST_OPSET);
    const tort_op *const *family;
    int32_t family_count;
    node->op = tort_op_find(model->op_table, node->domain, node->op_type, node->opset, &family, &family_count);
    tort_status status = node->op ? tort_check_node(&model->arena, node, error) : TORT_OK;
    if (status) tort_error_at_node(error, graph, i);
    return status;
}

static tort_status keep_declared(tort_model *model, tort_error *error) {
    const tort_graph *graph = &model->graphs[0];
    const size_t count = (size_t)graph->output_count;
    tort_info *declared = tort_arena_array(&model->arena, count, sizeof *declared);
    if (!declared) return tort_out_of_memory(error, count * sizeof *declared);
    for (size_t i = 0; i < count; i++) declared[i] = graph->values[graph->outputs[i]].info;
    model->declared_outputs = declared;
    return TORT_OK;
}

static tort_status infer_graph(tort_model *model, tort_graph *graph, tort_error *error) {
    size_t bytes = (size_t)graph->value_count * sizeof(tort_info);
    tort_info *infos = tort_alloc(&model->env, bytes + 1);
    if (!infos) return tort_out_of_memory(error, bytes);
    for (int32_t i = 0; i < graph->value_count; i++) infos[i] = graph->values[i].info;
    tort_pass pass;
    tort_status status = tort_pass_init(&pass, model, graph, infos, &model->dims, &model->arena, error);
    if (!status) {
        for (int32_t i = 0; !status && i < graph->node_count; i++) status = tort_pass_infer(&pass, i, error);
        tort_pass_free(&pass);
    }
    for (int32_t i = 0; !status && i < graph->value_count; i++) graph->values[i].info = infos[i];
    tort_free(&model->env, infos, bytes + 1);
    return status;
}

void tort_model_number_nodes(tort_model *model) {
    int32_t first = 0;
    for (int32_t g = 0; g < model->graph_count; g++) {
        model->graphs[g].first = first;
        first += model->graphs[g].node_count;
    }
}

tort_status tort_model_link_graph(tort_model *model, int32_t g, tort_error *error) {
    tort_graph *graph = &model->graphs[g];
    settle_values(model, graph, g == 0);
    tort_status status = order_nodes(model, graph, error);
    return status ? status : check_sources(graph, error);
}

tort_status tort_model_finish(tort_model *model, int assume_opset, tort_error *error) {
    tort_status status = tort_model_look_up(model, error);
    tort_model_number_nodes(model);
    for (int32_t g = 0; !status && g < model->graph_count; g++) {
        tort_graph *graph = &model->graphs[g];
        status = name_nodes(model, graph, error);
        if (!status) status = name_bodies(model, graph, error);
        if (!status) status = tort_model_link_graph(model, g, error);
        for (int32_t i = 0; !status && i < graph->node_count; i++)
            status = tort_model_bind_node(model, graph, i, assume_opset, error);
    }
    if (!status) status = keep_declared(model, error);
    return status ? status : infer_graph(model, &model->graphs[0], error);
}
