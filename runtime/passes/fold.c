/* fold.c - decides which nodes are evaluated before anything runs, and which are not needed at all.
 *
 * Algorithms: constant folding, and dead code elimination by reader counts (Muchnick, "Advanced Compiler Design and
 * Implementation", 1997); for shape arithmetic partial evaluation: its integers are expressions over input shapes.
 *
 * Cost for N nodes and E operands: one forward sweep, which infers each node and evaluates it if its inputs are
 * constant, by the operator's reference; one backward sweep that drops unread nodes, O(N + E). Results are limited in
 * bytes, since a tiny model can ask for any amount (ConstantOfShape).
 *
 * Example: Transpose(W) of an initializer W becomes a constant, and runs once. Shape(x[n,8]) -> Gather(0) -> Mul(2) is
 * 2*n: it never runs, and plans evaluate it. A node whose only reader was folded is unread, and dropped too. This file
 * must not know operators or providers. Read next: place.c. */
#include <string.h>

#include "runtime/lowered/lowered.h"
#include "runtime/lowered/constants.h"
#include "runtime/passes/passes.h"

#define BULKY_LIMIT (1u << 16) /* bytes to which a TORT_OP_BULKY node may be folded */
#define DEFAULT_LIMIT ((uint64_t)64 << 20)

/* ---- one node ---------------------------------------------------------------------------------------------------- */

typedef struct folder {
    tort_session *session;
    tort_lowered *lowered;
    tort_pass pass;
    tort_tensor *inputs, *outputs; /* pass.widest of each */
    uint64_t budget;
    bool out_of_memory; /* a node was not folded for lack of memory */
    int32_t bodies;     /* number of bodies of a node that may run; see count_body */
} folder;

/* NULL: out of memory, which is noted. */
static void *take_aligned(folder *f, size_t bytes) {
    void *data = tort_alloc_aligned(&f->session->env, bytes);
    if (!data) f->out_of_memory = true;
    return data;
}

static bool settle(folder *f, int32_t value, int32_t weight, void *folded, size_t bytes) {
    const bool settled = tort_lowered_settle(f->lowered, value, weight, folded, bytes);
    if (!settled) f->out_of_memory = true;
    return settled;
}

/* True if the node reads the elements of the input; of input 1 of CastLike it reads only the type. */
static bool reads(const tort_node *node, int32_t input) {
    return node->inputs[input] >= 0 && !(input == 1 && node->op->flags & TORT_OP_LIKE);
}

/* True if the node can be evaluated now; fills the shapes of its tensors. */
static bool can_evaluate(folder *f, const tort_node *node) {
    if (!node->op || !node->op->reference || node->op->flags & (TORT_OP_RANDOM | TORT_OP_CONTROL)) return false;
    for (int32_t i = 0; i < node->input_count; i++) {
        const tort_info *info = node->inputs[i] < 0 ? NULL : &f->lowered->infos[node->inputs[i]];
        f->inputs[i] = (tort_tensor){.type = info ? info->type : TORT_UNDEFINED};
        if (!reads(node, i)) continue;
        if (!tort_is_constant(f->lowered, node->inputs[i]) || !tort_info_tensor(info, &f->inputs[i])) return false;
    }
    uint64_t total = 0;
    for (int32_t i = 0; i < node->output_count; i++) {
        f->outputs[i] = (tort_tensor){.type = TORT_UNDEFINED};
        size_t bytes = 0;
        if (node->outputs[i] < 0) continue;
        if (!tort_info_tensor(&f->lowered->infos[node->outputs[i]], &f->outputs[i]) ||
            !tort_tensor_bytes(&f->outputs[i], &bytes) || bytes > f->budget)
            return false;
        total += bytes;
    }
    return total <= f->budget && !(node->op->flags & TORT_OP_BULKY && total > BULKY_LIMIT);
}

/* True if shapes alone determine all elements of the value. */
static bool determined(const tort_session *session, const tort_info *info) {
    if (!info->elements) return false;
    for (int32_t i = 0; i < info->element_count; i++)
        if (info->elements[i].symbolic && tort_dim_dynamic(&session->dims, info->elements[i].value)) return false;
    return true;
}

