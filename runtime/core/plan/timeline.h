/* timeline.h - a height for each step of a plan: raise a range of steps, query the maximum of a range.
 *
 * Both take O(log steps), so that memplan.c and plan_check.c need O(n log n) instead of comparing all
 * pairs of blocks. */
#ifndef TORT_RUNTIME_PLAN_TIMELINE_H
#define TORT_RUNTIME_PLAN_TIMELINE_H

#include "runtime/core/base/memory.h"

/* A segment tree: node i has the children 2i and 2i + 1, the root is 1. */
typedef struct tort_timeline {
    uint64_t *highest; /* by node: maximum over its steps, without `all` of the nodes above */
    uint64_t *all;     /* by node: minimum height that a raise gave to all of its steps */
    int32_t leaves;    /* a power of two */
} tort_timeline;

bool tort_timeline_open(tort_timeline *timeline, const tort_env *env, int32_t steps); /* all 0; false: out of memory */
void tort_timeline_close(tort_timeline *timeline, const tort_env *env);
void tort_timeline_clear(tort_timeline *timeline);

/* Raises the heights of steps first..last, inclusive and within the timeline, to at least `height`. */
void tort_timeline_raise(tort_timeline *timeline, int32_t first, int32_t last, uint64_t height);
uint64_t tort_timeline_highest(const tort_timeline *timeline, int32_t first, int32_t last);

#endif
