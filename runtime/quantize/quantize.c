/* quantize.c - the order of the work (quantize.h): the model is folded, its net read, its samples run (calibrate.c),
 * the rule for ranges chosen (choose.c), units measured (sensitivity.c), and the result written with ranges of all
 * samples.
 *
 * Memory ends all steps alike: whatever makes messages and tables takes it of an arena, and a failure goes on in
 * tort_quantize. */
#include "runtime/quantize/quantize.h"

#include <math.h>
#include <string.h>

#include "runtime/core/base/hash.h"
#include "runtime/core/graph/graph.h"
#include "runtime/quantize/opset.h"
#include "runtime/quantize/state.h"

/* ---- what the steps share ---------------------------------------------------------------------------------------- */

tort_status tort_quantize_tell(tort_quantized *q, const char *phase, int32_t done, int32_t of) {
    if (!q->options->progress || q->options->progress(q->options->progress_ud, phase, done, of)) return TORT_OK;
    return tort_fail(q->error, TORT_E_CANCELLED, "quantization was cancelled while it did: %s", phase);
}

tort_status tort_quantize_open(tort_quantized *q, const TortOnnx__ModelProto *proto, bool each) {
    tort_session_options options = q->options->session;
    options.struct_size = sizeof options;
    if (each) options.fusions_off = "*";
    options.plan_only = false;
    return tort_trial_open(&q->trial, proto, &options, q->error);
}

void tort_quantize_close(tort_quantized *q) {
    tort_trial_close(&q->trial);
    tort_make_empty(&q->scratch);
}

static tort_write_choice choice_of(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                   const double *const *shift) {
    return (tort_write_choice){.rules = &q->rules,
                               .bytes = bytes,
                               .ranges = ranges,
                               .shift = shift,
                               .scheme = q->options->scheme,
                               .weights = &q->weights};
}

tort_status tort_quantize_judge(tort_quantized *q, const tort_fold *fold, const bool *bytes, const tort_range *ranges,
                                const double *const *shift, int32_t max, tort_judgement *judgement) {
    tort_write_choice choice = choice_of(q, bytes, ranges, shift);
    choice.more = q->behind;
    choice.more_count = q->judge.smooth_count;
    const int32_t count = max < fold->judge_count ? max : fold->judge_count;
    tort_status status = tort_quantize_open(q, tort_write_bytes(&choice, &q->scratch), false);
    if (!status) status = tort_trial_judge(&q->judge, &q->trial, fold->judges, count, judgement, &q->scratch, q->error);
    tort_quantize_close(q);
    return status;
}

uint64_t tort_quantize_bytes(tort_quantized *q, const bool *bytes) {
    const tort_write_choice choice = choice_of(q, bytes, q->folds[0].chosen, NULL);
    const TortOnnx__ModelProto *proto = tort_write_bytes(&choice, &q->scratch);
    const uint64_t size = protobuf_c_message_get_packed_size(&proto->base);
    tort_make_empty(&q->scratch);
    return size;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Operators of models that are quantized already. */
static bool is_quantized(const char *op) {
    static const char *const names[] = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                                        "ConvInteger",    "MatMulInteger",    NULL};
    bool is = !strncmp(op, "QLinear", 7) || !strncmp(op, "DynamicQuantize", 15);
    for (int i = 0; names[i]; i++) is = is || !strcmp(op, names[i]);
    return is;
}

static tort_status check_model(const tort_model *model, tort_error *error) {
    for (int32_t g = 0; g < model->graph_count; g++)
        for (int32_t i = 0; i < model->graphs[g].node_count; i++) {
            const tort_node *node = &model->graphs[g].nodes[i];
            if (is_quantized(node->op_type))
                return tort_fail(error, TORT_E_USAGE,
                                 "the model is quantized already: node '%s' is a %s. Give the float32 model that it "
                                 "was made of",
                                 node->name, node->op_type);
        }
    for (int32_t i = 0; i < tort_model_output_count(model); i++) {
        tort_port port = {.struct_size = sizeof port};
        tort_model_output(model, i, &port, NULL);
        if (tort_type_kind(port.value_type) != TORT_TENSOR)
            return tort_fail(error, TORT_E_UNSUPPORTED, "output '%s' is no tensor: errors have no measure", port.name);
    }
    return TORT_OK;
}

