/* write.c - QuantizeLinear and DequantizeLinear around the nodes that are in 8 bits (write.h).
 *
 * A value that a node in 8 bits reads or writes is rounded once, behind what makes it, and all such nodes read it
 * there. Constants are stored as codes with a DequantizeLinear, biases as int32 in the scale of their products. Outputs
 * of the graph keep their names: what makes one writes NAME_float. Example: Conv -> Relu of x becomes x -> Q -> DQ ->
 * Conv(w8 -> DQ, b32 -> DQ) -> Relu -> Q -> DQ. */
#include "runtime/quantize/write.h"

#include <math.h>
#include <string.h>

typedef struct qdq {
    const tort_write_choice *choice;
    const tort_net *net;
    tort_maker *maker;
    tort_net_writer out;
    char **rounded; /* by value: the name behind its DequantizeLinear; NULL: not rounded so far */
    float *scales;  /* by value that is rounded */
    char **biases;  /* by node: of an Add behind a MatMul, the bias in codes; NULL: none */
} qdq;

static bool is_symmetric(const qdq *q) {
    return q->choice->scheme == TORT_SCHEME_TENSORRT;
}

/* Difference between a code of 0..255 and what is written: a Cortex-M widens int8 in fewer instructions than uint8. */
static int32_t signed_by(const qdq *q) {
    return q->choice->scheme == TORT_SCHEME_FIRMWARE ? 128 : 0;
}

static tort_type code_type(const qdq *q) {
    return q->choice->scheme == TORT_SCHEME_ORT ? TORT_UINT8 : TORT_INT8;
}

/* True if what makes the value rounds it: then all that read it, read it rounded. */
static bool is_made_rounded(const qdq *q, int32_t value) {
    const tort_net_value *v = &q->net->values[value];
    return v->producer >= 0 && q->choice->bytes[v->producer] && !is_symmetric(q) && !q->choice->rules->joined[value] &&
           !tort_rules_is_inner(q->choice->rules, q->choice->bytes, value);
}

/* The name under which the value's maker writes it. */
static char *plain_name(qdq *q, int32_t value) {
    const tort_net_value *v = &q->net->values[value];
    return v->is_output && is_made_rounded(q, value) ? tort_net_fresh(q->net, v->name, "_float", q->maker) : v->name;
}

/* ---- values and constants ---------------------------------------------------------------------------------------- */

/* The initializers of a scale and of a zero point. */
static void add_codes(qdq *q, const char *name, float scale, int32_t zero, char *names[2]) {
    const uint8_t code = (uint8_t)(zero - signed_by(q));
    names[0] =
        tort_net_scalar(&q->out, tort_net_fresh(q->net, name, "_scale", q->maker), TORT_FLOAT, &scale, sizeof scale);
    names[1] = tort_net_scalar(&q->out, tort_net_fresh(q->net, name, "_zero_point", q->maker), code_type(q), &code,
                               sizeof code);
}

static char *round_value(qdq *q, int32_t value) {
    const tort_net_value *v = &q->net->values[value];
    char *codes[2];
    int32_t zero;
    if (q->rounded[value]) return q->rounded[value];
    tort_range_codes(q->choice->ranges[value], is_symmetric(q), &q->scales[value], &zero);
    add_codes(q, v->name, q->scales[value], zero, codes);
    char *quantized = tort_net_fresh(q->net, v->name, "_QuantizeLinear_Output", q->maker);
    char *name = v->is_output && is_made_rounded(q, value)
                     ? v->name
                     : tort_net_fresh(q->net, v->name, "_DequantizeLinear_Output", q->maker);
    tort_net_node_of(&q->out, "QuantizeLinear", quantized, (char *[]){plain_name(q, value), codes[0], codes[1], NULL});
    tort_net_node_of(&q->out, "DequantizeLinear", name, (char *[]){quantized, codes[0], codes[1], NULL});
    return q->rounded[value] = name;
}

