/* tree_case_table.c - trees worked out by hand: the language is that of operator_cases.c. Their refusals are in
 * operator_refusal_table.c. */
#include <stddef.h>

extern const char *const tree_cases[];

/* One question, x0 <= 0.5, then two leaves; behind it come votes of nodes 1 (yes) and 2 (no). */
#define ASK(MODE)                                                                                                      \
    "nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=0,0,0 nodes_modes=" MODE ",LEAF,LEAF "                   \
    "nodes_values=0.5,0,0 nodes_truenodeids=1,0,0 nodes_falsenodeids=2,0,0 "
#define CLASSIFIER "ai.onnx.ml.TreeEnsembleClassifier 3; "
#define REGRESSOR "ai.onnx.ml.TreeEnsembleRegressor 3; "
#define ONE_CLASS(CLASS, A, B)                                                                                         \
    "class_treeids=0,0 class_nodeids=1,2 class_ids=" CLASS "," CLASS " class_weights=" A "," B " "
#define BOTH "class_treeids=0,0,0,0 class_nodeids=1,1,2,2 class_ids=0,1,0,1 class_weights=0.75,0.25,0.125,0.875 "
#define TARGET "n_targets=1 target_treeids=0,0 target_nodeids=1,2 target_ids=0,0 target_weights=3,5 "
#define OLD_CLASSIFIER "ai.onnx.ml.TreeEnsembleClassifier 1; "
#define OLD_REGRESSOR "ai.onnx.ml.TreeEnsembleRegressor 1; "
#define ROWS "f32[2,1] 0.5 0.75 -> "
/* Two trees of one question each, then leaves 0 .. 3. */
#define PAIR                                                                                                           \
    "ai.onnx.ml.TreeEnsemble 5; tree_roots=0,1 nodes_featureids=0,1 nodes_truenodeids=0,2 nodes_falsenodeids=1,3 "     \
    "nodes_trueleafs=1,1 nodes_falseleafs=1,1 leaf_targetids=0,1,0,1 leaf_weights=f32[4]:1:2:4:8 n_targets=2 "
#define LEQ "nodes_modes=u8[2]:0:0 nodes_splits=f32[2]:0:0 "

