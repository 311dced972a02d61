/* convex.c - partitions wanted nodes into large convex sets.
 *
 * Each node has a level that never falls along an edge, and rises on every path from a wanted node through unwanted
 * ones to a wanted node. Wanted nodes of one level that an edge joins form one set (union-find). So a path that leaves
 * a set ends on a higher level and cannot return; and edges between sets lead up, so the sets can be ordered.
 *
 * The lowest levels come from one forward sweep. They can be too low: with a -> other -> b and c -> b, c gets the level
 * of a, though it could join b. So backward sweeps raise whole sets to the level of a set that reads them, unless
 * another reader is in the way; there are a few, since each makes sets larger, and the next sweep sees these. The
 * result is not always the partition with the fewest sets, which is hard to find. O(sweeps * edges * log nodes). */
#include "runtime/core/passes/convex.h"

enum { MAX_SWEEPS = 4 };

/* State of a set, kept at its representative node. */
typedef struct standing {
    int32_t parent; /* union-find: a wanted node nearer to the representative, or itself */
    int32_t level;
    int32_t bound;     /* the highest level that all readers allow; of unwanted nodes, too */
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

static void find_levels(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++) {
        s[i] = (standing){.parent = i};
        for (int32_t e = dag->first[i]; e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e], level = s[r].level + (dag->wanted[r] && !dag->wanted[i]);
            if (level > s[i].level) s[i].level = level;
        }
    }
}

/* Unites wanted nodes of one level that an edge joins. */
static void join(const tort_dag *dag, standing *s) {
    for (int32_t i = 0; i < dag->count; i++)
        for (int32_t e = dag->first[i]; dag->wanted[i] && e < dag->first[i + 1]; e++) {
            const int32_t r = dag->reads[e];
            if (!dag->wanted[r]) continue;
            const int32_t a = find(s, i), b = find(s, r);
            if (s[a].level == s[b].level) s[a > b ? a : b].parent = min(a, b);
        }
}

/* Lowers the bounds of the sets that node i reads. */
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
        const bool can = --set->left == 0 && dag->wanted[i] && set->neighbour < INT32_MAX;
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
