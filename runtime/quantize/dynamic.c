/* dynamic.c - products in 8 bits whose values are quantized when the model runs, so that no samples are needed.
 *
 * MatMul and Gemm by a constant matrix become ONNX's own operators, as onnxruntime's quantize_dynamic writes them, but
 * with a scale for each column. Nodes that read one value share its DynamicQuantizeLinear, and runtimes join what
 * follows to one product (MatMulIntegerToFloat). Weights are uint8 around 128: onnxruntime's products of uint8 by int8
 * saturate on processors without VNNI, and lose 12 dB. Example: MatMul(x, W) becomes DynamicQuantizeLinear(x) -> c, s,
 * z; MatMulInteger(c, W8, z, 128) -> Cast -> Mul by s * (scales of W8). */
#include <string.h>

#include "runtime/quantize/state.h"
#include "runtime/quantize/weights.h"

typedef struct job {
    tort_quantized *q;
    tort_net_writer out;
    char *(*codes)[3]; /* by value: what DynamicQuantizeLinear makes of it; NULL: not yet written */
    char *middle;      /* the zero point of all weights; NULL: not yet written */
} job;

static char *fresh(job *j, const char *name, const char *suffix) {
    return tort_net_fresh(&j->q->net, name, suffix, &j->q->maker);
}

/* The codes, scale and zero point of a value. */
static char **quantize_value(job *j, int32_t value) {
    char *name = j->q->net.values[value].name, **codes = j->codes[value];
    if (codes[0]) return codes;
    codes[0] = fresh(j, name, "_quantized");
    codes[1] = fresh(j, name, "_scale");
    codes[2] = fresh(j, name, "_zero_point");
    TortOnnx__NodeProto *node = tort_net_node_of(&j->out, "DynamicQuantizeLinear", codes[0], (char *[]){name, NULL});
    node->output = codes;
    node->n_output = 3;
    return codes;
}

/* The matrix of a node in codes, K x N, and their scales. */
static void add_matrix(job *j, const tort_net_node *node, char *names[2]) {
    tort_quantized *q = j->q;
    const tort_net_value *v = &q->net.values[node->inputs[1]];
    const bool turned = !strcmp(node->op, "Gemm") && tort_net_int(node, "transB", 0);
    char *base = v->reader_count > 1 ? tort_make_text(&q->maker, "%s_%s", v->name, node->name) : v->name;
    tort_byte_weights weights = tort_weights_of(v->constant, turned ? 0 : 1, NULL, &q->maker);
    const int64_t n = weights.channels, k = v->dims[turned ? 1 : 0];
    int8_t *codes = weights.codes;
    if (turned) {
        codes = tort_make(&q->maker, (size_t)(n * k), 1);
        for (int64_t i = 0; i < n; i++)
            for (int64_t at = 0; at < k; at++) codes[at * n + i] = weights.codes[i * k + at];
    }
    for (int64_t i = 0; i < n * k; i++) codes[i] = (int8_t)(codes[i] ^ -128); /* plus 128, as uint8 */
    names[0] = tort_net_constant(&j->out, fresh(j, base, "_quantized"), TORT_UINT8, 2, (int64_t[]){k, n}, codes);
    names[1] = tort_net_constant(&j->out, fresh(j, base, "_scale"), TORT_FLOAT, 1, &n, weights.scales);
}

static void write_product(job *j, int32_t index) {
    static const uint8_t middle = 128; /* the message borrows it */
    const tort_net_node *node = &j->q->net.nodes[index];
    const bool bias = node->input_count > 2 && node->inputs[2] >= 0;
    char *output = node->proto->output[0], *weights[2], **value = quantize_value(j, node->inputs[0]);
    add_matrix(j, node, weights);
    char *sums = fresh(j, output, "_sums"), *floats = fresh(j, output, "_floats"),
         *scales = fresh(j, output, "_scales");
    char *product = bias ? fresh(j, output, "_product") : output;
    if (!j->middle)
        j->middle = tort_net_constant(&j->out, fresh(j, "weights", "_zero_point"), TORT_UINT8, 0, NULL, &middle);
    TortOnnx__NodeProto *made =
        tort_net_node_of(&j->out, "MatMulInteger", sums, (char *[]){value[0], weights[0], value[2], j->middle, NULL});
    made->name = node->name;
    made = tort_net_node_of(&j->out, "Cast", floats, (char *[]){sums, NULL});
    tort_net_set_int(&j->out, made, "to", TORT_FLOAT);
    tort_net_node_of(&j->out, "Mul", scales, (char *[]){value[1], weights[1], NULL});
    tort_net_node_of(&j->out, "Mul", product, (char *[]){floats, scales, NULL});
    if (bias) tort_net_node_of(&j->out, "Add", output, (char *[]){product, node->proto->input[2], NULL});
}

tort_status tort_quantize_dynamic(tort_quantized *q) {
    job j = {.q = q, .codes = tort_make(&q->maker, (size_t)q->net.value_count, sizeof *j.codes)};
    bool *has = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *has);
    tort_status status = tort_quantize_list_matrices(q, has);
    if (status) return status;
    tort_net_begin(&j.out, &q->net, &q->maker);
    for (int32_t i = 0; i < q->net.node_count; i++) {
        if (!status) status = tort_quantize_tell(q, "matrices", i, q->net.node_count);
        if (status) return status;
        if (has[i])
            write_product(&j, i);
        else
            tort_net_add_node(&j.out, tort_net_copy_node(&j.out, &q->net.nodes[i], 0));
    }
    tort_net_end(&j.out, &q->net);
    q->proto = j.out.proto;
    q->report.bytes = protobuf_c_message_get_packed_size(&q->proto->base);
    return TORT_OK;
}
