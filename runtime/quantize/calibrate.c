/* calibrate.c - one run of the float32 model for each sample: the outputs that are wanted, and statistics of the
 * values. Samples alternate between two halves: each makes ranges that the other judges, as ranges always fit what made
 * them. */
#include <math.h>
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/include/op.h"
#include "runtime/quantize/state.h"

typedef struct watcher {
    tort_quantized *q;
    tort_statistics **into;
    const bool *matters; /* by value */
    int32_t sample;
    float *picked; /* `room` elements of a value, of each sample, for its histogram */
    int32_t room;
    tort_tensor *wanted; /* of this sample */
    int32_t nan;         /* the first value with a NaN; -1: none */
    bool *infinite;
} watcher;

/* True if a node that can be in 8 bits reads or makes the value, so that its range matters. */
static bool matters(const tort_quantized *q, int32_t value) {
    const tort_net_value *v = &q->net.values[value];
    bool does = v->producer >= 0 && q->rules.able[v->producer];
    for (int32_t k = 0; k < v->reader_count; k++) does = does || q->rules.able[tort_net_reader(&q->net, v, k)];
    return does && v->type == TORT_FLOAT && !q->rules.joined[value];
}

/* Some 2 million elements of a value suffice for its histogram, whatever the number of samples. */
static int32_t room_for(int32_t samples) {
    const int32_t min = 1 << 12, max = 1 << 16, share = (1 << 21) / samples;
    return share < min ? min : share > max ? max : share;
}

static void take(watcher *w, int32_t value, const tort_tensor *tensor) {
    tort_statistics **into = &w->into[value];
    if (value < 0 || tensor->type != TORT_FLOAT || !w->matters[value]) return;
    if (!*into) *into = tort_make(&w->q->maker, 1, sizeof **into);
    const int64_t count = tort_count(tensor);
    if (tort_statistics_add(*into, &w->q->trial.context->env, tensor->data, count, w->picked, w->room)) return;
    w->infinite[value] = true;
    for (int64_t i = 0; i < count && w->nan < 0; i++)
        if (isnan(((const float *)tensor->data)[i])) w->nan = value;
}

/* Values behind outputs are compared by element; statistics have no order. */
static tort_look look(void *ud, const char *value) {
    const watcher *w = ud;
    const int32_t number = tort_net_find(&w->q->net, value);
    for (int32_t i = 0; i < w->q->judge.smooth_count; i++)
        if (w->q->behind[i] == number) return TORT_LOOK_PLAIN;
    return number >= 0 && w->matters[number] ? TORT_LOOK_ANY_ORDER : TORT_LOOK_AWAY;
}

static void watch(void *ud, int32_t node, const char *value, const tort_tensor *tensor) {
    watcher *w = ud;
    const int32_t number = tort_net_find(&w->q->net, value);
    (void)node;
    if (number >= 0) take(w, number, tensor);
    for (int32_t i = 0; i < w->q->judge.smooth_count; i++)
        if (w->q->behind[i] == number) tort_make_copy(&w->q->maker, tensor, &w->wanted[w->q->judge.output_count + i]);
}

static tort_status nan_found(const tort_quantized *q, const watcher *w) {
    const tort_net_value *value = &q->net.values[w->nan];
    const tort_net_node *node = value->producer < 0 ? NULL : &q->net.nodes[value->producer];
    return tort_fail(q->error, TORT_E_INPUT, "sample %d: '%s' has a NaN%s%s%s, so that it has no range", w->sample,
                     value->name, node ? ", made by node '" : "", node ? node->name : "", node ? "'" : "");
}

