/* trees_pack.c - packs checked trees into the records of trees_pack.h: first the size of each tree, then its
 * records, in breadth-first order, so that the records that all walks need are close together. */
#include "kernels/cpu/ml/trees_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- questions --------------------------------------------------------------------------------------------------- */

/* Part of a node that asks one question: a whole node, or a part of the small tree that a set of values becomes. */
typedef enum spot_stage {
    SPOT_NODE, /* a whole node: its first question */
    SPOT_SET,  /* is x among the values first .. last-1 of the set? */
    SPOT_LAST  /* x is at most the value `first`: is x that value? */
} spot_stage;

typedef struct tree_spot {
    int32_t node, first, last;
    spot_stage stage;
} tree_spot;

/* A question column <= value. The column is a feature or its negation. */
typedef struct tree_question {
    float value;
    bool negated;
    bool swapped; /* "yes" leads to the node's `no` */
} tree_question;

static bool is_set(const tort_tree_node *node) {
    return node->mode == TORT_TREE_EQ || node->mode == TORT_TREE_NEQ || node->mode == TORT_TREE_MEMBER;
}

/* Returns the number of values of a node that is a set; they are ascending in `members`. */
static int32_t set_size(const tort_tree_node *node, const double *members) {
    int32_t count = 0;
    if (node->mode != TORT_TREE_MEMBER) return !isnan(node->value);
    while (!isnan(members[(int64_t)node->value + count])) count++;
    return count;
}

static float set_value(const tort_tree_node *node, const double *members, int32_t i) {
    return (float)(node->mode == TORT_TREE_MEMBER ? members[(int64_t)node->value + i] : node->value);
}

static tree_spot whole(int32_t node) {
    return (tree_spot){.node = node, .stage = SPOT_NODE};
}

static int32_t child_of_hit(const tort_tree_node *node) {
    return node->mode == TORT_TREE_NEQ ? node->no : node->yes;
}
static int32_t child_of_miss(const tort_tree_node *node) {
    return node->mode == TORT_TREE_NEQ ? node->yes : node->no;
}
static int32_t child_of_nan(const tort_tree_node *node) {
    return node->missing ? node->yes : node->no;
}

/* Asks for the numbers up to `value` (or below it), or, negated, for those from it on (or above). If no number
 * qualifies the value is NaN, to which every comparison says no. */
static tree_question up_to(float value, bool below) {
    return (tree_question){below && value == -INFINITY ? NAN
                           : below                     ? nextafterf(value, -INFINITY)
                                                       : value,
                           false, false};
}
static tree_question from(float value, bool above) {
    return (tree_question){above && value == INFINITY ? NAN
                           : above                    ? -nextafterf(value, INFINITY)
                                                      : -value,
                           true, false};
}

/* Returns the question of an ordering node. NaN answers "no"; so if NaN goes to `yes`, the opposite question is
 * asked. */
static tree_question of_order(const tort_tree_node *node) {
    const float value = (float)node->value;
    const bool opposite = node->missing;
    tree_question q;
    switch ((tort_tree_mode)node->mode) {
    case TORT_TREE_LEQ: q = opposite ? from(value, true) : up_to(value, false); break;
    case TORT_TREE_LT: q = opposite ? from(value, false) : up_to(value, true); break;
    case TORT_TREE_GTE: q = opposite ? up_to(value, true) : from(value, false); break;
    default: q = opposite ? up_to(value, false) : from(value, true); break;
    }
    /* Every comparison with NaN is false: so the opposite question is true for all numbers. */
    if (isnan(value)) q = opposite ? up_to(INFINITY, false) : up_to(NAN, false);
    q.swapped = opposite;
    return q;
}

static bool asks_for_nan(const tort_tree_node *node, int32_t size) {
    return !size || child_of_nan(node) != child_of_miss(node);
}

