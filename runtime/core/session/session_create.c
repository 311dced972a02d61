/* session_create.c - opens a session from a model: the passes decide where everything runs.
 *
 * Only this file calls the passes that decide, so the linker leaves them out of a program that only opens saved plans.
 * Read next: session.c, which makes the plans of what was decided. */
#include <string.h>

#include "runtime/core/passes/passes.h"
#include "runtime/core/providers/chain.h"
#include "runtime/core/session/session.h"

static tort_status decide(tort_session *session, tort_error *error) {
    tort_status status = tort_fold(session, error);
    if (!status) status = tort_place(session, error);
    if (!status) status = tort_chain_segment(session, error);
    if (!status) status = tort_check_placed(session, error);
    if (!status) status = tort_chain_require(session, error);
    if (!status) session->refused = tort_place_strict(session, error);
    if (!status) status = tort_fuse(session, error);
    if (!status) status = tort_note_precision(session, error);
    if (!status && !session->refused) session->refused = tort_place_integers(session, error);
    return status;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* A list of options: each of its `count` elements, of `size` bytes, begins with the pointer to a name. */
static bool is_list(const void *list, int32_t count, size_t size) {
    if (count < 0 || (!list && count)) return false;
    for (int32_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)list + (size_t)i * size, sizeof name);
        if (!name) return false;
    }
    return true;
}

/* Checks every list but `outputs`, which tort_choose_outputs checks. */
static tort_status check_lists(const tort_session_options *given, tort_error *error) {
    tort_session_options o = {0};
    memcpy(&o, given, given->struct_size < sizeof o ? given->struct_size : sizeof o);
    const char *wrong = !is_list(o.pins, o.pin_count, sizeof *o.pins)                        ? "pins"
                        : !is_list(o.shapes, o.shape_count, sizeof *o.shapes)                ? "shapes"
                        : !is_list(o.symbols, o.symbol_count, sizeof *o.symbols)             ? "symbols"
                        : !is_list(o.bindings, o.binding_count, sizeof *o.bindings)          ? "bindings"
                        : !is_list(o.max_symbols, o.max_symbol_count, sizeof *o.max_symbols) ? "max_symbols"
                        : !is_list(o.max_shapes, o.max_shape_count, sizeof *o.max_shapes)    ? "max_shapes"
                                                                                             : NULL;
    if (!wrong) return TORT_OK;
    return tort_fail(error, TORT_E_USAGE,
                     "option %s: the list or a name in it is NULL, or the number of its elements is negative", wrong);
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

tort_status tort_session_create(const tort_env *env, const tort_model *model, const tort_session_options *options,
                                tort_session **out, tort_error *error) {
    bool reportable = false;
    if (out) *out = NULL;
    if (!model || !out)
        return tort_fail(error, TORT_E_USAGE, "tort_session_create needs a model and a place for the session");
    if (error) *error = (tort_error){.node = -1};
    tort_status status = env ? tort_check_struct_size(env->struct_size, "tort_env", error) : TORT_OK;
    if (!status && options) status = check_lists(options, error);
    if (!status) status = tort_session_open(env, model, options, decide, NULL, out, &reportable, error);
    if (!status || reportable) return status;
    tort_session_free(*out);
    *out = NULL;
    return status;
}
