/* stays.c - which nodes of a converted model stay as they are, but for those that trials find (convert.c).
 *
 * Nodes whose constants or values exceed the new type; the way of small numbers to a logarithm or a denominator, where
 * a 0 in their place is an infinity: the sums and products that make them, and the epsilon that is added. Then what
 * lies between two nodes that stay does so, too, where that saves Casts. */
#include <math.h>
#include <string.h>

#include "ops/numeric.h"
#include "runtime/quantize/convert_state.h"

enum { MAX_CHAIN = 4, FEW_WEIGHTS = 1024 };
static const float SMALL = 0x1p-14f; /* the smallest float16 of full precision */

/* At the end of the file. */
static const char *const way_ops[], *const epsilon_ops[], *const unary_ops[], *const move_ops[], *const cheap_ops[];

static bool is_among(const char *op, const char *const *list) {
    bool is = false;
    for (int32_t i = 0; list[i]; i++) is = is || !strcmp(op, list[i]);
    return is;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

void tort_convert_keep(tort_converted *c, int32_t node, const char *why) {
    if (node >= 0 && c->retype.able[node] && !c->why[node]) c->why[node] = why;
}

static float round_to(const tort_converted *c, float x) {
    uint32_t bits = 0;
    tort_store_floats(c->retype.to, &bits, 0, 1, &x);
    tort_load_floats(c->retype.to, &bits, 0, 1, &x);
    return x;
}

/* True for a constant with an element that is finite, and infinite in the new type; or with one that becomes 0. */
static bool has_lost(const tort_converted *c, int32_t value, bool to_zero) {
    const TortOnnx__TensorProto *constant = value < 0 ? NULL : c->net.values[value].constant;
    const int64_t count = constant && tort_retype_is_from(&c->retype, value) ? tort_net_count(constant) : 0;
    float block[TORT_BLOCK];
    bool lost = false;
    for (int64_t at = 0; at < count && !lost; at += TORT_BLOCK) {
        const int64_t n = tort_block_count(count, at);
        tort_load_floats((tort_type)constant->data_type, constant->raw_data.data, at, n, block);
        for (int64_t i = 0; i < n; i++) {
            const float size = fabsf(block[i]), rounded = round_to(c, size);
            lost = lost || (to_zero ? size > 0 && !(rounded > 0) : size < INFINITY && !(rounded < INFINITY));
        }
    }
    return lost;
}

static void keep_overflowing(tort_converted *c) {
    const char *type = tort_type_name(c->retype.to);
    for (int32_t i = 0; i < c->net.node_count; i++) {
        const tort_net_node *node = &c->net.nodes[i];
        for (int32_t k = 0; c->retype.able[i] && k < node->input_count; k++)
            if (c->retype.moves[i][k] && has_lost(c, node->inputs[k], false))
                tort_convert_keep(c, i,
                                  tort_make_text(&c->maker, "its constant '%s' exceeds %s",
                                                 c->net.values[node->inputs[k]].name, type));
    }
    for (int32_t v = 0; v < c->net.value_count; v++) {
        const tort_net_value *value = &c->net.values[v];
        if (!tort_retype_is_from(&c->retype, v) || value->constant || round_to(c, 2 * c->seen[v].max) < INFINITY)
            continue;
        const char *why = tort_make_text(&c->maker, "'%s' reaches %.3g", value->name, (double)c->seen[v].max);
        tort_convert_keep(c, value->producer, why);
        for (int32_t k = 0; k < value->reader_count; k++) tort_convert_keep(c, tort_net_reader(&c->net, value, k), why);
    }
}

/* Keeps what makes a value that must not vanish, as far as it only sums and multiplies. True: the value, or what it is
 * made of, is small. */
static bool keep_way(tort_converted *c, int32_t value) {
    static const char why[] = "small numbers on the way to a logarithm or denominator";
    enum { UNKNOWN, SAFE, IS_SMALL };
    const int32_t producer = value < 0 ? -1 : c->net.values[value].producer;
    if (producer < 0 || !tort_retype_is_from(&c->retype, value)) return false;
    if (c->way[value] != UNKNOWN) return c->way[value] == IS_SMALL;
    const tort_net_node *node = &c->net.nodes[producer];
    const bool small = c->seen[value].min < SMALL;
    bool found = small;
    c->way[value] = small ? IS_SMALL : SAFE;
    if (!is_among(node->op, way_ops)) return found;
    for (int32_t k = 0; k < node->input_count; k++) {
        found = (is_among(node->op, epsilon_ops) && has_lost(c, node->inputs[k], true)) || found;
        if (small || is_among(node->op, unary_ops)) found = keep_way(c, node->inputs[k]) || found;
    }
    if (found) tort_convert_keep(c, producer, why);
    c->way[value] = found ? IS_SMALL : SAFE;
    return found;
}

/* The input of a node that must not vanish; -1: it may. */
static int32_t sink_of(const tort_converted *c, const tort_net_node *node) {
    if (!strcmp(node->op, "Log") || !strcmp(node->op, "Reciprocal")) return node->inputs[0];
    if (!strcmp(node->op, "Div")) return node->inputs[1];
    if (strcmp(node->op, "Pow") != 0 || node->inputs[1] < 0) return -1;
    const TortOnnx__TensorProto *exponent = c->net.values[node->inputs[1]].constant;
    float x = 0;
    if (exponent && tort_net_count(exponent) == 1)
        tort_load_floats((tort_type)exponent->data_type, exponent->raw_data.data, 0, 1, &x);
    return x < 0 ? node->inputs[0] : -1;
}

static void keep_small(tort_converted *c) {
    for (int32_t i = 0; i < c->net.node_count; i++) {
        const int32_t sink = sink_of(c, &c->net.nodes[i]);
        if (has_lost(c, sink, true) || keep_way(c, sink))
            tort_convert_keep(c, i, "small numbers in a logarithm or denominator");
    }
}

tort_status tort_convert_keep_asked(tort_converted *c) {
    const tort_convert_options *o = c->options;
    const tort_net_kept kept = {o->keep_nodes, o->keep_ops, o->keep_node_count, o->keep_op_count};
    for (int32_t i = 0; i < c->net.node_count; i++)
        if (tort_net_is_kept(&c->net.nodes[i], &kept)) tort_convert_keep(c, i, "it was to be kept");
    return tort_net_check_kept(&c->net, &kept, c->error);
}

const char *tort_convert_type_name(tort_type type) {
    return type == TORT_FLOAT ? "float32" : tort_type_name(type);
}

void tort_convert_keep_unsafe(tort_converted *c) {
    for (int32_t i = 0; i < c->net.node_count; i++)
        if (c->retype.why[i]) c->why[i] = c->retype.why[i];
    if (c->retype.to == TORT_FLOAT) return;
    keep_overflowing(c);
    if (c->retype.to == TORT_FLOAT16) keep_small(c);
    for (int32_t i = 0; i < c->net.node_count; i++)
        if (!strcmp(c->net.nodes[i].op, "Range") || !strcmp(c->net.nodes[i].op, "CumSum"))
            tort_convert_keep(c, i, "it counts, which takes more digits");
}

bool tort_convert_is_move(const char *op) {
    return is_among(op, move_ops);
}

/* ---- islands ----------------------------------------------------------------------------------------------------- */

/* True for a node that may stay for its neighbours' sake: it costs little in either type. */
static bool is_cheap(const tort_converted *c, int32_t node) {
    const tort_net_node *n = &c->net.nodes[node];
    int64_t weights = 0;
    for (int32_t k = 0; k < n->input_count; k++)
        if (n->inputs[k] >= 0 && c->net.values[n->inputs[k]].constant)
            weights += tort_net_count(c->net.values[n->inputs[k]].constant);
    return c->changed[node] && weights <= FEW_WEIGHTS && (is_among(n->op, cheap_ops) || is_among(n->op, move_ops));
}

/* Keeps a node, and then what reads it, until there are fewer Casts than `casts`; else all change as before. */
static bool keep_chain(tort_converted *c, int32_t node, int32_t casts, int32_t left) {
    if (!left || !is_cheap(c, node)) return false;
    c->changed[node] = false;
    if (tort_retype_casts(&c->retype, c->changed, false, c->need) < casts) return true;
    for (int32_t o = 0; o < c->net.nodes[node].output_count; o++) {
        const tort_net_value *value =
            c->net.nodes[node].outputs[o] < 0 ? NULL : &c->net.values[c->net.nodes[node].outputs[o]];
        for (int32_t k = 0; value && k < value->reader_count && k < 2; k++)
            if (keep_chain(c, tort_net_reader(&c->net, value, k), casts, left - 1)) return true;
    }
    c->changed[node] = true;
    return false;
}

/* The one value that a node moves; -1: it does something else, or moves several. */
static int32_t moved_by(const tort_converted *c, int32_t node) {
    const tort_net_node *n = &c->net.nodes[node];
    int32_t moved = -1, count = 0;
    if (!c->retype.able[node] || !is_among(n->op, move_ops)) return -1;
    for (int32_t k = 0; k < n->input_count; k++)
        if (c->retype.moves[node][k] && tort_net_is_live(&c->net, n->inputs[k])) moved = n->inputs[k], count++;
    return count == 1 ? moved : -1;
}

/* Keeps nodes that move a value from one that stays to another: none of them costs a Cast more than it saves. */
static void keep_moves(tort_converted *c) {
    bool *wanted = c->wanted; /* by value: read by what stays, there or behind nodes that move it */
    memset(wanted, 0, (size_t)c->net.value_count * sizeof *wanted);
    for (int32_t i = c->net.node_count; i-- > 0;) {
        const tort_net_node *node = &c->net.nodes[i];
        const int32_t moved = c->changed[i] ? moved_by(c, i) : -1;
        for (int32_t o = 0; moved >= 0 && o < node->output_count; o++)
            wanted[moved] = wanted[moved] || (node->outputs[o] >= 0 && wanted[node->outputs[o]]);
        for (int32_t k = 0; !c->changed[i] && !c->retype.either[i] && k < node->input_count; k++)
            if (node->inputs[k] >= 0) wanted[node->inputs[k]] = true;
    }
    for (int32_t i = 0; i < c->net.node_count; i++) {
        const int32_t moved = c->changed[i] ? moved_by(c, i) : -1, p = moved < 0 ? -1 : c->net.values[moved].producer;
        if (moved < 0 || (p >= 0 ? c->changed[p] : !c->net.values[moved].is_input)) continue;
        for (int32_t o = 0; o < c->net.nodes[i].output_count; o++)
            if (c->net.nodes[i].outputs[o] >= 0 && wanted[c->net.nodes[i].outputs[o]]) c->changed[i] = false;
    }
}

void tort_convert_grow(tort_converted *c) {
    keep_moves(c);
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = 0; i < c->net.node_count; i++) {
            bool beside = false;
            for (int32_t k = 0; is_cheap(c, i) && k < c->net.nodes[i].input_count; k++) {
                const int32_t value = c->net.nodes[i].inputs[k], p = value < 0 ? -1 : c->net.values[value].producer;
                beside = beside || (p >= 0 ? !c->changed[p] : value >= 0 && c->net.values[value].is_input);
            }
            if (!beside) continue;
            const int32_t casts = tort_retype_casts(&c->retype, c->changed, false, c->need);
            again = keep_chain(c, i, casts, MAX_CHAIN) || again;
        }
        if (again) keep_moves(c);
    }
}

