/* trees.c - TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble: rows and the plain loop over rows, trees
 * and nodes.
 *
 * Votes are summed in the order of the trees, in float if neither X nor a number of the trees is double, so that sums,
 * and the choice between close classes, are those of ONNX Runtime at one thread. A missing value (NaN) takes the branch
 * that the node states, whatever its mode. */
#include "ops/extent.h"
#include "ops/ml/trees.h"
#include "ops/numeric.h"

#include <math.h>
#include <string.h>

/* ---- infer ------------------------------------------------------------------------------------------------------- */

/* Number of rows of X; scores are [rows, columns], labels [rows]. */
static tort_status infer_rows(const tort_infer *infer, tort_dim *rows) {
    const tort_info *x = &infer->node->inputs[0];
    if (x->rank > 2 || x->rank == 0)
        return tort_fail(infer->error, TORT_E_MODEL, "X has rank %d; expected [rows, features], or one row", x->rank);
    *rows = x->rank < 0 ? tort_dim_fresh(infer->dims, false) : x->rank == 1 ? 1 : x->dims[0];
    return TORT_OK;
}

static tort_status infer_classifier(tort_infer *infer) {
    const tort_attribute *labels = tort_attr(infer->node, "classlabels_int64s");
    const tort_attribute *names = tort_attr(infer->node, "classlabels_strings");
    const bool named = names && names->count > 0;
    tort_dim dims[2];
    tort_status status = infer_rows(infer, &dims[0]);
    if (status) return status;
    dims[1] = named ? names->count : labels ? labels->count : 0;
    tort_infer_shape(infer, 0, named ? TORT_STRING : TORT_INT64, 1, dims);
    tort_infer_shape(infer, 1, TORT_FLOAT, 2, dims);
    return TORT_OK;
}

static tort_status infer_targets(tort_infer *infer) {
    const bool regressor = infer->node->op->since < 5; /* else TreeEnsemble */
    tort_dim dims[2];
    tort_status status = infer_rows(infer, &dims[0]);
    if (status) return status;
    dims[1] = tort_attr_int(infer->node, "n_targets");
    if (dims[1] < 1)
        return tort_fail(infer->error, TORT_E_MODEL, "n_targets is %lld; expected 1 or more", (long long)dims[1]);
    tort_infer_shape(infer, 0, regressor ? TORT_FLOAT : infer->node->inputs[0].type, 2, dims);
    return TORT_OK;
}

/* ---- what kernels share ------------------------------------------------------------------------------------------ */

tort_status tort_trees_input(const tort_call *call, int64_t *rows, int64_t *columns) {
    const tort_trees_params *p = call->params;
    const tort_tensor *x = &call->inputs[0];
    *rows = x->rank == 1 ? 1 : x->dims[0];
    *columns = x->dims[x->rank - 1];
    if (p->features > *columns)
        return tort_fail(
            call->error, TORT_E_INPUT,
            "X has %lld features, but the trees look at feature %d (counted from 0): give all features that "
            "the model was trained with",
            (long long)*columns, p->features - 1);
    return TORT_OK;
}

bool tort_trees_wide(const tort_call *call) {
    const tort_trees_params *p = call->params;
    return p->doubles || call->inputs[0].type == TORT_DOUBLE;
}

/* ---- scores and label of a row ----------------------------------------------------------------------------------- */

/* By the specification, a class's score is its sum of votes and its base value, and the first of the largest is chosen.
 * It does not define two classes of which only one gets votes, as converters write them: as in ONNX Runtime, one number
 * then stands for both classes (listed in ops/README.md). */
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

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static bool is_member(const tort_trees_params *p, const tort_tree_node *node, double x) {
    const double *set = (const double *)tort_list_at(p, p->members) + (int64_t)node->value;
    for (; !isnan(*set); set++)
        if (*set == x) return true;
    return false;
}

static bool goes_to_yes(const tort_trees_params *p, const tort_tree_node *node, double x) {
    if (isnan(x)) return node->missing;
    switch ((tort_tree_mode)node->mode) {
    case TORT_TREE_LEQ: return x <= node->value;
    case TORT_TREE_LT: return x < node->value;
    case TORT_TREE_GTE: return x >= node->value;
    case TORT_TREE_GT: return x > node->value;
    case TORT_TREE_EQ: return x == node->value;
    case TORT_TREE_NEQ: return x != node->value;
    case TORT_TREE_MEMBER: return is_member(p, node, x);
    case TORT_TREE_LEAF: break;
    }
    return false;
}

/* The leaf that a row of X reaches; the row's first element has index `at`. */
static const tort_tree_node *find_leaf(const tort_call *call, int32_t root, int64_t at, bool wide) {
    const tort_trees_params *p = call->params;
    const tort_tree_node *nodes = tort_list_at(p, p->nodes), *node = &nodes[root];
    while (node->mode != TORT_TREE_LEAF) {
        const double x = tort_element_at(&call->inputs[0], at + node->feature);
        node = &nodes[goes_to_yes(p, node, wide ? x : (double)(float)x) ? node->yes : node->no];
    }
    return node;
}

