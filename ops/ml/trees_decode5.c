/* trees_decode5.c - decodes the attributes of TreeEnsemble-5 into tort_trees_params: branching nodes and leaves are
 * separate lists, and refer to each other by index. A leaf becomes a node after all branching ones, with one vote.
 *
 * The sets of BRANCH_MEMBER are in the order of their nodes, each ended by NaN (optional after the last). Nothing in
 * the lists is trusted. Read next: trees_lists.c. */
#include "ops/ml/trees_lists.h"

#include <math.h>

typedef struct ensemble_attributes {
    const tort_resolve *resolve;
    const int64_t *features, *yes, *no, *yes_leafs, *no_leafs, *missing, *roots, *targets;
    tort_numbers modes, splits, weights, members;
    int32_t nodes, leaves, trees, missing_count;
} ensemble_attributes;

static tort_status open_tensors(ensemble_attributes *a) {
    const tort_resolve *r = a->resolve;
    const uint64_t floats = 1ull << TORT_FLOAT | 1ull << TORT_DOUBLE | 1ull << TORT_FLOAT16;
    tort_status status = tort_numbers_of_tensor(r, "nodes_modes", 1ull << TORT_UINT8, &a->modes);
    if (!status) status = tort_numbers_of_tensor(r, "nodes_splits", floats, &a->splits);
    if (!status) status = tort_numbers_of_tensor(r, "leaf_weights", floats, &a->weights);
    if (!status) status = tort_numbers_of_tensor(r, "membership_values", floats, &a->members);
    return status;
}

static tort_status open_ensemble(ensemble_attributes *a) {
    static const char *const like = "nodes_featureids", *const like_leaf = "leaf_targetids";
    const tort_resolve *r = a->resolve;
    a->features = tort_attr_ints(r->node, like, &a->nodes);
    a->targets = tort_attr_ints(r->node, like_leaf, &a->leaves);
    a->roots = tort_attr_ints(r->node, "tree_roots", &a->trees);
    a->missing = tort_attr_ints(r->node, "nodes_missing_value_tracks_true", &a->missing_count);
    tort_status status = open_tensors(a);
    if (!status) status = tort_trees_ints(r, "nodes_truenodeids", like, a->nodes, &a->yes);
    if (!status) status = tort_trees_ints(r, "nodes_falsenodeids", like, a->nodes, &a->no);
    if (!status) status = tort_trees_ints(r, "nodes_trueleafs", like, a->nodes, &a->yes_leafs);
    if (!status) status = tort_trees_ints(r, "nodes_falseleafs", like, a->nodes, &a->no_leafs);
    if (!status) status = tort_trees_same(r, "nodes_modes", a->modes.count, like, a->nodes);
    if (!status) status = tort_trees_same(r, "nodes_splits", a->splits.count, like, a->nodes);
    if (!status) status = tort_trees_same(r, "leaf_weights", a->weights.count, like_leaf, a->leaves);
    if (!status && a->missing_count)
        status = tort_trees_same(r, "nodes_missing_value_tracks_true", a->missing_count, like, a->nodes);
    if (!status && a->leaves > INT32_MAX - a->nodes)
        status = tort_fail(r->error, TORT_E_MODEL, "has more than 2^31-1 nodes and leaves");
    return status;
}

static void close_ensemble(ensemble_attributes *a) {
    tort_numbers *const opened[] = {&a->modes, &a->splits, &a->weights, &a->members};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) tort_numbers_close(a->resolve, opened[i]);
}

/* Checks an index into a list of `count` elements. */
static tort_status place(const ensemble_attributes *a, const char *list, int32_t i, int64_t at, int32_t count,
                         int32_t *found) {
    *found = (int32_t)at;
    if (at >= 0 && at < count) return TORT_OK;
    return tort_fail(a->resolve->error, TORT_E_MODEL, "%s[%d] is %lld; expected 0 to %d", list, i, (long long)at,
                     count - 1);
}

static tort_status read_child(const ensemble_attributes *a, const char *list, int32_t i, int64_t at, int64_t is_leaf,
                              int32_t *child) {
    tort_status status = place(a, list, i, at, is_leaf ? a->leaves : a->nodes, child);
    if (!status && is_leaf) *child += a->nodes;
    return status;
}

