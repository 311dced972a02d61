/* choose.c - which rule makes the ranges, whether outputs get a margin, and whether biases are corrected: what has the
 * least error on samples that did not make the ranges (cross-validation with two folds). No rule wins everywhere.
 *
 * Biases are corrected by what a layer in 8 bits lacks in the mean by channel, fed with the float32 network's own input
 * (Nagel et al., Data-Free Quantization, 2019, section 4.2, but measured): in the quantized network instead, each layer
 * would correct the shift of those before again. */
#include <math.h>
#include <string.h>

#include "runtime/include/op.h"
#include "runtime/quantize/state.h"

enum {
    MAX_CORRECTING = 32,    /* samples that biases are corrected with; half of them where there are many weights */
    MANY_WEIGHTS = 4 << 20, /* of which twins take their memory part by part, with a run of the whole for each */
    PARTS = 8
};

static tort_status add_means(tort_quantized *q, const char *const *means, const int32_t *samples, int32_t count,
                             double **shift) {
    tort_tensor *outputs = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *outputs);
    for (int32_t s = 0; s < count; s++) {
        tort_status status = tort_quantize_tell(q, "biases", s, count);
        if (!status) status = tort_trial_run(&q->judge, &q->trial, samples[s], outputs, q->error);
        if (status) return status;
        for (int32_t i = 0, k = 0; i < q->net.node_count; i++) {
            if (!means[i]) continue;
            const tort_tensor *mean = &outputs[k++];
            if (!shift[i]) shift[i] = tort_make(&q->maker, (size_t)tort_count(mean), sizeof **shift);
            for (int64_t c = 0; c < tort_count(mean); c++)
                shift[i][c] += (double)((const float *)mean->data)[c] / count;
        }
    }
    return TORT_OK;
}

/* Weights in 8 bits are made anew where they are needed: beside those of a float network there is no room for all. */
static void forget_weights(tort_quantized *q) {
    memset(q->weights.by_value, 0, (size_t)q->net.value_count * sizeof *q->weights.by_value);
    tort_make_empty(&q->rounded);
}

/* Twins of the nodes of `part`, on their own trial. */
static tort_status correct_part(tort_quantized *q, const bool *part, const tort_range *ranges, const int32_t *samples,
                                int32_t count, double **shift) {
    const tort_write_choice choice = {
        .rules = &q->rules, .bytes = part, .ranges = ranges, .scheme = q->options->scheme, .weights = &q->weights};
    const char **means = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *means);
    const TortOnnx__ModelProto *proto = tort_write_twins(&choice, q->opset, means, &q->scratch);
    tort_status status = TORT_OK;
    if (proto->graph->n_output) status = tort_quantize_open(q, proto, false);
    if (!status && proto->graph->n_output) status = add_means(q, means, samples, count, shift);
    tort_quantize_close(q);
    forget_weights(q);
    return status;
}

/* Elements of the weights that a node multiplies by. */
static int64_t weights_of(const tort_quantized *q, int32_t node) {
    const bool product = q->rules.rows[node] && q->rules.rows[node]->kinds & TORT_RULE_WEIGHTS;
    const TortOnnx__TensorProto *constant = product ? q->net.values[q->net.nodes[node].inputs[1]].constant : NULL;
    return constant ? tort_net_count(constant) : 0;
}

tort_status tort_quantize_correct(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                  const int32_t *samples, int32_t count, const double *const **shift) {
    bool *part = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *part);
    double **sums = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *sums);
    int64_t total = 0, held = 0;
    tort_status status = TORT_OK;
    *shift = (const double *const *)sums;
    for (int32_t i = 0; i < q->net.node_count; i++) total += weights_of(q, i);
    forget_weights(q);
    const int32_t max = total < MANY_WEIGHTS ? MAX_CORRECTING : MAX_CORRECTING / 2;
    for (int32_t i = 0; !status && i < q->net.node_count; i++) {
        part[i] = bytes[i];
        held += bytes[i] ? weights_of(q, i) : 0;
        if (i + 1 < q->net.node_count && (total < MANY_WEIGHTS || held < total / PARTS)) continue;
        status = correct_part(q, part, ranges, samples, count < max ? count : max, sums);
        memset(part, 0, (size_t)q->net.node_count * sizeof *part);
        held = 0;
    }
    return status;
}

