/* plan_outlines.c - finds the outline (steps, copies, lifetimes) for what is known of each value, or makes it.
 *
 * Outlines of open graphs are shared by all plans of a session, in a list under its lock. Read next: plan_steps.c,
 * which makes one. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"

#define MAX_OUTLINES 8 /* kept of one graph; beyond that a new outline belongs to its plan */

static uint8_t known_of(const tort_info *info) {
    tort_tensor tensor;
    size_t bytes;
    uint8_t known = tort_elements_known(info) ? TORT_KNOWN_ELEMENTS : 0;
    if (tort_shape_known(info)) known |= TORT_KNOWN_SHAPE;
    if (tort_info_tensor(info, &tensor) && tort_tensor_bytes(&tensor, &bytes) && bytes <= PTRDIFF_MAX)
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

void tort_plan_drop_outline(tort_planned *planned) {
    if (planned->outline && !planned->outline->shared) tort_outline_free(planned->lowered->session, planned->outline);
    planned->outline = NULL;
    planned->sized = NULL;
}

/* Consecutive runs mostly need the same outline, so the previous one is compared first. */
tort_status tort_plan_choose_outline(tort_planned *planned, bool complete, bool afresh, tort_error *error) {
    tort_lowered *lowered = planned->lowered;
    const size_t values = (size_t)lowered->graph.value_count;
    const bool shared = complete && !afresh && is_open(lowered);
    const tort_outline *before = planned->outline;
    int32_t count;
    for (size_t v = 0; v < values; v++)
        if (!planned->reused || !lowered->shape_fixed[v]) planned->known[v] = known_of(&planned->infos[v]);
    if (shared && before && before->shared && !memcmp(before->known, planned->known, values)) return TORT_OK;
    tort_plan_drop_outline(planned);
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