static tort_net_kept kept_by(const tort_quantized *q) {
    const tort_quantize_options *o = q->options;
    return (tort_net_kept){o->keep_nodes, o->keep_ops, o->keep_node_count, o->keep_op_count};
}

bool tort_quantize_is_kept(const tort_quantized *q, int32_t node) {
    const tort_net_kept kept = kept_by(q);
    return tort_net_is_kept(&q->net.nodes[node], &kept);
}

/* Takes the nodes that the options keep out of those that are able; a name that no node has is an error. */
static tort_status keep_asked(tort_quantized *q) {
    const tort_net_kept kept = kept_by(q);
    const tort_status status = tort_net_check_kept(&q->net, &kept, q->error);
    if (status) return status;
    for (int32_t i = 0; i < q->net.node_count; i++)
        if (tort_quantize_is_kept(q, i))
            for (int32_t k = 0; k < q->net.node_count; k++)
                if (k == i || (q->rules.unit[i] >= 0 && q->rules.unit[k] == q->rules.unit[i]))
                    tort_rules_refuse(&q->rules, k, "it was to be kept");
    tort_rules_number(&q->rules);
    return TORT_OK;
}

static tort_status open_model(tort_quantized *q) {
    tort_session_options options = q->options->session;
    options.struct_size = sizeof options;
    tort_status status = check_model(q->model, q->error);
    if (!status) status = tort_optimized_make(q->model, &options, &q->base, q->error);
    if (status) return status;
    TortOnnx__ModelProto *proto = tort_optimized_message(q->base);
    const bool old = tort_opset_of(proto) < (q->options->weight_bits ? 0
                                             : q->options->dynamic   ? 11
                                                                     : TORT_QUANTIZE_OPSET);
    if (old) status = tort_opset_raise(proto, &q->maker, q->error);
    if (status) return status;
    tort_net_open(&q->net, proto, &q->maker);
    if (old) status = tort_trial_types(&q->net, q->error);
    if (status) return status;
    q->opset = tort_opset_of(q->net.proto);
    tort_rules_apply(&q->rules, &q->net, q->options->scheme, &q->maker);
    q->weights =
        (tort_weight_cache){.by_value = tort_make(&q->maker, (size_t)q->net.value_count, sizeof *q->weights.by_value),
                            .axes = tort_make(&q->maker, (size_t)q->net.value_count, sizeof *q->weights.axes),
                            .maker = &q->rounded};
    q->report.float_bytes = protobuf_c_message_get_packed_size(&q->net.proto->base);
    return keep_asked(q);
}

/* Outputs of a Softmax or Sigmoid say little next to 0 and 1, and much at the few elements between: a choice by them is
 * a game of chance. Its input is judged in its place. */
static void find_smooth(tort_quantized *q) {
    for (int32_t i = 0; i < q->judge.output_count; i++) {
        int32_t value = tort_net_find(&q->net, q->net.proto->graph->output[i]->name), node;
        bool saturates = false;
        while ((node = q->net.values[value].producer) >= 0 && !saturates) {
            const uint32_t kinds = q->rules.rows[node] ? q->rules.rows[node]->kinds : 0;
            saturates = kinds & TORT_RULE_FIXED;
            if ((!saturates && !(kinds & TORT_RULE_SAME)) || !tort_net_is_live(&q->net, q->net.nodes[node].inputs[0]))
                break;
            value = q->net.nodes[node].inputs[0];
        }
        q->judge.smooth[i] = i;
        if (!saturates || !tort_net_is_float(&q->net, value)) continue;
        q->judge.smooth[i] = q->judge.output_count + q->judge.smooth_count;
        q->behind[q->judge.smooth_count++] = value;
    }
}

