/* plan_tables.c - the arrays of a plan: two blocks that are cut into them, one for each graph, one for each outline.
 *
 * It must not know what stands in them. Read next: plan.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"

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

tort_status tort_plan_open_shapes(tort_planned *planned, tort_error *error) {
    return reserve(planned, take_shapes, &planned->shapes, &planned->shapes_bytes, error);
}

tort_status tort_plan_open_tables(tort_planned *planned, tort_error *error) {
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
