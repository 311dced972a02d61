/* ranges.c - rules for ranges, ties between values of one scale, and scales (ranges.h). */
#include "runtime/quantize/ranges.h"

#include <math.h>

const char *const tort_range_names[TORT_RANGE_RULES] = {"minmax", "99.99 %", "99.999 %", "least squares"};

enum { FEW = 4096 }; /* elements, which have not shown how far a value reaches */
static const double MARGIN = 0.15, MAX_TIE = 8, MIN_SCALE = 1e-30; /* of a scale: products of two are no subnormals */

void tort_range_codes(tort_range range, bool symmetric, float *scale, int32_t *zero) {
    const double low = fmin((double)range.low, 0), high = fmax((double)range.high, 0);
    const double step = symmetric ? fmax(-low, high) / 127 : (high - low) / 255;
    *zero = 0;
    *scale = step < MIN_SCALE ? 1 : (float)step;
    if (!symmetric) *zero = (int32_t)fmin(fmax(nearbyint(-low / (double)*scale), 0), 255);
}

static double width(const tort_statistics *s) {
    return fmax((double)s->high, 0) - fmin((double)s->low, 0);
}

/* ---- one value --------------------------------------------------------------------------------------------------- */

static tort_range range_of(const tort_ranges *ranges, tort_range_rule rule, int32_t value) {
    const tort_net *net = ranges->rules->net;
    const int32_t producer = net->values[value].producer;
    const tort_rule *row = producer < 0 ? NULL : ranges->rules->rows[producer];
    const tort_statistics *s = ranges->statistics[value];
    const tort_range cut = ranges->cuts[value];
    tort_range range = {s->low, s->high};
    if (row && row->kinds & TORT_RULE_FIXED) return (tort_range){row->low, row->high};
    if (rule == TORT_99_99) tort_statistics_percentile(s, 0.5e-4, &range.low, &range.high);
    if (rule == TORT_99_999) tort_statistics_percentile(s, 0.5e-5, &range.low, &range.high);
    if (rule == TORT_MSE)
        tort_statistics_mse(s, ranges->symmetric ? 254 : 255, ranges->symmetric, cut.low, cut.high, &range.low,
                            &range.high);
    range.low = fmaxf(range.low, cut.low);
    range.high = fminf(range.high, cut.high);
    return range;
}

static const tort_range *ranges_of(tort_ranges *ranges, tort_range_rule rule, tort_maker *maker) {
    const int32_t count = ranges->rules->net->value_count;
    if (ranges->by_rule[rule]) return ranges->by_rule[rule];
    tort_range *made = tort_make(maker, (size_t)count, sizeof *made);
    for (int32_t i = 0; i < count; i++)
        if (ranges->statistics[i]) made[i] = range_of(ranges, rule, i);
    return ranges->by_rule[rule] = made;
}

static tort_range with_margin(const tort_ranges *ranges, int32_t value, tort_range range) {
    const int32_t producer = ranges->rules->net->values[value].producer;
    const tort_rule *row = producer < 0 ? NULL : ranges->rules->rows[producer];
    if (row && row->kinds & TORT_RULE_FIXED) return range;
    const tort_statistics *s = ranges->statistics[value];
    const float more = (float)(MARGIN * ((double)s->high - (double)s->low));
    return (tort_range){fmaxf(s->low < 0 ? s->low - more : s->low, ranges->cuts[value].low),
                        fminf(s->high > 0 ? s->high + more : s->high, ranges->cuts[value].high)};
}

/* ---- values of one scale ----------------------------------------------------------------------------------------- */

/* The first value of those that share a scale: union-find with path halving. */
static int32_t first_of(int32_t *with, int32_t value) {
    while (with[value] != value) value = with[value] = with[with[value]];
    return value;
}

static void tie(const tort_ranges *ranges, int32_t *with, int32_t a, int32_t b) {
    if (a >= 0 && b >= 0 && ranges->statistics[a] && ranges->statistics[b]) with[first_of(with, a)] = first_of(with, b);
}

/* A Concat of boxes and scores must not share a scale: the scores would be 0. */
static bool are_alike(const tort_ranges *ranges, const tort_net_node *node) {
    double min = INFINITY, max = 0;
    for (int32_t k = 0; k < node->input_count; k++) {
        const tort_statistics *s = node->inputs[k] < 0 ? NULL : ranges->statistics[node->inputs[k]];
        if (!s) continue;
        min = fmin(min, width(s));
        max = fmax(max, width(s));
    }
    return max <= MAX_TIE * min;
}