static tree_question ask(const tort_tree_node *node, const double *members, const tree_spot *spot) {
    if (!is_set(node)) return of_order(node);
    const int32_t size = spot->stage == SPOT_NODE ? set_size(node, members) : 0;
    const int32_t last = spot->stage == SPOT_NODE ? size : spot->last;
    if (spot->stage == SPOT_NODE && asks_for_nan(node, size)) return up_to(INFINITY, false);
    if (spot->stage == SPOT_LAST) return from(set_value(node, members, spot->first), false);
    const int32_t middle = last - spot->first > 1 ? (spot->first + last) / 2 - 1 : spot->first;
    return up_to(set_value(node, members, middle), false);
}

/* Finds the spots that the two answers lead to. */
static void answer(const tort_tree_node *node, const double *members, const tree_spot *spot, tree_spot *yes,
                   tree_spot *no) {
    if (!is_set(node)) {
        const bool swapped = of_order(node).swapped;
        *yes = whole(swapped ? node->no : node->yes);
        *no = whole(swapped ? node->yes : node->no);
        return;
    }
    const int32_t size = spot->stage == SPOT_NODE ? set_size(node, members) : 0;
    const int32_t last = spot->stage == SPOT_NODE ? size : spot->last;
    const int32_t middle = (spot->first + last) / 2;
    *no = whole(child_of_miss(node));
    if (spot->stage == SPOT_NODE && asks_for_nan(node, size)) {
        *yes = size ? (tree_spot){spot->node, 0, size, SPOT_SET} : *no;
        *no = whole(child_of_nan(node));
    } else if (spot->stage == SPOT_LAST) {
        *yes = whole(child_of_hit(node));
    } else if (last - spot->first == 1) {
        *yes = (tree_spot){spot->node, spot->first, last, SPOT_LAST};
    } else {
        *yes = (tree_spot){spot->node, spot->first, middle, SPOT_SET};
        *no = (tree_spot){spot->node, middle, last, SPOT_SET};
    }
}

/* Returns the questions of a node: per value two to identify it, and one less to choose between values; one for NaN
 * if it leads elsewhere. */
static int64_t count_questions(const tort_tree_node *node, const double *members) {
    if (!is_set(node)) return 1;
    const int32_t size = set_size(node, members);
    return (size ? 3 * (int64_t)size - 1 : 0) + asks_for_nan(node, size);
}

/* ---- what it takes ----------------------------------------------------------------------------------------------- */

typedef struct tree_extent {
    int64_t records;
    int32_t target; /* -1: leaves have ballots */
} tree_extent;

/* State of packing, besides the result. */
typedef struct tree_packer {
    const tort_env *env;
    const tort_trees_params *p;
    const tort_tree_node *nodes;
    double *members;     /* sorted */
    int32_t *tree_of;    /* per node; -1: not reached */
    int32_t *queue;      /* nodes reached */
    int32_t *child_of;   /* per node: the first record of its answers */
    int32_t *columns[2]; /* per feature, as it is and negated; 0: none */
    tree_extent *extents;
    int64_t records, max_records;
    int32_t column_count, ballots;
} tree_packer;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_members(tree_packer *k) {
    const int64_t count = k->p->members.count;
    if (count) memcpy(k->members, tort_list_at(k->p, k->p->members), (size_t)count * sizeof *k->members);
    for (int64_t i = 0, first = 0; i < count; i++) {
        if (!isnan(k->members[i])) continue;
        qsort(k->members + first, (size_t)(i - first), sizeof *k->members, compare_doubles);
        first = i + 1;
    }
}

static bool open_packer(tree_packer *k, const tort_env *env, const tort_trees_params *p) {
    const size_t nodes = (size_t)p->nodes.count + 1, features = (size_t)p->features + 1;
    *k = (tree_packer){.env = env, .p = p, .nodes = tort_list_at(p, p->nodes), .column_count = TORT_TREE_COLUMNS};
    k->members = tort_alloc_zero(env, (size_t)p->members.count + 1, sizeof *k->members);
    k->tree_of = tort_alloc_zero(env, 3 * nodes, sizeof *k->tree_of);
    k->columns[0] = tort_alloc_zero(env, 2 * features, sizeof **k->columns);
    k->extents = tort_alloc_zero(env, (size_t)p->roots.count + 1, sizeof *k->extents);
    if (!k->members || !k->tree_of || !k->columns[0] || !k->extents) return false;
    k->queue = k->tree_of + nodes;
    k->child_of = k->queue + nodes;
    k->columns[1] = k->columns[0] + features;
    memset(k->tree_of, -1, nodes * sizeof *k->tree_of);
    sort_members(k);
    return true;
}

