/* inputs.h - shapes of the inputs: fixes those that the options give, checks those of a run. */
#ifndef TORT_RUNTIME_PLAN_INPUTS_H
#define TORT_RUNTIME_PLAN_INPUTS_H

#include "runtime/core/lowered/lowered.h"

/* tort_fix_inputs: applies the shapes and symbol sizes of the options. tort_check_inputs: checks types, ranks,
 * dimensions and symbols of a run's tensors against the shapes that the session planned for. */
tort_status tort_fix_inputs(tort_session *session, tort_error *error);
tort_status tort_check_inputs(const tort_session *session, const tort_tensor *inputs, int32_t count, tort_error *error);
/* ": its channels seem to be last; transpose it to 1x3x224x224", if it would then fit the wanted dims (negative: any),
 * else "". Returns buffer. */
TORT_API const char *tort_channels_hint(const tort_tensor *tensor, const int64_t *wanted, int32_t rank, char *buffer,
                                        size_t size);
/* tort_check_tensors_alone: refuses a session with an input or output that is not a tensor. tort_check_values: checks
 * the types of a run's values. */
tort_status tort_check_tensors_alone(const tort_session *session, tort_error *error);
tort_status tort_check_values(const tort_session *session, const tort_value *const *inputs, int32_t count,
                              tort_error *error);

#endif
