/* infer.c - calls the operators' infer functions, and contains what they share: broadcasting of symbolic
 * shapes, axes.
 *
 * This file must not know operators, nor decide placement. Read next: any file of ops/, then fold.c. */
#include "runtime/core/graph/infer.h"

#include <string.h>

#include "runtime/core/graph/check.h"

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

void tort_infer_same(const tort_infer *infer, int32_t o, int32_t i) {
    if (o >= infer->node->output_count) return;
    const tort_info *in = &infer->node->inputs[i];
    tort_info *out = &infer->outputs[o];
    *out = *in;
    out->elements = NULL;
    out->element_count = 0;
    out->data = NULL;
    out->constant = out->uniform = false;
}

void tort_infer_shape(const tort_infer *infer, int32_t o, tort_type type, int32_t rank, const tort_dim *dims) {
    if (o >= infer->node->output_count) return;
    tort_info *out = &infer->outputs[o];
    *out = (tort_info){.kind = TORT_TENSOR, .type = type, .nest = -1, .rank = rank};
    for (int32_t i = 0; i < rank; i++) out->dims[i] = dims[i];
}

void tort_infer_value(const tort_infer *infer, int32_t o, tort_value_type type) {
    if (o >= infer->node->output_count) return;
    const tort_kind kind = tort_type_kind(type);
    const int32_t nest = kind == TORT_TENSOR ? -1 : (int32_t)type.nest;
    infer->outputs[o] = (tort_info){.kind = kind, .type = type.type, .nest = nest, .rank = -1};
}

/* b = min(a, n) with n > 1: b is 1 exactly where a is 1, so a and b broadcast to a. */
static bool is_capped(const tort_dims *dims, tort_dim a, tort_dim b) {
    if (tort_dim_known(a) || tort_dim_known(b)) return false;
    const tort_dim_expr *cut = tort_dim_expression(dims, b);
    return cut->op == TORT_DIM_MIN && ((cut->a == a && cut->b > 1) || (cut->b == a && cut->a > 1));
}

/* Broadcasts two dims: 1 yields to the other; a symbol against a known number other than 1 must be that number or 1. */
static tort_dim broadcast_dim(tort_dims *dims, tort_dim a, tort_dim b) {
    if (a == b || b == 1 || is_capped(dims, a, b)) return a;
    if (a == 1 || is_capped(dims, b, a)) return b;
    if (tort_dim_known(a)) return a;
    if (tort_dim_known(b)) return b;
    return tort_dim_fresh(dims, tort_dim_dynamic(dims, a) || tort_dim_dynamic(dims, b));
}

tort_status tort_infer_broadcast(const tort_infer *infer, const tort_info *a, const tort_info *b, tort_info *out) {
    if (a->rank < 0 || b->rank < 0) {
        out->rank = -1;
        return TORT_OK;
    }
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    tort_dim result[TORT_MAX_RANK] = {0};
    for (int32_t i = 0; i < rank; i++) {
        tort_dim x = i < rank - a->rank ? 1 : a->dims[i - (rank - a->rank)];
        tort_dim y = i < rank - b->rank ? 1 : b->dims[i - (rank - b->rank)];
        if (tort_dim_known(x) && tort_dim_known(y) && x != y && x != 1 && y != 1)
            return tort_fail(infer->error, TORT_E_MODEL,
                             "shapes do not broadcast: %lld against %lld in dimension %d of %d", (long long)x,
                             (long long)y, i, rank);
        result[i] = broadcast_dim(infer->dims, x, y);
    }
    out->rank = rank;
    memcpy(out->dims, result, sizeof *result * (size_t)rank);
    return TORT_OK;
}

