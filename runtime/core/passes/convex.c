/* convex.c - partitions the nodes of groups into large convex sets.
 *
 * Each node has a level that never falls along an edge, and rises where an edge leaves a group. Nodes of one group and
 * level that an edge joins form one set (union-find). So a path that leaves a set ends on a higher level and cannot
 * return; and edges between sets lead up, so the sets can be ordered.
 *
 * The lowest levels come from one forward sweep. They can be too low: with a -> other -> b and c -> b, c gets the level
 * of a, though it could join b. So backward sweeps raise whole sets to the level of a set that reads them, unless
 * another reader is in the way; there are a few, since each makes sets larger, and the next sweep sees these. The
 * result is not always the partition with the fewest sets, which is hard to find. O(sweeps * edges * log nodes). */
#include "runtime/core/passes/convex.h"

enum { MAX_SWEEPS = 4 };

/* State of a set, kept at its representative node. */
typedef struct standing {
    int32_t parent; /* union-find: a node nearer to the representative, or itself */
    int32_t level;
    int32_t bound;     /* the highest level that all readers allow; of nodes without a group, too */
    int32_t neighbour; /* the lowest level of a set that reads it directly */
    int32_t left;      /* nodes that the present sweep has not visited */
} standing;

static int32_t find(standing *s, int32_t node) {
    while (s[node].parent != node) {
        s[node].parent = s[s[node].parent].parent;
        node = s[node].parent;
    }
    return node;
}

static int32_t min(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* True if node r is in a group that node i, which reads it, is not in. */
static bool leaves(const tort_dag *dag, int32_t r, int32_t i) {
    return dag->group[r] >= 0 && dag->group[r] != dag->group[i];
}

static void find_levels(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++) {
        s[i] = (standing){.parent = i};
        for (int32_t e = dag->first[i]; e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e], level = s[r].level + leaves(dag, r, i);
            if (level > s[i].level) s[i].level = level;
        }
    }
}

/* Unites nodes of one group and level that an edge joins. */
static void join(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++)
        for (int32_t e = dag->first[i]; dag->group[i] >= 0 && e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e];
            if (dag->group[r] != dag->group[i]) continue;
            const int32_t a = find(s, i), b = find(s, r);
            if (s[a].level == s[b].level) s[a > b ? a : b].parent = min(a, b);
        }
}

/* Lowers the bounds of the sets that node i reads. */
static void limit(const tort_dag *dag, standing *s, int32_t i) {
    const int32_t set = find(s, i);
    const int32_t level = dag->group[i] >= 0 ? s[set].level : s[i].bound;
    for (int32_t e = dag->first[i]; e < dag->first[i + 1]; e++) {
        standing *read = &s[find(s, dag->reads[e])];
        if (read == &s[set]) continue;
        const bool back = leaves(dag, dag->reads[e], i) && level < INT32_MAX;
        read->bound = min(read->bound, back ? level - 1 : level);
        if (dag->group[i] >= 0 && dag->group[i] == dag->group[dag->reads[e]])
            read->neighbour = min(read->neighbour, level);
    }
}

/* A backward sweep: raises sets to the level of a set that reads them. A set is decided at its first node, when all of
 * its readers have been visited. False: no set was raised. */
static bool raise_sets(const tort_dag *dag, standing *s) {
    bool raised = false;
    for (int32_t i = 0; i < dag->count; i++) {
        s[i].bound = s[i].neighbour = INT32_MAX;
        s[i].left = 0;
    }
    for (int32_t i = 0; i < dag->count; i++) s[find(s, i)].left++;
    for (int32_t i = dag->count - 1; i >= 0; i--) {
        standing *set = &s[find(s, i)];
        const bool can = --set->left == 0 && dag->group[i] >= 0 && set->neighbour < INT32_MAX;
        if (can && set->neighbour == set->bound && set->bound > set->level) {
            set->level = set->bound;
            raised = true;
        }
        limit(dag, s, i);
    }
    return raised;
}

/* The representative of a set is its first node, so one sweep numbers all sets. */
static int32_t number_sets(const tort_dag *dag, standing *s, int32_t *set) {
    int32_t count = 0;
    for (int32_t i = 0; i < dag->count; i++) {
        const int32_t first = find(s, i);
        set[i] = dag->group[i] < 0 ? -1 : first == i ? count++ : set[first];
    }
    return count;
}

int32_t tort_convex_sets(const tort_env *env, const tort_dag *dag, int32_t *set) {
    const size_t nodes = (size_t)dag->count + 1;
    standing *s = tort_alloc_zero(env, nodes, sizeof *s);
    if (!s) return -1;
    find_levels(dag, s);
    join(dag, s);
    for (int32_t sweep = 0; sweep < MAX_SWEEPS && raise_sets(dag, s); sweep++) join(dag, s);
    const int32_t count = number_sets(dag, s, set);
    tort_free(env, s, nodes * sizeof *s);
    return count;
}