static double aggregated(tort_tree_aggregate aggregate, double score, double weight, bool wide) {
    const double sum = score + weight;
    switch (aggregate) {
    case TORT_TREES_MIN: return weight < score ? weight : score;
    case TORT_TREES_MAX: return weight > score ? weight : score;
    case TORT_TREES_SUM:
    case TORT_TREES_AVERAGE: break;
    }
    return wide ? sum : (double)(float)sum;
}

/* Adds the votes of a leaf. */
static void vote(const tort_trees_params *p, const tort_tree_node *leaf, bool wide, double *scores, uint8_t *voted) {
    const tort_tree_vote *votes = (const tort_tree_vote *)tort_list_at(p, p->votes) + leaf->yes;
    const bool extreme = p->aggregate == TORT_TREES_MIN || p->aggregate == TORT_TREES_MAX;
    for (int32_t i = 0; i < leaf->no; i++) {
        const int32_t target = votes[i].target;
        const bool first = extreme && !voted[target];
        scores[target] = first ? votes[i].weight : aggregated(p->aggregate, scores[target], votes[i].weight, wide);
        voted[target] = 1;
    }
}

static tort_status trees(const tort_call *call) {
    const tort_trees_params *p = call->params;
    const int32_t *roots = tort_list_at(p, p->roots);
    const bool wide = tort_trees_wide(call);
    const size_t targets = (size_t)p->targets;
    double *scores = call->scratch;
    tort_string *names = (tort_string *)(void *)(scores + targets);
    uint8_t *voted = (uint8_t *)(names + p->names.count);
    int64_t rows = 0, columns = 0, done = 0;
    tort_status status = tort_trees_input(call, &rows, &columns);
    if (!status) status = tort_trees_names(call, names);
    for (int64_t row = 0; !status && row < rows && !tort_is_over(call->watch); row++) {
        memset(scores, 0, targets * sizeof *scores);
        memset(voted, 0, targets);
        for (int64_t t = 0; t < p->roots.count && tort_work_goes_on(call->watch, &done, 64); t++)
            vote(p, find_leaf(call, roots[t], row * columns, wide), wide, scores, voted);
        tort_trees_finish(call, row, scores, voted, names);
    }
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Version 5 of the domain deprecates classifier and regressor of version 3, but still has them. */

#define NODES                                                                                                          \
    "nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:floats nodes_missing_value_tracks_true:ints "        \
    "nodes_modes:strings nodes_nodeids:ints nodes_treeids:ints nodes_truenodeids:ints nodes_values:floats "            \
    "post_transform:string=NONE base_values:floats "
#define NODE_TENSORS "base_values_as_tensor:tensor nodes_hitrates_as_tensor:tensor nodes_values_as_tensor:tensor "
#define CLASSES                                                                                                        \
    "class_ids:ints class_nodeids:ints class_treeids:ints class_weights:floats classlabels_int64s:ints "               \
    "classlabels_strings:strings "
#define TARGETS                                                                                                        \
    "aggregate_function:string=SUM n_targets:int target_ids:ints target_nodeids:ints target_treeids:ints "             \
    "target_weights:floats "

#define CLASSIFIER(SINCE, UNTIL, ATTRIBUTES)                                                                           \
    {                                                                                                                  \
        "ai.onnx.ml", "TreeEnsembleClassifier", SINCE, UNTIL, "X:T1", "Y:T2 Z:float",                                  \
            "T1=float|double|int64|int32 T2=string|int64", ATTRIBUTES,                                                 \
            .flags = TORT_OP_ONCE, .params_size = sizeof(tort_trees_params), infer_classifier,                         \
            tort_trees_resolve_classifier, trees                                                                       \
    }
#define REGRESSOR(SINCE, UNTIL, ATTRIBUTES)                                                                            \
    {                                                                                                                  \
        "ai.onnx.ml", "TreeEnsembleRegressor", SINCE, UNTIL, "X:T", "Y:float", "T=float|double|int64|int32",           \
            ATTRIBUTES, .flags = TORT_OP_ONCE, .params_size = sizeof(tort_trees_params), infer_targets,                \
                        tort_trees_resolve_regressor, trees                                                            \
    }

const tort_op tort_ops_ml_trees[] = {
    CLASSIFIER(1, 2, NODES CLASSES),
    CLASSIFIER(3, 5, NODES CLASSES NODE_TENSORS "class_weights_as_tensor:tensor"),
    REGRESSOR(1, 2, NODES TARGETS),
    REGRESSOR(3, 5, NODES TARGETS NODE_TENSORS "target_weights_as_tensor:tensor"),
    {"ai.onnx.ml", "TreeEnsemble", 5, 5, "X:T", "Y:T", "T=float|double|float16",
     "aggregate_function:int=1 leaf_targetids:ints! leaf_weights:tensor! membership_values:tensor n_targets:int "
     "nodes_falseleafs:ints! nodes_falsenodeids:ints! nodes_featureids:ints! nodes_hitrates:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:tensor! nodes_splits:tensor! nodes_trueleafs:ints! "
     "nodes_truenodeids:ints! post_transform:int=0 tree_roots:ints!",
     .flags = TORT_OP_ONCE, .params_size = sizeof(tort_trees_params), infer_targets, tort_trees_resolve_ensemble,
     trees},
    {0},
};
