/* session_create.c - opens a session from a model: the passes decide where everything runs.
 *
 * Only this file calls the passes that decide, so the linker leaves them out of a program that only opens saved plans.
 * Read next: session.c, which makes the plans of what was decided. */
#include "runtime/passes/passes.h"
#include "runtime/providers/chain.h"
#include "runtime/session/session.h"

static tort_status decide(tort_session *session, tort_error *error) {
    tort_status status = tort_fold(session, error);
    if (!status) status = tort_place(session, error);
    if (!status) status = tort_segment_units(session, error);
    if (!status) status = tort_check_placed(session, error);
    if (!status) status = tort_chain_require(session, error);
    if (!status) session->refused = tort_place_strict(session, error);
    return status ? status : tort_fuse(session, error);
}

tort_status tort_session_create(const tort_env *env, const tort_model *model, const tort_session_options *options,
                                tort_session **out, tort_error *error) {
    bool reportable = false;
    *out = NULL;
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status) status = tort_session_open(env, model, options, decide, NULL, out, &reportable, error);
    if (!status || reportable) return status;
    tort_session_free(*out);
    *out = NULL;
    return status;
}
