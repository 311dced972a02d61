/* convex.h - partitions nodes of a graph into connected, convex sets.
 *
 * A set is convex if no path from one of its nodes to another leaves it; otherwise it would wait for a node outside
 * that waits for it. The sets and the other nodes together must have a topological order, too. */
#ifndef TORT_RUNTIME_PASSES_CONVEX_H
#define TORT_RUNTIME_PASSES_CONVEX_H

#include "runtime/core/base/memory.h"

typedef struct tort_dag {
    int32_t count;        /* nodes in topological order */
    const int32_t *first; /* count + 1: node i reads reads[first[i]..first[i + 1]) */
    const int32_t *reads;
    const int32_t *group; /* nodes of one group may be in a set; those of -1 stay alone */
} tort_dag;

/* set[i]: the number of the set of node i, -1 if it has no group. Sets are numbered by their first nodes, and may have
 * a single node. Returns the number of sets; -1: out of memory. Memory O(nodes), time O(edges * log nodes). */
int32_t tort_convex_sets(const tort_env *env, const tort_dag *dag, int32_t *set);

#endif