/* True if the inputs whose values determine shapes are known. An output may be known without them, but not that they
 * agree with it: Reshape of a list of 4 by an unknown shape of one entry is a list of 4, or an error. */
static bool shaped(const tort_lowered *lowered, const tort_node *node) {
    for (int32_t i = 1; i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        const tort_info *info = &lowered->infos[node->inputs[i]];
        if (!tort_is_constant(lowered, node->inputs[i]) && !determined(lowered->session, info)) return false;
    }
    return true;
}

/* A constant under another shape is the same constant: nothing is copied. */
static bool fold_alias(folder *f, const tort_node *node) {
    tort_lowered *lowered = f->lowered;
    tort_tensor tensor;
    if (!(node->op->flags & TORT_OP_ALIAS) || node->inputs[0] < 0 || node->outputs[0] < 0 || node->output_count > 1)
        return false;
    const int32_t from = node->inputs[0], to = node->outputs[0];
    if (!tort_is_constant(lowered, from) || !tort_info_tensor(&lowered->infos[to], &tensor)) return false;
    lowered->constant_of[to] = lowered->constant_of[from];
    lowered->weights[to] = lowered->weights[from];
    lowered->infos[to].constant = true;
    lowered->infos[to].data = f->session->constants[lowered->constant_of[from]].folded;
    return true;
}

/* A Constant node with a tensor attribute is the weight that holds the tensor. */
static bool fold_constant_node(folder *f, const tort_node *node) {
    if (!(node->op->flags & TORT_OP_CONSTANT) || node->outputs[0] < 0) return false;
    for (int32_t i = 0; i < node->attribute_count; i++) {
        const tort_attribute *attribute = &node->attributes[i];
        if (attribute->kind != TORT_ATTR_TENSOR && attribute->kind != TORT_ATTR_SPARSE_TENSOR) continue;
        int32_t weight = attribute->u.weights[0];
        const size_t bytes = f->session->model->weights[weight].bytes;
        return settle(f, node->outputs[0], weight, NULL, bytes);
    }
    return false;
}

