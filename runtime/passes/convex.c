/* convex.c - finds large convex sets of wanted nodes.
 *
 * Each node has a level that never falls along an edge, and rises on every path that goes from a wanted node through
 * others to a wanted node again. Wanted nodes of one level that an edge joins are one set. So a path that leaves a set
 * ends on a higher level and cannot come back; and edges between sets lead up, so that sets can be put in order.
 *
 * The lowest levels come from one sweep along the edges. They can be too low: of a -> other -> b and c -> b, c begins
 * with a, though it could run with b. So sweeps against the edges raise whole sets to the level of a set that reads
 * them, where nothing else that reads them is in the way; a few of them, since each makes sets larger and the next one
 * looks at those. The largest partition is hard to find; this one is where no sweep finds more. */
#include "runtime/passes/convex.h"

enum { MAX_SWEEPS = 4 };

/* Of a set, by the node that stands for it. */
typedef struct standing {
    int32_t parent; /* of a wanted node: one nearer to the node that stands for its set, or itself */
    int32_t level;
    int32_t bound;     /* the highest level that those who read it allow; kept for nodes that are not wanted, too */
    int32_t neighbour; /* the lowest level of a set that reads it directly */
    int32_t left;      /* nodes that a sweep has not come to */
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

static void find_levels(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++) {
        s[i] = (standing){.parent = i};
        for (int32_t e = dag->first[i]; e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e], level = s[r].level + (dag->wanted[r] && !dag->wanted[i]);
            if (level > s[i].level) s[i].level = level;
        }
    }
}

/* Joins wanted nodes of one level that an edge joins. */
static void join(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++)
        for (int32_t e = dag->first[i]; dag->wanted[i] && e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e];
            if (!dag->wanted[r]) continue;
            const int32_t a = find(s, i), b = find(s, r);
            if (s[a].level == s[b].level) s[a > b ? a : b].parent = min(a, b);
        }
}

/* What this node asks of those that it reads. */
static void limit(const tort_dag *dag, standing *s, int32_t i) {
    const int32_t set = find(s, i);
    const bool wanted = dag->wanted[i];
    const int32_t level = wanted ? s[set].level : s[i].bound;
    for (int32_t e = dag->first[i]; e < dag->first[i + 1]; e++) {
        standing *read = &s[find(s, dag->reads[e])];
        if (read == &s[set]) continue;
        const bool back = !wanted && dag->wanted[dag->reads[e]] && level < INT32_MAX;
        read->bound = min(read->bound, back ? level - 1 : level);
        if (wanted) read->neighbour = min(read->neighbour, level);
    }
}

/* Raises sets to the level of one that reads them; false: there was none to raise. A set is looked at when all nodes
 * that read it have been. */
static bool raise_sets(const tort_dag *dag, standing *s) {
    bool raised = false;
    for (int32_t i = 0; i < dag->count; i++) {
        s[i].bound = s[i].neighbour = INT32_MAX;
        s[i].left = 0;
    }
    for (int32_t i = 0; i < dag->count; i++) s[find(s, i)].left++;
    for (int32_t i = dag->count - 1; i >= 0; i--) {
        standing *set = &s[find(s, i)];
        const bool can = --set->left == 0 && dag->wanted[i] && set->neighbour < INT32_MAX;
        if (can && set->neighbour == set->bound && set->bound > set->level) {
            set->level = set->bound;
            raised = true;
        }
        limit(dag, s, i);
    }
    return raised;
}

/* A set stands at its first node, so that one pass numbers all. */
static int32_t number_sets(const tort_dag *dag, standing *s, int32_t *set) {
    int32_t count = 0;
    for (int32_t i = 0; i < dag->count; i++) {
        const int32_t first = find(s, i);
        set[i] = !dag->wanted[i] ? -1 : first == i ? count++ : set[first];
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
