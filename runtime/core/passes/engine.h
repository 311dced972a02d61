/* engine.h - the device of a provider chooses nodes, and compiles them. */
#ifndef TORT_RUNTIME_PASSES_ENGINE_H
#define TORT_RUNTIME_PASSES_ENGINE_H

#include "runtime/core/lowered/lowered.h"
#include "runtime/core/lowered/unit_view.h"

/* Fills by node of the view of `all` the number of its segment; -1: it is declined, for the reason in *declined.
 * Without an engine all are in segment 0. */
tort_status tort_engine_choose(const tort_lowered *lowered, tort_link *link, tort_unit_view *view,
                               const tort_segment *all, int32_t *groups, tort_verdict *declined, tort_error *error);
/* Compiles the segment of a view for the unit that is to run it, whose kernel is set. A verdict other than YES: the
 * engine refuses, and the unit has nothing of it. Without an engine: YES. */
tort_status tort_engine_compile(const tort_lowered *lowered, tort_link *link, tort_unit_view *view,
                                const tort_segment *segment, tort_unit *unit, tort_verdict *verdict, tort_error *error);

#endif
