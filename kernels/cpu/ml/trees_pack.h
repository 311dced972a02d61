/* trees_pack.h - an ensemble of trees as the kernel walks it: records of 8 bytes, and one comparison for all modes.
 *
 * A record asks whether column <= value. If true the walk goes on at record `child`, otherwise (also for NaN) at the
 * record after it. Columns of a row are the features that the trees ask for, some of them negated: x > t becomes -x
 * <= -next(t), and where NaN must go with "true", the opposite question is asked. x == t is two questions,
 * membership in a set a small search tree. A leaf asks column 0 (-infinity) or 1 (NaN) and links to itself; its
 * value is the tree's vote, or the number of its ballot (list of votes). Read next: trees_pack.c, which packs, and
 * trees.c, which runs. */
#ifndef TORT_KERNELS_CPU_ML_TREES_PACK_H
#define TORT_KERNELS_CPU_ML_TREES_PACK_H

#include "ops/ml/trees.h"

enum { TORT_TREE_LANES = 8 };                                             /* walks side by side */
enum { TORT_TREE_ALWAYS, TORT_TREE_NEVER, TORT_TREE_COLUMNS };            /* columns that every row has */
enum { TORT_TREE_MAX_FEATURES = 1 << 20, TORT_TREE_MAX_NODES = 1 << 30 }; /* limits of the kernel */

typedef struct tort_tree_record {
    float value;
    uint32_t link; /* child << bits | column */
} tort_tree_record;

/* The votes of a leaf, in a tree that does not vote for a single target. */
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
    int32_t *columns;               /* per column: its feature f, or -1 - f if negated */
    const tort_tree_record **trees; /* their first records; LANES more follow, as a walk takes LANES trees */
    int32_t *targets;               /* per tree: the target of all its votes; -1: its leaves have ballots */
    uint8_t *voted;                 /* per target: some tree votes for it in every row */
    tort_tree_ballot *ballots;      /* by number */
    tort_tree_ballot_vote *votes;
    tort_tree_record *records;
    size_t bytes; /* of the whole allocation */
} tort_packed_trees;

/* Returns why the kernel cannot run these trees; NULL: it can. */
const char *tort_trees_refusal(const tort_env *env, const tort_trees_params *p);
/* Packs trees; NULL if out of memory. To release, free `bytes` of the result. */
tort_packed_trees *tort_trees_pack(const tort_env *env, const tort_trees_params *p);
/* Returns an upper bound for the columns of the packed trees. */
int64_t tort_trees_max_columns(const tort_trees_params *p);

#endif