/* Two folds of every other sample; one sample alone makes ranges and judges them. */
static void split_samples(tort_quantized *q) {
    const int32_t count = q->judge.samples->count;
    q->fold_count = count > 1 ? 2 : 1;
    for (int32_t f = 0; f < 2; f++) {
        tort_fold *fold = &q->folds[f];
        fold->made_of = tort_make(&q->maker, (size_t)count, sizeof *fold->made_of);
        fold->judges = tort_make(&q->maker, (size_t)count, sizeof *fold->judges);
        for (int32_t i = 0; i < count; i++) {
            if (i % 2 == f) fold->made_of[fold->made_count++] = i;
            if (i % 2 != f || count == 1) fold->judges[fold->judge_count++] = i;
        }
    }
    q->report.samples = count;
    q->report.held_out = count == 1 ? 0 : count;
    q->judge.input_count = tort_model_input_count(q->model);
    q->judge.output_count = tort_model_output_count(q->model);
    q->judge.smooth = tort_make(&q->maker, (size_t)q->judge.output_count, sizeof *q->judge.smooth);
    q->behind = tort_make(&q->maker, (size_t)q->judge.output_count, sizeof *q->behind);
    q->judge.inputs = tort_make(&q->maker, (size_t)q->judge.input_count, sizeof *q->judge.inputs);
    q->judge.truth = q->options->truth;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static int64_t weights_of(const tort_quantized *q, int32_t node) {
    int64_t count = 0;
    for (int32_t k = 0; k < q->net.nodes[node].input_count; k++) {
        const int32_t value = q->net.nodes[node].inputs[k];
        if (tort_net_is_float(&q->net, value) && !tort_net_is_live(&q->net, value))
            count += tort_net_count(q->net.values[value].constant);
    }
    return count;
}

static void list_units(tort_quantized *q) {
    tort_quantized_report *report = &q->report;
    report->unit_count = q->rules.unit_count;
    report->units = tort_make(&q->maker, (size_t)report->unit_count, sizeof *report->units);
    report->floats = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *report->floats);
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const tort_net_node *node = &q->net.nodes[i];
        if (q->rules.unit[i] < 0) {
            report->floats[report->float_count++] =
                (tort_quantized_node){node->name, node->proto->op_type, q->rules.why[i]};
            continue;
        }
        tort_quantized_unit *unit = &report->units[q->rules.unit[i]];
        if (!unit->name) *unit = (tort_quantized_unit){.name = node->name, .bits = 8, .alone = NAN, .why = ""};
        unit->nodes = unit->nodes ? tort_make_text(&q->maker, "%s+%s", unit->nodes, node->op) : node->op;
        unit->weights += weights_of(q, i);
    }
}

/* The range of what each unit writes, and what of the samples that did not make it lies outside. */
static void note_ranges(tort_quantized *q) {
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const int32_t value = q->net.nodes[i].outputs[0];
        if (q->rules.unit[i] < 0 || value < 0) continue;
        tort_quantized_unit *unit = &q->report.units[q->rules.unit[i]];
        for (int32_t f = 0; f < q->fold_count; f++) {
            const tort_range range = q->folds[f].chosen[value], cut = q->folds[f].ranges.cuts[value];
            const tort_statistics *other = q->folds[q->fold_count - 1 - f].ranges.statistics[value];
            if (!other) continue;
            if (!f) unit->low = range.low, unit->high = range.high, unit->saturated = 0;
            unit->saturated += tort_statistics_outside(other, range.low <= cut.low ? -INFINITY : fminf(range.low, 0),
                                                       range.high >= cut.high ? INFINITY : fmaxf(range.high, 0)) /
                               q->fold_count;
        }
    }
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* Ranges of all samples by the best rule, and the message. */
static tort_status finish(tort_quantized *q, const bool *bytes) {
    tort_ranges *whole = &q->folds[0].ranges;
    const int32_t count = q->judge.samples->count;
    int32_t *all = tort_make(&q->maker, (size_t)count, sizeof *all);
    const double *const *shift = NULL;
    tort_range *ranges = tort_make(&q->maker, (size_t)q->net.value_count, sizeof *ranges);
    for (int32_t i = 0; i < count; i++) all[i] = i;
    for (int32_t i = 0; i < q->net.value_count; i++) {
        const tort_statistics *other = q->folds[1].ranges.statistics[i];
        if (whole->statistics[i] && other) tort_statistics_merge(whole->statistics[i], other);
    }
    memset(whole->by_rule, 0, sizeof whole->by_rule);
    tort_status status = q->fold_count > 1 ? tort_quantize_cut(q, whole) : TORT_OK;
    tort_ranges_choose(whole, q->rule, q->margin, bytes, ranges, &q->maker);
    if (!status && q->corrected) status = tort_quantize_correct(q, bytes, ranges, all, count, &shift);
    if (status) return status;
    const tort_write_choice choice = choice_of(q, bytes, ranges, shift);
    q->proto = tort_write_bytes(&choice, &q->maker);
    q->report.bytes = protobuf_c_message_get_packed_size(&q->proto->base);
    return TORT_OK;
}