static void close_packer(tree_packer *k) {
    const size_t nodes = (size_t)k->p->nodes.count + 1, features = (size_t)k->p->features + 1;
    tort_free(k->env, k->members, ((size_t)k->p->members.count + 1) * sizeof *k->members);
    tort_free(k->env, k->tree_of, 3 * nodes * sizeof *k->tree_of);
    tort_free(k->env, k->columns[0], 2 * features * sizeof **k->columns);
    tort_free(k->env, k->extents, ((size_t)k->p->roots.count + 1) * sizeof *k->extents);
}

static void need_column(tree_packer *k, int32_t feature, bool negated) {
    int32_t *column = &k->columns[negated][feature];
    if (!*column) *column = k->column_count++;
}

static void measure_branch(tree_packer *k, const tort_tree_node *node, tree_extent *extent) {
    extent->records += 2 * count_questions(node, k->members);
    if (is_set(node)) {
        need_column(k, node->feature, false);
        need_column(k, node->feature, true);
    } else {
        need_column(k, node->feature, of_order(node).negated);
    }
}

static const char *measure_leaf(tree_packer *k, const tort_tree_node *leaf, tree_extent *extent, bool first) {
    const tort_tree_vote *votes = (const tort_tree_vote *)tort_list_at(k->p, k->p->votes) + leaf->yes;
    const int32_t target = leaf->no == 1 ? votes->target : -1;
    for (int32_t i = 0; i < leaf->no; i++)
        if (isnan(votes[i].weight)) return "a vote is not a number";
    extent->target = first || extent->target == target ? target : -1;
    k->ballots++;
    return NULL;
}

/* Measures a tree; visits each of its nodes once. */
static const char *measure_tree(tree_packer *k, int32_t tree) {
    const int32_t root = ((const int32_t *)tort_list_at(k->p, k->p->roots))[tree];
    tree_extent *extent = &k->extents[tree];
    const char *refusal = NULL;
    int64_t count = 0;
    bool first = true;
    extent->records = 2;
    if (k->tree_of[root] >= 0) return "two trees have nodes in common";
    k->tree_of[root] = tree;
    k->queue[count++] = root;
    for (int64_t i = 0; i < count && !refusal; i++) {
        const tort_tree_node *node = &k->nodes[k->queue[i]];
        if (node->mode == TORT_TREE_LEAF) {
            refusal = measure_leaf(k, node, extent, first);
            first = false;
            continue;
        }
        measure_branch(k, node, extent);
        for (int side = 0; side < 2; side++) {
            const int32_t child = side ? node->yes : node->no;
            if (k->tree_of[child] >= 0 && k->tree_of[child] != tree) return "two trees have nodes in common";
            if (k->tree_of[child] < 0) k->queue[count++] = child;
            k->tree_of[child] = tree;
        }
    }
    return refusal;
}

static uint32_t bits_for(int64_t count) {
    uint32_t bits = 1;
    while (bits < 31 && (int64_t)1 << bits < count) bits++;
    return bits;
}

static const char *measure(tree_packer *k) {
    const char *refusal = NULL;
    for (int64_t t = 0; t < k->p->roots.count && !refusal; t++) {
        refusal = measure_tree(k, (int32_t)t);
        k->records += k->extents[t].records;
        if (k->extents[t].records > k->max_records) k->max_records = k->extents[t].records;
    }
    if (!refusal && k->max_records > (int64_t)1 << (32 - bits_for(k->column_count)))
        return "a tree has more nodes than a record can tell apart beside the features";
    return refusal;
}

