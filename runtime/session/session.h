/* session.h - opens a session. */
#ifndef TORT_RUNTIME_SESSION_SESSION_H
#define TORT_RUNTIME_SESSION_SESSION_H

#include "runtime/lowered/lowered.h"

/* Runs the whole planning phase; of `saved`, whose model the session then owns, only the rest of it. *reportable: the
 * session exists for a report, though this failed. */
tort_status tort_session_open(const tort_env *env, const tort_model *model, const tort_session_options *options,
                              struct tort_saved *saved, tort_session **out, bool *reportable, tort_error *error);

#endif
