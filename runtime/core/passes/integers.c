/* integers.c - brings QuantizeLinear and DequantizeLinear together, and makes tables of what stands between them.
 *
 * Nodes that choose elements, by index or by order, do with 8-bit numbers what they do with the numbers that these
 * stand for, so QuantizeLinear may come before such a node, and DequantizeLinear behind it; QuantizeLinear may also
 * come before a clamp, since it never decreases. Each such step swaps two nodes. All together leave nothing but
 * functions of one element between the two; such a function of one 8-bit tensor has 256 results: a table.
 *
 * Example: DequantizeLinear(x) Sigmoid Mul(x) Reshape QuantizeLinear becomes ByteTable(x) Reshape. Entries are what the
 * references of the nodes compute, so a number halfway between two bytes may round to the other one. Operators are
 * known by their flags, the table's by the row with '^' (pattern.h). Read first: fuse.c. */
#include <string.h>

#include "runtime/core/lowered/constants.h"
#include "runtime/core/passes/fuse.h"
#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"

enum { BYTES = 256 };

/* A function of one value, the root: nodes ascending, of which the last makes the result. */
typedef struct region {
    int32_t root, count, nodes[TORT_FUSED_PARTS];
    tort_type type;                            /* of the root as the nodes read it */
    uint64_t results[TORT_FUSED_PARTS][BYTES]; /* of each node, of any type of up to 8 bytes */
} region;

/* ---- what nodes are ---------------------------------------------------------------------------------------------- */

static tort_node *node_at(const tort_fuser *f, int32_t index) {
    return &f->lowered->graph.nodes[index];
}

static tort_info *info_of(const tort_fuser *f, int32_t value) {
    return &f->lowered->infos[value];
}

static bool is_byte(const tort_fuser *f, int32_t value) {
    return info_of(f, value)->type == TORT_INT8 || info_of(f, value)->type == TORT_UINT8;
}

static bool is_single(const tort_fuser *f, int32_t value) {
    tort_tensor tensor;
    int64_t count;
    return tort_is_constant(f->lowered, value) && tort_info_tensor(info_of(f, value), &tensor) &&
           tort_tensor_count(&tensor, &count) && count == 1;
}

/* True if the node runs, alone and by this provider or the executor, makes one value, and has one of the flags. */
static bool fits(const tort_fuser *f, int32_t index, int32_t provider, uint32_t flags) {
    const tort_unit *unit = &f->lowered->units[index];
    const tort_node *node = node_at(f, index);
    if (unit->segment || (unit->provider != provider && unit->provider != TORT_AT_HOST)) return false;
    if (!node->op || !(node->op->flags & flags) || node->input_count < 1 || node->inputs[0] < 0) return false;
    for (int32_t i = 1; i < node->output_count; i++)
        if (node->outputs[i] >= 0) return false;
    return node->output_count > 0 && node->outputs[0] >= 0;
}

/* True of QuantizeLinear and its like, by their flag, if all inputs but the first are constants of one element. */
static bool is_border(const tort_fuser *f, int32_t index, int32_t provider, uint32_t flag) {
    const tort_node *node = node_at(f, index);
    bool border = fits(f, index, provider, flag);
    for (int32_t i = 1; border && i < node->input_count; i++)
        border = node->inputs[i] < 0 || is_single(f, node->inputs[i]);
    return border;
}

