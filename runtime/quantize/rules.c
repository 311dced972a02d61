/* rules.c - operators that 8 bits suit, and the nodes of a net that are one in it (rules.h).
 *
 * Joined: Conv, ConvTranspose, Gemm, MatMul or Add with a Relu or Clip that alone reads them, and MatMul with the Add
 * of its bias. The value between is never rounded, and the nodes stay float together: otherwise it would become a new
 * rounding. Region: elementwise nodes that depend on one value alone, as x * sigmoid(x) or a GELU in pieces, are one
 * table of 256 entries whatever is inside, so nothing inside is rounded. */
#include "runtime/quantize/rules.h"

#include <string.h>

static const tort_rule rows[];

static const tort_rule *row_of(const char *op) {
    for (const tort_rule *row = rows; row->op; row++)
        if (!strcmp(row->op, op)) return row;
    return NULL;
}

static bool is_kind(const tort_rule *row, uint32_t kinds) {
    return row && row->kinds & kinds;
}

/* ---- nodes that can be in 8 bits --------------------------------------------------------------------------------- */

static bool is_bias(const tort_net *net, const tort_net_node *add) {
    for (int32_t k = 0; k < add->input_count; k++)
        if (!tort_net_is_live(net, add->inputs[k]) && net->values[add->inputs[k]].rank <= 1) return true;
    return false;
}

/* An Add of two tensors that a run computes, as at the end of a residual block. */
static bool is_sum(const tort_net *net, const tort_net_node *node) {
    return !strcmp(node->op, "Add") && tort_net_is_live(net, node->inputs[0]) && tort_net_is_live(net, node->inputs[1]);
}

/* True if the value's maker and its only reader would be one, if both were in 8 bits. */
static bool joins(const tort_rules *rules, int32_t value) {
    const tort_net *net = rules->net;
    const tort_net_value *v = &net->values[value];
    if (v->producer < 0 || v->reader_count != 1 || v->is_output || v->captured) return false;
    const int32_t to = tort_net_reader(net, v, 0);
    const tort_net_node *maker = &net->nodes[v->producer], *reader = &net->nodes[to];
    if (!strcmp(reader->op, "Add") && !strcmp(maker->op, "MatMul"))
        return !tort_net_is_live(net, maker->inputs[1]) && is_bias(net, reader);
    return is_kind(row_of(reader->op), TORT_RULE_CLAMP) && reader->inputs[0] == value &&
           (is_kind(rules->rows[v->producer], TORT_RULE_WEIGHTS) || is_sum(net, maker));
}

/* Roots: the value that all live inputs of an elementwise node depend on. What is joined to a product begins anew. */
static void find_root(tort_rules *rules, int32_t index) {
    const tort_net *net = rules->net;
    const tort_net_node *node = &net->nodes[index];
    int32_t root = -1;
    if (!is_kind(rules->rows[index], TORT_RULE_UNARY | TORT_RULE_BINARY) || node->output_count != 1) return;
    for (int32_t k = 0; k < node->input_count; k++) {
        const int32_t value = node->inputs[k];
        if (value < 0) continue;
        if (!tort_net_is_float(net, value)) return;
        if (!tort_net_is_live(net, value)) {
            if (tort_net_count(net->values[value].constant) != 1) return;
        } else if (joins(rules, value))
            return;
        else if (root < 0)
            root = rules->root[value];
        else if (root != rules->root[value])
            return;
    }
    if (root >= 0 && tort_net_is_float(net, node->outputs[0])) rules->root[node->outputs[0]] = root;
}

static bool has_root(const tort_rules *rules, int32_t value) {
    return rules->root[value] != value;
}

/* NULL: the node can be in 8 bits; otherwise why not. */
static const char *refusal(const tort_rules *rules, int32_t index) {
    const tort_net *net = rules->net;
    const tort_net_node *node = &net->nodes[index];
    const tort_rule *row = rules->rows[index];
    bool live = false;
    if (!row) return "no 8-bit form";
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0 && !tort_net_is_float(net, node->outputs[k])) return "its output is not float32";
    for (int32_t k = 0; k < node->input_count; k++)
        live = live || (tort_net_is_live(net, node->inputs[k]) && tort_net_is_float(net, node->inputs[k]));
    if (!live) return "no float32 input that a run computes";
    if (!tort_net_is_float(net, node->inputs[0])) return "its first input is not float32";
    if (has_root(rules, node->outputs[0]) || joins(rules, node->inputs[0])) return NULL;
    if (is_kind(row, TORT_RULE_WEIGHTS)) {
        const bool plain = strcmp(node->op, "MatMul") != 0;
        if (!tort_net_is_float(net, node->inputs[1])) return "its weights are not float32";
        if (!tort_net_is_live(net, node->inputs[0])) return "its first input is a constant";
        return plain && tort_net_is_live(net, node->inputs[1]) ? "its weights are computed in the run" : NULL;
    }
    if (is_kind(row, TORT_RULE_SAME) && !tort_net_is_live(net, node->inputs[0])) return "its input is a constant";
    return is_kind(row, TORT_RULE_SAME | TORT_RULE_SUMS | TORT_RULE_CONCAT) ? NULL : "its inputs are two tensors";
}

