/* convex.h - connected nodes of a graph in sets that can run as one.
 *
 * A set is convex where no path from one of its nodes to another leads out of it: else it would have to wait for a node
 * that waits for it. All sets together must have an order, too. */
#ifndef TORT_RUNTIME_PASSES_CONVEX_H
#define TORT_RUNTIME_PASSES_CONVEX_H

#include "runtime/base/memory.h"

typedef struct tort_dag {
    int32_t count;        /* nodes; each stands behind all that it reads */
    const int32_t *first; /* count + 1: where what a node reads begins in `reads` */
    const int32_t *reads;
    const bool *wanted; /* what may be in a set; other nodes stay alone */
} tort_dag;

/* set[i]: the number of the set that node i is in, -1 where it is not wanted. Sets are numbered by their first nodes;
 * one can have a single node. Returns how many there are; -1: out of memory. Memory grows with nodes and edges, time
 * with them and the logarithm of the nodes. */
int32_t tort_convex_sets(const tort_env *env, const tort_dag *dag, int32_t *set);

#endif