static tort_status read_branch(const ensemble_attributes *a, int32_t i, tort_tree_node *node) {
    const double mode = tort_number(&a->modes, i);
    if (mode > TORT_TREE_MEMBER)
        return tort_fail(a->resolve->error, TORT_E_MODEL, "nodes_modes[%d] is %d; expected 0 to %d", i, (int)mode,
                         TORT_TREE_MEMBER);
    node->mode = (uint8_t)mode;
    node->value = tort_number(&a->splits, i);
    node->missing = a->missing_count && a->missing[i];
    tort_status status = tort_trees_feature(a->resolve, "nodes_featureids", i, a->features[i], node);
    if (!status) status = read_child(a, "nodes_truenodeids", i, a->yes[i], a->yes_leafs[i], &node->yes);
    return status ? status : read_child(a, "nodes_falsenodeids", i, a->no[i], a->no_leafs[i], &node->no);
}

/* Sets the value of each BRANCH_MEMBER node to the start of its set. */
static tort_status read_members(const ensemble_attributes *a, tort_trees_params *p) {
    tort_tree_node *nodes = tort_trees_room(p, p->nodes);
    double *members = tort_trees_room(p, p->members);
    for (int32_t k = 0; k < a->members.count; k++) members[k] = tort_number(&a->members, k);
    members[a->members.count] = (double)NAN;
    int32_t at = 0;
    for (int32_t i = 0; i < a->nodes; i++) {
        if (nodes[i].mode != TORT_TREE_MEMBER) continue;
        if (at >= a->members.count)
            return tort_fail(a->resolve->error, TORT_E_MODEL,
                             "membership_values has no set for node %d; expected a list of values that ends with NaN "
                             "for each node of mode BRANCH_MEMBER",
                             i);
        nodes[i].value = at;
        while (!isnan(members[at])) at++;
        at++;
    }
    return TORT_OK;
}

static tort_status read_ensemble(const ensemble_attributes *a, tort_trees_params *p) {
    tort_tree_node *nodes = tort_trees_room(p, p->nodes);
    tort_tree_vote *votes = tort_trees_room(p, p->votes);
    int32_t *roots = tort_trees_room(p, p->roots);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < a->nodes; i++) status = read_branch(a, i, &nodes[i]);
    for (int32_t i = 0; !status && i < a->leaves; i++) {
        tort_tree_node *leaf = &nodes[a->nodes + i];
        leaf->mode = TORT_TREE_LEAF;
        leaf->yes = i;
        leaf->no = 1;
        status = tort_trees_vote(a->resolve, p, i, a->targets[i], tort_number(&a->weights, i), &votes[i]);
    }
    for (int32_t t = 0; !status && t < a->trees; t++)
        status = place(a, "tree_roots", t, a->roots[t], a->nodes, &roots[t]);
    if (!status) status = read_members(a, p);
    return status ? status : tort_trees_check_walks(a->resolve, p);
}

static tort_status read_choice(const tort_resolve *resolve, const char *name, int64_t last, int64_t *choice) {
    *choice = tort_attr_int(resolve->node, name);
    if (*choice >= 0 && *choice <= last) return TORT_OK;
    return tort_fail(resolve->error, TORT_E_MODEL, "%s is %lld; expected 0 to %lld", name, (long long)*choice,
                     (long long)last);
}

tort_status tort_trees_resolve_ensemble(tort_resolve *resolve) {
    tort_trees_params measured = {.targets = 0}, *p = resolve->params ? resolve->params : &measured;
    ensemble_attributes a = {.resolve = resolve};
    int64_t transform = 0, aggregate = 0;
    tort_status status = tort_trees_targets(resolve, p);
    if (!status) status = read_choice(resolve, "post_transform", TORT_POST_PROBIT, &transform);
    if (!status) status = read_choice(resolve, "aggregate_function", TORT_TREES_MAX, &aggregate);
    p->transform = (tort_post_transform)transform;
    p->aggregate = (tort_tree_aggregate)aggregate;
    if (!status) status = open_ensemble(&a);
    p->doubles = a.splits.wide || a.weights.wide || a.members.wide;
    if (!status) {
        const tort_trees_counts counts = {
            .roots = a.trees, .nodes = a.nodes + a.leaves, .votes = a.leaves, .members = a.members.count + 1};
        status = tort_trees_lay_out(resolve, p, &counts);
    }
    if (!status && resolve->params) status = read_ensemble(&a, p);
    close_ensemble(&a);
    return status;
}
