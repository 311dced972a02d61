/* bounds.h - upper bounds of input shapes. */
#ifndef TORT_RUNTIME_PLAN_BOUNDS_H
#define TORT_RUNTIME_PLAN_BOUNDS_H

#include "runtime/lowered/lowered.h"

/* The upper bounds that the options give, in lowered->most; a plan for them; whether the shapes of a run's
 * inputs, which are known to be of the right rank, keep to them. */
tort_status tort_read_bounds(tort_session *session, tort_error *error);
tort_status tort_plan_bounds(tort_lowered *lowered, const tort_env *env, tort_planned **planned, tort_error *error);
tort_status tort_check_bounds(const tort_session *session, const tort_tensor *inputs, tort_error *error);
/* A value of the graph, and its dimension, that may be larger below the bounds; -1: there is none. */
int32_t tort_find_shrinking(const tort_lowered *lowered, int32_t *dimension);

#endif