/* An operand that is a constant, in codes of one scale. */
static char *round_constant(qdq *q, int32_t value) {
    const tort_net_value *v = &q->net->values[value];
    const float *from = (const float *)(const void *)v->constant->raw_data.data;
    const int64_t count = tort_net_count(v->constant);
    uint8_t *codes = tort_make(q->maker, (size_t)count, 1);
    tort_range range = {0, 0};
    char *names[2];
    float scale;
    int32_t zero;
    if (q->rounded[value]) return q->rounded[value];
    for (int64_t i = 0; i < count; i++) {
        range.low = fminf(range.low, from[i]);
        range.high = fmaxf(range.high, from[i]);
    }
    tort_range_codes(range, is_symmetric(q), &scale, &zero);
    add_codes(q, v->name, scale, zero, names);
    for (int64_t i = 0; i < count; i++) {
        const float code = nearbyintf(from[i] / scale) + (float)zero;
        codes[i] = is_symmetric(q) ? (uint8_t)(int8_t)fminf(fmaxf(code, -127), 127)
                                   : (uint8_t)((int32_t)fminf(fmaxf(code, 0), 255) - signed_by(q));
    }
    char *quantized = tort_net_constant(&q->out, tort_net_fresh(q->net, v->name, "_quantized", q->maker), code_type(q),
                                        v->rank, v->dims, codes);
    char *name = tort_net_fresh(q->net, v->name, "_DequantizeLinear_Output", q->maker);
    tort_net_node_of(&q->out, "DequantizeLinear", name, (char *[]){quantized, names[0], names[1], NULL});
    return q->rounded[value] = name;
}

/* ---- weights and biases ------------------------------------------------------------------------------------------ */

static const tort_byte_weights *cached_weights(qdq *q, int32_t value, int32_t axis) {
    tort_weight_cache *cache = q->choice->weights;
    tort_byte_weights *kept = &cache->by_value[value];
    if (!kept->codes) {
        *kept = tort_weights_of(q->net->values[value].constant, axis, NULL, cache->maker);
        cache->axes[value] = axis;
    }
    if (cache->axes[value] == axis) return kept;
    tort_byte_weights *other = tort_make(q->maker, 1, sizeof *other);
    *other = tort_weights_of(q->net->values[value].constant, axis, NULL, q->maker);
    return other;
}

/* The Add that is one with a MatMul; -1: there is none. */
static int32_t add_behind(const qdq *q, int32_t index) {
    const tort_net_node *node = &q->net->nodes[index];
    const int32_t value = node->outputs[0];
    if (strcmp(node->op, "MatMul") != 0 || value < 0 || !q->choice->rules->joined[value]) return -1;
    const int32_t reader = tort_net_reader(q->net, &q->net->values[value], 0);
    return strcmp(q->net->nodes[reader].op, "Add") ? -1 : reader;
}

/* The value that a node adds to its products, by channel; -1: none. */
static int32_t bias_value(const qdq *q, int32_t index) {
    const tort_net_node *node = &q->net->nodes[index];
    const int32_t add = add_behind(q, index);
    if (add >= 0) {
        const int32_t *inputs = q->net->nodes[add].inputs;
        return inputs[inputs[0] == node->outputs[0]];
    }
    return strcmp(node->op, "MatMul") != 0 && node->input_count > 2 ? node->inputs[2] : -1;
}

/* True if a node has a bias by channel in a form that can be changed, or can have one. */
static bool can_shift(const qdq *q, int32_t index) {
    const tort_net_node *node = &q->net->nodes[index];
    if (tort_net_is_live(q->net, node->inputs[1])) return false;
    const tort_net_value *weights = &q->net->values[node->inputs[1]];
    const int32_t value = bias_value(q, index), axis = tort_rules_weight_axis(q->net, node);
    if (axis < 0 || q->net->values[node->outputs[0]].rank < 2 || tort_net_float(node, "alpha", 1) != 1 ||
        tort_net_float(node, "beta", 1) != 1)
        return false;
    if (value < 0) return strcmp(node->op, "MatMul") != 0;
    return !tort_net_is_live(q->net, value) && tort_net_count(q->net->values[value].constant) == weights->dims[axis];
}

/* A bias by channel with what the choice adds; NULL: the node has none, or one of another form. */
static double *bias_of(qdq *q, int32_t index, int64_t channels) {
    const int32_t value = bias_value(q, index);
    const double *shift = q->choice->shift ? q->choice->shift[index] : NULL;
    if (!can_shift(q, index) || (value < 0 && !shift)) return NULL;
    const TortOnnx__TensorProto *constant = value < 0 ? NULL : q->net->values[value].constant;
    double *bias = tort_make(q->maker, (size_t)channels, sizeof *bias);
    for (int64_t c = 0; c < channels; c++)
        bias[c] =
            (constant ? (double)((const float *)(const void *)constant->raw_data.data)[c] : 0) + (shift ? shift[c] : 0);
    return bias;
}