/* ---- nodes that are one ------------------------------------------------------------------------------------------ */

static bool is_joined(const tort_rules *rules, int32_t value) {
    return joins(rules, value) && rules->able[rules->net->values[value].producer] &&
           rules->able[tort_net_reader(rules->net, &rules->net->values[value], 0)];
}

/* Nodes that share a joined value are one unit; the makers come before the readers. */
void tort_rules_number(tort_rules *rules) {
    const tort_net *net = rules->net;
    rules->unit_count = 0;
    for (int32_t i = 0; i < net->value_count; i++) rules->joined[i] = is_joined(rules, i);
    for (int32_t i = 0; i < net->node_count; i++) {
        rules->unit[i] = -1;
        if (!rules->able[i]) continue;
        for (int32_t k = 0; k < net->nodes[i].input_count; k++) {
            const int32_t value = net->nodes[i].inputs[k];
            if (value >= 0 && rules->joined[value]) rules->unit[i] = rules->unit[net->values[value].producer];
        }
        if (rules->unit[i] < 0) rules->unit[i] = rules->unit_count++;
    }
}

void tort_rules_refuse(tort_rules *rules, int32_t node, const char *why) {
    if (rules->able[node]) rules->why[node] = why;
    rules->able[node] = false;
}

/* TensorRT takes Q and DQ at the inputs of what multiplies, and of an Add of two tensors; all else follows. */
static void keep_products(tort_rules *rules) {
    for (int32_t i = 0; i < rules->net->node_count; i++) {
        if (!is_sum(rules->net, &rules->net->nodes[i]) && !is_kind(rules->rows[i], TORT_RULE_WEIGHTS))
            tort_rules_refuse(rules, i, "scheme tensorrt: TensorRT decides between products");
    }
}

void tort_rules_apply(tort_rules *rules, const tort_net *net, tort_scheme scheme, tort_maker *maker) {
    const size_t nodes = (size_t)net->node_count, values = (size_t)net->value_count;
    *rules = (tort_rules){.net = net,
                          .rows = tort_make(maker, nodes, sizeof *rules->rows),
                          .able = tort_make(maker, nodes, sizeof *rules->able),
                          .why = tort_make(maker, nodes, sizeof *rules->why),
                          .joined = tort_make(maker, values, sizeof *rules->joined),
                          .root = tort_make(maker, values, sizeof *rules->root),
                          .unit = tort_make(maker, nodes, sizeof *rules->unit)};
    for (int32_t i = 0; i < net->value_count; i++) rules->root[i] = i;
    for (int32_t i = 0; i < net->node_count; i++) {
        rules->rows[i] = row_of(net->nodes[i].op);
        find_root(rules, i);
        rules->why[i] = refusal(rules, i);
        rules->able[i] = !rules->why[i];
    }
    if (scheme == TORT_SCHEME_TENSORRT) keep_products(rules);
    tort_rules_number(rules);
}

bool tort_rules_is_inner(const tort_rules *rules, const bool *bytes, int32_t value) {
    const tort_net_value *v = &rules->net->values[value];
    if (!has_root(rules, value) || !bytes[v->producer] || v->is_output || v->captured) return false;
    for (int32_t k = 0; k < v->reader_count; k++) {
        const int32_t reader = tort_net_reader(rules->net, v, k);
        const int32_t output = rules->net->nodes[reader].outputs[0];
        if (!bytes[reader] || output < 0 || !has_root(rules, output) || rules->root[output] != rules->root[value])
            return false;
    }
    return true;
}