static bool allocate_outputs(folder *f, const tort_node *node) {
    for (int32_t i = 0; i < node->output_count; i++) {
        size_t bytes = 0;
        if (f->outputs[i].type == TORT_UNDEFINED) continue;
        tort_tensor_bytes(&f->outputs[i], &bytes);
        f->outputs[i].data = take_aligned(f, bytes);
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

/* Runs the operator's reference. A node that fails here (an index out of range) is left to fail in the run,
 * where the error names it. */
static bool call_reference(folder *f, const tort_node *node, const tort_node_view *view) {
    tort_session *session = f->session;
    size_t scratch_bytes = 0, params_bytes = 0;
    if (tort_params_measure(view, node, &params_bytes, NULL)) return false;
    void *params = tort_alloc_zero(&session->env, 1, ++params_bytes);
    if (!params) f->out_of_memory = true;
    bool done = params && !tort_resolve_node(view, params, &scratch_bytes, NULL);
    void *scratch = done ? take_aligned(f, scratch_bytes) : NULL;
    if (scratch && allocate_outputs(f, node)) {
        tort_call call = {.op = node->op,
                          .params = params,
                          .inputs = f->inputs,
                          .outputs = f->outputs,
                          .input_count = node->input_count,
                          .output_count = node->output_count,
                          .scratch = scratch,
                          .env = &session->env,
                          .text = session->text};
        const tort_status status = node->op->reference(&call);
        if (status == TORT_E_MEMORY) f->out_of_memory = true;
        done = !status;
        for (int32_t i = 0; i < node->output_count; i++) tort_clear_tail(&f->outputs[i]);
    } else {
        done = false;
    }
    if (scratch) tort_free_aligned(&session->env, scratch, scratch_bytes);
    tort_free(&session->env, params, params_bytes);
    return done;
}

/* ---- late evaluation: constants derived on demand ---------------------------------------------------------------- */

/* Quantizers pack weights, and a node unpacks them before they are read. A fusion may join that node with its reader,
 * which reads packed weights; then nothing is ever unpacked. */
#define LATE_BYTES ((size_t)64 << 10) /* smaller outputs are evaluated at once */
#define LATE_INPUTS 3

/* The argument of a derived constant, in the session's arena. Input 0 is the constant that it is derived from. */
typedef struct late_node {
    const tort_op *op;
    const void *params;
    const tort_env *env;
    tort_tensor inputs[LATE_INPUTS], output;
    int32_t input_count;
} late_node;

static void evaluate_late(const void *arg, const void *source, void *out) {
    const late_node *late = arg;
    tort_tensor inputs[LATE_INPUTS], output = late->output;
    memcpy(inputs, late->inputs, sizeof inputs);
    memcpy(&inputs[0].data, &source, sizeof source); /* drops const: kernels do not write inputs */
    output.data = out;
    const tort_call call = {.op = late->op,
                            .params = late->params,
                            .inputs = inputs,
                            .outputs = &output,
                            .input_count = late->input_count,
                            .output_count = 1,
                            .env = late->env};
    late->op->reference(&call);
}

static bool is_late(const folder *f, const tort_node *node, size_t *bytes) {
    if (!(node->op->flags & TORT_OP_LATE) || node->output_count != 1 || node->outputs[0] < 0) return false;
    if (node->input_count > LATE_INPUTS || !tort_tensor_bytes(&f->outputs[0], bytes) || *bytes < LATE_BYTES)
        return false;
    for (int32_t i = 1; i < node->input_count; i++) {
        size_t small;
        if (node->inputs[i] >= 0 && (!tort_tensor_bytes(&f->inputs[i], &small) || small > LATE_BYTES)) return false;
    }
    return true;
}

/* Copies the contents of input i into the arena. */
static bool copy_input(folder *f, const tort_node *node, int32_t i) {
    const int32_t constant = f->lowered->constant_of[node->inputs[i]];
    const void *data;
    size_t bytes;
    tort_tensor_bytes(&f->inputs[i], &bytes);
    void *copy = tort_arena_array(&f->session->arena, bytes + 1, 1);
    if (!copy || tort_constant_acquire(f->session, constant, &data, NULL)) return false;
    memcpy(copy, data, bytes);
    tort_constant_release(f->session, constant);
    f->inputs[i].data = copy;
    return true;
}

/* Makes the output a derived constant. False: the node is not late, or memory ran out. */
static bool fold_late(folder *f, int32_t index) {
    const tort_node *node = &f->lowered->graph.nodes[index];
    const tort_node_view view = tort_pass_view(&f->pass, index);
    tort_arena *arena = &f->session->arena;
    size_t bytes, params_bytes = 0, scratch_bytes = 0;
    if (!is_late(f, node, &bytes) || tort_params_measure(&view, node, &params_bytes, NULL)) return false;
    late_node *late = tort_arena_array(arena, 1, sizeof *late);
    void *params = tort_arena_array(arena, params_bytes + 1, 1);
    if (!late || !params || tort_resolve_node(&view, params, &scratch_bytes, NULL) || scratch_bytes) return false;
    for (int32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && !copy_input(f, node, i)) return false;
    *late = (late_node){.op = node->op,
                        .params = params,
                        .env = &f->session->env,
                        .output = f->outputs[0],
                        .input_count = node->input_count};
    memcpy(late->inputs, f->inputs, (size_t)node->input_count * sizeof *late->inputs);
    f->budget -= bytes < f->budget ? bytes : f->budget;
    return tort_lowered_derive(f->lowered, node->outputs[0], node->inputs[0], evaluate_late, late, bytes);
}

static bool evaluate(folder *f, int32_t index) {
    tort_session *session = f->session;
    const tort_node *node = &f->lowered->graph.nodes[index];
    const int32_t *constant_of = f->lowered->constant_of;
    tort_node_view view = tort_pass_view(&f->pass, index);
    bool held = true;
    int32_t acquired = 0;
    for (; held && acquired < node->input_count; acquired++) {
        if (!reads(node, acquired)) continue;
        const void *data = NULL;
        const tort_status status = tort_constant_acquire(session, constant_of[node->inputs[acquired]], &data, NULL);
        if (status == TORT_E_MEMORY) f->out_of_memory = true;
        held = !status;
        if (!held) break;
        f->pass.in[acquired].data = data;
        memcpy(&f->inputs[acquired].data, &data, sizeof data); /* drops const: kernels do not write inputs */
    }
    bool done = held && call_reference(f, node, &view);
    while (acquired-- > 0)
        if (reads(node, acquired)) tort_constant_release(session, constant_of[node->inputs[acquired]]);
    if (!done) {
        free_outputs(f, node);
        return false;
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        size_t bytes = 0;
        if (node->outputs[i] < 0) continue;
        tort_tensor_bytes(&f->outputs[i], &bytes);
        f->budget -= bytes < f->budget ? bytes : f->budget;
        done &= settle(f, node->outputs[i], -1, f->outputs[i].data, bytes);
    }
    return done;
}

/* ---- shape arithmetic -------------------------------------------------------------------------------------------- */

/* Folds a node whose outputs are integers determined by shapes: it never runs. Known numbers
 * become constants at once. */
static bool fold_shape_arithmetic(folder *f, const tort_node *node) {
    tort_lowered *lowered = f->lowered;
    int32_t live = 0;
    for (int32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) continue;
        live++;
        if (!determined(f->session, &lowered->infos[node->outputs[i]])) return false;
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        tort_info *info = node->outputs[i] >= 0 ? &lowered->infos[node->outputs[i]] : NULL;
        if (!info || !tort_elements_known(info) || info->constant) continue;
        size_t bytes = (size_t)info->element_count * (size_t)tort_type_bits(info->type) / 8;
        void *data = take_aligned(f, bytes);
        if (!data) return false;
        tort_write_elements(info, data);
        if (!settle(f, node->outputs[i], -1, data, bytes)) return false;
    }
    return live > 0;
}

/* ---- the whole graph --------------------------------------------------------------------------------------------- */

static bool fold_node(folder *f, int32_t index) {
    const tort_node *node = &f->lowered->graph.nodes[index];
    if (!node->op || !node->output_count) return false;
    if (fold_constant_node(f, node)) return true;
    if (shaped(f->lowered, node) && (fold_alias(f, node) || fold_shape_arithmetic(f, node))) return true;
    return can_evaluate(f, node) && (fold_late(f, index) || evaluate(f, index));
}

static bool has_output(const tort_node *node) {
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0) return true;
    return false;
}