// clang-format off: a line a case where it fits
const char *const tree_cases[] = {
    /* Votes for one of two classes: a probability where all are positive, else a margin. */
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("0", "0.25", "0.75") "classlabels_int64s=5,7; " ROWS
                                                                "i64[2] 5 7; f32[2,2] 0.75 0.25 0.25 0.75",
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("0", "-0.25", "0.75") "classlabels_int64s=5,7; " ROWS
                                                                 "i64[2] 5 7; f32[2,2] 0.25 -0.25 -0.75 0.75",
    CLASSIFIER ASK("BRANCH_LEQ")
        ONE_CLASS("0", "-1", "1") "post_transform=LOGISTIC classlabels_int64s=5,7; " ROWS
                                  "i64[2] 5 7; f32[2,2] 0.7310586 0.2689414 0.2689414 0.7310586",
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("0", "0.25", "0.75") "base_values=0.5 classlabels_int64s=5,7; " ROWS
                                                                "i64[2] 7 7; f32[2,2] 0.25 0.75 -0.25 1.25",
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("1", "0.25", "0.75") "classlabels_int64s=5,7; " ROWS
                                                                "i64[2] 5 7; f32[2,2] 0 0.25 0 0.75",
    /* Votes for both, or base values for both: the larger score. */
    CLASSIFIER ASK("BRANCH_LEQ") BOTH "classlabels_int64s=5,7; " ROWS "i64[2] 5 7; f32[2,2] 0.75 0.25 0.125 0.875",
    CLASSIFIER ASK("BRANCH_LEQ") BOTH "base_values=0,1 classlabels_int64s=5,7; " ROWS
                                      "i64[2] 7 7; f32[2,2] 0.75 1.25 0.125 1.875",
    OLD_CLASSIFIER ASK("BRANCH_LEQ") BOTH "classlabels_strings=no,yes; " ROWS
                                          "str[2] no yes; f32[2,2] 0.75 0.25 0.125 0.875",
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("0", "0.25", "0.75") "base_values=0,0.5 classlabels_int64s=5,7; " ROWS
                                                                "i64[2] 7 5; f32[2,2] 0.25 0.5 0.75 0.5",
    /* A class without votes is not chosen. */
    CLASSIFIER ASK("BRANCH_LEQ") ONE_CLASS("1", "-2", "-3") "classlabels_int64s=5,7,9; " ROWS
                                                            "i64[2] 7 7; f32[2,3] 0 -2 0 0 -3 0",
    /* All modes at the threshold and above; a missing value goes to "false", or where the node says. */
    REGRESSOR ASK("BRANCH_LEQ") TARGET "; f32[3,1] 0.5 0.75 nan -> f32[3,1] 3 5 5",
    REGRESSOR ASK("BRANCH_LT") TARGET "; f32[3,1] 0.5 0.25 nan -> f32[3,1] 5 3 5",
    OLD_REGRESSOR ASK("BRANCH_GTE") TARGET "; f32[3,1] 0.5 0.25 nan -> f32[3,1] 3 5 5",
    REGRESSOR ASK("BRANCH_GT") TARGET "; f32[3,1] 0.5 0.75 nan -> f32[3,1] 5 3 5",
    REGRESSOR ASK("BRANCH_EQ") TARGET "; f32[3,1] 0.5 0.75 nan -> f32[3,1] 3 5 5",
    REGRESSOR ASK("BRANCH_NEQ") TARGET "; f32[3,1] 0.5 0.75 nan -> f32[3,1] 5 3 5",
    REGRESSOR ASK("BRANCH_NEQ") TARGET "nodes_missing_value_tracks_true=1,0,0; f32[1,1] nan -> f32[1,1] 3",
    REGRESSOR ASK("BRANCH_GT") TARGET "nodes_missing_value_tracks_true=1,0,0; f32[2,1] nan 0.5 -> f32[2,1] 3 5",
    REGRESSOR ASK("BRANCH_LEQ") TARGET "; i32[2,1] 0 1 -> f32[2,1] 3 5",
    REGRESSOR ASK("BRANCH_LEQ") TARGET "; f32[1] 0 -> f32[1,1] 3",
    /* Numbers of double: 0.1 as a float is above it. */
    "ai.onnx.ml.TreeEnsembleRegressor 3; nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=0,0,0 "
    "nodes_modes=BRANCH_LEQ,LEAF,LEAF nodes_values_as_tensor=f64[3]:0.1:0:0 nodes_truenodeids=1,0,0 "
    "nodes_falsenodeids=2,0,0 " TARGET "; f32[1,1] 0.1 -> f32[1,1] 5",
    "ai.onnx.ml.TreeEnsembleRegressor 3; nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_featureids=0,0,0 "
    "nodes_modes=BRANCH_LEQ,LEAF,LEAF nodes_values_as_tensor=f64[3]:0.1:0:0 nodes_truenodeids=1,0,0 "
    "nodes_falsenodeids=2,0,0 " TARGET "; f64[1,1] 0.1 -> f32[1,1] 3",
    /* Aggregates; a target without votes is 0. */
    PAIR LEQ "; f32[2,2] 0 0 1 1 -> f32[2,2] 5 0 0 10",
    PAIR LEQ "aggregate_function=0; f32[2,2] 0 0 0 1 -> f32[2,2] 2.5 0 0.5 4",
    PAIR LEQ "aggregate_function=2; f32[2,2] 0 0 1 1 -> f32[2,2] 1 0 0 2",
    PAIR LEQ "aggregate_function=3; f32[2,2] 0 0 1 1 -> f32[2,2] 4 0 0 8",
    PAIR LEQ "post_transform=1; f32[1,2] 0 1 -> f32[1,2] 0.0009110512 0.9990889",
    PAIR "nodes_modes=u8[2]:6:0 nodes_splits=f32[2]:0:0 membership_values=f32[4]:3:-1.5:0:nan; "
         "f32[4,2] 3 0 -1.5 0 0.5 0 nan 0 -> f32[4,2] 5 0 5 0 4 2 4 2",
    NULL,
};