static tort_status run_all(tort_quantized *q, watcher *w) {
    const int32_t count = q->judge.samples->count;
    tort_wanted *wanted = tort_make(&q->maker, (size_t)count, sizeof *wanted);
    tort_tensor *outputs = tort_make(&q->maker, (size_t)q->judge.output_count, sizeof *outputs);
    q->judge.wanted = wanted;
    tort_context_observe(q->trial.context, watch, w);
    tort_context_observe_some(q->trial.context, look);
    for (int32_t i = 0; i < count; i++) {
        tort_status status = tort_quantize_tell(q, "calibration", i, count);
        w->sample = i;
        w->wanted = wanted[i].outputs =
            tort_make(&q->maker, (size_t)(q->judge.output_count + q->judge.smooth_count), sizeof *w->wanted);
        w->into = q->folds[i % 2].ranges.statistics;
        if (!status) status = tort_trial_run(&q->judge, &q->trial, i, outputs, q->error);
        if (status) return status;
        const int32_t inside = w->nan; /* an input is told before what it has spoilt */
        w->nan = -1;
        for (int32_t k = 0; k < q->judge.input_count; k++)
            take(w, tort_net_find(&q->net, q->net.proto->graph->input[k]->name), &q->judge.inputs[k]);
        if (w->nan < 0) w->nan = inside;
        if (w->nan >= 0) return nan_found(q, w);
        for (int32_t k = 0; k < q->judge.output_count; k++) tort_make_copy(&q->maker, &outputs[k], &w->wanted[k]);
    }
    return TORT_OK;
}

static bool is_seen(const tort_quantized *q, int32_t value) {
    bool seen = true;
    for (int32_t f = 0; f < q->fold_count; f++) seen = seen && q->folds[f].ranges.statistics[value];
    return seen;
}

/* Nodes of values that no run computed in each fold, or that are infinite (masks), stay in float32. */
static void refuse_unknown(tort_quantized *q, const bool *infinite) {
    for (int32_t i = 0; i < q->net.node_count; i++) {
        const tort_net_node *node = &q->net.nodes[i];
        for (int32_t k = 0; q->rules.able[i] && k < node->input_count + node->output_count; k++) {
            const int32_t value = k < node->input_count ? node->inputs[k] : node->outputs[k - node->input_count];
            if (!tort_net_is_float(&q->net, value) || q->rules.joined[value]) continue;
            if (tort_net_is_live(&q->net, value) ? infinite[value] : !tort_net_is_finite(q->net.values[value].constant))
                tort_rules_refuse(&q->rules, i, "it has infinite values");
            else if (tort_net_is_live(&q->net, value) && !is_seen(q, value))
                tort_rules_refuse(&q->rules, i, "no sample gave its values");
        }
    }
    tort_ranges_refuse_mixed(&q->folds[0].ranges, &q->rules, &q->maker);
    tort_rules_number(&q->rules);
}

tort_status tort_quantize_calibrate(tort_quantized *q) {
    const size_t values = (size_t)q->net.value_count;
    bool *matter = tort_make(&q->maker, values, sizeof *matter);
    for (int32_t i = 0; i < q->net.value_count; i++) matter[i] = matters(q, i);
    const int32_t room = room_for(q->judge.samples->count);
    watcher w = {.q = q,
                 .nan = -1,
                 .matters = matter,
                 .picked = tort_make(&q->maker, (size_t)room, sizeof(float)),
                 .room = room,
                 .infinite = tort_make(&q->maker, values, sizeof(bool))};
    for (int32_t f = 0; f < 2; f++)
        q->folds[f].ranges = (tort_ranges){.rules = &q->rules,
                                           .statistics = tort_make(&q->maker, values, sizeof(tort_statistics *)),
                                           .symmetric = q->options->scheme == TORT_SCHEME_TENSORRT};
    tort_status status = tort_quantize_open(q, q->net.proto, true);
    if (!status) status = run_all(q, &w);
    tort_quantize_close(q);
    if (status) return status;
    refuse_unknown(q, w.infinite);
    for (int32_t f = 0; !status && f < q->fold_count; f++) status = tort_quantize_cut(q, &q->folds[f].ranges);
    return status;
}
