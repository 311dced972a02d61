/* blocks.c - weights alone in 4 or 8 bits, as MatMulNBits: values stay float32.
 *
 * MatMul and Gemm by a constant matrix become com.microsoft's MatMulNBits, with one scale a block of rows. With
 * samples, a run of the float32 model adds up the products of each layer's inputs for GPTQ (gptq.c): layers that read
 * one value share the sums, as Q, K and V do, and as many sums as MEMORY holds are made in a run. Half of the samples
 * make them, the other half tells what the model has lost. Without samples, each weight gets the nearest code, and the
 * float32 model is never put together: it may have more than 2 GiB.
 *
 * Example: MatMul(x, W 4096 x 11008) with blocks of 32: B 11008 x 128 x 16 bytes, scales 11008 x 128, 5 bits a
 * weight. */
#include <math.h>
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/include/op.h"
#include "runtime/quantize/gptq.h"
#include "runtime/quantize/state.h"

/* Bytes of sums that one run of the samples may fill; a single one may have more. */
#define MEMORY ((uint64_t)2 << 30)

/* Layers whose sums are the same: they read one value, or have one matrix. */
typedef struct inputs {
    int64_t k;
    double *sums; /* k x k; NULL: not in this run */
    int64_t rows; /* that were added */
    bool factored;
} inputs;

typedef struct layer {
    int32_t node, inputs;
    int32_t same; /* the first layer of the same matrix, whose codes it shares; itself, if none */
    tort_block_matrix matrix;
} layer;

typedef struct job {
    tort_quantized *q;
    layer *layers;
    inputs *inputs;
    int32_t layer_count, inputs_count;
    int32_t *inputs_of; /* by value: number + 1; 0: none */
    double *room;       /* 8 rows of inputs */
} job;

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Why a node has no matrix to quantize; NULL: it has one. */
static const char *refusal(const tort_quantized *q, int32_t index) {
    const tort_net_node *node = &q->net.nodes[index];
    const bool gemm = !strcmp(node->op, "Gemm");
    const int32_t value = node->input_count > 1 ? node->inputs[1] : -1;
    const TortOnnx__TensorProto *constant = value < 0 ? NULL : q->net.values[value].constant;
    if (!gemm && strcmp(node->op, "MatMul") != 0) return "it multiplies by no matrix";
    if (!tort_net_is_float(&q->net, value) || !constant || constant->n_dims != 2 || !tort_net_count(constant))
        return "its weights are no constant matrix of float32";
    if (gemm && (tort_net_float(node, "alpha", 1) != 1 || tort_net_float(node, "beta", 1) != 1 ||
                 tort_net_int(node, "transA", 0)))
        return "it has alpha, beta or transA";
    if (tort_quantize_is_kept(q, index)) return "it was to be kept";
    return tort_net_is_finite(constant) ? NULL : "it has infinite weights";
}

/* Numbers the sums of a layer's inputs: those of its matrix, or of the value that it reads, or new ones. */
static int32_t number_inputs(job *j, const layer *l, int32_t value, int32_t number) {
    int32_t *of = &j->inputs_of[value];
    if (l->same != number) {
        if (!*of) *of = j->layers[l->same].inputs + 1;
        return j->layers[l->same].inputs;
    }
    if (!*of) {
        j->inputs[j->inputs_count++].k = l->matrix.k;
        *of = j->inputs_count;
    }
    return *of - 1;
}