const char *tort_trees_refusal(const tort_env *env, const tort_trees_params *p) {
    tree_packer k;
    if (p->aggregate != TORT_TREES_SUM && p->aggregate != TORT_TREES_AVERAGE)
        return "is for sums and averages of votes";
    if (p->features > TORT_TREE_MAX_FEATURES) return "is for at most 2^20 features";
    if (p->nodes.count > TORT_TREE_MAX_NODES) return "is for at most 2^30 nodes";
    const char *refusal = open_packer(&k, env, p) ? measure(&k) : "there is no memory to look at the trees";
    close_packer(&k);
    return refusal;
}

int64_t tort_trees_max_columns(const tort_trees_params *p) {
    const int64_t asked = p->features < p->nodes.count ? p->features : p->nodes.count;
    return 2 * asked + TORT_TREE_COLUMNS;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static void *take(char **at, size_t count, size_t size) {
    void *taken = *at;
    *at += (count * size + 15) / 16 * 16;
    return taken;
}

/* Allocates the result; measure has bounded the sizes by those of the params. */
static tort_packed_trees *allocate(const tree_packer *k) {
    const tort_trees_params *p = k->p;
    const size_t trees = (size_t)p->roots.count + TORT_TREE_LANES, ballots = (size_t)k->ballots;
    const size_t counts[] = {1,
                             trees,
                             trees,
                             (size_t)p->targets,
                             (size_t)k->column_count,
                             ballots,
                             (size_t)p->votes.count,
                             (size_t)k->records};
    const size_t sizes[] = {
        sizeof(tort_packed_trees), sizeof(tort_tree_record *),    sizeof(int32_t),         1, sizeof(int32_t),
        sizeof(tort_tree_ballot),  sizeof(tort_tree_ballot_vote), sizeof(tort_tree_record)};
    size_t bytes = 0;
    for (int i = 0; i < 8; i++) bytes += (counts[i] * sizes[i] + 15) / 16 * 16;
    char *at = tort_alloc_zero(k->env, 1, bytes);
    if (!at) return NULL;
    tort_packed_trees *packed = take(&at, 1, sizeof *packed);
    packed->bytes = bytes;
    packed->trees = take(&at, trees, sizes[1]);
    packed->targets = take(&at, trees, sizes[2]);
    packed->voted = take(&at, counts[3], sizes[3]);
    packed->columns = take(&at, counts[4], sizes[4]);
    packed->ballots = take(&at, counts[5], sizes[5]);
    packed->votes = take(&at, counts[6], sizes[6]);
    packed->records = take(&at, counts[7], sizes[7]);
    packed->bits = bits_for(k->column_count);
    packed->tree_count = (int32_t)p->roots.count;
    packed->column_count = k->column_count;
    return packed;
}

/* A tree while its records are written; spots whose answers are not yet written wait in `spots`. */
typedef struct tree_writer {
    tree_packer *k;
    tort_packed_trees *packed;
    tort_tree_record *records;
    tree_spot *spots; /* the answers of spot i are records 2 i + 2 and 2 i + 3 */
    int64_t count;
    bool ballots;
} tree_writer;

static float write_ballot(tort_packed_trees *packed, const tort_tree_vote *votes, const tort_tree_node *leaf) {
    const uint32_t number = (uint32_t)packed->ballot_count++;
    const int32_t first = number ? packed->ballots[number - 1].first + packed->ballots[number - 1].count : 0;
    float value;
    packed->ballots[number] = (tort_tree_ballot){first, leaf->no};
    for (int32_t i = 0; i < leaf->no; i++)
        packed->votes[first + i] =
            (tort_tree_ballot_vote){(float)votes[leaf->yes + i].weight, votes[leaf->yes + i].target};
    memcpy(&value, &number, sizeof value);
    return value;
}

/* Writes a leaf: once per node that leads to it, but its ballot only once. */
static void write_leaf(tree_writer *w, uint32_t at, int32_t number) {
    const tort_tree_node *leaf = &w->k->nodes[number];
    const tort_tree_vote *votes = tort_list_at(w->k->p, w->k->p->votes);
    int32_t *bits = &w->k->child_of[number];
    float value = (float)(w->ballots ? 0 : votes[leaf->yes].weight);
    if (w->ballots && *bits < 0) {
        value = write_ballot(w->packed, votes, leaf);
        memcpy(bits, &value, sizeof value);
    } else if (w->ballots) {
        memcpy(&value, bits, sizeof value);
    }
    w->records[at] =
        (tort_tree_record){value, (at & ~1u) << w->packed->bits | (at & 1 ? TORT_TREE_NEVER : TORT_TREE_ALWAYS)};
}

static void write_spot(tree_writer *w, uint32_t at, const tree_spot *spot) {
    tree_packer *k = w->k;
    const tort_tree_node *node = &k->nodes[spot->node];
    if (node->mode == TORT_TREE_LEAF) {
        write_leaf(w, at, spot->node);
        return;
    }
    const bool known = spot->stage == SPOT_NODE && k->child_of[spot->node] >= 0;
    const int32_t child = known ? k->child_of[spot->node] : (int32_t)(2 * w->count + 2);
    if (!known) w->spots[w->count++] = *spot;
    if (spot->stage == SPOT_NODE) k->child_of[spot->node] = child;
    const tree_question question = ask(node, k->members, spot);
    const int32_t column = k->columns[question.negated][node->feature];
    w->records[at] = (tort_tree_record){question.value, (uint32_t)child << w->packed->bits | (uint32_t)column};
}

static bool write_tree(tree_packer *k, tort_packed_trees *packed, int32_t tree, tort_tree_record *records) {
    const size_t max = (size_t)k->extents[tree].records / 2;
    tree_spot root = whole(((const int32_t *)tort_list_at(k->p, k->p->roots))[tree]);
    tree_writer w = {.k = k, .packed = packed, .records = records, .ballots = k->extents[tree].target < 0};
    w.spots = tort_alloc(k->env, max * sizeof *w.spots);
    if (!w.spots) return false;
    write_spot(&w, 0, &root);
    for (int64_t i = 0; i < w.count; i++) {
        tree_spot yes, no;
        answer(&k->nodes[w.spots[i].node], k->members, &w.spots[i], &yes, &no);
        write_spot(&w, (uint32_t)(2 * i + 2), &yes);
        write_spot(&w, (uint32_t)(2 * i + 3), &no);
    }
    tort_free(k->env, w.spots, max * sizeof *w.spots);
    return true;
}

static bool write_trees(tree_packer *k, tort_packed_trees *packed) {
    tort_tree_record *records = packed->records;
    bool written = true;
    memset(k->child_of, -1, (size_t)k->p->nodes.count * sizeof *k->child_of);
    for (int32_t t = 0; written && t < packed->tree_count; t++) {
        packed->trees[t] = records;
        packed->targets[t] = k->extents[t].target;
        if (packed->targets[t] >= 0) packed->voted[packed->targets[t]] = 1;
        written = write_tree(k, packed, t, records);
        records += k->extents[t].records;
    }
    for (int32_t i = 0; packed->tree_count && i < TORT_TREE_LANES; i++)
        packed->trees[packed->tree_count + i] = packed->trees[0];
    return written;
}

static void write_columns(const tree_packer *k, tort_packed_trees *packed) {
    for (int32_t f = 0; f < k->p->features; f++) {
        if (k->columns[0][f]) packed->columns[k->columns[0][f]] = f;
        if (k->columns[1][f]) packed->columns[k->columns[1][f]] = -1 - f;
    }
}

tort_packed_trees *tort_trees_pack(const tort_env *env, const tort_trees_params *p) {
    tree_packer k;
    tort_packed_trees *packed = NULL;
    if (open_packer(&k, env, p) && !measure(&k)) packed = allocate(&k);
    if (packed) {
        write_columns(&k, packed);
        if (!write_trees(&k, packed)) {
            tort_free(env, packed, packed->bytes);
            packed = NULL;
        }
    }
    close_packer(&k);
    return packed;
}
