/* plan.c - makes a plan from a placed graph and input shapes: shapes, outline, sizes, sharing, offsets, checks.
 *
 * Algorithm: specialization by shape with memoization. The result is cut at the sizes: the outline (steps, copies,
 * lifetimes) depends only on three bits per value, TORT_KNOWN_SHAPE, _BYTES and _ELEMENTS, and is cached under them, so
 * that a new batch size repeats only the part with numbers. plans.c caches whole plans by input shapes.
 *
 * Cost for N nodes, V values, S slots: outline O(N + V), comparing the bits O(V), sizes O(N + S), offsets see
 * memplan.c. Locks are held only for look-ups and no weight is read, so several threads make plans side by side. It
 * must not decide where a node runs: place.c has.
 *
 * Example: x[n,8] -> MatMul -> Softmax. n = 4 makes an outline of two steps, then computes bytes and offsets; n = 5 has
 * the same bits, and only computes bytes and offsets. An int64 ConstantOfShape([n]) has TORT_KNOWN_ELEMENTS up to n =
 * TORT_MAX_ELEMENTS only, so a larger n makes a second outline. Read next: plan_shapes.c, plan_steps.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/core/plan/planned.h"

tort_status tort_planned_open(tort_lowered *lowered, const tort_env *env, tort_planned **out, tort_error *error) {
    tort_planned *planned = tort_alloc_zero(env, 1, sizeof *planned);
    if (!planned) return tort_out_of_memory(error, sizeof *planned);
    planned->lowered = lowered;
    planned->env = env;
    tort_arena_init(&planned->arena, env);
    tort_dims_extend(&planned->dims, &lowered->session->dims, env, &planned->arena);
    tort_status status = tort_plan_open_shapes(planned, error);
    if (!status)
        status = tort_lowered_pass(lowered, &planned->pass, planned->infos, &planned->dims, &planned->arena, error);
    if (status)
        tort_planned_free(planned);
    else
        *out = planned;
    return status;
}

/* Resets all that depends on the previous input shapes. */
static void rewind_plan(tort_planned *planned) {
    const tort_lowered *lowered = planned->lowered;
    planned->ready = false;
    tort_dims_rewind(&planned->dims);
    tort_arena_rewind(&planned->arena);
    tort_pass_rewind(&planned->pass);
    memcpy(planned->infos, lowered->infos, (size_t)lowered->graph.value_count * sizeof *planned->infos);
}

tort_status tort_planned_fill(tort_planned *planned, const tort_tensor *inputs, bool afresh, tort_error *error) {
    bool complete, placed = false;
    const bool usual = planned->follows_session;
    rewind_plan(planned);
    tort_status status = tort_plan_shapes(planned, inputs, afresh, &complete, error);
    planned->reused = usual && planned->follows_session;
    if (!status) status = tort_plan_choose_outline(planned, complete, afresh, error);
    if (!status) status = tort_plan_open_tables(planned, error);
    if (!status) { /* the previous fill may have shared bytes */
        tort_plan_unband(&planned->plan);
        tort_plan_unshare(&planned->plan);
    }
    if (!status) status = tort_plan_sizes(planned, error);
    if (!status) placed = tort_plan_take_places(planned);
    if (!status && !placed) status = tort_plan_layout(planned, error);
    if (!status) status = tort_plan_check_sizes(&planned->plan, error);
    if (!status && !placed) status = tort_plan_check_overlap(planned->env, &planned->plan, error);
    planned->follows_session = planned->follows_session && !status;
    planned->serial = atomic_fetch_add(&planned->lowered->session->plans_made, 1) + 1;
    return status;
}

tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, bool afresh, tort_planned **out,
                           tort_error *error) {
    tort_planned *planned = NULL;
    tort_status status = tort_planned_open(lowered, &lowered->session->env, &planned, error);
    if (!status) status = tort_planned_fill(planned, inputs, afresh, error);
    if (status)
        tort_planned_free(planned);
    else
        *out = planned;
    return status;
}

/* A later fill with a size of 0 calls shape rules that the largest shapes do not need: all are called once, so that
 * their memory is reserved too. */
tort_status tort_planned_reserve(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    bool complete;
    rewind_plan(planned);
    tort_status status = tort_plan_shapes(planned, inputs, true, &complete, error);
    return status ? status : tort_planned_fill(planned, inputs, false, error);
}

size_t tort_planned_bytes(const tort_planned *planned) {
    const tort_pass *pass = &planned->pass;
    return sizeof *planned + planned->shapes_bytes + planned->tables_bytes + planned->literals_bytes +
           (size_t)(pass->max_inputs + pass->max_outputs) * sizeof(tort_info) + tort_arena_held(&planned->arena) +
           (size_t)planned->dims.capacity * sizeof *planned->dims.exprs +
           (size_t)planned->dims.bucket_count * sizeof *planned->dims.buckets;
}

void tort_planned_free(tort_planned *planned) {
    if (!planned) return;
    tort_unfit_plan(planned);
    tort_free(planned->env, planned->plan.literals, planned->literals_bytes);
    tort_free(planned->env, planned->tables, planned->tables_bytes);
    tort_free(planned->env, planned->shapes, planned->shapes_bytes);
    tort_plan_drop_outline(planned);
    if (planned->pass.dims) tort_pass_free(&planned->pass);
    tort_dims_free(&planned->dims);
    tort_arena_free(&planned->arena);
    tort_free(planned->env, planned, sizeof *planned);
}