static void add_layer(job *j, int32_t index) {
    tort_quantized *q = j->q;
    const tort_net_node *node = &q->net.nodes[index];
    const TortOnnx__TensorProto *constant = q->net.values[node->inputs[1]].constant;
    const bool turned = !strcmp(node->op, "Gemm") && tort_net_int(node, "transB", 0);
    const int64_t rows = constant->dims[0], columns = constant->dims[1];
    layer *l = &j->layers[j->layer_count];
    *l = (layer){.node = index,
                 .same = j->layer_count,
                 .matrix = {.weights = (const float *)(const void *)constant->raw_data.data,
                            .k = turned ? columns : rows,
                            .n = turned ? rows : columns,
                            .k_step = turned ? 1 : columns,
                            .n_step = turned ? columns : 1,
                            .bits = q->options->weight_bits,
                            .block = q->options->block}};
    for (int32_t i = j->layer_count - 1; i >= 0; i--) {
        const tort_block_matrix *other = &j->layers[i].matrix;
        if (other->weights == l->matrix.weights && other->k_step == l->matrix.k_step && other->k == l->matrix.k)
            l->same = i;
    }
    l->inputs = number_inputs(j, l, node->inputs[0], j->layer_count);
    j->layer_count++;
    if (l->same != j->layer_count - 1) {
        l->matrix = j->layers[l->same].matrix;
        return;
    }
    const size_t blocks = (size_t)(l->matrix.n * tort_block_count_of(&l->matrix));
    l->matrix.codes = tort_make(&q->maker, blocks, (size_t)l->matrix.block * (size_t)l->matrix.bits / 8);
    l->matrix.scales = tort_make(&q->maker, blocks, sizeof *l->matrix.scales);
}

/* Nodes that stay float32 and have a constant of more than one axis. */
static bool has_weights(const tort_quantized *q, const tort_net_node *node) {
    bool has = false;
    for (int32_t k = 0; k < node->input_count; k++) {
        const int32_t value = node->inputs[k];
        has = has || (tort_net_is_float(&q->net, value) && !tort_net_is_live(&q->net, value) &&
                      q->net.values[value].constant->n_dims > 1);
    }
    return has;
}

tort_status tort_quantize_list_matrices(tort_quantized *q, bool *has) {
    tort_quantized_report *r = &q->report;
    r->units = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *r->units);
    r->floats = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *r->floats);
    r->db = r->db_all = r->agreement = r->agreement_all = NAN;
    r->met = true;
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const tort_net_node *node = &q->net.nodes[i];
        const char *why = refusal(q, i);
        has[i] = !why;
        if (!why)
            r->units[r->unit_count++] = (tort_quantized_unit){
                .name = node->name,
                .nodes = node->op,
                .weights = tort_net_count(q->net.values[node->inputs[1]].constant),
                .bits = q->options->weight_bits ? q->options->weight_bits : 8,
                .low = NAN,
                .high = NAN,
                .alone = NAN,
                .why = "",
            };
        else if (has_weights(q, node))
            r->floats[r->float_count++] = (tort_quantized_node){
                node->name, node->proto->op_type,
                strcmp(node->op, "Gather") != 0 ? why : "rows of a table are read, not multiplied"};
    }
    if (r->unit_count) return TORT_OK;
    return tort_fail(
        q->error, TORT_E_UNSUPPORTED,
        "there is no matrix to quantize: no MatMul or Gemm multiplies by a constant one of float32%s%s%s%s",
        r->float_count ? "; the first node with weights, '" : "", r->float_count ? r->floats[0].name : "",
        r->float_count ? "', stays as " : "", r->float_count ? r->floats[0].why : "");
}

/* ---- inputs of layers -------------------------------------------------------------------------------------------- */

static void take(job *j, int32_t value, const tort_tensor *tensor) {
    inputs *in = value < 0 || !j->inputs_of[value] ? NULL : &j->inputs[j->inputs_of[value] - 1];
    if (!in || !in->sums || tensor->type != TORT_FLOAT || !tensor->rank) return;
    if (tensor->dims[tensor->rank - 1] != in->k) return;
    const int64_t rows = tort_count(tensor) / in->k;
    tort_gptq_add(in->sums, in->k, tensor->data, rows, j->room);
    in->rows += rows;
}

static tort_look look(void *ud, const char *value) {
    const job *j = ud;
    const int32_t number = tort_net_find(&j->q->net, value);
    return number < 0 || !j->inputs_of[number] ? TORT_LOOK_AWAY : TORT_LOOK_PLAIN;
}

static void watch(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    job *j = ud;
    (void)node;
    take(j, tort_net_find(&j->q->net, value), tensor);
}

