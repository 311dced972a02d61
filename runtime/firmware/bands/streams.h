/* streams.h - steps that work in bands of rows (bands.h): chosen, checked, run. tort_row_streams is for the target of a
 * provider, whose kernels have rows (tort_kernel.rows). */
#ifndef TORT_RUNTIME_STREAMS_STREAMS_H
#define TORT_RUNTIME_STREAMS_STREAMS_H

#include "runtime/core/plan/planned.h"

/* The members of tort_streams, which has their contracts. */
tort_status tort_streams_choose(tort_planned *planned, tort_error *error);
bool tort_streams_are_sound(const tort_plan *plan, int32_t index);

extern const tort_streams tort_row_streams;

#endif