/* Writes a bias: in int32 if its products have scales, else in float32. */
static char *add_bias(qdq *q, const char *node, const double *bias, double scale, const tort_byte_weights *weights,
                      int64_t channels) {
    char *name = tort_net_fresh(q->net, node, "_bias", q->maker);
    float *plain = tort_make(q->maker, (size_t)channels, sizeof *plain);
    float *scales = tort_make(q->maker, (size_t)channels, sizeof *scales);
    int32_t *codes = tort_make(q->maker, (size_t)channels, sizeof *codes);
    bool holds = !is_symmetric(q);
    for (int64_t c = 0; c < channels; c++) {
        plain[c] = (float)bias[c];
        scales[c] = (float)(scale * (double)weights->scales[weights->channels == 1 ? 0 : c]);
        holds = holds && fabs(bias[c]) < 0x1p31 * (double)scales[c] * 0.999;
        codes[c] = holds ? (int32_t)nearbyint(bias[c] / (double)scales[c]) : 0;
    }
    if (!holds) return tort_net_constant(&q->out, name, TORT_FLOAT, 1, &channels, plain);
    char *scale_name = tort_net_constant(&q->out, tort_net_fresh(q->net, node, "_bias_scale", q->maker), TORT_FLOAT, 1,
                                         &channels, scales);
    char *quantized = tort_net_constant(&q->out, tort_net_fresh(q->net, node, "_bias_quantized", q->maker), TORT_INT32,
                                        1, &channels, codes);
    TortOnnx__NodeProto *made =
        tort_net_node_of(&q->out, "DequantizeLinear", name, (char *[]){quantized, scale_name, NULL});
    tort_net_set_int(&q->out, made, "axis", 0);
    return name;
}

/* A channel whose weights are next to nothing has so small a scale that its bias exceeds int32: its scale grows. */
static const tort_byte_weights *hold_bias(qdq *q, int32_t value, int32_t axis, const tort_byte_weights *weights,
                                          const double *bias, double scale) {
    double *min_scales = tort_make(q->maker, (size_t)weights->channels, sizeof *min_scales);
    bool holds = true;
    for (int64_t c = 0; bias && c < weights->channels; c++) {
        min_scales[c] = fabs(bias[c]) / (0x1p30 * scale);
        holds = holds && min_scales[c] <= (double)weights->scales[c];
    }
    if (holds || weights->channels == 1) return weights;
    tort_byte_weights *made = tort_make(q->maker, 1, sizeof *made);
    *made = tort_weights_of(q->net->values[value].constant, axis, min_scales, q->maker);
    return made;
}