/* True if the node was folded though its outputs are not constants: shape arithmetic, or unread. */
static bool is_folded_open(const tort_lowered *lowered, int32_t index) {
    const tort_node *node = &lowered->graph.nodes[index];
    bool open = false;
    for (int32_t k = 0; k < node->output_count; k++)
        open |= node->outputs[k] >= 0 && !tort_is_constant(lowered, node->outputs[k]);
    return lowered->units[index].folded && open;
}

/* True if the node's folded outputs depend on the shapes of its inputs. */
static bool looks_at_shapes(const tort_lowered *lowered, int32_t index) {
    const tort_unit *unit = &lowered->units[index];
    return is_folded_open(lowered, index) && (!tort_is_unread(unit) || unit->still_inferred);
}

/* Drops nodes whose outputs are not read, from last to first; in an unfolded session only nodes without outputs,
 * unless the application chose outputs. With chosen outputs, nodes without a row may be dropped too. An unread
 * node is still inferred (`asked`) if folded nodes depend on its output's shape. Unread shape arithmetic is
 * dropped if nothing depends on it. */
static tort_status mark_unread(tort_lowered *lowered, tort_error *error) {
    tort_session *session = lowered->session;
    const tort_graph *graph = &lowered->graph;
    const bool chosen = session->options.output_count > 0 && lowered == tort_main_graph(session);
    const bool keep = session->options.unfolded && !chosen;
    const size_t values = (size_t)graph->value_count + 1;
    int32_t *readers = tort_alloc_zero(&session->env, values, 2 * sizeof *readers);
    int32_t *lookers = readers + values; /* by value: folded nodes that depend on its shape */
    if (!readers) return tort_out_of_memory(error, values * 2 * sizeof *readers);
    for (int32_t i = 0; i < graph->output_count; i++) readers[graph->outputs[i]]++;
    for (int32_t i = graph->node_count - 1; i >= 0; i--) {
        const tort_node *node = &graph->nodes[i];
        tort_unit *unit = &lowered->units[i];
        bool read = keep && has_output(node), looked = false;
        for (int32_t k = 0; k < node->output_count; k++) read |= node->outputs[k] >= 0 && readers[node->outputs[k]];
        for (int32_t k = 0; k < node->output_count; k++) looked |= node->outputs[k] >= 0 && lookers[node->outputs[k]];
        if (!read && (node->op || chosen) && (!unit->folded || (!looked && is_folded_open(lowered, i)))) {
            unit->folded = true;
            unit->label = "unread";
            unit->still_inferred |= looked;
        }
        int32_t *counts = unit->folded ? lookers : readers;
        for (int32_t k = 0; (!unit->folded || looks_at_shapes(lowered, i)) && k < node->input_count; k++)
            if (node->inputs[k] >= 0) counts[node->inputs[k]]++;
    }
    tort_free(&session->env, readers, values * 2 * sizeof *readers);
    return TORT_OK;
}

