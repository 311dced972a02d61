/* cpu_tree_cases.c - random ensembles of trees for cpu_kernels.c. Thresholds and features are multiples of 1/2, so that
 * features fall on thresholds; some features are NaN or infinite. */
#include "tests/unit/cpu_tree_cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/numeric.h"

enum { MAX_TREES = 20, MAX_NODES = 1600, MAX_VOTES = 3 * MAX_NODES };

/* The lists of an ensemble; in one block, so that run_round can free them. */
typedef struct tree_lists {
    int64_t trees[MAX_NODES], ids[MAX_NODES], features[MAX_NODES], yes[MAX_NODES], no[MAX_NODES];
    int64_t yes_leaf[MAX_NODES], no_leaf[MAX_NODES], missing[MAX_NODES], roots[MAX_TREES];
    int64_t vote_trees[MAX_VOTES], vote_ids[MAX_VOTES], targets[MAX_VOTES], labels[3];
    float values[MAX_NODES], weights[MAX_VOTES], members[4 * MAX_NODES];
    uint8_t kinds[MAX_NODES];
    tort_string modes[MAX_NODES];
    int32_t nodes, votes, members_count, target_count;
    bool one_mode, one_target;
} tree_lists;

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};

static tree_lists *new_lists(random_node *n, random_source *r) {
    tree_lists *lists = calloc(1, sizeof *lists);
    cr_assert(lists);
    n->block = lists;
    lists->target_count = (int32_t)draw(r, 1, 3);
    lists->one_mode = draw(r, 0, 1);
    lists->one_target = draw(r, 0, 1);
    return lists;
}

static void add_vote(tree_lists *l, random_source *r, int64_t tree, int64_t id, int64_t target) {
    l->vote_trees[l->votes] = tree;
    l->vote_ids[l->votes] = id;
    l->targets[l->votes] = target;
    l->weights[l->votes++] = (float)draw(r, -9, 20) / 7;
}

/* ---- versions 1 and 3 -------------------------------------------------------------------------------------------- */

/* A node and all below it; its id. */
static int64_t grow(tree_lists *l, random_source *r, int64_t tree, int64_t first, int depth) {
    const int32_t at = l->nodes++;
    const int64_t id = at - first;
    int64_t mode = depth && draw(r, 1, 10) > 2 ? draw(r, 0, 5) : 6;
    if (mode < 6 && l->one_mode) mode = tree % 2;
    l->trees[at] = tree;
    l->ids[at] = id;
    l->modes[at] = (tort_string){mode_names[mode], strlen(mode_names[mode])};
    l->features[at] = mode < 6 ? draw(r, 0, 4) : 0;
    l->values[at] = draw(r, 1, 40) == 1 ? INFINITY : (float)draw(r, -4, 4) / 2;
    l->missing[at] = draw(r, 0, 1);
    if (mode == 6) {
        for (int64_t target = 0; target < l->target_count; target++)
            if (!l->one_target || target == tree % l->target_count) add_vote(l, r, tree, id, target);
        return id;
    }
    l->yes[at] = grow(l, r, tree, first, depth - 1);
    /* Two nodes have one child. */
    const bool shared = l->modes[first + l->yes[at]].length > 4 && draw(r, 1, 8) == 1;
    l->no[at] = shared ? l->no[first + l->yes[at]] : grow(l, r, tree, first, depth - 1);
    return id;
}

static void add_ints(random_node *n, const char *name, int32_t count, const int64_t *list) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_INTS, .count = count, .u.ints = list};
}

static void add_floats(random_node *n, const char *name, int32_t count, const float *list) {
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_FLOATS, .count = count, .u.floats = list};
}

static void add_rows(random_node *n, random_source *r, tort_type type) {
    tort_tensor *x = &n->inputs[n->input_count++];
    *x = (tort_tensor){.type = type, .rank = 2, .dims = {draw(r, 0, 1) ? draw(r, 1, 9) : draw(r, 1, 1200), 6}};
    x->data = malloc((size_t)tort_count(x) * sizeof(double) + 64);
    cr_assert(x->data);
    for (int64_t i = 0; i < tort_count(x); i++) {
        const int64_t odd = draw(r, 1, 60);
        const double value = odd == 1   ? (double)NAN
                             : odd == 2 ? (double)INFINITY
                             : odd == 3 ? -(double)INFINITY
                                        : (double)draw(r, -5, 5) / 2;
        tort_store_doubles(type, x->data, i, 1, &value);
    }
}

static tree_lists *make_lists(random_node *n, random_source *r) {
    tree_lists *l = new_lists(n, r);
    const int64_t trees = draw(r, 1, MAX_TREES);
    for (int64_t t = 0; t < trees; t++) grow(l, r, t, l->nodes, (int)draw(r, 0, 5));
    add_ints(n, "nodes_treeids", l->nodes, l->trees);
    add_ints(n, "nodes_nodeids", l->nodes, l->ids);
    add_ints(n, "nodes_featureids", l->nodes, l->features);
    add_ints(n, "nodes_truenodeids", l->nodes, l->yes);
    add_ints(n, "nodes_falsenodeids", l->nodes, l->no);
    if (draw(r, 0, 1)) add_ints(n, "nodes_missing_value_tracks_true", l->nodes, l->missing);
    add_floats(n, "nodes_values", l->nodes, l->values);
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = "nodes_modes", .kind = TORT_ATTR_STRINGS, .count = l->nodes, .u.strings = l->modes};
    add_rows(n, r, draw(r, 0, 2) ? TORT_FLOAT : TORT_INT32);
    n->opset = 3;
    n->tolerance = 1e-7f; /* equal, but for what a double rounds to */
    return l;
}