int32_t tort_rules_weight_axis(const tort_net *net, const tort_net_node *node) {
    const int32_t rank = net->values[node->inputs[1]].rank;
    if (rank < 2) return -1;
    if (!strcmp(node->op, "Conv")) return 0;
    if (!strcmp(node->op, "ConvTranspose")) return tort_net_int(node, "group", 1) > 1 ? -1 : 1;
    if (!strcmp(node->op, "Gemm")) return tort_net_int(node, "transB", 0) ? 0 : 1;
    return rank - 1;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const tort_rule rows[] = {
    {"Conv", TORT_RULE_WEIGHTS, 0, 0},
    {"ConvTranspose", TORT_RULE_WEIGHTS, 0, 0},
    {"Gemm", TORT_RULE_WEIGHTS, 0, 0},
    {"MatMul", TORT_RULE_WEIGHTS, 0, 0},
    {"Add", TORT_RULE_SUMS | TORT_RULE_BINARY, 0, 0},
    {"AveragePool", TORT_RULE_SUMS, 0, 0},
    {"Concat", TORT_RULE_CONCAT, 0, 0},
    {"GlobalAveragePool", TORT_RULE_SUMS, 0, 0},
    {"Mul", TORT_RULE_SUMS | TORT_RULE_BINARY, 0, 0},
    {"ReduceMean", TORT_RULE_SUMS, 0, 0},
    {"Resize", TORT_RULE_SUMS, 0, 0},
    {"Softmax", TORT_RULE_SUMS | TORT_RULE_FIXED, 0, 1},
    {"Sub", TORT_RULE_SUMS | TORT_RULE_BINARY, 0, 0},
    {"DepthToSpace", TORT_RULE_SAME, 0, 0},
    {"Expand", TORT_RULE_SAME, 0, 0},
    {"Flatten", TORT_RULE_SAME, 0, 0},
    {"Gather", TORT_RULE_SAME, 0, 0},
    {"Identity", TORT_RULE_SAME, 0, 0},
    {"MaxPool", TORT_RULE_SAME, 0, 0},
    {"Pad", TORT_RULE_SAME, 0, 0},
    {"Reshape", TORT_RULE_SAME, 0, 0},
    {"Slice", TORT_RULE_SAME, 0, 0},
    {"SpaceToDepth", TORT_RULE_SAME, 0, 0},
    {"Split", TORT_RULE_SAME, 0, 0},
    {"Squeeze", TORT_RULE_SAME, 0, 0},
    {"Transpose", TORT_RULE_SAME, 0, 0},
    {"Unsqueeze", TORT_RULE_SAME, 0, 0},
    {"Abs", TORT_RULE_UNARY, 0, 0},
    {"Clip", TORT_RULE_UNARY | TORT_RULE_CLAMP, 0, 0},
    {"Elu", TORT_RULE_UNARY, 0, 0},
    {"Erf", TORT_RULE_UNARY | TORT_RULE_FIXED, -1, 1},
    {"Exp", TORT_RULE_UNARY, 0, 0},
    {"Floor", TORT_RULE_UNARY, 0, 0},
    {"Gelu", TORT_RULE_UNARY, 0, 0},
    {"HardSigmoid", TORT_RULE_UNARY | TORT_RULE_FIXED, 0, 1},
    {"HardSwish", TORT_RULE_UNARY, 0, 0},
    {"LeakyRelu", TORT_RULE_UNARY, 0, 0},
    {"Log", TORT_RULE_UNARY, 0, 0},
    {"Mish", TORT_RULE_UNARY, 0, 0},
    {"Neg", TORT_RULE_UNARY, 0, 0},
    {"PRelu", TORT_RULE_UNARY, 0, 0},
    {"Reciprocal", TORT_RULE_UNARY, 0, 0},
    {"Relu", TORT_RULE_UNARY | TORT_RULE_CLAMP, 0, 0},
    {"Round", TORT_RULE_UNARY, 0, 0},
    {"Selu", TORT_RULE_UNARY, 0, 0},
    {"Sigmoid", TORT_RULE_UNARY | TORT_RULE_FIXED, 0, 1},
    {"Softplus", TORT_RULE_UNARY, 0, 0},
    {"Sqrt", TORT_RULE_UNARY, 0, 0},
    {"Swish", TORT_RULE_UNARY, 0, 0},
    {"Tanh", TORT_RULE_UNARY | TORT_RULE_FIXED, -1, 1},
    {"Div", TORT_RULE_BINARY, 0, 0},
    {"Max", TORT_RULE_BINARY, 0, 0},
    {"Min", TORT_RULE_BINARY, 0, 0},
    {"Pow", TORT_RULE_BINARY, 0, 0},
    {NULL, 0, 0, 0},
};
