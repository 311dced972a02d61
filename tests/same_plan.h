/* same_plan.h - two plans held against each other, bit for bit. */
#ifndef TORT_TESTS_SAME_PLAN_H
#define TORT_TESTS_SAME_PLAN_H

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/plan/planned.h"

/* What differs first, "bytes of slot 3", in `text`, which is returned; NULL: nothing. Where a plan is in memory, and
 * what kernels fitted to it, does not count. */
const char *plan_difference(const tort_planned *a, const tort_planned *b, char *text, size_t size);

#endif