tort_status tort_normalize_axis(tort_error *error, int64_t axis, int32_t rank, int32_t *out) {
    if (axis < -(int64_t)rank || axis >= rank)
        return tort_fail(error, TORT_E_MODEL, "axis %lld is not in [%d, %d), the axes of a tensor of rank %d",
                         (long long)axis, -rank, rank, rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return TORT_OK;
}

tort_status tort_infer_elementwise(tort_infer *infer) {
    tort_infer_same(infer, 0, 0);
    return TORT_OK;
}

static tort_status infer_broadcast_all(tort_infer *infer, tort_type type) {
    tort_infer_same(infer, 0, 0);
    infer->outputs[0].type = type;
    for (int32_t i = 1; i < infer->node->input_count; i++) {
        if (!tort_has_input(infer->node, i)) continue;
        tort_status status =
            tort_infer_broadcast(infer, &infer->outputs[0], &infer->node->inputs[i], &infer->outputs[0]);
        if (status) return status;
    }
    return TORT_OK;
}

tort_status tort_infer_binary(tort_infer *infer) {
    return infer_broadcast_all(infer, infer->node->inputs[0].type);
}

tort_status tort_infer_compare(tort_infer *infer) {
    return infer_broadcast_all(infer, TORT_BOOL);
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* Nodes of bodies are inferred again whenever their inputs change, at each level of nesting, which a small file can
 * make deep; the budget bounds that. Beyond it less is known, but nothing is wrong. */
static int64_t body_budget(const tort_model *model) {
    const tort_graph *last = &model->graphs[model->graph_count - 1];
    return 10000 + 30 * ((int64_t)last->first + last->node_count);
}

void tort_pass_rewind(tort_pass *pass) {
    pass->own_budget = body_budget(pass->model);
    pass->budget = &pass->own_budget;
    pass->typed = false;
}

tort_status tort_pass_init(tort_pass *pass, const tort_model *model, const tort_graph *graph, tort_info *infos,
                           tort_dims *dims, tort_arena *arena, tort_error *error) {
    *pass = (tort_pass){.model = model,
                        .graph = graph,
                        .infos = infos,
                        .dims = dims,
                        .arena = arena,
                        .max_inputs = TORT_INFER_INPUTS,
                        .max_outputs = TORT_INFER_OUTPUTS};
    tort_pass_rewind(pass);
    for (int32_t i = 0; i < graph->node_count; i++) {
        const tort_node *node = &graph->nodes[i];
        if (node->input_count > pass->max_inputs) pass->max_inputs = node->input_count;
        if (node->output_count > pass->max_outputs) pass->max_outputs = node->output_count;
    }
    pass->widest = pass->max_inputs > pass->max_outputs ? pass->max_inputs : pass->max_outputs;
    pass->in = tort_alloc_zero(dims->env, (size_t)pass->max_inputs, sizeof *pass->in);
    pass->out = tort_alloc_zero(dims->env, (size_t)pass->max_outputs, sizeof *pass->out);
    if (pass->in && pass->out) return TORT_OK;
    tort_pass_free(pass);
    return tort_out_of_memory(error, (size_t)pass->widest * sizeof *pass->in);
}

void tort_pass_free(tort_pass *pass) {
    tort_free(pass->dims->env, pass->in, (size_t)pass->max_inputs * sizeof *pass->in);
    tort_free(pass->dims->env, pass->out, (size_t)pass->max_outputs * sizeof *pass->out);
    pass->in = pass->out = NULL;
}

static tort_info absent(void) {
    return (tort_info){.rank = -1, .nest = -1};
}

tort_node_view tort_view_of_node(const tort_node *node, const tort_model *model, const tort_info *inputs,
                                 const tort_info *outputs) {
    return (tort_node_view){.op = node->op,
                            .name = node->name,
                            .opset = node->opset,
                            .attributes = node->attributes,
                            .attribute_count = node->attribute_count,
                            .input_count = node->input_count,
                            .output_count = node->output_count,
                            .inputs = inputs,
                            .outputs = outputs,
                            .model = model};
}

tort_node_view tort_pass_view(tort_pass *pass, int32_t index) {
    const tort_node *node = &pass->graph->nodes[index];
    for (int32_t i = 0; i < node->input_count; i++)
        pass->in[i] = node->inputs[i] >= 0 ? pass->infos[node->inputs[i]] : absent();
    for (int32_t i = node->input_count; i < TORT_INFER_INPUTS; i++) pass->in[i] = absent();
    for (int32_t i = 0; i < node->output_count; i++)
        pass->out[i] = node->outputs[i] >= 0 ? pass->infos[node->outputs[i]] : absent();
    tort_node_view view = tort_view_of_node(node, pass->model, pass->in, pass->out);
    view.captured = node->captured;
    return view;
}

void tort_error_at_node(tort_error *error, const tort_graph *graph, int32_t index) {
    tort_error_at_made_node(error, graph, index, &graph->nodes[index], "");
}

/* Adds the values of integers that a node reads (int32 and int64, as indices and lengths are) to a queue, each once. */
static void queue_integers(const tort_graph *graph, const tort_node *node, int32_t *queue, int32_t *count,
                           int32_t max) {
    for (int32_t k = 0; k < node->input_count; k++) {
        const int32_t value = node->inputs[k];
        const tort_type type = value < 0 ? TORT_UNDEFINED : graph->values[value].info.type;
        if ((type != TORT_INT64 && type != TORT_INT32) || *count == max) continue;
        int32_t known = 0;
        while (known < *count && queue[known] != value) known++;
        if (known == *count) queue[(*count)++] = value;
    }
}

int32_t tort_deciding_input(const tort_graph *graph, const tort_node *node) {
    int32_t queue[64], count = 0;
    queue_integers(graph, node, queue, &count, 64);
    for (int32_t i = 0; i < count; i++) {
        const tort_graph_value *value = &graph->values[queue[i]];
        for (int32_t k = 0; value->is_input && k < graph->input_count; k++)
            if (graph->inputs[k] == queue[i]) return k;
        if (value->producer >= 0) queue_integers(graph, &graph->nodes[value->producer], queue, &count, 64);
    }
    return -1;
}

void tort_error_at_made_node(tort_error *error, const tort_graph *graph, int32_t index, const tort_node *node,
                             const char *words) {
    if (!error || error->node >= 0) return; /* a node of a body failed, and is named already */
    error->node = graph->first + index;
    tort_error_prefix(error, "node %d \"%s%s%s\" (%s%s%s-%d%s)", error->node, graph->path, *graph->path ? "/" : "",
                      node->name, node->domain, *node->domain ? "::" : "", node->op_type,
                      node->op ? node->op->since : node->opset, words);
    const int32_t input = graph->first || error->code != TORT_E_RUN ? -1 : tort_deciding_input(graph, node);
    if (input >= 0)
        tort_error_append(error, "; the numbers come from input \"%s\"", graph->values[graph->inputs[input]].name);
}

#define LARGEST_SHAPE_INPUT (1 << 15) /* bytes; larger weights are not read, as many nodes may ask for one */

static int32_t weight_of(const tort_pass *pass, int32_t value) {
    return pass->weights ? pass->weights[value] : pass->graph->values[value].weight;
}

size_t tort_weight_limit(const tort_node *node, int32_t input) {
    const bool wanted = node->op && input < 32 && (node->op->shape_inputs >> input & 1);
    return wanted ? LARGEST_SHAPE_INPUT : TORT_SMALL_WEIGHT;
}

tort_status tort_pass_acquire(tort_pass *pass, int32_t index, tort_error *error) {
    const tort_node *node = &pass->graph->nodes[index];
    for (int32_t i = 0; i < node->input_count; i++) {
        int32_t weight = node->inputs[i] >= 0 ? weight_of(pass, node->inputs[i]) : -1;
        if (weight < 0 || pass->in[i].data) continue;
        if (pass->model->weights[weight].bytes > tort_weight_limit(node, i)) continue;
        if (pass->model->weights[weight].encoding == TORT_ENCODING_LEFT_OUT) continue;
        tort_status status = tort_weight_acquire(pass->model, weight, &pass->in[i].data, error);
        if (status) {
            tort_pass_release(pass, index);
            return status;
        }
    }
    return TORT_OK;
}

void tort_pass_release(tort_pass *pass, int32_t index) {
    const tort_node *node = &pass->graph->nodes[index];
    for (int32_t i = 0; i < node->input_count; i++) {
        int32_t weight = node->inputs[i] >= 0 ? weight_of(pass, node->inputs[i]) : -1;
        if (weight < 0 || !pass->in[i].data || pass->infos[node->inputs[i]].data) continue;
        tort_weight_release(pass->model, weight);
        pass->in[i].data = NULL;
    }
}

static bool inputs_known(const tort_pass *pass, const tort_node *node) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && pass->in[i].type == TORT_UNDEFINED) return false;
    return true;
}

