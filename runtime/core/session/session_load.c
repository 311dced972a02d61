/* session_load.c - opens a session from a saved plan: reads the file, and lets session.c continue from its decisions.
 * Read next: ../saved/saved_load.c, which replaces the passes that decide. */
#include <string.h>

#include "runtime/core/saved/saved_format.h"
#include "runtime/core/session/session.h"

/* The model owns the source, and the session, once it exists, the model. */
static tort_status load(const tort_env *env, tort_saved_source *source, const tort_plan_options *options,
                        tort_session **out, tort_error *error) {
    tort_saved *saved;
    bool reportable = false;
    tort_status status = tort_saved_read(env, source, options, &saved, error);
    if (status) return status;
    status = tort_session_open(env, saved->model, &saved->options, tort_saved_decide, saved, out, &reportable, error);
    if (*out)
        (*out)->own_model = saved->model;
    else
        tort_model_free(saved->model);
    if (!status) return TORT_OK;
    tort_session_free(*out);
    *out = NULL;
    return status;
}

static tort_status take_options(const tort_env *env, const tort_plan_options *given, tort_plan_options *options,
                                tort_error *error) {
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status && given) status = tort_check_struct_size(given->struct_size, "tort_plan_options", error);
    *options = (tort_plan_options){.struct_size = sizeof *options};
    if (!status && given)
        memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
    return status;
}

tort_status tort_session_load(const tort_env *env, const char *path, const tort_plan_options *given, tort_session **out,
                              tort_error *error) {
    const tort_env complete = tort_env_complete(env);
    tort_plan_options options;
    tort_saved_source *source;
    if (out) *out = NULL;
    if (!path || !out)
        return tort_fail(error, TORT_E_USAGE, "tort_session_load needs a path and a place for the session");
    tort_status status = take_options(env, given, &options, error);
    if (!status) status = tort_saved_open(&complete, path, options.map, &source, error);
    if (!status) status = load(&complete, source, &options, out, error);
    if (status == TORT_E_MODEL) tort_error_prefix(error, "%.200s", path);
    return status;
}

tort_status tort_session_load_buffer(const tort_env *env, const void *bytes, size_t size,
                                     const tort_plan_options *given, tort_session **out, tort_error *error) {
    const tort_env complete = tort_env_complete(env);
    tort_plan_options options;
    if (out) *out = NULL;
    if (!out || (!bytes && size))
        return tort_fail(error, TORT_E_USAGE, "tort_session_load_buffer needs bytes and a place for the session");
    tort_status status = take_options(env, given, &options, error);
    if (status) return status;
    tort_saved_source *source = tort_saved_open_buffer(&complete, bytes, size);
    return source ? load(&complete, source, &options, out, error) : tort_out_of_memory(error, sizeof *source);
}
