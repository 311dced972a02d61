/* fold.c - decides which nodes are evaluated before anything runs.
 *
 * Two kinds: nodes whose inputs are all constant (run once, by the operator's plain loop), and shape arithmetic, whose
 * integers infer already told; then nodes that nobody reads any more. Capped in bytes, since a few bytes of model can
 * ask for any amount (ConstantOfShape). It must not know operators or providers. Read next: place.c. */
#include <string.h>

#include "runtime/session_state.h"

#define BULKY_LIMIT (1u << 16) /* bytes that a TORT_OP_BULKY node may be folded to */
#define DEFAULT_LIMIT ((uint64_t)64 << 20)

/* ---- one node ---------------------------------------------------------------------------------------------------- */

typedef struct folder {
    tort_session *session;
    tort_pass pass;
    tort_tensor *inputs, *outputs; /* pass.widest of each */
    uint64_t budget;
} folder;

/* May this node be evaluated now? Fills the shapes of its tensors. */
static bool can_evaluate(folder *f, const tort_node *node) {
    if (!node->op || !node->op->reference || node->op->flags & (TORT_OP_RANDOM | TORT_OP_CONTROL)) return false;
    for (int32_t i = 0; i < node->input_count; i++) {
        f->inputs[i] = (tort_tensor){.type = TORT_UNDEFINED};
        if (node->inputs[i] < 0) continue;
        if (!tort_is_constant(f->session, node->inputs[i]) ||
            !tort_info_tensor(&f->session->infos[node->inputs[i]], &f->inputs[i]))
            return false;
    }
    uint64_t total = 0;
    for (int32_t i = 0; i < node->output_count; i++) {
        f->outputs[i] = (tort_tensor){.type = TORT_UNDEFINED};
        size_t bytes = 0;
        if (node->outputs[i] < 0) continue;
        if (!tort_info_tensor(&f->session->infos[node->outputs[i]], &f->outputs[i]) ||
            !tort_tensor_bytes(&f->outputs[i], &bytes) || bytes > f->budget)
            return false;
        total += bytes;
    }
    return total <= f->budget && !(node->op->flags & TORT_OP_BULKY && total > BULKY_LIMIT);
}

static void become_constant(tort_session *session, int32_t value, int32_t weight, void *data, size_t bytes) {
    session->weights[value] = weight;
    session->constants[value].folded = data;
    session->constants[value].bytes = bytes;
    session->infos[value].constant = true;
    session->infos[value].data = data;
}

/* Do shapes alone determine all of this value's elements? */
static bool determined(const tort_session *session, const tort_info *info) {
    if (!info->elements) return false;
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic && tort_dim_dynamic(&session->dims, info->elements[i].value)) return false;
    return true;
}

/* Are the inputs whose values make the shape at hand? What an output is may be told without them, but not whether they
 * agree: a list of four elements under a shape of one entry can only stay a list of four. */
static bool shaped(const tort_session *session, const tort_node *node) {
    for (int32_t i = 1; i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        const tort_info *info = &session->infos[node->inputs[i]];
        if (!tort_is_constant(session, node->inputs[i]) && !determined(session, info)) return false;
    }
    return true;
}

/* A constant under another shape is the same weight: nothing is copied. */
static bool fold_alias(folder *f, const tort_node *node) {
    tort_session *session = f->session;
    tort_tensor tensor;
    if (!(node->op->flags & TORT_OP_ALIAS) || node->inputs[0] < 0 || node->outputs[0] < 0 || node->output_count > 1)
        return false;
    const tort_constant *constant = &session->constants[node->inputs[0]];
    if (!tort_is_constant(session, node->inputs[0]) || !tort_info_tensor(&session->infos[node->outputs[0]], &tensor))
        return false;
    int32_t weight = session->weights[node->inputs[0]];
    if (weight >= 0) {
        become_constant(session, node->outputs[0], weight, NULL, constant->bytes);
        return true;
    }
    void *copy = constant->bytes <= f->budget ? tort_alloc_aligned(&session->env, constant->bytes) : NULL;
    if (!copy) return false;
    memcpy(copy, constant->folded, constant->bytes);
    f->budget -= constant->bytes;
    become_constant(session, node->outputs[0], -1, copy, constant->bytes);
    return true;
}

