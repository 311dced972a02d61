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

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* A block that is cut into arrays, each aligned to 16 bytes. */
typedef struct block {
    uint8_t *base; /* NULL: the arrays are only measured */
    size_t used;   /* SIZE_MAX: overflow */
} block;

static void *take(block *b, size_t count, size_t size) {
    size_t bytes, at;
    if (!tort_mul_size(count, size, &bytes) || !tort_align_size(b->used, 16, &at) ||
        !tort_add_size(at, bytes, &b->used)) {
        b->used = SIZE_MAX;
        return NULL;
    }
    return b->base ? b->base + at : NULL;
}

/* Cuts the arrays whose lengths depend on the graph alone, before shapes are known. */
static void take_shapes(tort_planned *planned, block *b) {
    const tort_graph *graph = &planned->lowered->graph;
    planned->infos = take(b, (size_t)graph->value_count + 1, sizeof *planned->infos);
    planned->known = take(b, (size_t)graph->value_count + 1, 1);
    planned->input_dims = take(b, (size_t)graph->input_count * TORT_MAX_RANK + 1, sizeof *planned->input_dims);
    planned->scalars = take(b, tort_plan_shapes_scalars(planned->lowered), sizeof *planned->scalars);
    const size_t evaluated = planned->lowered->evaluated_count ? (size_t)planned->lowered->session->dims.count : 0;
    planned->sizes = take(b, evaluated, sizeof *planned->sizes);
}

/* How steps of some provider work in bands of rows; NULL: none does. */
static const tort_banding *banding_of(const tort_session *session) {
    const tort_banding *found = NULL;
    for (int32_t i = 0; !found && i < session->chain_count; i++) found = session->chain[i].target.banding;
    return found;
}

/* Cuts the arrays whose lengths depend on the outline. A plan with an unshared outline uses the
 * outline's slots and steps. */
static void take_tables(tort_planned *planned, block *b) {
    const tort_plan *plan = &planned->outline->plan;
    const size_t memories = (size_t)plan->memory_count;
    planned->params = take(b, (size_t)plan->params_bytes + 1, 1);
    planned->fitted = take(b, (size_t)plan->step_count + 1, sizeof *planned->fitted);
    planned->fit_key = take(b, tort_fit_key_bytes(planned->lowered, plan) + 1, 1);
    planned->plan.arena_bytes = take(b, memories, sizeof *plan->arena_bytes);
    planned->plan.naive_bytes = take(b, memories, sizeof *plan->naive_bytes);
    planned->plan.banding = banding_of(planned->lowered->session);
    if (planned->plan.banding)
        planned->plan.bands = take(b, (size_t)plan->step_count / 2 + 1, sizeof *planned->plan.bands);
    if (planned->lowered->max && plan->recorder >= 0) {
        planned->before.steps = take(b, (size_t)plan->step_count + 1, sizeof *planned->before.steps);
        planned->before.slots = take(b, (size_t)plan->slot_count + 1, sizeof *planned->before.slots);
        planned->before.params = take(b, (size_t)plan->params_bytes + 1, 1);
        planned->changed = take(b, (size_t)plan->step_count + 1, sizeof *planned->changed);
    }
    if (!planned->outline->shared) return;
    planned->plan.slots = take(b, (size_t)plan->slot_count + 1, sizeof *plan->slots);
    planned->plan.steps = take(b, (size_t)plan->step_count + 1, sizeof *plan->steps);
}

/* Measures the arrays, allocates a new block if the old one is too small, and cuts it. */
static tort_status reserve(tort_planned *planned, void (*arrays)(tort_planned *planned, block *b), void **base,
                           size_t *bytes, tort_error *error) {
    block measured = {NULL, 0};
    arrays(planned, &measured);
    if (!*base || *bytes < measured.used) {
        tort_free(planned->env, *base, *bytes);
        *bytes = measured.used;
        *base = measured.used < SIZE_MAX ? tort_alloc(planned->env, measured.used) : NULL;
        if (!*base) return tort_out_of_memory(error, measured.used);
    }
    arrays(planned, &(block){*base, 0});
    return TORT_OK;
}

static tort_status open_tables(tort_planned *planned, tort_error *error) {
    const tort_plan *outline = &planned->outline->plan;
    uint8_t *literals = planned->plan.literals;
    planned->reused = planned->reused && planned->sized == planned->outline;
    if (planned->reused) return TORT_OK;
    tort_unfit_plan(planned);
    planned->sized = NULL;
    planned->plan = *outline;
    planned->plan.literals = literals;
    tort_status status = reserve(planned, take_tables, &planned->tables, &planned->tables_bytes, error);
    if (status) return status;
    planned->sized = planned->outline;
    planned->before.noted = false;
    memset(planned->params, 0, (size_t)outline->params_bytes + 1);
    memset(planned->fitted, 0, ((size_t)outline->step_count + 1) * sizeof *planned->fitted);
    if (planned->plan.slots == outline->slots) return TORT_OK;
    if (outline->slot_count)
        memcpy(planned->plan.slots, outline->slots, (size_t)outline->slot_count * sizeof *outline->slots);
    if (outline->step_count)
        memcpy(planned->plan.steps, outline->steps, (size_t)outline->step_count * sizeof *outline->steps);
    return TORT_OK;
}

/* ---- outlines ---------------------------------------------------------------------------------------------------- */

#define MAX_OUTLINES 8 /* kept of one graph; beyond that a new outline belongs to its plan */