static tort_status work(tort_quantized *q) {
    if (setjmp(q->out_of_memory)) return tort_out_of_memory(q->error, 0);
    split_samples(q);
    tort_status status = open_model(q);
    if (!status && q->options->weight_bits) return tort_quantize_blocks(q);
    if (!status && q->options->dynamic) return tort_quantize_dynamic(q);
    if (!status) find_smooth(q);
    if (!status) status = tort_quantize_calibrate(q);
    if (status) return status;
    list_units(q);
    bool *bytes = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *bytes);
    memcpy(bytes, q->rules.able, (size_t)q->net.node_count * sizeof *bytes);
    if (!q->rules.unit_count)
        return tort_fail(q->error, TORT_E_UNSUPPORTED, "no node of the model can be in 8 bits: the first, '%s', has %s",
                         q->report.float_count ? q->report.floats[0].name : "",
                         q->report.float_count ? q->report.floats[0].why : "");
    status = tort_quantize_choose(q, bytes);
    if (status) return status;
    if (q->judge.truth) q->report.float_accuracy = tort_judge_float(&q->judge);
    note_ranges(q);
    status = tort_quantize_keep(q, bytes);
    return status ? status : finish(q, bytes);
}

tort_status tort_quantize(const tort_model *model, const tort_samples *samples, const tort_quantize_options *options,
                          tort_quantized **quantized, tort_error *error) {
    static const tort_samples none;
    const tort_env env = tort_env_complete(NULL);
    *quantized = NULL;
    if (!samples) samples = &none;
    if (samples->count < 1 && !options->weight_bits && !options->dynamic)
        return tort_fail(error, TORT_E_USAGE, "there are no samples: 16 or more of what the model will see are needed");
    tort_quantized *q = *quantized = tort_alloc_zero(&env, 1, sizeof *q);
    if (!q) return tort_out_of_memory(error, sizeof *q);
    q->env = env;
    tort_env_choose_key(&q->env);
    q->model = model;
    q->options = options;
    q->error = error;
    q->judge.samples = samples;
    q->report.float_accuracy = NAN;
    q->maker.out_of_memory = q->scratch.out_of_memory = q->rounded.out_of_memory = &q->out_of_memory;
    tort_arena_init(&q->maker.arena, &q->env);
    tort_arena_init(&q->scratch.arena, &q->env);
    tort_arena_init(&q->rounded.arena, &q->env);
    tort_names_init(&q->net.numbers, &q->env);
    const tort_status status = work(q);
    tort_trial_close(&q->trial);
    return status;
}

const tort_quantized_report *tort_quantized_report_of(const tort_quantized *quantized) {
    return &quantized->report;
}

bool tort_quantized_write(const tort_quantized *quantized, FILE *file) {
    return tort_pb_write_message(file, &quantized->proto->base);
}

void tort_quantized_free(tort_quantized *q) {
    if (!q) return;
    const tort_env env = q->env;
    tort_names_free(&q->net.numbers);
    tort_arena_free(&q->scratch.arena);
    tort_arena_free(&q->rounded.arena);
    tort_arena_free(&q->maker.arena);
    tort_optimized_free(q->base);
    tort_free(&env, q, sizeof *q);
}