/* A Constant node that holds a tensor is that weight. */
static bool fold_constant_node(folder *f, const tort_node *node) {
    if (!(node->op->flags & TORT_OP_CONSTANT) || node->outputs[0] < 0) return false;
    for (int32_t i = 0; i < node->attribute_count; i++) {
        const tort_attribute *attribute = &node->attributes[i];
        if (attribute->kind != TORT_ATTR_TENSOR && attribute->kind != TORT_ATTR_SPARSE_TENSOR) continue;
        int32_t weight = attribute->u.weights[0];
        become_constant(f->session, node->outputs[0], weight, NULL, f->session->model->weights[weight].bytes);
        return true;
    }
    return false;
}

static bool allocate_outputs(folder *f, const tort_node *node) {
    for (int32_t i = 0; i < node->output_count; i++) {
        size_t bytes = 0;
        if (f->outputs[i].type == TORT_UNDEFINED) continue;
        tort_tensor_bytes(&f->outputs[i], &bytes);
        f->outputs[i].data = tort_alloc_aligned(&f->session->env, bytes);
        if (!f->outputs[i].data) return false;
    }
    return true;
}

static void free_outputs(folder *f, const tort_node *node) {
    for (int32_t i = 0; i < node->output_count; i++) {
        size_t bytes = 0;
        if (!f->outputs[i].data) continue;
        tort_tensor_bytes(&f->outputs[i], &bytes);
        tort_free_aligned(&f->session->env, f->outputs[i].data, bytes);
    }
}

/* Runs the plain loop. A node that fails here (an index out of range) is left to fail in the run, where it is named. */
static bool call_reference(folder *f, const tort_node *node, const tort_node_view *view) {
    tort_session *session = f->session;
    size_t scratch_bytes = 0, params_bytes = tort_params_bytes(node) + 1;
    void *params = tort_alloc_zero(&session->env, 1, params_bytes);
    bool done = params && !tort_resolve_node(view, params, &scratch_bytes, NULL);
    void *scratch = done ? tort_alloc_aligned(&session->env, scratch_bytes) : NULL;
    if (scratch && allocate_outputs(f, node)) {
        tort_call call = {.params = params,
                          .inputs = f->inputs,
                          .outputs = f->outputs,
                          .input_count = node->input_count,
                          .output_count = node->output_count,
                          .scratch = scratch,
                          .env = &session->env,
                          .text = session->text};
        done = !node->op->reference(&call);
    } else {
        done = false;
    }
    if (scratch) tort_free_aligned(&session->env, scratch, scratch_bytes);
    tort_free(&session->env, params, params_bytes);
    return done;
}

static bool evaluate(folder *f, int32_t index) {
    tort_session *session = f->session;
    const tort_node *node = &session->graph->nodes[index];
    tort_node_view view = tort_pass_view(&f->pass, index);
    bool held = true;
    int32_t acquired = 0;
    for (; held && acquired < node->input_count; acquired++) {
        if (node->inputs[acquired] < 0) continue;
        const void *data = NULL;
        held = !tort_constant_acquire(session, node->inputs[acquired], &data, NULL);
        if (!held) break;
        f->pass.in[acquired].data = data;
        memcpy(&f->inputs[acquired].data, &data, sizeof data); /* drops const: kernels do not write inputs */
    }
    bool done = held && call_reference(f, node, &view);
    while (acquired-- > 0)
        if (node->inputs[acquired] >= 0) tort_constant_release(session, node->inputs[acquired]);
    if (!done) {
        free_outputs(f, node);
        return false;
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        size_t bytes = 0;
        if (node->outputs[i] < 0) continue;
        tort_tensor_bytes(&f->outputs[i], &bytes);
        f->budget -= bytes < f->budget ? bytes : f->budget;
        become_constant(session, node->outputs[i], -1, f->outputs[i].data, bytes);
    }
    return true;
}

/* ---- shape arithmetic -------------------------------------------------------------------------------------------- */

