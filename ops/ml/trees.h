/* trees.h - an ensemble of decision trees for TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble, decoded
 * and checked, for the plain loop and for kernels.
 *
 * A row of features walks each tree from its root to a leaf; the votes of the leaves are aggregated per target, and
 * trees.c computes the outputs from them. Whatever the file says, every index here is in range, and every walk
 * ends. Read next: trees.c, the plain loop; trees_decode.c, which makes the params. */
#ifndef TORT_OPS_ML_TREES_H
#define TORT_OPS_ML_TREES_H

#include "ops/ml/post_transform.h"

/* Comparison of a node. The first seven have the numbers of TreeEnsemble-5. */
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

/* Classes that get votes: several, only number 0, or only number 1. */
typedef enum tort_tree_classes { TORT_TREES_MANY, TORT_TREES_FIRST, TORT_TREES_SECOND } tort_tree_classes;

typedef struct tort_tree_node {
    double value; /* threshold for the feature; of MEMBER the start of its set in `members` */
    int32_t feature;
    int32_t yes, no; /* indices of nodes; of a leaf the first of its votes, and their number */
    uint8_t mode;    /* tort_tree_mode */
    uint8_t missing; /* 1: NaN goes to `yes` */
} tort_tree_node;

typedef struct tort_tree_vote {
    double weight;
    int32_t target;
} tort_tree_vote;

/* Numbers are those of the file, widened. If none is double, thresholds, weights, base values and all sums are floats,
 * rounded after each sum. Two nodes may share a child. */
typedef struct tort_trees_params {
    int32_t targets;  /* targets or classes: columns of the scores */
    int32_t features; /* above every feature index of a node */
    tort_post_transform transform;
    tort_tree_aggregate aggregate;
    bool doubles; /* a tensor of doubles is among the attributes */
    bool classifies;
    tort_tree_classes one_class;
    bool all_positive; /* no vote is below 0 */
    tort_list roots;   /* int32_t: one node per tree */
    tort_list nodes, votes;
    tort_list members;       /* double: the sets of MEMBER, each ended by NaN */
    tort_list bases;         /* double: none, one, or one per target */
    tort_list labels, names; /* of a classifier, one of the two: int64_t, or strings as in tort_list_string */
} tort_trees_params;

/* resolve of versions 1 and 3, whose votes are named "class" or "target", and of TreeEnsemble-5. */
tort_status tort_trees_resolve_classifier(tort_resolve *resolve);
tort_status tort_trees_resolve_regressor(tort_resolve *resolve);
tort_status tort_trees_resolve_ensemble(tort_resolve *resolve);

/* Rows and columns of input X, of rank 1 (one row) or 2. TORT_E_INPUT if the trees need more columns. */
tort_status tort_trees_input(const tort_call *call, int64_t *rows, int64_t *columns);
/* True if X, or any number of the trees, is double. */
bool tort_trees_wide(const tort_call *call);

/* Copies string labels for the outputs of this call, which outlive params. */
tort_status tort_trees_names(const tort_call *call, tort_string *names);
/* Computes output row `row` from its votes: adds base values, transforms, chooses a label. scores: per target,
 * aggregated; overwritten. voted: true if a tree voted for the target. names: by tort_trees_names. */
void tort_trees_finish(const tort_call *call, int64_t row, double *scores, const uint8_t *voted,
                       const tort_string *names);

#endif