void make_tree_regressor(random_node *n, random_source *r) {
    const tree_lists *l = make_lists(n, r);
    add_ints(n, "target_treeids", l->votes, l->vote_trees);
    add_ints(n, "target_nodeids", l->votes, l->vote_ids);
    add_ints(n, "target_ids", l->votes, l->targets);
    add_floats(n, "target_weights", l->votes, l->weights);
    if (draw(r, 0, 1)) add_floats(n, "base_values", l->target_count, l->weights);
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = "n_targets", .kind = TORT_ATTR_INT, .count = 1, .u.i = l->target_count};
    if (draw(r, 0, 1))
        n->attributes[n->attribute_count++] =
            (tort_attribute){.name = "aggregate_function", .kind = TORT_ATTR_STRING, .count = 1, .u.s = {"AVERAGE", 7}};
}

void make_tree_classifier(random_node *n, random_source *r) {
    tree_lists *l = make_lists(n, r);
    add_ints(n, "class_treeids", l->votes, l->vote_trees);
    add_ints(n, "class_nodeids", l->votes, l->vote_ids);
    add_ints(n, "class_ids", l->votes, l->targets);
    add_floats(n, "class_weights", l->votes, l->weights);
    for (int64_t c = 0; c < 3; c++) l->labels[c] = 10 * c - 7;
    add_ints(n, "classlabels_int64s", l->target_count, l->labels);
    n->second_output = true;
}

/* ---- TreeEnsemble-5 ---------------------------------------------------------------------------------------------- */

/* The place of a node that branches, or of a leaf. */
static int64_t grow5(tree_lists *l, random_source *r, int depth, int64_t *is_leaf) {
    *is_leaf = depth < 5 && (!depth || draw(r, 1, 10) <= 2);
    if (*is_leaf) {
        add_vote(l, r, 0, 0, draw(r, 0, l->target_count - 1));
        return l->votes - 1;
    }
    const int32_t at = l->nodes++;
    l->features[at] = draw(r, 0, 4);
    l->kinds[at] = (uint8_t)draw(r, 0, 6);
    l->values[at] = (float)draw(r, -4, 4) / 2;
    l->missing[at] = draw(r, 0, 1);
    for (int64_t i = l->kinds[at] == 6 ? draw(r, 0, 6) : -1; i >= 0; i--)
        l->members[l->members_count++] = i ? (float)draw(r, -4, 4) / 2 : NAN;
    l->yes[at] = grow5(l, r, depth - 1, &l->yes_leaf[at]);
    l->no[at] = grow5(l, r, depth - 1, &l->no_leaf[at]);
    return at;
}

static void add_tensor_attribute(random_node *n, const char *name, tort_type type, int32_t count, void *data) {
    const int32_t index = n->tensor_count++;
    n->tensors[index] = (tort_tensor){.type = type, .rank = 1, .dims = {count}, .data = data};
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = name, .kind = TORT_ATTR_TENSOR, .count = 1, .u.i = index};
}

void make_tree_ensemble(random_node *n, random_source *r) {
    tree_lists *l = new_lists(n, r);
    const int32_t trees = (int32_t)draw(r, 1, MAX_TREES);
    int64_t is_leaf;
    for (int32_t t = 0; t < trees; t++) l->roots[t] = grow5(l, r, 5, &is_leaf);
    add_ints(n, "tree_roots", trees, l->roots);
    add_ints(n, "nodes_featureids", l->nodes, l->features);
    add_ints(n, "nodes_truenodeids", l->nodes, l->yes);
    add_ints(n, "nodes_falsenodeids", l->nodes, l->no);
    add_ints(n, "nodes_trueleafs", l->nodes, l->yes_leaf);
    add_ints(n, "nodes_falseleafs", l->nodes, l->no_leaf);
    if (draw(r, 0, 1)) add_ints(n, "nodes_missing_value_tracks_true", l->nodes, l->missing);
    add_ints(n, "leaf_targetids", l->votes, l->targets);
    add_tensor_attribute(n, "nodes_modes", TORT_UINT8, l->nodes, l->kinds);
    add_tensor_attribute(n, "nodes_splits", TORT_FLOAT, l->nodes, l->values);
    add_tensor_attribute(n, "leaf_weights", TORT_FLOAT, l->votes, l->weights);
    if (l->members_count) add_tensor_attribute(n, "membership_values", TORT_FLOAT, l->members_count, l->members);
    n->attributes[n->attribute_count++] =
        (tort_attribute){.name = "n_targets", .kind = TORT_ATTR_INT, .count = 1, .u.i = l->target_count};
    add_rows(n, r, draw(r, 0, 2) ? TORT_FLOAT : TORT_FLOAT16);
    n->opset = 5;
    n->tolerance = 1e-7f;
}
