/* trees.c - TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble: trees as arrays of bounds, children,
 * features and votes.
 *
 * Every comparison is written as "at most": x < t as x <= the number below t, x >= t as that with the children
 * exchanged, x == t as two nodes. So the loop has one form, and features that are whole numbers meet whole bounds. */
#include "kernels/firmware/code/trees.h"
#include "kernels/firmware/firmware.h"
#include "ops/ml/trees.h"
#include "runtime/core/base/hash.h"

#include <math.h>
#include <string.h>

enum {
    MAX_NODES = 1 << 24, /* nodes, and votes: indices of children fit int32_t */
    MAX_WORDS = 1 << 15, /* features, and targets: they and a bit fit uint16_t */
    BEST = 1,
    FIRST,
    SECOND,
    ALONE /* tinyort_trees_shape.choice */
};

/* The head of packed trees: places of arrays behind it in bytes, and what they hold. */
typedef struct packed_trees {
    uint64_t bounds, children, features, targets, weights, labels;
    int32_t nodes, votes, bound_type, child_bytes, feature_bytes, target_bytes;
    int32_t missing;
    int32_t label_count;
} packed_trees;

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Nodes that a node of the file becomes. */
static int64_t nodes_for(const tort_trees_params *p, const tort_tree_node *node) {
    if (node->mode == TORT_TREE_EQ || node->mode == TORT_TREE_NEQ) return 2;
    if (node->mode != TORT_TREE_MEMBER) return node->mode != TORT_TREE_LEAF;
    const double *set = (const double *)tort_list_at(p, p->members) + (int64_t)node->value;
    int64_t count = 0;
    while (!isnan(set[count])) count++;
    return count ? 2 * count : 1;
}

/* The maximum of nodes and votes of the packed trees: a leaf without votes gets one for no target. */
static void count_max(const tort_trees_params *p, int64_t *nodes, int64_t *votes) {
    const tort_tree_node *list = tort_list_at(p, p->nodes);
    *nodes = 0;
    *votes = p->votes.count;
    for (int64_t i = 0; i < p->nodes.count && *nodes <= MAX_NODES; i++) {
        *nodes += nodes_for(p, &list[i]);
        *votes += list[i].mode == TORT_TREE_LEAF && !list[i].no;
    }
}