static uint64_t fold_limit(const tort_session *session) {
    if (session->options.fold_limit) return session->options.fold_limit;
    uint64_t weights = 0;
    for (int32_t i = 0; i < session->model->weight_count; i++) weights += session->model->weights[i].bytes;
    return weights > DEFAULT_LIMIT ? weights : DEFAULT_LIMIT;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static tort_status fold_graph(tort_lowered *lowered, uint64_t *budget, tort_error *error);

/* Stores the infos of a body's inputs, as the shape rule of its node last gave them. */
static void note_entry(void *ud, int32_t body, const tort_info *inputs) {
    tort_session *session = ud;
    tort_lowered *lowered = &session->graphs[body];
    for (int32_t i = 0; i < lowered->graph.input_count; i++) lowered->infos[lowered->graph.inputs[i]] = inputs[i];
    lowered->lowered = true;
    lowered->refused = NULL;
}

static tort_status each_body(folder *f, const tort_node *node,
                             tort_status (*visit)(folder *f, const tort_node *node, tort_lowered *body, tort_error *),
                             tort_error *error);
static tort_status leave_body(folder *f, const tort_node *node, tort_lowered *body, tort_error *error);

/* Stores the error of a body that does not fit the shapes of its node; another body may run instead. */
static void note_refused(void *ud, int32_t body, const tort_error *why) {
    tort_session *session = ud;
    tort_lowered *lowered = &session->graphs[body];
    folder f = {.session = session};
    tort_error *kept = tort_arena_alloc(&session->arena, sizeof *kept);
    leave_body(&f, NULL, lowered, NULL);
    if (kept) *kept = *why;
    lowered->refused = kept;
}

/* Captured values, and inputs that no trip changes (see tort_infer_body), are the same constants inside the body. */
static void pass_constants(const tort_lowered *outer, const tort_node *node, tort_lowered *body) {
    const int32_t own = body->graph.input_count - node->captured, shift = node->input_count - body->graph.input_count;
    for (int32_t i = 0; i < body->graph.input_count; i++) {
        const int32_t to = body->graph.inputs[i];
        if (i < own && !body->infos[to].constant) continue;
        const int32_t from = node->inputs[i < own ? i : i + shift];
        if (from < 0 || !tort_is_constant(outer, from)) continue;
        body->constant_of[to] = outer->constant_of[from];
        body->weights[to] = outer->weights[from];
        body->infos[to] = outer->infos[from];
    }
}

/* Calls `visit` for each lowered body of a node. */
static tort_status each_body(folder *f, const tort_node *node,
                             tort_status (*visit)(folder *f, const tort_node *node, tort_lowered *body, tort_error *),
                             tort_error *error) {
    tort_status status = TORT_OK;
    for (int32_t a = 0; a < node->attribute_count; a++) {
        const tort_attribute *attribute = &node->attributes[a];
        if (attribute->kind != TORT_ATTR_GRAPH && attribute->kind != TORT_ATTR_GRAPHS) continue;
        for (int32_t i = 0; !status && i < attribute->count; i++) {
            tort_lowered *body = &f->session->graphs[attribute->u.graphs[i]];
            if (body->lowered) status = visit(f, node, body, error);
        }
    }
    return status;
}

static tort_status count_body(folder *f, const tort_node *node, tort_lowered *body, tort_error *error) {
    (void)node, (void)body, (void)error;
    f->bodies++;
    return TORT_OK;
}

/* More is known here than when the node was inferred, so only now a body may turn out not to fit. That is an error only
 * if the node has no other body. */
static tort_status fold_body(folder *f, const tort_node *node, tort_lowered *body, tort_error *error) {
    tort_error why = {.node = -1};
    pass_constants(f->lowered, node, body);
    tort_status status = fold_graph(body, &f->budget, &why);
    if (!status) return TORT_OK;
    f->bodies = 0;
    each_body(f, node, count_body, NULL);
    if (status == TORT_E_MODEL && f->bodies > 1) {
        note_refused(f->session, (int32_t)(body - f->session->graphs), &why);
        return TORT_OK;
    }
    if (error) *error = why;
    return status;
}

/* Bodies of an unread node never run, nor do bodies inside them. */
static tort_status leave_body(folder *f, const tort_node *node, tort_lowered *body, tort_error *error) {
    (void)node;
    body->lowered = false;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < body->graph.node_count; i++)
        status = each_body(f, &body->graph.nodes[i], leave_body, error);
    return status;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* A saved plan decides what is folded. Check that the shapes of the inputs still determine each folded
 * node, unless it is unread. */
static tort_status check_folded(const folder *f, int32_t index, tort_error *error) {
    const tort_node *node = &f->lowered->graph.nodes[index];
    bool told = true;
    for (int32_t i = 0; i < node->output_count; i++)
        told = told && (node->outputs[i] < 0 || determined(f->session, &f->lowered->infos[node->outputs[i]]));
    const tort_unit *unit = &f->lowered->units[index];
    if (told || unit->still_inferred || !node->op || !unit->folded) return TORT_OK;
    tort_fail(error, TORT_E_MODEL, "the saved plan leaves it out, but it has to run");
    tort_error_at_node(error, &f->lowered->graph, index);
    return TORT_E_MODEL;
}

static tort_status infer_and_fold(folder *f, tort_error *error) {
    tort_lowered *lowered = f->lowered;
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++) {
        const tort_node *node = &lowered->graph.nodes[i];
        status = tort_pass_infer(&f->pass, i, error);
        if (!status && node->op && node->op->flags & TORT_OP_CONTROL) status = each_body(f, node, fold_body, error);
        if (!status && f->session->saved) status = check_folded(f, i, error);
        if (status) break;
        if (f->session->saved) continue;
        bool folded = f->session->options.unfolded ? node->op && fold_constant_node(f, node) : fold_node(f, i);
        if (f->out_of_memory) status = tort_out_of_memory(error, 0);
        if (!folded) continue;
        lowered->units[i].folded = true;
        lowered->units[i].label = "constant";
    }
    return status;
}

