/* order.h - units that run, and their order. */
#ifndef TORT_RUNTIME_PASSES_ORDER_H
#define TORT_RUNTIME_PASSES_ORDER_H

#include "runtime/core/lowered/lowered.h"

/* Units without a provider count as running: they are an error, but reported later. */
bool tort_unit_runs(const tort_unit *unit);
/* The running unit that makes a value; of a segment the last part. -1: the value exists before the run. */
int32_t tort_unit_making(const tort_lowered *lowered, int32_t value);
/* Sorts the units into lowered->order; `arena` is for the walk alone. */
tort_status tort_order_units(tort_lowered *lowered, tort_arena *arena, tort_error *error);

#endif