static char *add_weights(qdq *q, const tort_net_node *node, const tort_byte_weights *weights, int32_t axis) {
    const tort_net_value *v = &q->net->values[node->inputs[1]];
    char *base = v->reader_count > 1 ? tort_make_text(q->maker, "%s_%s", v->name, node->name) : v->name;
    const int32_t rank = axis < 0 ? 0 : 1;
    const int8_t *zeros = tort_make(q->maker, (size_t)weights->channels, 1);
    char *codes = tort_net_constant(&q->out, tort_net_fresh(q->net, base, "_quantized", q->maker), TORT_INT8, v->rank,
                                    v->dims, weights->codes);
    char *scales = tort_net_constant(&q->out, tort_net_fresh(q->net, base, "_scale", q->maker), TORT_FLOAT, rank,
                                     &weights->channels, weights->scales);
    char *zero = tort_net_constant(&q->out, tort_net_fresh(q->net, base, "_zero_point", q->maker), TORT_INT8, rank,
                                   &weights->channels, zeros);
    TortOnnx__NodeProto *made = tort_net_node_of(&q->out, "DequantizeLinear",
                                                 tort_net_fresh(q->net, base, "_DequantizeLinear_Output", q->maker),
                                                 (char *[]){codes, scales, zero, NULL});
    if (axis >= 0) tort_net_set_int(&q->out, made, "axis", axis);
    return made->output[0];
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void read_product(qdq *q, int32_t index, TortOnnx__NodeProto *to) {
    const tort_net_node *node = &q->net->nodes[index];
    const int32_t value = node->inputs[1], axis = tort_rules_weight_axis(q->net, node);
    to->input[0] = round_value(q, node->inputs[0]);
    if (tort_net_is_live(q->net, value)) {
        to->input[1] = round_value(q, value);
        return;
    }
    const tort_byte_weights *weights = cached_weights(q, value, axis);
    const int64_t channels = weights->channels;
    const double scale = (double)q->scales[node->inputs[0]], *bias = bias_of(q, index, channels);
    weights = hold_bias(q, value, axis, weights, bias, scale);
    to->input[1] = add_weights(q, node, weights, axis);
    if (!bias) return;
    char *name = add_bias(q, node->name, bias, scale, weights, channels);
    if (add_behind(q, index) >= 0)
        q->biases[add_behind(q, index)] = name;
    else
        to->input[2] = name;
}

/* Operands of a node in 8 bits that does not multiply by weights. */
static void read_operands(qdq *q, int32_t index, TortOnnx__NodeProto *to) {
    const tort_net_node *node = &q->net->nodes[index];
    const tort_rules *rules = q->choice->rules;
    const uint32_t kinds = rules->rows[index]->kinds;
    const int32_t output = node->outputs[0], root = output < 0 ? -1 : rules->root[output];
    bool joined = false;
    for (int32_t k = 0; k < node->input_count; k++)
        joined = joined || (node->inputs[k] >= 0 && rules->joined[node->inputs[k]]);
    for (int32_t k = 0; k < node->input_count; k++) {
        const int32_t value = node->inputs[k];
        if (value < 0) continue;
        to->input[k] = plain_name(q, value);
        if (!tort_net_is_float(q->net, value)) continue;
        if (tort_net_is_live(q->net, value)) {
            const bool within = root != output && value != root;
            if (!within && !rules->joined[value]) to->input[k] = round_value(q, value);
        } else if (q->biases[index])
            to->input[k] = q->biases[index];
        else if (root == output && !joined && kinds & (TORT_RULE_BINARY | TORT_RULE_CONCAT))
            to->input[k] = round_constant(q, value);
    }
}

static void write_bytes(qdq *q, int32_t index) {
    const tort_net_node *node = &q->net->nodes[index];
    const bool product = q->choice->rules->rows[index]->kinds & TORT_RULE_WEIGHTS;
    const bool shifted = product && strcmp(node->op, "MatMul") != 0 && q->choice->shift && q->choice->shift[index];
    TortOnnx__NodeProto *to = tort_net_copy_node(&q->out, node, shifted ? 3 : 0);
    if (product)
        read_product(q, index, to);
    else
        read_operands(q, index, to);
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0) to->output[k] = plain_name(q, node->outputs[k]);
    tort_net_add_node(&q->out, to);
    for (int32_t k = 0; k < node->output_count; k++)
        if (node->outputs[k] >= 0 && is_made_rounded(q, node->outputs[k])) round_value(q, node->outputs[k]);
}

static void write_float(qdq *q, int32_t index) {
    const tort_net_node *node = &q->net->nodes[index];
    TortOnnx__NodeProto *to = tort_net_copy_node(&q->out, node, 0);
    for (int32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] >= 0 && is_made_rounded(q, node->inputs[k])) to->input[k] = round_value(q, node->inputs[k]);
    tort_net_add_node(&q->out, to);
}

/* ---- twins ------------------------------------------------------------------------------------------------------- */

