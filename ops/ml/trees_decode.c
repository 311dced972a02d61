/* trees_decode.c - decodes the attributes of versions 1 and 3 into tort_trees_params: nodes and votes refer to each
 * other by the id of a tree and an id within it. trees_lists.c has what all versions share.
 *
 * The first listed node of a tree is its root. Votes for branching nodes are ignored: old converters write them.
 * Nothing in the lists is trusted. Read next: trees_lists.c. */
#include "ops/ml/trees_lists.h"
#include "runtime/core/base/hash.h"

#include <stdio.h>
#include <string.h>

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

/* The lists of the operator in the file; `votes` are named "class" or "target". */
typedef struct tree_attributes {
    const tort_resolve *resolve;
    const int64_t *trees, *ids, *features, *yes, *no, *missing;
    const tort_attribute *modes;
    tort_numbers values, weights, bases;
    const int64_t *vote_trees, *vote_ids, *vote_targets;
    int32_t nodes, votes, missing_count;
} tree_attributes;

/* ---- finding nodes ----------------------------------------------------------------------------------------------- */

/* Hash table with open addressing, -1: free. Finds nodes by tree and id or, for whole_trees, the first node of a tree.
 */
typedef struct node_map {
    const tree_attributes *of;
    bool whole_trees;
    int32_t *slots;
    size_t capacity; /* a power of two */
} node_map;

/* The slot of the node, or the free slot for it. */
static int32_t *find_slot(const node_map *map, int64_t tree, int64_t id) {
    const tree_attributes *a = map->of;
    const uint64_t *key = tort_model_env(a->resolve->node->model)->hash_key,
                   of_tree = tort_hash_word(key, (uint64_t)tree);
    const uint64_t hash = map->whole_trees ? of_tree : tort_hash_word(key, of_tree ^ (uint64_t)id);
    for (size_t at = (size_t)hash;; at++) {
        int32_t *slot = &map->slots[at & (map->capacity - 1)];
        if (*slot < 0 || (a->trees[*slot] == tree && (map->whole_trees || a->ids[*slot] == id))) return slot;
    }
}

static tort_status open_map(node_map *map, const tree_attributes *a, bool whole_trees) {
    *map = (node_map){.of = a, .whole_trees = whole_trees, .capacity = 16};
    while (map->capacity < 2 * (size_t)a->nodes) map->capacity *= 2;
    map->slots = tort_alloc(tort_model_env(a->resolve->node->model), map->capacity * sizeof *map->slots);
    if (!map->slots) return tort_out_of_memory(a->resolve->error, map->capacity * sizeof *map->slots);
    memset(map->slots, -1, map->capacity * sizeof *map->slots);
    return TORT_OK;
}

static void close_map(node_map *map) {
    tort_free(tort_model_env(map->of->resolve->node->model), map->slots, map->capacity * sizeof *map->slots);
}

