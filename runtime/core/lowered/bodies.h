/* bodies.h - bodies (subgraphs of If, Loop, Scan) while planning: shape inference through them, memories of their
 * ports. */
#ifndef TORT_RUNTIME_LOWERED_BODIES_H
#define TORT_RUNTIME_LOWERED_BODIES_H

#include "runtime/core/lowered/lowered.h"

/* tort_unit_trips: how a control-flow unit calls its bodies; NULL: the unit is not control flow, or does not run.
 * tort_operand_memory: the memory in which a unit reads an input; -1: it reads the input in none. tort_result_memory:
 * where the bodies leave an output of their node. tort_bind_trips: chooses the memories of the inputs and outputs of
 * one node's bodies, and of all bodies inside them. tort_bind_bodies: those of all bodies. */
const tort_trips *tort_unit_trips(const tort_lowered *lowered, int32_t unit);
int32_t tort_operand_memory(const tort_lowered *lowered, int32_t unit, int32_t input);
int32_t tort_result_memory(const tort_lowered *lowered, int32_t unit, int32_t output);
tort_status tort_bind_trips(const tort_lowered *lowered, const tort_trips *trips, tort_error *error);
tort_status tort_bind_bodies(tort_session *session, tort_error *error);

/* Functions that bind and run the bodies of a node, in run/call.c; reached through the description of the build alone,
 * so that one without control flow does not link them. */
struct tort_frame;
struct tort_step;
struct tort_calls {
    tort_status (*bind)(const tort_lowered *lowered, const tort_trips *trips, tort_error *error); /* tort_bind_trips */
    /* Runs the bodies of a step, and makes its outputs. */
    tort_status (*run)(struct tort_frame *frame, const struct tort_step *step, tort_error *error);
};
extern const struct tort_calls tort_calls;

#endif