/* Behind a node in float32: the same with rounded input and weights, and the mean by channel of what it lacks. */
static char *write_twin(qdq *q, int32_t index, int64_t opset) {
    const tort_net_node *node = &q->net->nodes[index];
    const int32_t axis = tort_rules_weight_axis(q->net, node), rank = q->net->values[node->outputs[0]].rank;
    TortOnnx__NodeProto *twin = tort_net_copy_node(&q->out, node, 0);
    char *output = q->net->values[node->outputs[0]].name, *made = tort_net_fresh(q->net, output, "_twin", q->maker);
    char *difference = tort_net_fresh(q->net, output, "_difference", q->maker),
         *mean = tort_net_fresh(q->net, output, "_mean", q->maker);
    twin->name = made;
    twin->input[0] = round_value(q, node->inputs[0]);
    twin->input[1] = add_weights(q, node, cached_weights(q, node->inputs[1], axis), axis);
    twin->output[0] = made;
    tort_net_add_node(&q->out, twin);
    tort_net_node_of(&q->out, "Sub", difference, (char *[]){output, made, NULL});
    int64_t *axes = tort_make(q->maker, (size_t)rank, sizeof *axes), count = 0;
    const int32_t channel = strcmp(node->op, "MatMul") ? 1 : rank - 1;
    for (int32_t i = 0; i < rank; i++)
        if (i != channel) axes[count++] = i;
    const bool as_input = opset >= 18;
    char *name = as_input ? tort_net_constant(&q->out, tort_net_fresh(q->net, output, "_axes", q->maker), TORT_INT64, 1,
                                              &count, axes)
                          : NULL;
    TortOnnx__NodeProto *reduce = tort_net_node_of(&q->out, "ReduceMean", mean, (char *[]){difference, name, NULL});
    if (!as_input) tort_net_set_ints(&q->out, reduce, "axes", axes, (size_t)count);
    tort_net_set_int(&q->out, reduce, "keepdims", 0);
    return mean;
}

TortOnnx__ModelProto *tort_write_twins(const tort_write_choice *choice, int64_t opset, const char **means,
                                       tort_maker *maker) {
    const tort_net *net = choice->rules->net;
    bool *none = tort_make(maker, (size_t)net->node_count, sizeof *none);
    tort_write_choice plain = *choice;
    plain.bytes = none;
    qdq q = {.choice = &plain,
             .net = net,
             .maker = maker,
             .rounded = tort_make(maker, (size_t)net->value_count, sizeof *q.rounded),
             .scales = tort_make(maker, (size_t)net->value_count, sizeof *q.scales),
             .biases = tort_make(maker, (size_t)net->node_count, sizeof *q.biases)};
    tort_net_begin(&q.out, net, maker);
    TortOnnx__GraphProto *graph = q.out.proto->graph;
    graph->output = tort_make(maker, (size_t)net->node_count, sizeof *graph->output);
    graph->n_output = 0;
    for (int32_t i = 0; i < net->node_count; i++) {
        write_float(&q, i);
        means[i] = NULL;
        const tort_rule *row = choice->rules->rows[i];
        if (!choice->bytes[i] || !(row->kinds & TORT_RULE_WEIGHTS) || !can_shift(&q, i)) continue;
        means[i] = write_twin(&q, i, opset);
        TortOnnx__ValueInfoProto *port = graph->output[graph->n_output++] = tort_make(maker, 1, sizeof *port);
        tort_onnx__value_info_proto__init(port);
        port->name = (char *)(uintptr_t)means[i];
    }
    tort_net_end(&q.out, net);
    return q.out.proto;
}

static void add_outputs(qdq *q) {
    const tort_write_choice *choice = q->choice;
    TortOnnx__GraphProto *graph = q->out.proto->graph;
    TortOnnx__ValueInfoProto **all = tort_make(q->maker, graph->n_output + (size_t)choice->more_count, sizeof *all);
    memcpy(all, graph->output, graph->n_output * sizeof *all);
    graph->output = all;
    for (int32_t i = 0; i < choice->more_count; i++) {
        TortOnnx__ValueInfoProto *port = graph->output[graph->n_output++] = tort_make(q->maker, 1, sizeof *port);
        tort_onnx__value_info_proto__init(port);
        port->name = q->rounded[choice->more[i]] ? q->rounded[choice->more[i]] : plain_name(q, choice->more[i]);
    }
}

TortOnnx__ModelProto *tort_write_bytes(const tort_write_choice *choice, tort_maker *maker) {
    const tort_net *net = choice->rules->net;
    qdq q = {.choice = choice,
             .net = net,
             .maker = maker,
             .rounded = tort_make(maker, (size_t)net->value_count, sizeof *q.rounded),
             .scales = tort_make(maker, (size_t)net->value_count, sizeof *q.scales),
             .biases = tort_make(maker, (size_t)net->node_count, sizeof *q.biases)};
    tort_net_begin(&q.out, net, maker);
    for (int32_t i = 0; i < net->node_count; i++)
        if (choice->bytes[i])
            write_bytes(&q, i);
        else
            write_float(&q, i);
    add_outputs(&q);
    tort_net_end(&q.out, net);
    return q.out.proto;
}