static tort_status fold_graph(tort_lowered *lowered, uint64_t *budget, tort_error *error) {
    tort_session *session = lowered->session;
    folder f = {.session = session, .lowered = lowered, .budget = *budget};
    tort_status status = tort_lowered_pass(lowered, &f.pass, lowered->infos, &session->dims, &session->arena, error);
    if (status) return status;
    f.pass.entered = note_entry;
    f.pass.refused = note_refused;
    f.pass.entered_ud = session;
    size_t width = (size_t)f.pass.widest;
    f.inputs = tort_alloc_zero(&session->env, width, sizeof *f.inputs);
    f.outputs = tort_alloc_zero(&session->env, width, sizeof *f.outputs);
    status =
        f.inputs && f.outputs ? infer_and_fold(&f, error) : tort_out_of_memory(error, 2 * width * sizeof *f.inputs);
    if (!status && !session->saved) status = mark_unread(lowered, error);
    for (int32_t i = 0; !status && i < lowered->graph.node_count; i++)
        if (lowered->units[i].folded) status = each_body(&f, &lowered->graph.nodes[i], leave_body, error);
    *budget = f.budget;
    tort_free(&session->env, f.inputs, width * sizeof *f.inputs);
    tort_free(&session->env, f.outputs, width * sizeof *f.outputs);
    tort_pass_free(&f.pass);
    return status;
}

tort_status tort_fold(tort_session *session, tort_error *error) {
    uint64_t budget = fold_limit(session);
    return fold_graph(tort_main_graph(session), &budget, error);
}
