/* resize_loops.h - the plain loop of Resize, and what it needs. */
#ifndef TORT_OPS_RESIZE_LOOPS_H
#define TORT_OPS_RESIZE_LOOPS_H

#include "ops/resize.h"
#include "runtime/op.h"

/* Fills resolve->scratch_bytes: tables of taps of all axes, then a row of doubles for each worker. rank is not 0. */
tort_status tort_resize_scratch(tort_resolve *resolve, const tort_resize_params *params);
tort_status tort_resize_reference(const tort_call *call);

#endif
