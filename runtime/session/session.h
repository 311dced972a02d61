/* session.h - opening a session. */
#ifndef TORT_RUNTIME_SESSION_SESSION_H
#define TORT_RUNTIME_SESSION_SESSION_H

#include "runtime/lowered/lowered.h"

/* The whole planning phase; of `saved`, whose model is then owned, what is left of it. *reportable: the
 * session is there for its report, though this failed. */
tort_status tort_session_open(const tort_env *env, const tort_model *model, const tort_session_options *options,
                              struct tort_saved *saved, tort_session **out, bool *reportable, tort_error *error);

#endif