/* Operators that only sum, multiply, bound or move. */
static const char *const way_ops[] = {
    "Add",     "Sub",       "Mul",     "Div",       "Pow",      "Sqrt",     "Abs",        "Max",
    "Clip",    "Sum",       "MatMul",  "ReduceSum", "ReduceL1", "ReduceL2", "ReduceMean", "ReduceSumSquare",
    "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice",    "Identity", "Concat",     "Expand",
    NULL};
/* Operators whose constant may be what keeps a sum from 0. */
static const char *const epsilon_ops[] = {"Add", "Sub", "Sum", "Max", "Clip", NULL};
/* Operators of one value: behind them an epsilon is looked for even if no sample came near it. */
static const char *const unary_ops[] = {"Sqrt",      "Abs",      "Reshape", "Transpose", "Squeeze",
                                        "Unsqueeze", "Identity", "Expand",  NULL};
/* Operators that move or select elements: they round nothing that their neighbours do not. */
static const char *const move_ops[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Identity", "Concat",
                                       "Expand",  "Gather",    "Split",   "Flatten",   "Pad",   "Tile",     "Where",
                                       "Max",     "Min",       "MaxPool", "Relu",      "Neg",   "Abs",      NULL};
/* Others that cost little in either type. */
static const char *const cheap_ops[] = {"Add",
                                        "Sub",
                                        "Mul",
                                        "Div",
                                        "Pow",
                                        "Sqrt",
                                        "Clip",
                                        "Sigmoid",
                                        "Tanh",
                                        "Exp",
                                        "Log",
                                        "Erf",
                                        "HardSigmoid",
                                        "HardSwish",
                                        "LeakyRelu",
                                        "Equal",
                                        "Greater",
                                        "Less",
                                        "GreaterOrEqual",
                                        "LessOrEqual",
                                        "Floor",
                                        "Ceil",
                                        "Round",
                                        "Reciprocal",
                                        "Sin",
                                        "Cos",
                                        "Softplus",
                                        "ReduceSum",
                                        "ReduceMean",
                                        "ReduceMax",
                                        "ReduceMin",
                                        "Cast",
                                        "Softmax",
                                        "ConstantOfShape",
                                        "IsNaN",
                                        "IsInf",
                                        NULL};