static uint8_t known_of(const tort_info *info) {
    tort_tensor tensor;
    size_t bytes;
    uint8_t known = tort_elements_known(info) ? TORT_KNOWN_ELEMENTS : 0;
    if (tort_shape_known(info)) known |= TORT_KNOWN_SHAPE;
    if (tort_info_tensor(info, &tensor) && tort_tensor_bytes(&tensor, &bytes) && bytes <= INT64_MAX)
        known |= TORT_KNOWN_BYTES;
    return known;
}

/* True if several plans are possible, as the shape of some input is open. */
static bool is_open(const tort_lowered *lowered) {
    bool open = false;
    for (int32_t i = 0; i < lowered->graph.input_count; i++) {
        const tort_info *info = &lowered->infos[lowered->graph.inputs[i]];
        open |= info->kind == TORT_TENSOR && !info->constant && !tort_shape_known(info);
    }
    return open;
}

static tort_outline *find_outline(tort_lowered *lowered, const uint8_t *known, int32_t *count) {
    tort_outline *outline = lowered->outlines;
    *count = 0;
    while (outline && memcmp(outline->known, known, (size_t)lowered->graph.value_count)) {
        outline = outline->next;
        ++*count;
    }
    return outline;
}

/* Adds the outline to the list. If another thread was faster, uses its outline and frees this one. */
static void share_outline(tort_lowered *lowered, tort_outline **made) {
    int32_t count;
    pthread_mutex_lock(&lowered->session->lock);
    tort_outline *same = find_outline(lowered, (*made)->known, &count), *mine = *made;
    if (!same && count < MAX_OUTLINES) {
        mine->shared = true;
        mine->next = lowered->outlines;
        lowered->outlines = mine;
    }
    pthread_mutex_unlock(&lowered->session->lock);
    if (!same) return;
    *made = same;
    tort_outline_free(lowered->session, mine);
}

static void drop_outline(tort_planned *planned) {
    if (planned->outline && !planned->outline->shared) tort_outline_free(planned->lowered->session, planned->outline);
    planned->outline = NULL;
    planned->sized = NULL;
}

/* Consecutive runs mostly need the same outline, so the previous one is compared first. */
static tort_status choose_outline(tort_planned *planned, bool complete, bool afresh, tort_error *error) {
    tort_lowered *lowered = planned->lowered;
    const size_t values = (size_t)lowered->graph.value_count;
    const bool shared = complete && !afresh && is_open(lowered);
    const tort_outline *before = planned->outline;
    int32_t count;
    for (size_t v = 0; v < values; v++)
        if (!planned->reused || !lowered->shape_fixed[v]) planned->known[v] = known_of(&planned->infos[v]);
    if (shared && before && before->shared && !memcmp(before->known, planned->known, values)) return TORT_OK;
    drop_outline(planned);
    if (shared) {
        pthread_mutex_lock(&lowered->session->lock);
        planned->outline = find_outline(lowered, planned->known, &count);
        pthread_mutex_unlock(&lowered->session->lock);
    }
    if (planned->outline) return TORT_OK;
    tort_status status = tort_outline_make(lowered, planned->known, complete, &planned->outline, error);
    if (!status && shared) share_outline(lowered, &planned->outline);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

tort_status tort_planned_open(tort_lowered *lowered, const tort_env *env, tort_planned **out, tort_error *error) {
    tort_planned *planned = tort_alloc_zero(env, 1, sizeof *planned);
    if (!planned) return tort_out_of_memory(error, sizeof *planned);
    planned->lowered = lowered;
    planned->env = env;
    tort_arena_init(&planned->arena, env);
    tort_dims_extend(&planned->dims, &lowered->session->dims, env, &planned->arena);
    tort_status status = reserve(planned, take_shapes, &planned->shapes, &planned->shapes_bytes, error);
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

static tort_status fill(tort_planned *planned, const tort_tensor *inputs, bool afresh, tort_error *error) {
    bool complete, placed = false;
    const bool usual = planned->follows_session;
    rewind_plan(planned);
    tort_status status = tort_plan_shapes(planned, inputs, afresh, &complete, error);
    planned->reused = usual && planned->follows_session;
    if (!status) status = choose_outline(planned, complete, afresh, error);
    if (!status) status = open_tables(planned, error);
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

tort_status tort_planned_fill(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    return fill(planned, inputs, false, error);
}

static tort_status make(tort_lowered *lowered, const tort_tensor *inputs, bool afresh, tort_planned **out,
                        tort_error *error) {
    tort_planned *planned = NULL;
    tort_status status = tort_planned_open(lowered, &lowered->session->env, &planned, error);
    if (!status) status = fill(planned, inputs, afresh, error);
    if (status)
        tort_planned_free(planned);
    else
        *out = planned;
    return status;
}

tort_status tort_plan_make(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **out, tort_error *error) {
    return make(lowered, inputs, false, out, error);
}

tort_status tort_plan_make_afresh(tort_lowered *lowered, const tort_tensor *inputs, tort_planned **out,
                                  tort_error *error) {
    return make(lowered, inputs, true, out, error);
}

/* A later fill with a size of 0 calls shape rules that the largest shapes do not need: all are called once, so that
 * their memory is reserved too. */
tort_status tort_planned_reserve(tort_planned *planned, const tort_tensor *inputs, tort_error *error) {
    bool complete;
    rewind_plan(planned);
    tort_status status = tort_plan_shapes(planned, inputs, true, &complete, error);
    return status ? status : fill(planned, inputs, false, error);
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
    drop_outline(planned);
    if (planned->pass.dims) tort_pass_free(&planned->pass);
    tort_dims_free(&planned->dims);
    tort_arena_free(&planned->arena);
    tort_free(planned->env, planned, sizeof *planned);
}