/* Stores an inferred output. Where infer leaves the rank open, takes the declared rank with unknown dims. Not one of 0,
 * which would settle the size: exporters declare scalars that are of shape [1]. A constant is known already. */
static void store_output(const tort_pass *pass, int32_t value, const tort_info *inferred) {
    tort_info *info = &pass->infos[value];
    if (inferred->type == TORT_UNDEFINED || info->constant) return;
    tort_info merged = *inferred;
    if (merged.kind == TORT_TENSOR && merged.rank < 0 && info->rank > 0 && info->kind == TORT_TENSOR) {
        merged.rank = info->rank; /* only the rank: a declared size may be wrong */
        for (int32_t i = 0; i < merged.rank; i++) merged.dims[i] = tort_dim_fresh(pass->dims, true);
    }
    *info = merged;
}

static bool same_type(const tort_info *a, const tort_info *b) {
    return a->kind == b->kind && a->type == b->type && a->nest == b->nest;
}

/* If an output's type differs from the earlier pass, readers were checked for another type: all later
 * nodes are checked again. */
static tort_status check_outputs(tort_pass *pass, const tort_node_view *view, int32_t index, tort_error *error) {
    const int32_t *values = pass->graph->nodes[index].outputs;
    for (int32_t i = 0; i < view->output_count && pass->typed; i++)
        if (values[i] >= 0 && !same_type(&pass->out[i], &pass->infos[values[i]])) pass->typed = false;
    tort_status status = pass->typed ? TORT_OK : tort_check_outputs(view, values, error);
    return status ? status : tort_check_sizes(view, values, error);
}

