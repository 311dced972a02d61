/* convex.c - tests of runtime/core/passes/convex.c: sets of small graphs by hand, and of random ones by what they must
 * be.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/passes/convex.h"

enum { MAX = 14 };

typedef struct small_dag {
    int32_t first[MAX + 1], reads[MAX * MAX], set[MAX], group[MAX], count, sets;
    bool reaches[MAX][MAX];
} small_dag;

/* edges: "a>c b>c"; groups: "xx-", of two groups "xy-" */
static small_dag dag_of(const char *groups, const char *edges) {
    small_dag g = {.count = (int32_t)strlen(groups)};
    for (int32_t i = 0; i < g.count; i++) {
        g.group[i] = groups[i] == '-' ? -1 : groups[i] - 'x';
        g.first[i + 1] = g.first[i];
        for (const char *e = edges; *e; e += e[3] ? 4 : 3)
            if (e[2] - 'a' == i) g.reads[g.first[i + 1]++] = e[0] - 'a';
    }
    return g;
}

static void split(small_dag *g) {
    const tort_env env = tort_env_complete(NULL);
    g->sets = tort_convex_sets(
        &env, &(tort_dag){.count = g->count, .first = g->first, .reads = g->reads, .group = g->group}, g->set);
}

static void expect_sets(const char *groups, const char *edges, const char *sets) {
    small_dag g = dag_of(groups, edges);
    split(&g);
    for (int32_t i = 0; i < g.count; i++)
        cr_expect_eq(g.set[i], sets[i] == '-' ? -1 : sets[i] - '0', "%s %s: node %d is in set %d, not in %c", groups,
                     edges, i, g.set[i], sets[i]);
}

Test(convex, sets_of_small_graphs) {
    expect_sets("xxx", "a>b b>c", "000");
    expect_sets("xx", "", "01");
    expect_sets("x-x", "a>b b>c", "0-1");
    expect_sets("x-x", "a>b b>c a>c", "0-1");             /* a diamond with a foreign node in one arm */
    expect_sets("xxxx", "a>b a>c b>d c>d", "0000");       /* without */
    expect_sets("xx-xx", "a>b b>c c>d a>d d>e", "00-11"); /* both sides of it are sets */
    expect_sets("x-xx", "a>b b>d c>d", "0-11");           /* c runs with d, not with a's level */
    expect_sets("x-xxx", "a>b b>d c>d c>e", "0-111");     /* and takes e along */
    expect_sets("x--x", "a>b a>c b>d c>d", "0--1");
    expect_sets("xxxxxx", "a>b c>d b>e d>e e>f", "000000");
    expect_sets("xxyy", "a>b b>c c>d", "0011"); /* two groups stay apart */
    expect_sets("xyyx", "a>b c>d", "0123");     /* and are no way around each other: a and d, b and c would wait */
    expect_sets("xyxyy", "a>b a>c b>d d>e", "01011");
}

static void find_paths(small_dag *g) {
    for (int32_t i = 0; i < g->count; i++)
        for (int32_t e = g->first[i]; e < g->first[i + 1]; e++) {
            g->reaches[g->reads[e]][i] = true;
            for (int32_t k = 0; k < g->count; k++) g->reaches[k][i] |= g->reaches[k][g->reads[e]];
        }
}

/* Does a path lead from the set out of it and back? */
static bool is_convex(const small_dag *g, int32_t set) {
    for (int32_t a = 0; a < g->count; a++)
        for (int32_t m = 0; m < g->count; m++)
            for (int32_t b = 0; b < g->count; b++)
                if (g->set[a] == set && g->set[b] == set && g->set[m] != set && g->reaches[a][m] && g->reaches[m][b])
                    return false;
    return true;
}

