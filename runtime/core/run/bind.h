/* bind.h - the memories and pointers of inputs and outputs. */
#ifndef TORT_RUNTIME_RUN_BIND_H
#define TORT_RUNTIME_RUN_BIND_H

#include "runtime/core/lowered/lowered.h"

/* tort_bind_ports: applies the option bindings: the memory of each input and output. tort_check_pointers: checks that
 * the pointers of a run are in these memories, except those that passed in an earlier run: `seen` has an entry for each
 * input, then for each output. */
tort_status tort_bind_ports(tort_session *session, tort_error *error);
tort_status tort_check_pointers(const tort_session *session, const tort_tensor *inputs, const tort_tensor *outputs,
                                const void **seen, tort_error *error);
/* Fails if an input or output is bound to a device. */
tort_status tort_check_unbound(const tort_session *session, tort_error *error);

#endif