/* The node's integers are known while planning: it never runs. Known numbers become a constant at once. */
static bool fold_shape_arithmetic(folder *f, const tort_node *node) {
    tort_session *session = f->session;
    int32_t live = 0;
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        live++;
        if (!determined(session, &session->infos[node->outputs[i]])) return false;
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        tort_info *info = node->outputs[i] >= 0 ? &session->infos[node->outputs[i]] : NULL;
        if (!info || !tort_elements_known(info) || info->constant) continue;
        size_t bytes = (size_t)info->element_count * (size_t)tort_type_bits(info->type) / 8;
        void *data = tort_alloc_aligned(&session->env, bytes);
        if (!data) return false;
        tort_write_elements(info, data);
        become_constant(session, node->outputs[i], -1, data, bytes);
    }
    return live > 0;
}

/* ---- the whole graph --------------------------------------------------------------------------------------------- */

static bool fold_node(folder *f, int32_t index) {
    const tort_node *node = &f->session->graph->nodes[index];
    if (!node->op || !node->output_count) return false;
    if (fold_constant_node(f, node)) return true;
    if (shaped(f->session, node) && (fold_alias(f, node) || fold_shape_arithmetic(f, node))) return true;
    return can_evaluate(f, node) && evaluate(f, index);
}

static bool has_output(const tort_node *node) {
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0) return true;
    return false;
}

/* Nodes whose outputs nobody reads any more, from the last to the first; where every node is to run, only those that
 * have no output at all. */
static tort_status mark_unread(tort_session *session, tort_error *error) {
    const tort_graph *graph = session->graph;
    const bool keep = session->options.unfolded;
    int32_t *readers = tort_alloc_zero(&session->env, (size_t)graph->value_count + 1, sizeof *readers);
    if (!readers) return tort_out_of_memory(error, (size_t)graph->value_count * sizeof *readers);
    for (int32_t i = 0; i < graph->output_count; i++) readers[graph->outputs[i]]++;
    for (int32_t i = graph->node_count - 1; i >= 0; i--) {
        const tort_node *node = &graph->nodes[i];
        tort_placement *placement = &session->placements[i];
        bool read = keep && has_output(node);
        for (int32_t k = 0; k < node->output_count; k++) read |= node->outputs[k] >= 0 && readers[node->outputs[k]];
        if (!read && node->op && !placement->folded) {
            placement->folded = true;
            placement->label = "unread";
        }
        for (int32_t k = 0; !placement->folded && k < node->input_count; k++)
            if (node->inputs[k] >= 0) readers[node->inputs[k]]++;
    }
    tort_free(&session->env, readers, ((size_t)graph->value_count + 1) * sizeof *readers);
    return TORT_OK;
}

static uint64_t fold_limit(const tort_session *session) {
    if (session->options.fold_limit) return session->options.fold_limit;
    uint64_t weights = 0;
    for (int32_t i = 0; i < session->model->weight_count; i++) weights += session->model->weights[i].bytes;
    return weights > DEFAULT_LIMIT ? weights : DEFAULT_LIMIT;
}

static tort_status infer_and_fold(folder *f, tort_error *error) {
    tort_session *session = f->session;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < session->graph->node_count; i++) {
        const tort_node *node = &session->graph->nodes[i];
        status = tort_pass_infer(&f->pass, i, error);
        if (status) break;
        bool folded = session->options.unfolded ? node->op && fold_constant_node(f, node) : fold_node(f, i);
        if (!folded) continue;
        session->placements[i].folded = true;
        session->placements[i].label = "constant";
    }
    return status;
}

tort_status tort_fold(tort_session *session, tort_error *error) {
    folder f = {.session = session, .budget = fold_limit(session)};
    tort_status status =
        tort_pass_init(&f.pass, session->model, session->graph, session->infos, &session->dims, &session->arena, error);
    if (status) return status;
    f.pass.weights = session->weights;
    size_t width = (size_t)f.pass.widest;
    f.inputs = tort_alloc_zero(&session->env, width, sizeof *f.inputs);
    f.outputs = tort_alloc_zero(&session->env, width, sizeof *f.outputs);
    status =
        f.inputs && f.outputs ? infer_and_fold(&f, error) : tort_out_of_memory(error, 2 * width * sizeof *f.inputs);
    if (!status) status = mark_unread(session, error);
    tort_free(&session->env, f.inputs, width * sizeof *f.inputs);
    tort_free(&session->env, f.outputs, width * sizeof *f.outputs);
    tort_pass_free(&f.pass);
    return status;
}
