/* trees.h - an ensemble of decision trees as TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble have it,
 * decoded and checked, for the plain loop and for kernels.
 *
 * A row of features walks each tree from its root to a leaf; the votes of the leaves are aggregated target by target,
 * and trees_scores.c makes the outputs of them. Whatever the file says, every index here is in range, and every walk
 * ends. Read next: trees.c, the plain loop; trees_decode.c, which makes the params. */
#ifndef TORT_OPS_ML_TREES_H
#define TORT_OPS_ML_TREES_H

#include "ops/ml/post_transform.h"

/* The first seven have the numbers of TreeEnsemble-5. */
typedef enum tort_tree_mode {
    TORT_TREE_LEQ,
    TORT_TREE_LT,
    TORT_TREE_GTE,
    TORT_TREE_GT,
    TORT_TREE_EQ,
    TORT_TREE_NEQ,
    TORT_TREE_MEMBER,
    TORT_TREE_LEAF
} tort_tree_mode;

typedef enum tort_tree_aggregate { /* the numbers of TreeEnsemble-5 */
                                   TORT_TREES_AVERAGE,
                                   TORT_TREES_SUM,
                                   TORT_TREES_MIN,
                                   TORT_TREES_MAX
} tort_tree_aggregate;

/* Whether all votes are for one class, number 0 or 1. */
typedef enum tort_tree_classes { TORT_TREES_MANY, TORT_TREES_FIRST, TORT_TREES_SECOND } tort_tree_classes;

typedef struct tort_tree_node {
    double value; /* to compare the feature with; of MEMBER where its set begins in `members` */
    int32_t feature;
    int32_t yes, no; /* nodes; of a leaf the first of its votes, and how many they are */
    uint8_t mode;    /* tort_tree_mode */
    uint8_t missing; /* 1: NaN goes to `yes` */
} tort_tree_node;

typedef struct tort_tree_vote {
    double weight;
    int32_t target;
} tort_tree_vote;

/* Numbers are those of the file, widened. Where nothing is double, thresholds, weights, base values and all sums are
 * floats, rounded after each sum; two nodes may have one child. */
typedef struct tort_trees_params {
    int32_t targets;  /* or classes: columns of the scores */
    int32_t features; /* more than any node looks at */
    tort_post_transform transform;
    tort_tree_aggregate aggregate;
    bool doubles; /* a tensor of doubles is among the attributes */
    bool classifies;
    tort_tree_classes one_class;
    bool all_positive; /* no vote is below 0 */
    tort_list roots;   /* int32_t: a node a tree */
    tort_list nodes, votes;
    tort_list members;       /* double: the sets of MEMBER, NaN behind each */
    tort_list bases;         /* double: none, one, or one a target */
    tort_list labels, names; /* of a classifier one of them: int64_t, or strings as in tort_list_string */
} tort_trees_params;

/* resolve of versions 1 and 3, with votes named "class" or "target", and of TreeEnsemble-5. */
tort_status tort_trees_resolve_classifier(tort_resolve *resolve);
tort_status tort_trees_resolve_regressor(tort_resolve *resolve);
tort_status tort_trees_resolve_ensemble(tort_resolve *resolve);

/* Rows and columns of input X, of rank 1 (one row) or 2. TORT_E_INPUT: fewer columns than the trees look at. */
tort_status tort_trees_input(const tort_call *call, int64_t *rows, int64_t *columns);
/* Is X, or any number of the trees, a double? */
bool tort_trees_wide(const tort_call *call);

/* Copies the labels that are strings for the outputs of this call; params may go before them. */
tort_status tort_trees_names(const tort_call *call, tort_string *names);
/* What makes output row `row` of its votes: adds base values, transforms, chooses a label. scores: one a target,
 * aggregated, overwritten; voted: which of them any tree voted for; names: of this call. */
void tort_trees_finish(const tort_call *call, int64_t row, double *scores, const uint8_t *voted,
                       const tort_string *names);

#endif
