/* trees_pack.h - an ensemble of trees as the kernel walks it: records of 8 bytes, and one comparison for all modes.
 *
 * A record asks whether column <= value. If so the walk goes on at record `child`, else, NaN too, at the one behind it.
 * The columns of a row are the features that the trees look at, some of them negated: so x > t is -x <= -next(t), and a
 * NaN that goes with "true" goes with the "false" of the opposite question. x == t is two questions, membership in a
 * set a small tree. A leaf asks column 0 (-infinity) or 1 (NaN), and is its own child; its value is the tree's vote, or
 * the number of its list of votes. Read next: trees_pack.c, which makes it, trees.c, which runs it. */
#ifndef TORT_KERNELS_CPU_TREES_PACK_H
#define TORT_KERNELS_CPU_TREES_PACK_H

#include "ops/ml/trees.h"

enum { TORT_TREE_LANES = 8 };                                             /* walks side by side */
enum { TORT_TREE_MIN, TORT_TREE_NEVER, TORT_TREE_COLUMNS };               /* columns that every row has */
enum { TORT_TREE_MAX_FEATURES = 1 << 20, TORT_TREE_MAX_NODES = 1 << 30 }; /* that the kernel takes */

typedef struct tort_tree_record {
    float value;
    uint32_t link; /* child << bits | column */
} tort_tree_record;

/* A leaf whose tree does not vote for one target alone. */
typedef struct tort_tree_ballot {
    int32_t first, count;
} tort_tree_ballot;

typedef struct tort_tree_ballot_vote {
    float weight;
    int32_t target;
} tort_tree_ballot_vote;

typedef struct tort_packed_trees {
    uint32_t bits; /* of a column in a link */
    int32_t tree_count, column_count, ballot_count;
    int32_t *columns;               /* the feature f of each column, or -1 - f: negated */
    const tort_tree_record **trees; /* to their first records; LANES - 1 of them behind the last, that may be walked */
    int32_t *targets;               /* one a tree: of all its votes; -1: it has ballots */
    uint8_t *voted;                 /* one a target: a tree votes for it whatever the row is */
    tort_tree_ballot *ballots;      /* by number */
    tort_tree_ballot_vote *votes;
    tort_tree_record *records;
    size_t bytes; /* of all this */
} tort_packed_trees;

/* Why the kernel cannot have these trees; NULL: it can. */
const char *tort_trees_refusal(const tort_env *env, const tort_trees_params *p);
/* NULL: out of memory. Free `bytes` of it. */
tort_packed_trees *tort_trees_pack(const tort_env *env, const tort_trees_params *p);
/* Columns that the packed trees have at most. */
int64_t tort_trees_max_columns(const tort_trees_params *p);

#endif
