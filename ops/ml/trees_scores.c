/* trees_scores.c - computes scores and label of one row from its votes.
 *
 * By the specification, a class's score is its sum of votes and its base value, and the first of the largest is chosen.
 * It does not define two classes of which only one gets votes, as converters write them: as in ONNX Runtime, one number
 * then stands for both classes (listed in ops/README.md). */
#include "ops/ml/trees.h"
#include "ops/numeric.h"

#include <string.h>

static double rounded(double x, bool wide) {
    return wide ? x : (double)(float)x;
}

/* Completes the scores: divides for AVERAGE, adds base values. */
static void settle(const tort_trees_params *p, bool wide, double *scores) {
    const double *bases = tort_list_at(p, p->bases);
    for (int32_t t = 0; t < p->targets; t++) {
        if (p->aggregate == TORT_TREES_AVERAGE) scores[t] = rounded(scores[t] / (double)p->roots.count, wide);
        if (t < p->bases.count) scores[t] = rounded(scores[t] + bases[t], wide);
    }
}

/* The first class of the largest score, among classes with votes or base values; 0 if there are none. */
static int32_t best_class(const tort_trees_params *p, const double *scores, const uint8_t *voted) {
    int32_t best = -1;
    for (int32_t c = 0; c < p->targets; c++)
        if ((voted[c] || p->bases.count) && (best < 0 || scores[c] > scores[best])) best = c;
    return best < 0 ? 0 : best;
}

/* Fills two columns from one score: a probability if all votes are positive, otherwise a margin. Only LOGISTIC
 * transforms both; PROBIT transforms only the first column. */
static void split_score(const tort_trees_params *p, double *scores) {
    const double score = scores[0];
    scores[1] = 0;
    if (p->transform == TORT_POST_PROBIT) {
        tort_post_transform_doubles(p->transform, scores, 1);
        return;
    }
    const bool logistic = p->transform == TORT_POST_LOGISTIC;
    scores[1] = score;
    scores[0] = p->all_positive && !logistic ? 1 - score : -score;
    if (logistic) tort_post_transform_doubles(p->transform, scores, 2);
}

/* The class if one number stands for the only class, or for both. */
static int32_t class_of_one(const tort_trees_params *p, double score) {
    return score > (p->targets == 2 && p->all_positive ? 0.5 : 0);
}

static int32_t classify(const tort_trees_params *p, double *scores, const uint8_t *voted) {
    const bool alone = p->targets == 1, first = p->targets == 2 && p->one_class == TORT_TREES_FIRST;
    const bool second = p->targets == 2 && p->one_class == TORT_TREES_SECOND && !p->bases.count;
    int32_t best;
    if (alone || (first && p->bases.count < 2))
        best = class_of_one(p, scores[0]);
    else
        best = second ? class_of_one(p, scores[1]) : best_class(p, scores, voted);
    if (first && p->bases.count < 2)
        split_score(p, scores);
    else if (!alone || p->transform == TORT_POST_PROBIT)
        tort_post_transform_doubles(p->transform, scores, p->targets);
    return best;
}

tort_status tort_trees_names(const tort_call *call, tort_string *names) {
    const tort_trees_params *p = call->params;
    tort_status status = TORT_OK;
    for (int64_t i = 0; i < p->names.count && !status; i++)
        status = tort_call_copy_text(call, tort_list_string(p, p->names, i), &names[i]);
    return status;
}

/* Writes the label. A single class with integer labels is present (1) or absent (0), whatever its label is; a name is
 * written in either case. */
static void put_label(const tort_call *call, int64_t row, int32_t best, const tort_string *names) {
    const tort_trees_params *p = call->params;
    const tort_tensor *output = tort_call_output(call, 0);
    const int64_t *labels = tort_list_at(p, p->labels);
    if (!output) return;
    if (p->names.count)
        ((tort_string *)output->data)[row] = names[p->targets == 1 ? 0 : best];
    else
        ((int64_t *)output->data)[row] = p->targets == 1 ? best : labels[best];
}

void tort_trees_finish(const tort_call *call, int64_t row, double *scores, const uint8_t *voted,
                       const tort_string *names) {
    const tort_trees_params *p = call->params;
    const tort_tensor *output = tort_call_output(call, p->classifies ? 1 : 0);
    settle(p, tort_trees_wide(call), scores);
    if (p->classifies)
        put_label(call, row, classify(p, scores, voted), names);
    else
        tort_post_transform_doubles(p->transform, scores, p->targets);
    if (output) tort_store_doubles(output->type, output->data, row * p->targets, p->targets, scores);
}
