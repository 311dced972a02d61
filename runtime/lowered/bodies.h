/* bodies.h - what plan and run know of bodies: their shapes and the memories of what goes in and out. */
#ifndef TORT_RUNTIME_LOWERED_BODIES_H
#define TORT_RUNTIME_LOWERED_BODIES_H

#include "runtime/lowered/lowered.h"

/* How a unit of control flow that runs calls its bodies, NULL: it is none; one of them, NULL where it never
 * runs; the memory in which a unit wants an input (-1: it reads it in none), and where a body leaves a result; then all
 * ports of bodies. */
const tort_trips *tort_unit_trips(const tort_lowered *lowered, int32_t unit);
tort_lowered *tort_trips_body(const tort_lowered *lowered, const tort_trips *trips, int32_t which);
int32_t tort_operand_memory(const tort_lowered *lowered, int32_t unit, int32_t input);
int32_t tort_result_memory(const tort_lowered *lowered, int32_t unit, int32_t output);
tort_status tort_bind_bodies(tort_session *session, tort_error *error);

#endif