/* The node that makes the value, which nobody else reads; -1. */
static int32_t sole_maker(const tort_fuser *f, int32_t value) {
    return value < f->counted && f->readers[value] == 1 ? f->lowered->graph.values[value].producer : -1;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* Puts a node that was at `from` into a place, if the provider or the executor takes it; else nothing changes. */
static tort_status put(tort_fuser *f, int32_t index, tort_node made, int32_t from, int32_t provider, tort_unit *unit,
                       bool *taken) {
    const tort_unit old = f->lowered->units[from];
    const tort_node before = *node_at(f, index);
    tort_candidate c = {.session = f->session,
                        .lowered = f->lowered,
                        .index = index,
                        .node = node_at(f, index),
                        .unit = unit,
                        .no_loops =
                            old.kernel && !tort_runs_reference(f->session->chain[provider].provider, old.kernel),
                        .alone = true};
    *unit = (tort_unit){.provider = TORT_AT_NOWHERE, .pinned = old.pinned, .pin = old.pin};
    *node_at(f, index) = made;
    tort_status status = tort_fuse_offer(f, &c, provider, taken);
    if (!status && *taken) status = tort_candidate_store(&c, f->error);
    if (status || !*taken) *node_at(f, index) = before;
    return status;
}

/* The nodes of the model that the unit at `from` stands for become those of another unit. */
static tort_status take_parts(const tort_fuser *f, int32_t from, tort_unit *unit) {
    const tort_fused_parts parts = {.nodes = {from}, .count = 1};
    return tort_fuse_inherit(f, &parts, from, unit->provider, unit);
}

/* Counts the inputs of a node as read once more, or less. */
static void count_inputs(const tort_fuser *f, const tort_node *node, int32_t by) {
    for (int32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && node->inputs[i] < f->counted) f->readers[node->inputs[i]] += by;
}

/* Leaves out nodes that nobody reads any more; another unit stands for them now. */
static tort_status leave_out(tort_fuser *f, const int32_t *nodes, int32_t count, int32_t to) {
    tort_fused_parts parts = {.nodes = {to}, .count = 1};
    tort_unit unit = f->lowered->units[to];
    for (int32_t k = count - 1; k >= 0; k--) {
        if (f->readers[node_at(f, nodes[k])->outputs[0]]) continue;
        count_inputs(f, node_at(f, nodes[k]), -1);
        tort_fuse_retire(f, nodes[k]);
        parts.nodes[parts.count++] = nodes[k];
    }
    unit.reason_count = unit.from_count = 0;
    const tort_status status = tort_fuse_inherit(f, &parts, to, -1, &unit);
    f->lowered->units[to] = unit;
    return status;
}

/* True if all inputs of the node but the first exist before the node `index` runs. */
static bool is_ready(const tort_fuser *f, const tort_node *node, int32_t index) {
    for (int32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && f->lowered->graph.values[node->inputs[i]].producer >= index) return false;
    return true;
}

static bool give_input(const tort_fuser *f, tort_node *node, int32_t i, int32_t value) {
    int32_t *inputs = tort_arena_array(&f->session->arena, (size_t)node->input_count, sizeof *inputs);
    if (!inputs) return false;
    memcpy(inputs, node->inputs, (size_t)node->input_count * sizeof *inputs);
    inputs[i] = value;
    node->inputs = inputs;
    return true;
}

/* The value becomes 8-bit numbers, in the shape of another one. Its name says so: what has the model's name holds what
 * the model says. False: out of memory. */
static bool narrow(const tort_fuser *f, int32_t value, tort_type type, int32_t shape_of) {
    tort_info *info = info_of(f, value);
    const char *name = f->lowered->graph.values[value].name;
    char *text = tort_arena_format(&f->session->arena, "%s_quantized", name);
    if (!text) return false;
    f->lowered->graph.values[value].name = text;
    *info = *info_of(f, shape_of);
    info->type = type;
    info->elements = NULL;
    info->element_count = 0;
    info->data = NULL;
    return true;
}

/* Puts node b before node a, whose result it alone reads; the value between them gets this type, and the shape of
 * another one. b's place goes to a, or to `second` if given. */
static tort_status swap(tort_fuser *f, int32_t a, int32_t b, tort_type type, int32_t shape_of, const tort_node *second,
                        bool *swapped) {
    const tort_unit *units = f->lowered->units;
    const tort_node old = *node_at(f, a);
    const int32_t middle = old.outputs[0], provider = units[b].provider >= 0 ? units[b].provider : units[a].provider;
    const tort_info info = *info_of(f, middle);
    const char *name = f->lowered->graph.values[middle].name;
    tort_node first = *node_at(f, b), then = second ? *second : old;
    tort_unit made[2];
    *swapped = false;
    if (f->looked_at[middle] || !is_ready(f, &first, a)) return TORT_OK;
    if (!give_input(f, &first, 0, old.inputs[0]) || !give_input(f, &then, 0, middle) ||
        !narrow(f, middle, type, shape_of))
        return tort_out_of_memory(f->error, 0);
    first.outputs = old.outputs;
    then.outputs = node_at(f, b)->outputs;
    tort_status status = put(f, a, first, b, provider, &made[0], swapped);
    if (!status && *swapped) status = put(f, b, then, a, provider, &made[1], swapped);
    if (!status && *swapped) status = take_parts(f, b, &made[0]);
    if (!status && *swapped) status = take_parts(f, a, &made[1]);
    if (!status && *swapped) {
        f->lowered->units[a] = made[0];
        f->lowered->units[b] = made[1];
        return TORT_OK;
    }
    *node_at(f, a) = old;
    *info_of(f, middle) = info;
    f->lowered->graph.values[middle].name = name;
    return status;
}

/* ---- roots: the 8-bit tensors that values are functions of ------------------------------------------------------- */

#define BY_ELEMENT (TORT_OP_IN_PLACE | TORT_OP_SAME | TORT_OP_NARROWS | TORT_OP_WIDENS)

/* The root that all inputs of the node have in common, in whose shape its result is; -1: there is none. */
static int32_t root_of_inputs(const tort_fuser *f, const int32_t *roots, int32_t index) {
    const tort_node *node = node_at(f, index);
    int32_t root = -1;
    for (int32_t i = 0; i < node->input_count; i++) {
        const int32_t value = node->inputs[i];
        if (value < 0 || is_single(f, value)) continue;
        if (value >= f->counted || roots[value] < 0 || (root >= 0 && roots[value] != root)) return -1;
        root = roots[value];
    }
    return root >= 0 && tort_same_dims(info_of(f, root), info_of(f, node->outputs[0])) ? root : -1;
}

/* Finds the roots of what these nodes make. An 8-bit result that several nodes read is a root of its own: its own root
 * would be kept longer for no gain. */
static void find_roots(const tort_fuser *f, int32_t *roots, int32_t first, int32_t end, int32_t provider) {
    for (int32_t n = first; n < end; n++) {
        const tort_node *node = node_at(f, n);
        const int32_t root = fits(f, n, provider, BY_ELEMENT) ? root_of_inputs(f, roots, n) : -1;
        for (int32_t i = 0; i < node->output_count; i++) {
            const int32_t out = node->outputs[i];
            if (out >= 0 && out < f->counted)
                roots[out] = is_byte(f, out) && (root < 0 || f->readers[out] > 1) ? out : root;
        }
    }
}

static void start_region(const tort_fuser *f, region *r, int32_t root, int32_t node) {
    r->root = root;
    r->type = info_of(f, root)->type;
    r->nodes[0] = node;
    r->count = 1;
}

/* Collects the nodes between the root and the node, which is the last. False: there are too many. */
static bool collect(const tort_fuser *f, int32_t root, int32_t last, region *r) {
    start_region(f, r, root, last);
    for (int32_t k = 0; k < r->count; k++) {
        const tort_node *node = node_at(f, r->nodes[k]);
        for (int32_t i = 0; i < node->input_count; i++) {
            const int32_t value = node->inputs[i];
            if (value < 0 || value == root || tort_is_constant(f->lowered, value)) continue;
            const int32_t maker = f->lowered->graph.values[value].producer;
            int32_t at = 0;
            while (at < r->count && r->nodes[at] != maker) at++;
            if (at < r->count) continue;
            if (r->count == TORT_FUSED_PARTS - 1) return false; /* leave_out lists these and one more */
            r->nodes[r->count++] = maker;
        }
    }
    for (int32_t k = 1; k < r->count; k++) /* ascending: each after those that it reads */
        for (int32_t at = k; at > 0 && r->nodes[at - 1] > r->nodes[at]; at--) {
            const int32_t node = r->nodes[at];
            r->nodes[at] = r->nodes[at - 1];
            r->nodes[at - 1] = node;
        }
    return true;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Elements of a value that a node before node k of the region made, or of the root; NULL: it is a constant. */
static const void *data_of(const tort_fuser *f, const region *r, int32_t k, int32_t value, const void *start) {
    while (k-- > 0)
        if (node_at(f, r->nodes[k])->outputs[0] == value) return r->results[k];
    return value == r->root ? start : NULL;
}

/* Computes node k for all 256 elements of the start. */
static bool evaluate_node(tort_fuser *f, region *r, int32_t k, const void *start) {
    const tort_node *node = node_at(f, r->nodes[k]);
    const tort_node_view view = tort_pass_view(&f->pass, r->nodes[k]);
    tort_tensor inputs[TORT_INFER_INPUTS] = {{.type = TORT_UNDEFINED}}, output = {.data = NULL};
    if (node->input_count > TORT_INFER_INPUTS || tort_pass_acquire(&f->pass, r->nodes[k], NULL)) return false;
    bool found = true;
    for (int32_t i = 0; i < node->input_count; i++) {
        tort_info *info = &f->pass.in[i];
        if (node->inputs[i] < 0) continue;
        const void *data = data_of(f, r, k, node->inputs[i], start);
        if (node->inputs[i] == r->root) info->type = r->type;
        info->rank = data != NULL;
        info->dims[0] = BYTES;
        found = found && (data || info->data) && tort_info_tensor(info, &inputs[i]);
        inputs[i].data = (void *)(uintptr_t)(data ? data : info->data); /* references do not write inputs */
    }
    f->pass.out[0] = (tort_info){.type = f->pass.out[0].type, .nest = -1, .rank = 1, .dims = {BYTES}};
    found = found && tort_info_tensor(&f->pass.out[0], &output) && tort_type_bits(output.type) <= 64;
    output.data = r->results[k];
    found = found && !tort_evaluate(f->session, node, &view, inputs, &output, NULL);
    tort_pass_release(&f->pass, r->nodes[k]);
    return found;
}

static bool evaluate(tort_fuser *f, region *r, const void *start) {
    bool done = true;
    for (int32_t k = 0; done && k < r->count; k++) done = evaluate_node(f, r, k, start);
    return done;
}

/* The row that names the table's operator; NULL: there is none, or it is off. */
static const tort_parsed *row_of_tables(const tort_fuser *f) {
    for (int32_t i = 0; i < f->pattern_count; i++)
        if (f->patterns[i].apart == '^' && !f->patterns[i].off) return &f->patterns[i];
    return NULL;
}

/* Makes the table's node, which reads `root`. */
static bool make_table(tort_fuser *f, int32_t index, int32_t root, const void *entries, tort_node *made) {
    const tort_parsed *row = row_of_tables(f);
    tort_match match = {.pattern = row, .lowered = f->lowered, .nodes = {index}, .error = f->error};
    tort_tensor table = {.type = info_of(f, node_at(f, index)->outputs[0])->type, .rank = 1, .dims = {BYTES}};
    uint8_t copy[BYTES];
    memcpy(copy, entries, sizeof copy);
    table.data = copy;
    for (int32_t i = 0; i < TORT_PATTERN_VALUES; i++) match.values[i] = root;
    return tort_lowered_reserve(f->lowered, 1) && tort_match_replace(&match, "t", &table) &&
           tort_match_make(&match, made);
}

/* Lets those who read the result read the root. False: it is an output of the graph, or a body may read it. */
static bool bypass(tort_fuser *f, int32_t index, int32_t root) {
    const tort_graph *graph = &f->lowered->graph;
    const int32_t out = graph->nodes[index].outputs[0];
    for (int32_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == out || f->looked_at[out]) return false;
    for (int32_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op && graph->nodes[n].op->flags & TORT_OP_CONTROL) return false;
    for (int32_t n = index + 1; n < graph->node_count; n++)
        for (int32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] == out && !give_input(f, &graph->nodes[n], i, root)) return false;
    f->readers[root] += f->readers[out];
    f->readers[out] = 0;
    return true;
}

/* True if the last node gives each of the 256 numbers itself, of this type. */
static bool is_identity(const tort_fuser *f, const region *r, tort_type type) {
    const uint8_t *entries = (const uint8_t *)r->results[r->count - 1];
    bool same = info_of(f, node_at(f, r->nodes[r->count - 1])->outputs[0])->type == type;
    for (int32_t i = 0; same && i < BYTES; i++) same = entries[i] == i;
    return same;
}

/* Replaces the region between the root and the last node by a table, or by nothing. */
static tort_status make_region(tort_fuser *f, const region *r, int32_t provider) {
    const int32_t last = r->nodes[r->count - 1], values = f->lowered->graph.value_count;
    const int32_t constants = f->session->constant_count, to = f->lowered->graph.values[r->root].producer;
    const tort_node old = *node_at(f, last);
    const tort_fused_parts own = {.nodes = {last}, .count = 1};
    tort_node made;
    tort_unit unit;
    bool taken = false;
    if (to >= 0 && is_identity(f, r, info_of(f, r->root)->type) && bypass(f, last, r->root))
        return leave_out(f, r->nodes, r->count, to);
    if (!make_table(f, last, r->root, r->results[r->count - 1], &made))
        return f->error->code == TORT_E_MEMORY ? TORT_E_MEMORY : TORT_OK;
    tort_status status = put(f, last, made, last, provider, &unit, &taken);
    if (!taken) tort_lowered_drop_values(f->lowered, values, constants);
    if (status || !taken) return status;
    count_inputs(f, &old, -1);
    f->readers[r->root]++;
    status = tort_fuse_inherit(f, &own, last, provider, &unit);
    f->lowered->units[last] = unit;
    return status ? status : leave_out(f, r->nodes, r->count - 1, last);
}

static tort_status make_tables(tort_fuser *f, const int32_t *roots, int32_t provider, region *r) {
    uint8_t bytes[BYTES];
    tort_status status = TORT_OK;
    for (int32_t i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    for (int32_t n = f->lowered->graph.node_count - 1; !status && n >= 0; n--) {
        if (f->lowered->units[n].provider != provider || !fits(f, n, provider, BY_ELEMENT) ||
            !is_byte(f, node_at(f, n)->outputs[0]))
            continue;
        const int32_t root = root_of_inputs(f, roots, n);
        if (root < 0 || !collect(f, root, n, r) || r->count < 2 || !evaluate(f, r, bytes)) continue;
        status = make_region(f, r, provider);
    }
    return status;
}

/* ---- QuantizeLinear forwards, DequantizeLinear backwards --------------------------------------------------------- */

/* Gives a node that fills the number that QuantizeLinear, at `index`, makes of its filling. False: it is not known. */
static bool fill(tort_fuser *f, int32_t index, tort_node *node, region *r) {
    enum { FILLING = 2 };
    const tort_type type = info_of(f, node_at(f, index)->outputs[0])->type;
    const int32_t given = node->input_count > FILLING ? node->inputs[FILLING] : -1;
    const tort_info info = {.kind = TORT_TENSOR, .type = type, .nest = -1};
    const void *data = NULL;
    float numbers[BYTES] = {0};
    if (given >= 0 && (!is_single(f, given) || info_of(f, given)->type != TORT_FLOAT ||
                       tort_constant_acquire(f->session, f->lowered->constant_of[given], &data, NULL)))
        return false;
    if (data) memcpy(numbers, data, sizeof *numbers);
    if (data) tort_constant_release(f->session, f->lowered->constant_of[given]);
    start_region(f, r, node_at(f, index)->inputs[0], index);
    int32_t *inputs = tort_arena_array(&f->session->arena, TORT_INFER_INPUTS, sizeof *inputs);
    if (!inputs || !evaluate(f, r, numbers)) return false;
    for (int32_t i = 0; i < TORT_INFER_INPUTS; i++) inputs[i] = i < node->input_count ? node->inputs[i] : -1;
    inputs[FILLING] = tort_lowered_add_value(f->lowered, "", &info);
    node->inputs = inputs;
    if (node->input_count <= FILLING) node->input_count = FILLING + 1;
    uint8_t *byte = inputs[FILLING] < 0 ? NULL : tort_alloc_aligned(&f->session->env, 1);
    if (byte) *byte = *(const uint8_t *)r->results[0];
    return byte && tort_lowered_settle(f->lowered, inputs[FILLING], -1, byte, 1);
}

/* Moves the QuantizeLinear before the nodes that choose elements, but of a constant, such as embeddings, all of which
 * each run would quantize; *index becomes its place. */
static tort_status lift(tort_fuser *f, int32_t *index, int32_t provider, region *r) {
    for (bool swapped;;) {
        const tort_node *node = node_at(f, *index);
        const int32_t maker = sole_maker(f, node->inputs[0]), values = f->lowered->graph.value_count;
        const int32_t constants = f->session->constant_count;
        if (maker < 0 || !fits(f, maker, provider, TORT_OP_CHOOSES | TORT_OP_FILLS)) return TORT_OK;
        tort_node chosen = *node_at(f, maker);
        if (tort_is_constant(f->lowered, chosen.inputs[0])) return TORT_OK;
        if (chosen.op->flags & TORT_OP_FILLS && !fill(f, *index, &chosen, r)) return TORT_OK;
        const tort_status status =
            swap(f, maker, *index, info_of(f, node->outputs[0])->type, node_at(f, maker)->inputs[0], &chosen, &swapped);
        if (!swapped) tort_lowered_drop_values(f->lowered, values, constants);
        if (status || !swapped) return status;
        *index = maker;
    }
}

/* Moves the DequantizeLinear behind a node that chooses elements; *index becomes the place that this node takes. */
static tort_status sink(tort_fuser *f, int32_t *index, int32_t provider) {
    const tort_node *node = node_at(f, *index);
    const int32_t maker = sole_maker(f, node->inputs[0]);
    bool swapped;
    if (maker < 0 || !is_border(f, maker, provider, TORT_OP_WIDENS)) return TORT_OK;
    const tort_type type = info_of(f, node_at(f, maker)->inputs[0])->type;
    const tort_status status = swap(f, maker, *index, type, node->outputs[0], NULL, &swapped);
    if (swapped) *index = maker;
    return status;
}

/* The numbers that the 256 values of a type stand for at a border's scale and zero point. */
static bool find_numbers(tort_fuser *f, int32_t border, tort_type type, float *numbers) {
    double scale = 0, zero = 0, *const read[] = {&scale, &zero};
    const tort_node_view view = tort_pass_view(&f->pass, border);
    if (tort_pass_acquire(&f->pass, border, NULL)) return false;
    bool known = true;
    for (int32_t i = 1; i < view.input_count && i < 3; i++)
        if (tort_has_input(&view, i))
            known = known && view.inputs[i].data &&
                    tort_first_number(view.inputs[i].type, view.inputs[i].data, read[i - 1]);
    tort_pass_release(&f->pass, border);
    for (int32_t i = 0; i < BYTES; i++) numbers[i] = (float)(((type == TORT_INT8 ? (int8_t)i : i) - zero) * scale);
    return known;
}

/* Lets QuantizeLinear read what the clamp reads: its type has the same bounds. */
static tort_status skip(tort_fuser *f, int32_t clamp, int32_t index) {
    const int32_t value = node_at(f, clamp)->inputs[0];
    if (!give_input(f, node_at(f, index), 0, value)) return tort_out_of_memory(f->error, 0);
    f->readers[value]++;
    f->readers[node_at(f, clamp)->outputs[0]] = 0;
    return leave_out(f, &clamp, 1, index);
}

/* Moves QuantizeLinear before a clamp, which becomes a table, or nothing; *index becomes its place. */
static tort_status unclamp(tort_fuser *f, int32_t *index, int32_t provider, region *r, bool *moved) {
    const tort_node *node = node_at(f, *index);
    const int32_t clamp = sole_maker(f, node->inputs[0]), values = f->lowered->graph.value_count;
    const int32_t constants = f->session->constant_count, out = node->outputs[0];
    const tort_type type = info_of(f, out)->type;
    float numbers[BYTES];
    tort_node table;
    *moved = false;
    if (clamp < 0 || info_of(f, node->inputs[0])->type != TORT_FLOAT || f->looked_at[node->inputs[0]] ||
        !is_border(f, clamp, provider, TORT_OP_CLAMPS) || !find_numbers(f, *index, type, numbers))
        return TORT_OK;
    start_region(f, r, node_at(f, clamp)->inputs[0], clamp);
    r->nodes[r->count++] = *index;
    if (!evaluate(f, r, numbers)) return TORT_OK;
    *moved = is_identity(f, r, type);
    if (*moved) return skip(f, clamp, *index);
    if (!make_table(f, *index, node->inputs[0], r->results[1], &table))
        return f->error->code == TORT_E_MEMORY ? TORT_E_MEMORY : TORT_OK;
    const tort_status status = swap(f, clamp, *index, type, r->root, &table, moved);
    if (*moved) *index = clamp;
    if (!*moved) tort_lowered_drop_values(f->lowered, values, constants);
    return status;
}

/* ---- several parts ----------------------------------------------------------------------------------------------- */

/* A node with several outputs that only QuantizeLinear reads: it and all of these are replaced, or none. */
typedef struct parted {
    int32_t index, count, nodes[TORT_FUSED_PARTS]; /* the QuantizeLinears */
    tort_node old[TORT_FUSED_PARTS + 1];           /* of these, and of the node itself */
    const char *names[TORT_FUSED_PARTS];           /* of the parts */
    tort_unit made[TORT_FUSED_PARTS + 1];
    bool same[TORT_FUSED_PARTS]; /* the table changes nothing */
} parted;

/* Finds all readers. False: others than QuantizeLinear read a part, or there are too many. */
static bool find_readers(const tort_fuser *f, int32_t provider, parted *p) {
    const tort_node *node = node_at(f, p->index);
    int32_t readers = 0;
    for (int32_t i = 0; i < node->output_count; i++) {
        const int32_t out = node->outputs[i];
        if (out < 0 || f->looked_at[out] || i == TORT_FUSED_PARTS) return false;
        p->names[i] = f->lowered->graph.values[out].name;
        readers += f->readers[out];
        for (int32_t n = p->index + 1; n < f->lowered->graph.node_count; n++) {
            if (!is_border(f, n, provider, TORT_OP_NARROWS) || node_at(f, n)->inputs[0] != out) continue;
            if (p->count == TORT_FUSED_PARTS || !is_byte(f, node_at(f, n)->outputs[0])) return false;
            p->nodes[p->count++] = n;
        }
    }
    return readers == p->count && p->count > 0;
}

/* Replaces the node, then each QuantizeLinear by a table. */
static tort_status put_parts(tort_fuser *f, parted *p, const float *numbers, int32_t provider, region *r, bool *taken) {
    tort_node made = p->old[p->count];
    if (!give_input(f, &made, 0, node_at(f, f->lowered->graph.values[made.inputs[0]].producer)->inputs[0]))
        return tort_out_of_memory(f->error, 0);
    tort_status status = put(f, p->index, made, p->index, provider, &p->made[p->count], taken);
    for (int32_t k = 0; !status && *taken && k < p->count; k++) {
        start_region(f, r, p->old[k].inputs[0], p->nodes[k]);
        r->type = TORT_FLOAT;
        *taken = evaluate(f, r, numbers) && make_table(f, p->nodes[k], r->root, r->results[0], &made);
        p->same[k] = is_identity(f, r, info_of(f, r->root)->type);
        if (*taken) status = put(f, p->nodes[k], made, p->nodes[k], provider, &p->made[k], taken);
    }
    return status;
}

/* Lets a node that makes several parts of what DequantizeLinear makes work on the 8-bit numbers. */
static tort_status part(tort_fuser *f, int32_t index, int32_t provider, region *r) {
    const tort_unit *unit = &f->lowered->units[index];
    const tort_node *node = node_at(f, index);
    parted p = {.index = index};
    float numbers[BYTES];
    bool taken = false;
    if (unit->provider != provider || unit->segment || !(node->op->flags & TORT_OP_CHOOSES) || node->output_count < 2)
        return TORT_OK;
    const int32_t maker = node->inputs[0] < 0 ? -1 : f->lowered->graph.values[node->inputs[0]].producer;
    if (maker < 0 || !is_border(f, maker, provider, TORT_OP_WIDENS) || !find_readers(f, provider, &p)) return TORT_OK;
    const tort_type type = info_of(f, node_at(f, maker)->inputs[0])->type;
    if (!find_numbers(f, maker, type, numbers)) return TORT_OK;
    for (int32_t k = 0; k < p.count; k++) p.old[k] = *node_at(f, p.nodes[k]);
    p.old[p.count] = *node;
    for (int32_t i = 0; i < node->output_count; i++)
        if (!narrow(f, node->outputs[i], type, node->outputs[i])) return tort_out_of_memory(f->error, 0);
    tort_status status = put_parts(f, &p, numbers, provider, r, &taken);
    for (int32_t k = 0; k <= p.count; k++) {
        const int32_t place = k < p.count ? p.nodes[k] : index;
        if (!taken) *node_at(f, place) = p.old[k];
        if (taken && !status) status = take_parts(f, place, &p.made[k]);
        if (taken) f->lowered->units[place] = p.made[k];
    }
    for (int32_t i = 0; !taken && i < node->output_count; i++) {
        info_of(f, node->outputs[i])->type = TORT_FLOAT;
        f->lowered->graph.values[node->outputs[i]].name = p.names[i];
    }
    if (!taken || status) return status;
    f->readers[p.old[p.count].inputs[0]]--;
    f->readers[node_at(f, index)->inputs[0]]++;
    status = leave_out(f, &maker, 1, index);
    for (int32_t k = 0; !status && k < p.count; k++)
        if (p.same[k] && bypass(f, p.nodes[k], p.old[k].inputs[0])) status = leave_out(f, &p.nodes[k], 1, index);
    return status;
}

/* ---- all nodes --------------------------------------------------------------------------------------------------- */

static tort_status move_borders(tort_fuser *f, int32_t *roots, int32_t provider, region *r) {
    tort_status status = TORT_OK;
    for (int32_t n = 0; !status && n < f->lowered->graph.node_count; n++) {
        int32_t at = n;
        if (fits(f, n, provider, TORT_OP_CHOOSES)) status = sink(f, &at, provider);
        if (!status) status = part(f, n, provider, r);
        bool moved = is_border(f, n, provider, TORT_OP_NARROWS) && is_byte(f, node_at(f, n)->outputs[0]);
        while (!status && moved) {
            status = lift(f, &at, provider, r);
            find_roots(f, roots, at, n + 1, provider);
            moved = false;
            if (!status && root_of_inputs(f, roots, at) < 0) status = unclamp(f, &at, provider, r, &moved);
        }
        find_roots(f, roots, at, n + 1, provider);
    }
    return status;
}

tort_status tort_fuse_integers(tort_fuser *f) {
    const tort_env *env = &f->session->env;
    const size_t count = (size_t)f->counted + 1;
    if (!row_of_tables(f) || f->session->options.onnx_fusions) return TORT_OK;
    int32_t *roots = tort_alloc(env, count * sizeof *roots);
    region *r = tort_alloc(env, sizeof *r);
    tort_status status = roots && r ? TORT_OK : tort_out_of_memory(f->error, sizeof *r);
    for (int32_t p = 0; !status && p < f->session->chain_count; p++) {
        for (int32_t v = 0; v < f->counted; v++) roots[v] = is_byte(f, v) && !tort_is_constant(f->lowered, v) ? v : -1;
        status = move_borders(f, roots, p, r);
        if (!status) status = make_tables(f, roots, p, r);
    }
    if (roots) tort_free(env, roots, count * sizeof *roots);
    if (r) tort_free(env, r, sizeof *r);
    return status;
}
