/* inputs.h - input shapes: those that options fix, and those of a run held against the plan. */
#ifndef TORT_RUNTIME_PLAN_INPUTS_H
#define TORT_RUNTIME_PLAN_INPUTS_H

#include "runtime/lowered/lowered.h"

/* Shapes and sizes of symbols that the options fix; then types, ranks, known dims and symbols of a run's
 * inputs against what the session planned for, but for those that are no tensors. */
tort_status tort_fix_inputs(tort_session *session, tort_error *error);
tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count, tort_error *error);
/* Are all inputs and outputs tensors? Then, the types of values that a run brings. */
tort_status tort_check_tensors_alone(const tort_session *session, tort_error *error);
tort_status tort_check_values(const tort_session *session, const tort_value *const *inputs, int32_t count,
                              tort_error *error);

#endif