/* Ranges of a rule for a fold, without and with the margin, and the shifts of its biases. */
typedef struct trial_of_rule {
    tort_range *ranges[2];
    const double *const *shift;
} trial_of_rule;

static tort_status prepare_rule(tort_quantized *q, tort_fold *fold, const bool *bytes, tort_range_rule rule,
                                trial_of_rule *trial) {
    for (int margin = 0; margin < 2; margin++) {
        trial->ranges[margin] = tort_make(&q->maker, (size_t)q->net.value_count, sizeof(tort_range));
        tort_ranges_choose(&fold->ranges, rule, margin, bytes, trial->ranges[margin], &q->maker);
    }
    return tort_quantize_correct(q, bytes, trial->ranges[0], fold->made_of, fold->made_count, &trial->shift);
}

/* Takes a rule as the best so far. */
static void take_rule(tort_quantized *q, const tort_quantized_rule *rule, const trial_of_rule *trials,
                      const tort_judgement *judgement) {
    q->rule = rule->rule;
    q->margin = rule->margin;
    q->corrected = rule->bias;
    for (int32_t f = 0; f < q->fold_count; f++) {
        q->folds[f].chosen = trials[f].ranges[rule->margin];
        q->folds[f].shift = rule->bias ? trials[f].shift : NULL;
    }
    q->report.db_all = q->report.db = judgement->db;
    q->report.agreement_all = q->report.agreement = judgement->agreement;
}

static tort_status try_rule(tort_quantized *q, const bool *bytes, tort_range_rule rule, double *best) {
    trial_of_rule trials[2];
    tort_status status = TORT_OK;
    for (int32_t f = 0; !status && f < q->fold_count; f++)
        status = prepare_rule(q, &q->folds[f], bytes, rule, &trials[f]);
    for (int i = 0; !status && i < 4; i++) {
        tort_quantized_rule row = {.rule = rule, .margin = i & 1, .bias = i & 2};
        tort_judgement mean = {0};
        status = tort_quantize_tell(q, "ranges", (int32_t)rule * 4 + i, TORT_RANGE_RULES * 4);
        for (int32_t f = 0; !status && f < q->fold_count; f++) {
            tort_judgement judgement;
            status = tort_quantize_judge(q, &q->folds[f], bytes, trials[f].ranges[row.margin],
                                         row.bias ? trials[f].shift : NULL, INT32_MAX, &judgement);
            mean.db += judgement.db / q->fold_count;
            mean.score += judgement.score / q->fold_count;
            mean.agreement += judgement.agreement / q->fold_count;
        }
        if (status) break;
        row.db = mean.score;
        q->report.rules[q->report.rule_count++] = row;
        if (row.db > *best) take_rule(q, &row, trials, &mean);
        *best = fmax(*best, row.db);
    }
    return status;
}

static void sort_rules(tort_quantized_report *report) {
    for (int32_t i = 1; i < report->rule_count; i++)
        for (int32_t k = i; k > 0 && report->rules[k].db > report->rules[k - 1].db; k--) {
            const tort_quantized_rule rule = report->rules[k];
            report->rules[k] = report->rules[k - 1];
            report->rules[k - 1] = rule;
        }
}

tort_status tort_quantize_choose(tort_quantized *q, const bool *bytes) {
    double best = -INFINITY;
    tort_status status = TORT_OK;
    for (int rule = 0; !status && rule < TORT_RANGE_RULES; rule++)
        status = try_rule(q, bytes, (tort_range_rule)rule, &best);
    sort_rules(&q->report);
    return status;
}