static tort_status map_nodes(node_map *map) {
    const tree_attributes *a = map->of;
    for (int32_t i = 0; i < a->nodes; i++) {
        int32_t *slot = find_slot(map, a->trees[i], a->ids[i]);
        if (*slot >= 0)
            return tort_fail(a->resolve->error, TORT_E_MODEL,
                             "elements %d and %d of nodes_nodeids are both node %lld of tree %lld; expected each once",
                             *slot, i, (long long)a->ids[i], (long long)a->trees[i]);
        *slot = i;
    }
    return TORT_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static tort_status open_attributes(tree_attributes *a, const char *kind) {
    static const char *const like = "nodes_nodeids";
    const tort_resolve *r = a->resolve;
    char ids[24], nodes[24], trees[24], weights[24];
    snprintf(ids, sizeof ids, "%s_ids", kind);
    snprintf(nodes, sizeof nodes, "%s_nodeids", kind);
    snprintf(trees, sizeof trees, "%s_treeids", kind);
    snprintf(weights, sizeof weights, "%s_weights", kind);
    a->ids = tort_attr_ints(r->node, like, &a->nodes);
    a->vote_ids = tort_attr_ints(r->node, nodes, &a->votes);
    a->modes = tort_attr(r->node, "nodes_modes");
    a->missing = tort_attr_ints(r->node, "nodes_missing_value_tracks_true", &a->missing_count);
    tort_status status = tort_trees_ints(r, "nodes_treeids", like, a->nodes, &a->trees);
    if (!status) status = tort_trees_ints(r, "nodes_featureids", like, a->nodes, &a->features);
    if (!status) status = tort_trees_ints(r, "nodes_truenodeids", like, a->nodes, &a->yes);
    if (!status) status = tort_trees_ints(r, "nodes_falsenodeids", like, a->nodes, &a->no);
    if (!status) status = tort_trees_same(r, "nodes_modes", a->modes ? a->modes->count : 0, like, a->nodes);
    if (!status && a->missing_count)
        status = tort_trees_same(r, "nodes_missing_value_tracks_true", a->missing_count, like, a->nodes);
    if (!status) status = tort_trees_ints(r, ids, nodes, a->votes, &a->vote_targets);
    if (!status) status = tort_trees_ints(r, trees, nodes, a->votes, &a->vote_trees);
    if (!status) status = tort_numbers_open(r, "nodes_values", &a->values);
    if (!status) status = tort_trees_same(r, "nodes_values", a->values.count, like, a->nodes);
    if (!status) status = tort_numbers_open(r, weights, &a->weights);
    if (!status) status = tort_trees_same(r, weights, a->weights.count, nodes, a->votes);
    return status ? status : tort_numbers_open(r, "base_values", &a->bases);
}

static void close_attributes(tree_attributes *a) {
    tort_numbers_close(a->resolve, &a->values);
    tort_numbers_close(a->resolve, &a->weights);
    tort_numbers_close(a->resolve, &a->bases);
}

static tort_status read_mode(const tree_attributes *a, int32_t i, uint8_t *mode) {
    const tort_string *name = &a->modes->u.strings[i];
    for (uint8_t m = 0; m <= TORT_TREE_LEAF; m++)
        if (m != TORT_TREE_MEMBER && strlen(mode_names[m]) == name->length &&
            !memcmp(mode_names[m], name->data, name->length)) {
            *mode = m;
            return TORT_OK;
        }
    return tort_fail(a->resolve->error, TORT_E_MODEL,
                     "nodes_modes[%d] is \"%.*s\"; expected LEAF, BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, "
                     "BRANCH_EQ or BRANCH_NEQ",
                     i, name->length < 40 ? (int)name->length : 40, name->data);
}

static tort_status find_child(const node_map *map, int32_t i, const char *list, int64_t id, int32_t *child) {
    const tree_attributes *a = map->of;
    *child = *find_slot(map, a->trees[i], id);
    if (*child >= 0) return TORT_OK;
    return tort_fail(a->resolve->error, TORT_E_MODEL, "%s[%d] is %lld, but tree %lld has no such node", list, i,
                     (long long)id, (long long)a->trees[i]);
}

static tort_status read_node(const node_map *map, int32_t i, tort_tree_node *node) {
    const tree_attributes *a = map->of;
    tort_status status = read_mode(a, i, &node->mode);
    if (status || node->mode == TORT_TREE_LEAF) return status;
    node->value = tort_number(&a->values, i);
    node->missing = a->missing_count && a->missing[i];
    status = tort_trees_feature(a->resolve, "nodes_featureids", i, a->features[i], node);
    if (!status) status = find_child(map, i, "nodes_truenodeids", a->yes[i], &node->yes);
    return status ? status : find_child(map, i, "nodes_falsenodeids", a->no[i], &node->no);
}

/* Builds the leaves' lists of votes, each in the order of the file: counts them, assigns their places, then fills them
 * in. */
static tort_status read_votes(const node_map *map, tort_trees_params *p) {
    const tree_attributes *a = map->of;
    tort_tree_node *nodes = tort_trees_room(p, p->nodes);
    tort_tree_vote *votes = tort_trees_room(p, p->votes);
    for (int32_t i = 0; i < a->votes; i++) {
        const int32_t node = *find_slot(map, a->vote_trees[i], a->vote_ids[i]);
        if (node < 0)
            return tort_fail(a->resolve->error, TORT_E_MODEL,
                             "vote %d is of node %lld of tree %lld, which is not there", i, (long long)a->vote_ids[i],
                             (long long)a->vote_trees[i]);
        if (nodes[node].mode == TORT_TREE_LEAF) nodes[node].no++;
    }
    for (int32_t i = 0, first = 0; i < a->nodes; i++) {
        if (nodes[i].mode != TORT_TREE_LEAF) continue;
        nodes[i].yes = first;
        first += nodes[i].no;
        nodes[i].no = 0;
    }
    for (int32_t i = 0; i < a->votes; i++) {
        tort_tree_node *leaf = &nodes[*find_slot(map, a->vote_trees[i], a->vote_ids[i])];
        if (leaf->mode != TORT_TREE_LEAF) continue;
        tort_status status = tort_trees_vote(a->resolve, p, i, a->vote_targets[i], tort_number(&a->weights, i),
                                             &votes[leaf->yes + leaf->no++]);
        if (status) return status;
    }
    return TORT_OK;
}

static tort_status read_nodes(const tree_attributes *a, tort_trees_params *p) {
    tort_tree_node *nodes = tort_trees_room(p, p->nodes);
    node_map map;
    tort_status status = open_map(&map, a, false);
    if (!status) status = map_nodes(&map);
    for (int32_t i = 0; !status && i < a->nodes; i++) status = read_node(&map, i, &nodes[i]);
    if (!status) status = read_votes(&map, p);
    close_map(&map);
    return status;
}

/* Finds the roots, in the order in which their trees begin. */
static tort_status read_roots(const tree_attributes *a, tort_trees_params *p) {
    int32_t *roots = tort_trees_room(p, p->roots);
    node_map map;
    tort_status status = open_map(&map, a, true);
    p->roots.count = 0;
    for (int32_t i = 0; !status && i < a->nodes; i++) {
        int32_t *slot = find_slot(&map, a->trees[i], 0);
        if (*slot < 0) roots[p->roots.count++] = *slot = i;
    }
    close_map(&map);
    return status;
}

/* ---- resolve ----------------------------------------------------------------------------------------------------- */

static int32_t count_runs(const tree_attributes *a) {
    int32_t runs = 0;
    for (int32_t i = 0; i < a->nodes; i++) runs += !i || a->trees[i] != a->trees[i - 1];
    return runs;
}

static tort_status read_all(const tree_attributes *a, tort_trees_params *p) {
    p->doubles = a->values.wide || a->weights.wide || a->bases.wide;
    tort_trees_bases(&a->bases, p);
    tort_status status = read_nodes(a, p);
    if (!status) status = read_roots(a, p);
    return status ? status : tort_trees_check_walks(a->resolve, p);
}

/* Decodes into *p, which is the params, or a struct on the stack while only their size is computed. */
static tort_status resolve_trees(tort_resolve *resolve, const char *kind, tort_trees_params *p) {
    tree_attributes a = {.resolve = resolve};
    tort_status status = open_attributes(&a, kind);
    if (!status) status = tort_trees_check_bases(resolve, p->classifies, a.bases.count, p->targets);
    if (!status) {
        const tort_trees_counts counts = {
            .roots = count_runs(&a), .nodes = a.nodes, .votes = a.votes, .bases = a.bases.count};
        status = tort_trees_lay_out(resolve, p, &counts);
    }
    if (!status && resolve->params) status = read_all(&a, p);
    close_attributes(&a);
    return status;
}

static tort_status read_aggregate(const tort_resolve *resolve, tort_tree_aggregate *aggregate) {
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const char *given = tort_attr_string(resolve->node, "aggregate_function");
    for (int i = 0; i <= TORT_TREES_MAX; i++)
        if (!strcmp(given, names[i])) {
            *aggregate = (tort_tree_aggregate)i;
            return TORT_OK;
        }
    return tort_fail(resolve->error, TORT_E_MODEL, "aggregate_function is \"%.40s\"; expected AVERAGE, SUM, MIN or MAX",
                     given);
}

tort_status tort_trees_resolve_regressor(tort_resolve *resolve) {
    tort_trees_params measured = {.targets = 0}, *p = resolve->params ? resolve->params : &measured;
    tort_status status = tort_trees_targets(resolve, p);
    if (!status) status = read_aggregate(resolve, &p->aggregate);
    if (!status) status = tort_post_transform_attr(resolve, &p->transform);
    return status ? status : resolve_trees(resolve, "target", p);
}

tort_status tort_trees_resolve_classifier(tort_resolve *resolve) {
    tort_trees_params measured = {.targets = 0}, *p = resolve->params ? resolve->params : &measured;
    int32_t labels = 0;
    const tort_attribute *names = tort_attr(resolve->node, "classlabels_strings");
    tort_attr_ints(resolve->node, "classlabels_int64s", &labels);
    const int32_t named = names ? names->count : 0;
    if ((labels > 0) == (named > 0))
        return tort_fail(resolve->error, TORT_E_MODEL,
                         "has %d classlabels_int64s and %d classlabels_strings; expected one of the two lists", labels,
                         named);
    p->classifies = true;
    p->targets = labels + named;
    p->aggregate = TORT_TREES_SUM;
    tort_status status = tort_post_transform_attr(resolve, &p->transform);
    if (!status) status = resolve_trees(resolve, "class", p);
    if (!status && resolve->params) tort_trees_note_classes(p);
    return status;
}