static bool is_connected(const small_dag *g, int32_t set) {
    bool in[MAX] = {false};
    int32_t members = 0, found = 0;
    for (int32_t i = g->count - 1; i >= 0; i--)
        if (g->set[i] == set) members++, memset(in, 0, sizeof in), in[i] = true;
    for (int32_t round = 0; round < g->count; round++)
        for (int32_t i = 0; i < g->count; i++)
            for (int32_t e = g->first[i]; e < g->first[i + 1]; e++)
                if (g->set[i] == set && g->set[g->reads[e]] == set && (in[i] || in[g->reads[e]]))
                    in[i] = in[g->reads[e]] = true;
    for (int32_t i = 0; i < g->count; i++) found += in[i];
    return found == members;
}

/* Sets and single nodes can run one after another: takes away, again and again, what reads nothing that is left. */
static bool has_order(const small_dag *g) {
    bool gone[MAX] = {false};
    int32_t left = g->count, before = left + 1;
    for (; left && left < before;) {
        before = left;
        for (int32_t i = 0; i < g->count; i++) {
            bool ready = !gone[i];
            for (int32_t k = 0; k < g->count; k++) {
                const bool same = k == i || (g->set[i] >= 0 && g->set[k] == g->set[i]);
                for (int32_t e = g->first[k]; same && e < g->first[k + 1]; e++) {
                    const int32_t r = g->reads[e];
                    ready = ready && (gone[r] || r == i || (g->set[i] >= 0 && g->set[r] == g->set[i]));
                }
            }
            for (int32_t k = 0; ready && k < g->count; k++)
                if (k == i || (g->set[i] >= 0 && g->set[k] == g->set[i])) gone[k] = true, left--;
        }
    }
    return left == 0;
}

Test(convex, sets_of_random_graphs_are_convex_and_have_an_order) {
    srand(7);
    int32_t joined = 0;
    for (int32_t round = 0; round < 3000; round++) {
        small_dag g = {.count = 1 + rand() % MAX};
        const int32_t density = 1 + rand() % 4;
        for (int32_t i = 0; i < g.count; i++) {
            g.group[i] = rand() % 3 == 0 ? -1 : rand() % (1 + round % 3);
            g.first[i + 1] = g.first[i];
            for (int32_t k = 0; k < i; k++)
                if (rand() % (2 + density) == 0) g.reads[g.first[i + 1]++] = k;
        }
        split(&g);
        find_paths(&g);
        cr_assert(has_order(&g), "round %d: the sets wait for each other", round);
        for (int32_t s = 0; s < g.sets; s++) cr_assert(is_convex(&g, s) && is_connected(&g, s), "round %d", round);
        int32_t wanted = 0;
        for (int32_t i = 0; i < g.count; i++) {
            wanted += g.group[i] >= 0;
            cr_assert_eq(g.set[i] >= 0, g.group[i] >= 0);
            for (int32_t k = 0; k < i; k++) cr_assert(g.set[k] != g.set[i] || g.group[k] == g.group[i]);
        }
        joined += wanted - g.sets;
    }
    cr_expect_gt(joined, 3000);
}

/* Long chains with a foreign node now and then: time that grows with the square of the nodes would be hours. */
Test(convex, sets_of_a_large_graph) {
    enum { NODES = 400000 };
    const tort_env env = tort_env_complete(NULL);
    int32_t *first = calloc(NODES + 1, sizeof *first), *reads = calloc(2 * NODES, sizeof *reads);
    int32_t *set = calloc(NODES, sizeof *set);
    int32_t *group = calloc(NODES, sizeof *group);
    for (int32_t i = 0; i < NODES; i++) {
        group[i] = i % 10 != 9 ? 0 : -1;
        first[i + 1] = first[i];
        if (i) reads[first[i + 1]++] = i - 1;
        if (i > 12) reads[first[i + 1]++] = i - 12;
    }
    const tort_dag dag = {.count = NODES, .first = first, .reads = reads, .group = group};
    cr_expect_eq(tort_convex_sets(&env, &dag, set), NODES / 10);
    free(first), free(reads), free(set), free(group);
}
