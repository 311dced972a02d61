/* timeline.h - how high each step of a plan has been filled: raise a range of steps, ask for the highest of a range.
 *
 * What memplan.c and plan_check.c have in common, in n log n where a look at every pair would be n * n. */
#ifndef TORT_RUNTIME_PLAN_TIMELINE_H
#define TORT_RUNTIME_PLAN_TIMELINE_H

#include "runtime/base/memory.h"

/* A segment tree: node i has the children 2i and 2i + 1, the root is 1. */
typedef struct tort_timeline {
    uint64_t *highest; /* of any step below the node */
    uint64_t *all;     /* that every step below the node has at least */
    int32_t leaves;    /* a power of two */
} tort_timeline;

bool tort_timeline_open(tort_timeline *timeline, const tort_env *env, int32_t steps); /* all 0; false: out of memory */
void tort_timeline_close(tort_timeline *timeline, const tort_env *env);
void tort_timeline_clear(tort_timeline *timeline);

/* Steps first..last, both included and within the timeline, are filled up to `height` at least. */
void tort_timeline_raise(tort_timeline *timeline, int32_t first, int32_t last, uint64_t height);
uint64_t tort_timeline_highest(const tort_timeline *timeline, int32_t first, int32_t last);

#endif
