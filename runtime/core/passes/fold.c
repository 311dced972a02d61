/* fold.c - decides which nodes are evaluated before anything runs, and which are not needed at all.
 *
 * Algorithms: constant folding, and dead code elimination by reader counts (Muchnick, "Advanced Compiler Design and
 * Implementation", 1997); for shape arithmetic partial evaluation: its integers are expressions over input shapes.
 *
 * Cost for N nodes and E operands: one forward sweep, which infers each node and evaluates it if its inputs are
 * constant, by the operator's reference; one backward sweep that drops unread nodes, O(N + E). Results and
 * their text are limited in bytes, since a tiny model can ask for any amount (ConstantOfShape), and so is the work.
 *
 * Example: Transpose(W) of an initializer W becomes a constant, and runs once. Shape(x[n,8]) -> Gather(0) -> Mul(2) is
 * 2*n: it never runs, and plans evaluate it. A node whose only reader was folded is unread, and dropped too. This file
 * must not know operators or providers. Read next: place.c. */
#include <string.h>

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/passes/sweep.h"

#define BULKY_LIMIT (1u << 16) /* bytes to which a TORT_OP_BULKY node may be folded */
#define DEFAULT_LIMIT ((uint64_t)64 << 20)
/* Nanoseconds of estimated work: at all, and for each byte of weights. Honest models need some nanoseconds a byte. */
#define MIN_WORK ((int64_t)500 << 20)
#define WORK_OF_A_BYTE 50

/* ---- one node ---------------------------------------------------------------------------------------------------- */