/* Nodes that only move or change elements: what one of them reads reaches what it makes. */
static bool passes_on(const tort_ranges *ranges, int32_t node) {
    const tort_rule *row = ranges->rules->rows[node];
    return row && row->kinds & (TORT_RULE_SAME | TORT_RULE_CONCAT | TORT_RULE_UNARY | TORT_RULE_BINARY);
}

void tort_ranges_refuse_mixed(const tort_ranges *ranges, tort_rules *rules, tort_maker *maker) {
    const tort_net *net = rules->net;
    bool *reaches = tort_make(maker, (size_t)net->value_count, sizeof *reaches); /* an output, by such nodes alone */
    bool *mixed = tort_make(maker, (size_t)net->value_count, sizeof *mixed);
    for (int32_t i = 0; i < net->value_count; i++) reaches[i] = net->values[i].is_output;
    for (int32_t i = net->node_count - 1; i >= 0; i--)
        for (int32_t k = 0; passes_on(ranges, i) && k < net->nodes[i].input_count; k++)
            for (int32_t o = 0; net->nodes[i].inputs[k] >= 0 && o < net->nodes[i].output_count; o++)
                if (net->nodes[i].outputs[o] >= 0 && reaches[net->nodes[i].outputs[o]])
                    reaches[net->nodes[i].inputs[k]] = true;
    for (int32_t i = 0; i < net->node_count; i++) {
        const tort_net_node *node = &net->nodes[i];
        const bool concat = rules->rows[i] && rules->rows[i]->kinds & TORT_RULE_CONCAT;
        bool is = concat && node->outputs[0] >= 0 && reaches[node->outputs[0]] && !are_alike(ranges, node);
        for (int32_t k = 0; k < node->input_count && passes_on(ranges, i); k++)
            is = is || (node->inputs[k] >= 0 && mixed[node->inputs[k]]);
        if (!is) continue;
        tort_rules_refuse(rules, i, "it joins values of unlike ranges, such as boxes and scores, for an output");
        for (int32_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] >= 0) mixed[node->outputs[o]] = true;
    }
}

static void tie_all(const tort_ranges *ranges, const bool *bytes, int32_t *with) {
    const tort_net *net = ranges->rules->net;
    for (int32_t i = 0; i < net->value_count; i++) with[i] = i;
    for (int32_t i = 0; i < net->node_count; i++) {
        const tort_net_node *node = &net->nodes[i];
        const uint32_t kinds = ranges->rules->rows[i] ? ranges->rules->rows[i]->kinds : 0;
        if (!bytes[i]) continue;
        if (kinds & TORT_RULE_SAME)
            for (int32_t k = 0; k < node->output_count; k++) tie(ranges, with, node->inputs[0], node->outputs[k]);
        if (kinds & TORT_RULE_CONCAT && are_alike(ranges, node))
            for (int32_t k = 0; k < node->input_count; k++) tie(ranges, with, node->inputs[k], node->outputs[0]);
    }
}

void tort_ranges_choose(tort_ranges *ranges, tort_range_rule rule, bool margin, const bool *bytes, tort_range *chosen,
                        tort_maker *maker) {
    const tort_net *net = ranges->rules->net;
    const tort_range *plain = ranges_of(ranges, rule, maker);
    int32_t *with = tort_make(maker, (size_t)net->value_count, sizeof *with);
    bool *has = tort_make(maker, (size_t)net->value_count, sizeof *has);
    tort_range *shared = tort_make(maker, (size_t)net->value_count, sizeof *shared);
    tie_all(ranges, bytes, with);
    for (int32_t i = 0; i < net->value_count; i++) {
        if (!ranges->statistics[i]) continue;
        const int32_t first = first_of(with, i);
        const bool exceeds = net->values[i].is_output || ranges->statistics[i]->seen < FEW;
        const tort_range r = margin && exceeds ? with_margin(ranges, i, plain[i]) : plain[i];
        shared[first].low = !has[first] || r.low < shared[first].low ? r.low : shared[first].low;
        shared[first].high = !has[first] || r.high > shared[first].high ? r.high : shared[first].high;
        has[first] = true;
    }
    for (int32_t i = 0; i < net->value_count; i++)
        if (ranges->statistics[i]) chosen[i] = shared[first_of(with, i)];
}
