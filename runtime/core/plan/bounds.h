/* bounds.h - upper bounds of input shapes. */
#ifndef TORT_RUNTIME_PLAN_BOUNDS_H
#define TORT_RUNTIME_PLAN_BOUNDS_H

#include "runtime/core/lowered/lowered.h"

/* tort_read_bounds: reads the upper bounds that the options give into lowered->max. tort_plan_bounds: makes a plan for
 * them. tort_check_bounds: refuses a run's inputs, whose ranks are checked already, that exceed them. */
tort_status tort_read_bounds(tort_session *session, tort_error *error);
tort_status tort_plan_bounds(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
tort_status tort_check_bounds(const tort_session *session, const tort_tensor *inputs, tort_error *error);
/* Finds a value of the graph, and its dimension, that may be larger for smaller inputs (max - past); -1: none. */
int32_t tort_find_shrinking(const tort_lowered *lowered, int32_t *dimension);

#endif
