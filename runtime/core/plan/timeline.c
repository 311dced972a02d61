/* timeline.c - see timeline.h. Heights only grow, so `all` need not be pushed down to
 * children (no lazy propagation). */
#include "runtime/core/plan/timeline.h"

#include <string.h>

static size_t tree_bytes(const tort_timeline *timeline) {
    return 2 * (size_t)timeline->leaves * sizeof *timeline->highest;
}

bool tort_timeline_open(tort_timeline *timeline, const tort_env *env, int32_t steps) {
    *timeline = (tort_timeline){.leaves = 1};
    while (timeline->leaves < steps && timeline->leaves < INT32_MAX / 4) timeline->leaves *= 2;
    timeline->highest = tort_alloc_zero(env, 1, tree_bytes(timeline));
    timeline->all = tort_alloc_zero(env, 1, tree_bytes(timeline));
    if (timeline->leaves >= steps && timeline->highest && timeline->all) return true;
    tort_timeline_close(timeline, env);
    return false;
}

void tort_timeline_close(tort_timeline *timeline, const tort_env *env) {
    tort_free(env, timeline->highest, tree_bytes(timeline));
    tort_free(env, timeline->all, tree_bytes(timeline));
    timeline->highest = timeline->all = NULL;
}

void tort_timeline_clear(tort_timeline *timeline) {
    memset(timeline->highest, 0, tree_bytes(timeline));
    memset(timeline->all, 0, tree_bytes(timeline));
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* A node of the tree, and the steps below it. */
typedef struct branch {
    int32_t node, begin, end; /* end: one past the last step */
} branch;

static branch half(branch b, int32_t which) {
    const int32_t middle = b.begin + (b.end - b.begin) / 2;
    return (branch){2 * b.node + which, which ? middle : b.begin, which ? b.end : middle};
}

static void raise(tort_timeline *t, branch b, int32_t first, int32_t last, uint64_t height) {
    if (last < b.begin || first >= b.end) return;
    t->highest[b.node] = larger(t->highest[b.node], height);
    if (first <= b.begin && b.end <= last + 1) {
        t->all[b.node] = larger(t->all[b.node], height);
        return;
    }
    raise(t, half(b, 0), first, last, height);
    raise(t, half(b, 1), first, last, height);
}

static uint64_t highest(const tort_timeline *t, branch b, int32_t first, int32_t last) {
    if (last < b.begin || first >= b.end) return 0;
    if (first <= b.begin && b.end <= last + 1) return t->highest[b.node];
    const uint64_t below = larger(highest(t, half(b, 0), first, last), highest(t, half(b, 1), first, last));
    return larger(t->all[b.node], below);
}

void tort_timeline_raise(tort_timeline *timeline, int32_t first, int32_t last, uint64_t height) {
    raise(timeline, (branch){1, 0, timeline->leaves}, first, last, height);
}

uint64_t tort_timeline_highest(const tort_timeline *timeline, int32_t first, int32_t last) {
    return highest(timeline, (branch){1, 0, timeline->leaves}, first, last);
}