static tort_verdict claim(const tort_target *target, const tort_node_view *node) {
    const tort_trees_params *p = node->params;
    int64_t nodes, votes;
    tort_verdict verdict = tort_firmware_claim_features(target, node);
    if (verdict.code == TORT_YES && p->doubles)
        return tort_no(TORT_NO_TYPE, "export the model in float32", "has attributes of double, firmware uses float");
    if (verdict.code == TORT_YES)
        verdict = tort_firmware_claim_scores(node, p->classifies && p->names.count, p->transform);
    if (verdict.code != TORT_YES) return verdict;
    count_max(p, &nodes, &votes);
    if (nodes > MAX_NODES || votes > MAX_NODES || p->roots.count > MAX_NODES || p->features > MAX_WORDS ||
        p->targets >= MAX_WORDS)
        return tort_no(TORT_NO_SHAPE, "", "is for at most %d nodes and votes, %d features, and fewer than %d targets",
                       MAX_NODES, MAX_WORDS, MAX_WORDS);
    return tort_yes();
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* A node as it will be packed, wide. Children below 0 are leaves: the complement of the place of the first vote. */
typedef struct built_node {
    int64_t whole; /* the bound, if features are whole numbers */
    float real;    /* the bound otherwise */
    int32_t feature, missing, children[2];
} built_node;

typedef struct builder {
    const tort_trees_params *p;
    const uint64_t *key;
    tort_type type; /* of the features */
    built_node *nodes;
    tort_tree_vote *votes; /* target: with 1 << 30 at the last one of a leaf */
    int32_t *places;       /* by node of the file: the node here, the complement of a vote's place, or UNSEEN */
    int32_t *stack;        /* nodes of the file that remain to be seen */
    int32_t *slots;        /* a hash table of leaves of the file whose votes stand here; -1: free */
    size_t slot_count;     /* a power of two */
    int32_t node_count, vote_count;
} builder;

enum { UNSEEN = INT32_MIN, LAST_VOTE = 1 << 30 };

static bool same_votes(const builder *b, const tort_tree_node *x, const tort_tree_node *y) {
    const tort_tree_vote *votes = tort_list_at(b->p, b->p->votes);
    for (int32_t i = 0; i < x->no && x->no == y->no; i++) {
        const tort_tree_vote *one = &votes[x->yes + i], *other = &votes[y->yes + i];
        const float weight = (float)one->weight, with = (float)other->weight;
        if (one->target != other->target || memcmp(&weight, &with, sizeof weight) != 0) return false;
    }
    return x->no == y->no;
}

/* The place of the leaf's first vote: leaves with the same votes share them. */
static int32_t place_leaf(builder *b, int32_t leaf) {
    const tort_tree_node *nodes = tort_list_at(b->p, b->p->nodes), *node = &nodes[leaf];
    const tort_tree_vote *votes = (const tort_tree_vote *)tort_list_at(b->p, b->p->votes) + node->yes;
    uint64_t hash = 0;
    for (int32_t i = 0; i < node->no; i++) {
        const float weight = (float)votes[i].weight;
        uint32_t bits;
        memcpy(&bits, &weight, sizeof bits);
        hash = tort_hash_word(b->key, hash ^ ((uint64_t)(uint32_t)votes[i].target << 32 | bits));
    }
    size_t slot = (size_t)hash & (b->slot_count - 1);
    for (; b->slots[slot] >= 0; slot = (slot + 1) & (b->slot_count - 1))
        if (same_votes(b, node, &nodes[b->slots[slot]])) return b->places[b->slots[slot]];
    b->slots[slot] = leaf;
    const int32_t first = b->vote_count;
    for (int32_t i = 0; i < node->no; i++) b->votes[b->vote_count++] = votes[i];
    if (!node->no) b->votes[b->vote_count++] = (tort_tree_vote){.target = b->p->targets};
    b->votes[b->vote_count - 1].target |= LAST_VOTE;
    return ~first;
}

/* Gives places to a root and all that is below it, a node before its children. */
static void place_tree(builder *b, int32_t root) {
    const tort_tree_node *nodes = tort_list_at(b->p, b->p->nodes);
    int64_t depth = 0;
    b->stack[depth++] = root;
    while (depth) {
        const int32_t i = b->stack[--depth];
        if (b->places[i] != UNSEEN) continue;
        if (nodes[i].mode == TORT_TREE_LEAF) {
            b->places[i] = place_leaf(b, i);
            continue;
        }
        b->places[i] = b->node_count;
        b->node_count += (int32_t)nodes_for(b->p, &nodes[i]);
        b->stack[depth++] = nodes[i].no; /* a node is expanded once, so two for each do */
        b->stack[depth++] = nodes[i].yes;
    }
}

/* The largest whole number that is at most `bound` as a float, as ONNX Runtime converts features. False: none is. */
static bool whole_bound(tort_type type, float bound, int64_t *whole) {
    int64_t low = type == TORT_INT32 ? INT32_MIN : INT64_MIN, high = type == TORT_INT32 ? INT32_MAX : INT64_MAX;
    if (!((float)low <= bound)) return false;
    while (low < high) {
        const uint64_t rest = (uint64_t)high - (uint64_t)low;
        const int64_t middle = (int64_t)((uint64_t)low + rest / 2 + rest % 2);
        if ((float)middle <= bound)
            low = middle;
        else
            high = middle - 1;
    }
    *whole = low;
    return true;
}

/* Writes a node that sends x <= bound to the child `low`, and others to `high`. A bound of NaN: all go to `high`. */
static void put_node(const builder *b, int32_t at, int32_t feature, float bound, bool missing, int32_t low,
                     int32_t high) {
    built_node *to = &b->nodes[at];
    *to = (built_node){.real = bound, .feature = feature, .missing = missing, .children = {low, high}};
    if (b->type == TORT_FLOAT) return;
    to->missing = false;
    if (!whole_bound(b->type, bound, &to->whole)) to->children[0] = high;
}

static float below(float bound) {
    return bound == -INFINITY ? NAN : nextafterf(bound, -INFINITY);
}

/* Writes two nodes for x == bound. */
static void put_equal(const builder *b, int32_t at, int32_t feature, float bound, bool missing, int32_t yes,
                      int32_t no) {
    put_node(b, at, feature, bound, missing, at + 1, no);
    put_node(b, at + 1, feature, below(bound), false, no, yes);
}

static void put_members(const builder *b, const tort_tree_node *node, int32_t at, int32_t yes, int32_t no) {
    const double *set = (const double *)tort_list_at(b->p, b->p->members) + (int64_t)node->value;
    if (isnan(*set)) put_node(b, at, node->feature, NAN, node->missing, yes, no);
    for (bool missing = node->missing; !isnan(*set); set++, at += 2, missing = false)
        put_equal(b, at, node->feature, (float)*set, missing, yes, isnan(set[1]) ? no : at + 2);
}

static void put_file_node(const builder *b, const tort_tree_node *node, int32_t at) {
    const int32_t yes = b->places[node->yes], no = b->places[node->no], feature = node->feature;
    const float bound = (float)node->value;
    const bool missing = node->missing;
    const tort_tree_mode mode = (tort_tree_mode)node->mode;
    if (mode == TORT_TREE_MEMBER)
        put_members(b, node, at, yes, no);
    else if (isnan(bound)) { /* nothing compares with it, and all differs from it */
        const bool all = mode == TORT_TREE_NEQ, two = all || mode == TORT_TREE_EQ;
        put_node(b, at, feature, NAN, missing, yes, all ? yes : no);
        if (two) put_node(b, at + 1, feature, NAN, false, no, no);
    } else if (mode == TORT_TREE_EQ)
        put_equal(b, at, feature, bound, missing, yes, no);
    else if (mode == TORT_TREE_NEQ)
        put_equal(b, at, feature, bound, !missing, no, yes);
    else if (mode == TORT_TREE_LEQ || mode == TORT_TREE_LT)
        put_node(b, at, feature, mode == TORT_TREE_LT ? below(bound) : bound, missing, yes, no);
    else
        put_node(b, at, feature, mode == TORT_TREE_GTE ? below(bound) : bound, !missing, no, yes);
}

static void build(builder *b) {
    const tort_tree_node *nodes = tort_list_at(b->p, b->p->nodes);
    const int32_t *roots = tort_list_at(b->p, b->p->roots);
    for (int64_t i = 0; i < b->p->nodes.count; i++) b->places[i] = UNSEEN;
    memset(b->slots, -1, b->slot_count * sizeof *b->slots);
    for (int64_t t = 0; t < b->p->roots.count; t++) place_tree(b, roots[t]);
    for (int64_t i = 0; i < b->p->nodes.count; i++)
        if (b->places[i] >= 0) put_file_node(b, &nodes[i], b->places[i]);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static size_t rounded_up(size_t bytes) {
    return (bytes + 15) / 16 * 16;
}

static tort_status pack_size(const tort_target *target, const tort_node_view *node, size_t *bytes, uint32_t *consumed,
                             tort_error *error) {
    const tort_trees_params *p = node->params;
    int64_t nodes, votes;
    (void)target, (void)error;
    count_max(p, &nodes, &votes);
    *consumed = 0;
    *bytes = rounded_up(sizeof(packed_trees)) + rounded_up((size_t)nodes * 8) +
             rounded_up((size_t)(2 * nodes + p->roots.count) * 4) + rounded_up((size_t)nodes * 2) +
             rounded_up((size_t)votes * 2) + rounded_up((size_t)(votes + p->bases.count) * 4) +
             rounded_up(((size_t)p->labels.count + 2) * 8);
    return TORT_OK;
}

static void put_word(void *to, int32_t bytes, int64_t i, int64_t value) {
    switch (bytes) {
    case 1: ((uint8_t *)to)[i] = (uint8_t)value; break;
    case 2: ((uint16_t *)to)[i] = (uint16_t)value; break;
    case 4: ((uint32_t *)to)[i] = (uint32_t)value; break;
    default: ((int64_t *)to)[i] = value; break;
    }
}

/* The smallest type that has all bounds. */
static tort_type bound_type_of(const builder *b) {
    int64_t low = 0, high = 0;
    if (b->type == TORT_FLOAT) return TORT_FLOAT;
    for (int32_t i = 0; i < b->node_count; i++) {
        const int64_t whole = b->nodes[i].whole;
        low = whole < low ? whole : low;
        high = whole > high ? whole : high;
    }
    if (low >= INT8_MIN && high <= INT8_MAX) return TORT_INT8;
    if (low >= INT16_MIN && high <= INT16_MAX) return TORT_INT16;
    return low >= INT32_MIN && high <= INT32_MAX ? TORT_INT32 : TORT_INT64;
}

static tort_type word_type(int32_t bytes) {
    return bytes == 1 ? TORT_UINT8 : bytes == 2 ? TORT_UINT16 : TORT_INT32;
}

static int32_t bound_bytes(const packed_trees *head) {
    return tort_type_bits((tort_type)head->bound_type) / 8;
}

/* Fills the head: types of elements, and places of arrays. */
static void lay_out(const builder *b, packed_trees *head) {
    const tort_trees_params *p = b->p;
    bool missing = false;
    for (int32_t i = 0; i < b->node_count; i++) missing = missing || b->nodes[i].missing;
    head->nodes = b->node_count;
    head->votes = b->vote_count;
    head->bound_type = (int32_t)bound_type_of(b);
    head->child_bytes = (int64_t)b->node_count + b->vote_count <= UINT16_MAX ? 2 : 4;
    head->feature_bytes = p->features <= (missing ? 128 : 256) ? 1 : 2;
    head->missing = !missing ? 0 : head->feature_bytes == 1 ? 1 << 7 : 1 << 15;
    head->target_bytes = p->targets < 128 ? 1 : 2;
    head->label_count = p->targets == 1 ? 2 : (int32_t)p->labels.count;
    const size_t nodes = (size_t)head->nodes, votes = (size_t)head->votes;
    head->bounds = rounded_up(sizeof *head);
    head->children = head->bounds + rounded_up(nodes * (size_t)bound_bytes(head));
    head->features = head->children + rounded_up((2 * nodes + (size_t)p->roots.count) * (size_t)head->child_bytes);
    head->targets = head->features + rounded_up(nodes * (size_t)head->feature_bytes);
    head->weights = head->targets + rounded_up(votes * (size_t)head->target_bytes);
    head->labels = head->weights + rounded_up((votes + (size_t)p->bases.count) * 4);
}

static void pack_nodes(const builder *b, packed_trees *head) {
    char *base = (char *)head;
    const int32_t *roots = tort_list_at(b->p, b->p->roots);
    for (int32_t i = 0; i < b->node_count; i++) {
        const built_node *node = &b->nodes[i];
        if (b->type == TORT_FLOAT)
            ((float *)(void *)(base + head->bounds))[i] = node->real;
        else
            put_word(base + head->bounds, bound_bytes(head), i, node->whole);
        put_word(base + head->features, head->feature_bytes, i, node->feature | (node->missing ? head->missing : 0));
        for (int32_t k = 0; k < 2; k++) {
            const int32_t child = node->children[k];
            put_word(base + head->children, head->child_bytes, 2 * (int64_t)i + k,
                     child < 0 ? head->nodes + ~child : child);
        }
    }
    for (int64_t t = 0; t < b->p->roots.count; t++) {
        const int32_t root = b->places[roots[t]];
        put_word(base + head->children, head->child_bytes, 2 * (int64_t)head->nodes + t,
                 root < 0 ? head->nodes + ~root : root);
    }
}

static void pack_votes(const builder *b, packed_trees *head) {
    static const int64_t no_and_yes[] = {0, 1};
    const tort_trees_params *p = b->p;
    char *base = (char *)head;
    float *weights = (float *)(void *)(base + head->weights);
    const double *bases = tort_list_at(p, p->bases);
    for (int32_t i = 0; i < b->vote_count; i++) {
        const int32_t target = b->votes[i].target;
        const int32_t last = target & LAST_VOTE ? 1 << (8 * head->target_bytes - 1) : 0;
        put_word(base + head->targets, head->target_bytes, i, (target & ~LAST_VOTE) | last);
        weights[i] = (float)b->votes[i].weight;
    }
    for (int64_t i = 0; i < p->bases.count; i++) weights[b->vote_count + i] = (float)bases[i];
    if (p->targets == 1) /* a single class is present or absent, whatever its label is */
        memcpy(base + head->labels, no_and_yes, sizeof no_and_yes);
    else if (p->labels.count)
        memcpy(base + head->labels, tort_list_at(p, p->labels), (size_t)p->labels.count * sizeof(int64_t));
}

/* Gives the builder its room, a block of *bytes. NULL: no memory. */
static void *open_room(builder *b, const tort_env *env, size_t *bytes) {
    const size_t listed = (size_t)b->p->nodes.count + 1;
    int64_t nodes, votes;
    count_max(b->p, &nodes, &votes);
    b->slot_count = 16;
    while (b->slot_count < 2 * listed) b->slot_count *= 2;
    const size_t node_bytes = rounded_up(((size_t)nodes + 1) * sizeof *b->nodes),
                 vote_bytes = rounded_up(((size_t)votes + 1) * sizeof *b->votes),
                 place_bytes = rounded_up(listed * sizeof *b->places), stack_bytes = 2 * place_bytes;
    *bytes = node_bytes + vote_bytes + place_bytes + stack_bytes + b->slot_count * sizeof *b->slots;
    char *room = tort_alloc(env, *bytes);
    if (!room) return NULL;
    b->nodes = (built_node *)(void *)room;
    b->votes = (tort_tree_vote *)(void *)(room + node_bytes);
    b->places = (int32_t *)(void *)(room + node_bytes + vote_bytes);
    b->stack = (int32_t *)(void *)(room + node_bytes + vote_bytes + place_bytes);
    b->slots = (int32_t *)(void *)(room + node_bytes + vote_bytes + place_bytes + stack_bytes);
    return room;
}

static tort_status prepare(tort_prepare *prepare) {
    builder b = {.p = prepare->node->params, .key = prepare->env->hash_key, .type = prepare->node->inputs[0].type};
    size_t bytes = 0;
    void *room = open_room(&b, prepare->env, &bytes);
    if (!room) return tort_out_of_memory(prepare->error, bytes);
    build(&b);
    lay_out(&b, prepare->packed);
    pack_nodes(&b, prepare->packed);
    pack_votes(&b, prepare->packed);
    tort_free(prepare->env, room, bytes);
    return TORT_OK;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static tort_status size(const tort_target *target, const tort_node_view *node, size_t *scratch, tort_error *error) {
    const tort_trees_params *p = node->params;
    (void)target, (void)error;
    *scratch = ((size_t)p->targets + 1) * (sizeof(float) + 1);
    return TORT_OK;
}

/* How a label is chosen, as trees.c of ops/ml has it. */
static int32_t choice_of(const tort_trees_params *p) {
    if (!p->classifies) return 0;
    if (p->targets == 1) return ALONE;
    if (p->targets == 2 && p->one_class == TORT_TREES_FIRST && p->bases.count < 2) return FIRST;
    return p->targets == 2 && p->one_class == TORT_TREES_SECOND && !p->bases.count ? SECOND : BEST;
}

const char *tort_firmware_post_transform(tort_post_transform transform) {
    static const char *const names[] = {[TORT_POST_SOFTMAX] = "tinyort_post_softmax",
                                        [TORT_POST_LOGISTIC] = "tinyort_post_logistic",
                                        [TORT_POST_SOFTMAX_ZERO] = "tinyort_post_softmax_zero",
                                        [TORT_POST_PROBIT] = NULL};
    return names[transform];
}

/* The function of a row of scores; NULL: none. One score that stands for both classes knows LOGISTIC alone. */
static const char *transform_of(const tort_trees_params *p, int32_t choice) {
    if (choice == ALONE || (choice == FIRST && p->transform != TORT_POST_LOGISTIC)) return NULL;
    return tort_firmware_post_transform(p->transform);
}

static tinyort_trees_shape shape_of(const tort_call *call, int64_t rows, int64_t columns) {
    static const int32_t aggregates[] = {[TORT_TREES_MIN] = 1, [TORT_TREES_MAX] = 2};
    const tort_trees_params *p = call->params;
    const packed_trees *head = call->packed;
    return (tinyort_trees_shape){.rows = (int32_t)rows,
                                 .columns = (int32_t)columns,
                                 .trees = (int32_t)p->roots.count,
                                 .nodes = head->nodes,
                                 .targets = p->targets,
                                 .type = tort_firmware_number_type(call->inputs[0].type),
                                 .bound_type = tort_firmware_number_type((tort_type)head->bound_type),
                                 .child_bytes = head->child_bytes,
                                 .feature_bytes = head->feature_bytes,
                                 .target_bytes = head->target_bytes,
                                 .missing = head->missing,
                                 .last = 1 << (8 * head->target_bytes - 1),
                                 .aggregate = aggregates[p->aggregate],
                                 .mean = p->aggregate == TORT_TREES_AVERAGE,
                                 .bases = (int32_t)p->bases.count,
                                 .choice = choice_of(p),
                                 .half = p->targets == 2 && p->all_positive,
                                 .opposite = p->all_positive && p->transform != TORT_POST_LOGISTIC};
}

/* Array `*i` of the packed weights, behind which *i then counts one more; NULL: it is empty. */
static const void *array_at(const tort_call *call, int32_t *i, tort_type type, uint64_t offset, int64_t count) {
    if (!count) return NULL;
    tort_firmware_array(call, (*i)++, type, (size_t)offset, (size_t)count);
    return (const char *)call->packed + offset;
}

static tort_status run(const tort_call *call) {
    typedef void transforms(float *, int32_t);
    const tort_trees_params *p = call->params;
    const packed_trees *head = call->packed;
    int64_t rows = 0, columns = 0;
    int32_t i = 0;
    tort_status status = tort_trees_input(call, &rows, &columns);
    if (status) return status;
    const tinyort_trees_shape shape = shape_of(call, rows, columns);
    const char *name = transform_of(p, shape.choice);
    transforms *transform = name ? (transforms *)tort_firmware_function_of(name) : NULL;
    int64_t *y = shape.choice ? tort_firmware_output(call, 0) : NULL;
    const int64_t nodes = head->nodes, votes = head->votes, children = 2 * nodes + p->roots.count;
    const void *bounds = array_at(call, &i, (tort_type)head->bound_type, head->bounds, nodes);
    const void *ways = array_at(call, &i, word_type(head->child_bytes), head->children, children);
    const void *features = array_at(call, &i, word_type(head->feature_bytes), head->features, nodes);
    const void *targets = array_at(call, &i, word_type(head->target_bytes), head->targets, votes);
    const float *weights = array_at(call, &i, TORT_FLOAT, head->weights, votes + p->bases.count);
    const int64_t *labels = y ? array_at(call, &i, TORT_INT64, head->labels, head->label_count) : NULL;
    return TORT_FIRMWARE_CALL(call, tinyort_trees, &shape, call->inputs[0].data, bounds, ways, features, targets,
                              weights, p->bases.count ? weights + votes : NULL, labels, transform, call->scratch, y,
                              tort_firmware_output(call, shape.choice ? 1 : 0));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROW(op_)                                                                                                       \
    {                                                                                                                  \
        "ai.onnx.ml", op_, "trees", .claim = claim, .size = size, .prepare = prepare, .pack = {.size = pack_size},     \
                                    .run = run, .emit = tort_firmware_emit                                             \
    }

const tort_kernel tort_firmware_trees[] = {
    ROW("TreeEnsembleClassifier"),
    ROW("TreeEnsembleRegressor"),
    ROW("TreeEnsemble"),
    {.op = NULL},
};
