/* choose.c - which rule makes the ranges, whether outputs get a margin, and whether biases are corrected: what has the
 * least error on samples that did not make the ranges. No rule wins everywhere.
 *
 * Biases are corrected by what a layer in 8 bits lacks in the mean by channel, fed with the float32 network's own input
 * (Nagel et al., Data-Free Quantization, 2019, section 4.2, but measured): in the quantized network instead, each layer
 * would correct the shift of those before again. */
#include <math.h>
#include <string.h>

#include "runtime/include/op.h"
#include "runtime/quantize/state.h"

enum { MAX_CORRECTING = 32 }; /* samples that biases are corrected with */

static tort_status add_means(tort_quantized *q, const char *const *means, const int32_t *samples, int32_t count,
                             double **shift) {
    tort_tensor *outputs = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *outputs);
    for (int32_t s = 0; s < count; s++) {
        const tort_status status = tort_trial_run(&q->judge, &q->trial, samples[s], outputs, q->error);
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

tort_status tort_quantize_correct(tort_quantized *q, const bool *bytes, const tort_range *ranges,
                                  const int32_t *samples, int32_t count, const double *const **shift) {
    const tort_write_choice choice = {
        .rules = &q->rules, .bytes = bytes, .ranges = ranges, .scheme = q->options->scheme, .weights = &q->weights};
    const char **means = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *means);
    double **sums = tort_make(&q->maker, (size_t)q->net.node_count, sizeof *sums);
    const TortOnnx__ModelProto *proto = tort_write_twins(&choice, q->opset, means, &q->scratch);
    *shift = (const double *const *)sums;
    if (!proto->graph->n_output) return TORT_OK;
    tort_status status = tort_quantize_open(q, proto, false);
    if (!status) status = add_means(q, means, samples, count < MAX_CORRECTING ? count : MAX_CORRECTING, sums);
    tort_trial_close(&q->trial);
    return status;
}

static tort_status try_rule(tort_quantized *q, const bool *bytes, tort_range_rule rule, double *best) {
    const size_t values = (size_t)q->net.value_count;
    tort_range *ranges[2] = {tort_make(&q->maker, values, sizeof **ranges),
                             tort_make(&q->maker, values, sizeof **ranges)};
    const double *const *shift = NULL;
    tort_status status = TORT_OK;
    for (int margin = 0; margin < 2; margin++)
        tort_ranges_choose(&q->ranges, rule, margin, bytes, ranges[margin], &q->maker);
    status = tort_quantize_correct(q, bytes, ranges[0], q->made_of, q->made_count, &shift);
    for (int i = 0; !status && i < 4; i++) {
        const bool margin = i & 1, bias = i & 2;
        tort_judgement judgement;
        status = tort_quantize_tell(q, "ranges", (int32_t)rule * 4 + i, TORT_RANGE_RULES * 4);
        if (!status)
            status =
                tort_quantize_judge(q, bytes, ranges[margin], bias ? shift : NULL, q->held_count, &judgement, NULL);
        if (status) break;
        q->report.rules[q->report.rule_count++] = (tort_quantized_rule){rule, margin, bias, judgement.db};
        if (judgement.db <= *best) continue;
        *best = judgement.db;
        q->rule = rule;
        q->margin = margin;
        q->shift = bias ? shift : NULL;
        q->chosen = ranges[margin];
        q->report.db_all = q->report.db = judgement.db;
        q->report.agreement_all = q->report.agreement = judgement.agreement;
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