tort_status tort_pass_infer(tort_pass *pass, int32_t index, tort_error *error) {
    const tort_node *node = &pass->graph->nodes[index];
    tort_node_view view = tort_pass_view(pass, index);
    if (!node->op || !inputs_known(pass, node)) return TORT_OK;
    tort_status status = pass->typed ? TORT_OK : tort_check_types(&view, error);
    for (int32_t i = 0; i < node->output_count || i < TORT_INFER_OUTPUTS; i++) pass->out[i] = absent();
    tort_infer infer = {
        .node = &view, .outputs = pass->out, .dims = pass->dims, .arena = pass->arena, .pass = pass, .error = error};
    view.outputs = pass->out;
    if (!status && node->op->infer) {
        status = tort_pass_acquire(pass, index, error);
        if (!status) status = node->op->infer(&infer);
        tort_pass_release(pass, index);
        if (!status) status = check_outputs(pass, &view, index, error);
        if (!status && pass->dims->failed) status = tort_out_of_memory(error, 0);
    }
    if (status) {
        tort_error_at_node(error, pass->graph, index);
        return status;
    }
    for (int32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] >= 0) store_output(pass, node->outputs[i], &pass->out[i]);
    return TORT_OK;
}

/* ---- resolving --------------------------------------------------------------------------------------------------- */

tort_status tort_resolve_node(const tort_node_view *view, void *params, size_t *scratch, tort_error *error) {
    *scratch = 0;
    if (!view->op->resolve) return TORT_OK;
    tort_resolve resolve = {.node = view, .params = params, .error = error};
    tort_status status = view->op->resolve(&resolve);
    *scratch = resolve.scratch_bytes;
    return status;
}

void tort_write_elements(const tort_info *info, void *data) {
    size_t size = (size_t)tort_type_bits(info->type) / 8;
    for (int32_t i = 0; i < info->element_count; i++)
        memcpy((char *)data + (size_t)i * size, &info->elements[i].value, size);
}