static tort_status run_samples(job *j, tort_tensor *outputs) {
    tort_quantized *q = j->q;
    tort_context_observe(q->trial.context, watch, j);
    tort_context_observe_some(q->trial.context, look);
    const tort_fold *fold = &q->folds[0];
    for (int32_t i = 0; i < fold->made_count; i++) {
        tort_status status = tort_quantize_tell(q, "inputs of layers", i, fold->made_count);
        if (!status) status = tort_trial_run(&q->judge, &q->trial, fold->made_of[i], outputs, q->error);
        if (status) return status;
        for (int32_t k = 0; k < q->judge.input_count; k++)
            take(j, tort_net_find(&q->net, q->net.proto->graph->input[k]->name), &q->judge.inputs[k]);
    }
    return TORT_OK;
}

/* Outputs of the float32 model for those samples that judge. */
static tort_status keep_wanted(job *j, tort_tensor *outputs) {
    tort_quantized *q = j->q;
    tort_wanted *wanted = tort_make(&q->maker, (size_t)q->judge.samples->count, sizeof *wanted);
    q->judge.wanted = wanted;
    tort_context_observe(q->trial.context, NULL, NULL);
    const tort_fold *fold = &q->folds[0];
    for (int32_t i = 0; i < fold->judge_count; i++) {
        tort_status status = tort_quantize_tell(q, "outputs of float32", i, fold->judge_count);
        if (!status) status = tort_trial_run(&q->judge, &q->trial, fold->judges[i], outputs, q->error);
        if (status) return status;
        tort_tensor *kept = tort_make(&q->maker, (size_t)q->judge.output_count, sizeof *outputs);
        wanted[fold->judges[i]].outputs = kept;
        for (int32_t k = 0; k < q->judge.output_count; k++) tort_make_copy(&q->maker, &outputs[k], &kept[k]);
    }
    return TORT_OK;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* Rounds the layers whose inputs are number first .. end - 1; scratch memory is free after it. */
static tort_status round_layers(job *j, int32_t first, int32_t end) {
    tort_quantized *q = j->q;
    int64_t max = 0;
    for (int32_t i = 0; i < j->layer_count; i++) {
        const int64_t room = tort_block_room(&j->layers[i].matrix);
        max = room > max ? room : max;
    }
    double *room = tort_make(&q->scratch, (size_t)max, sizeof *room);
    for (int32_t i = 0; i < j->layer_count; i++) {
        const layer *l = &j->layers[i];
        inputs *in = &j->inputs[l->inputs];
        if (l->same != i || l->inputs < first || l->inputs >= end) continue;
        const tort_status status = tort_quantize_tell(q, "rounding", i, j->layer_count);
        if (status) return status;
        if (in->rows && !in->factored && !tort_gptq_factor(in->sums, in->k))
            return tort_fail(q->error, TORT_E_INPUT, "the samples give node '%s' a NaN or an infinity",
                             q->net.nodes[l->node].name);
        in->factored = true;
        tort_block_quantize(&l->matrix, in->rows ? in->sums : NULL, room);
    }
    tort_make_empty(&q->scratch);
    return TORT_OK;
}

static tort_status round_with_samples(job *j) {
    tort_quantized *q = j->q;
    tort_tensor *outputs = tort_make(&q->maker, (size_t)q->judge.output_count, sizeof *outputs);
    tort_status status = tort_quantize_open(q, q->net.proto, true);
    if (!status) status = keep_wanted(j, outputs);
    for (int32_t first = 0, end = 0; !status && first < j->inputs_count; first = end) {
        uint64_t held = 0;
        int64_t max = 0;
        for (; end < j->inputs_count; end++) {
            const int64_t k = j->inputs[end].k;
            held += (uint64_t)(k * k) * sizeof(double);
            if (end > first && held > MEMORY) break;
            j->inputs[end].sums = tort_make(&q->scratch, (size_t)(k * k), sizeof(double));
            max = k > max ? k : max;
        }
        j->room = tort_make(&q->scratch, (size_t)(8 * max), sizeof *j->room);
        status = run_samples(j, outputs);
        if (!status) status = round_layers(j, first, end);
        for (int32_t i = first; i < end; i++) j->inputs[i].sums = NULL;
    }
    tort_quantize_close(q);
    return status;
}

/* ---- the message ------------------------------------------------------------------------------------------------- */

static void write_layer(job *j, tort_net_writer *out, int32_t number, char *(*names)[2]) {
    tort_quantized *q = j->q;
    const layer *l = &j->layers[number];
    const tort_block_matrix *m = &l->matrix;
    const tort_net_node *node = &q->net.nodes[l->node];
    const int64_t blocks = tort_block_count_of(m);
    char *output = node->proto->output[0], *weights = q->net.values[node->inputs[1]].name, **made = names[l->same];
    const bool bias = node->input_count > 2 && node->inputs[2] >= 0;
    if (l->same == number) {
        const bool shared = q->net.values[node->inputs[1]].reader_count > 1;
        const char *base = shared ? tort_make_text(&q->maker, "%s_%s", weights, node->name) : weights;
        const int64_t bytes = (int64_t)m->block * m->bits / 8;
        made[0] = tort_net_constant(out, tort_net_fresh(&q->net, base, "_codes", &q->maker), TORT_UINT8, 3,
                                    (int64_t[]){m->n, blocks, bytes}, m->codes);
        made[1] = tort_net_constant(out, tort_net_fresh(&q->net, base, "_scales", &q->maker), TORT_FLOAT, 2,
                                    (int64_t[]){m->n, blocks}, m->scales);
    }
    char *product = bias ? tort_net_fresh(&q->net, output, "_product", &q->maker) : output;
    TortOnnx__NodeProto *to =
        tort_net_node_of(out, "MatMulNBits", product, (char *[]){node->proto->input[0], made[0], made[1], NULL});
    to->name = node->name;
    tort_net_set_microsoft(out, to);
    tort_net_set_int(out, to, "K", m->k);
    tort_net_set_int(out, to, "N", m->n);
    tort_net_set_int(out, to, "bits", m->bits);
    tort_net_set_int(out, to, "block_size", m->block);
    if (bias) tort_net_node_of(out, "Add", output, (char *[]){product, node->proto->input[2], NULL});
}

static void write_message(job *j) {
    tort_quantized *q = j->q;
    tort_net_writer out;
    char *(*names)[2] = tort_make(&q->maker, (size_t)j->layer_count, sizeof *names);
    tort_net_begin(&out, &q->net, &q->maker);
    for (int32_t i = 0, number = 0; i < q->net.node_count; i++)
        if (number < j->layer_count && j->layers[number].node == i)
            write_layer(j, &out, number++, names);
        else
            tort_net_add_node(&out, tort_net_copy_node(&out, &q->net.nodes[i], 0));
    tort_net_end(&out, &q->net);
    q->proto = out.proto;
    q->report.bytes = protobuf_c_message_get_packed_size(&q->proto->base);
}

/* Error of the model that is written, on samples that made no sums. */
static tort_status judge(tort_quantized *q) {
    tort_quantized_report *r = &q->report;
    tort_judgement found;
    tort_status status = tort_quantize_tell(q, "comparison", 0, 1);
    if (!status) status = tort_quantize_open(q, q->proto, false);
    if (!status)
        status = tort_trial_judge(&q->judge, &q->trial, q->folds[0].judges, q->folds[0].judge_count, &found,
                                  &q->scratch, q->error);
    tort_quantize_close(q);
    if (status) return status;
    r->db = r->db_all = found.db;
    r->agreement = r->agreement_all = found.agreement;
    r->evaluations = 1;
    r->held_out = q->folds[0].judge_count;
    if (q->judge.truth) r->float_accuracy = tort_judge_float(&q->judge);
    return TORT_OK;
}

tort_status tort_quantize_blocks(tort_quantized *q) {
    const bool samples = q->judge.samples->count > 0;
    job j = {.q = q};
    bool *has = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *has);
    tort_status status = tort_quantize_list_matrices(q, has);
    if (status) return status;
    j.layers = tort_make(&q->maker, (size_t)q->report.unit_count, sizeof *j.layers);
    j.inputs = tort_make(&q->maker, (size_t)q->report.unit_count, sizeof *j.inputs);
    j.inputs_of = tort_make(&q->maker, (size_t)q->net.value_count, sizeof *j.inputs_of);
    for (int32_t i = 0; i < q->net.node_count; i++)
        if (has[i]) add_layer(&j, i);
    status = samples ? round_with_samples(&j) : round_layers(&j, 0, j.inputs_count);
    if (status) return status;
    write_message(&j);
    return samples ? judge(q) : TORT_OK;
}
