/* bind.h - the memories and pointers of inputs and outputs. */
#ifndef TORT_RUNTIME_RUN_BIND_H
#define TORT_RUNTIME_RUN_BIND_H

#include "runtime/lowered/lowered.h"

/* Which memory each input and output is in; later, whether their pointers are: but for those that were `seen`
 * there before, an entry for each input, then for each output. *moved is set where one on a device was not. */
tort_status tort_bind_ports(tort_session *session, tort_error *error);
tort_status tort_check_pointers(const tort_session *session, const tort_tensor *inputs, const tort_tensor *outputs,
                                const void **seen, bool *moved, tort_error *error);
/* Are all inputs and outputs in host memory? */
tort_status tort_check_unbound(const tort_session *session, tort_error *error);

#endif
