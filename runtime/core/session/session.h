/* session.h - opens a session. */
#ifndef TORT_RUNTIME_SESSION_SESSION_H
#define TORT_RUNTIME_SESSION_SESSION_H

#include "runtime/core/lowered/lowered.h"

/* Decides which nodes are folded, where each other one runs, and which are fused. */
typedef tort_status tort_decide(tort_session *session, tort_error *error);

/* Runs the whole planning phase. `saved`: the plan whose decisions `decide` applies, and whose model the session then
 * owns; NULL: none. *reportable: the session exists for a report, though this failed. */
tort_status tort_session_open(const tort_env *env, const tort_model *model, const tort_session_options *options,
                              tort_decide *decide, struct tort_saved *saved, tort_session **out, bool *reportable,
                              tort_error *error);

/* How many threads the kernels on the host divide their work for: the option of their provider; 1: none runs there. */
int32_t tort_session_threads(const tort_session *session);

#endif