typedef struct folder {
    tort_session *session;
    tort_lowered *lowered;         /* the graph of the node */
    tort_pass *pass;               /* over the same graph */
    tort_tensor *inputs, *outputs; /* room for those of any node */
    uint64_t budget;
    tort_watch watch;   /* bounds the work of all nodes; a node that would need more is left to runs */
    bool out_of_memory; /* a node was not folded for lack of memory */
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
        if (!info || !reads(node, i)) continue;
        if (!info->constant || !tort_info_tensor(info, &f->inputs[i])) return false;
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

/* True if the inputs whose values determine shapes are known. An output may be known without them, but not that they
 * agree with it: Reshape of a list of 4 by an unknown shape of one entry is a list of 4, or an error. */
static bool shaped(const tort_lowered *lowered, const tort_node *node) {
    for (int32_t i = 1; i < node->input_count && i < 32; i++) {
        if (node->inputs[i] < 0 || !(node->op->shape_inputs >> i & 1)) continue;
        const tort_info *info = &lowered->infos[node->inputs[i]];
        if (!tort_is_constant(lowered, node->inputs[i]) && !tort_is_determined(lowered->session, info)) return false;
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
    tort_lowered_tell(lowered, to);
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

tort_status tort_evaluate(tort_session *session, const tort_node *node, const tort_node_view *view, tort_tensor *inputs,
                          tort_tensor *outputs, tort_watch *watch) {
    size_t scratch_bytes = 0, params_bytes = 0;
    tort_status status = tort_params_measure(view, node, &params_bytes, NULL);
    if (status) return status;
    void *params = tort_alloc_zero(&session->env, 1, ++params_bytes), *scratch = NULL;
    status = params ? tort_resolve_node(view, params, &scratch_bytes, NULL) : TORT_E_MEMORY;
    if (!status) scratch = tort_alloc_aligned(&session->env, scratch_bytes);
    if (!status && !scratch) status = TORT_E_MEMORY;
    if (!status) {
        tort_call call = {.op = node->op,
                          .params = params,
                          .inputs = inputs,
                          .outputs = outputs,
                          .input_count = node->input_count,
                          .output_count = node->output_count,
                          .scratch = scratch,
                          .env = &session->env,
                          .text = session->text,
                          .watch = watch};
        status = node->op->reference(&call);
    }
    if (scratch) tort_free_aligned(&session->env, scratch, scratch_bytes);
    if (params) tort_free(&session->env, params, params_bytes);
    return status;
}

/* Runs the operator's reference. A node that fails here (an index out of range) is left to fail in the run,
 * where the error names it. */
static bool call_reference(folder *f, const tort_node *node, const tort_node_view *view) {
    if (!allocate_outputs(f, node)) return false;
    const tort_status status = tort_evaluate(f->session, node, view, f->inputs, f->outputs, &f->watch);
    if (status == TORT_E_MEMORY && !f->session->text_account.refused) f->out_of_memory = true;
    for (int32_t i = 0; i < node->output_count; i++) tort_clear_tail(&f->outputs[i]);
    return !status && !f->watch.end;
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
    const tort_node_view view = tort_pass_view(f->pass, index);
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
    tort_node_view view = tort_pass_view(f->pass, index);
    bool held = true;
    int32_t acquired = 0;
    for (; held && acquired < node->input_count; acquired++) {
        if (!reads(node, acquired)) continue;
        const void *data = NULL;
        const tort_status status = tort_constant_acquire(session, constant_of[node->inputs[acquired]], &data, NULL);
        if (status == TORT_E_MEMORY) f->out_of_memory = true;
        held = !status;
        if (!held) break;
        f->pass->in[acquired].data = data;
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
        if (!tort_is_determined(f->session, &lowered->infos[node->outputs[i]])) return false;
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
    if (!readers) return tort_out_of_memory(error, values * 2 * sizeof *readers);
    int32_t *lookers = readers + values; /* by value: folded nodes that depend on its shape */
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

static void set_limits(folder *f) {
    tort_session *session = f->session;
    uint64_t weights = 0;
    for (int32_t i = 0; i < session->model->weight_count; i++) weights += session->model->weights[i].bytes;
    f->budget = session->options.fold_limit ? session->options.fold_limit
                : weights > DEFAULT_LIMIT   ? weights
                                            : DEFAULT_LIMIT;
    tort_account_limit(&session->text_account, f->budget < SIZE_MAX ? (size_t)f->budget : SIZE_MAX);
    f->watch.bounded = true;
    f->watch.deadline = session->watch.deadline;
    f->watch.work = MIN_WORK + (int64_t)(weights < INT64_MAX / 100 ? weights : INT64_MAX / 100) * WORK_OF_A_BYTE;
}

/* The visitor of a sweep. */
static tort_status visit_node(tort_sweep *sweep, int32_t index, tort_error *error) {
    folder *f = sweep->sweeper->ud;
    tort_unit *unit = &sweep->lowered->units[index];
    const tort_node *node = &sweep->lowered->graph.nodes[index];
    f->lowered = sweep->lowered;
    f->pass = &sweep->pass;
    const bool folded = f->session->options.unfolded ? node->op && fold_constant_node(f, node) : fold_node(f, index);
    if (f->out_of_memory) return tort_out_of_memory(error, 0);
    if (!folded) return TORT_OK;
    unit->folded = true;
    unit->label = "constant";
    return TORT_OK;
}

/* The largest number of inputs or outputs of a node, in all graphs. */
static size_t widest_node(const tort_session *session) {
    int32_t widest = 1;
    for (int32_t g = 0; g < session->graph_count; g++) {
        const tort_graph *graph = &session->graphs[g].graph;
        for (int32_t i = 0; i < graph->node_count; i++) {
            if (graph->nodes[i].input_count > widest) widest = graph->nodes[i].input_count;
            if (graph->nodes[i].output_count > widest) widest = graph->nodes[i].output_count;
        }
    }
    return (size_t)widest;
}

tort_status tort_fold(tort_session *session, tort_error *error) {
    const size_t width = widest_node(session);
    folder f = {.session = session};
    const tort_sweeper sweeper = {.visit = visit_node, .finish = mark_unread, .ud = &f};
    set_limits(&f);
    f.inputs = tort_alloc_zero(&session->env, width, sizeof *f.inputs);
    f.outputs = tort_alloc_zero(&session->env, width, sizeof *f.outputs);
    tort_status status = f.inputs && f.outputs ? tort_sweep_graphs(session, &sweeper, error)
                                               : tort_out_of_memory(error, 2 * width * sizeof *f.inputs);
    tort_free(&session->env, f.inputs, width * sizeof *f.inputs);
    tort_free(&session->env, f.outputs, width * sizeof *f.outputs);
    return status;
}
