/* choose.c - chooses steps that work in bands of rows, layer by layer (bands.h), so that values between them take
 * a few rows, not all: for targets whose memory is scarce.
 *
 * Dynamic programming over the steps in their order: best[j] is the lowest peak of steps 0 .. j - 1, and each step
 * belongs to a group of up to TINYORT_LAYERS steps or runs whole: best[j] = min over i of max(best[i], peak(i, j)). Of
 * equal peaks the shorter group is taken. peak(i, j) counts what is live, with line buffers in place of values that
 * only the group sees, and the output over the input that it consumes (`overlap`); memplan.c then places all, and a
 * plan without bands stays if it is no larger (plan_layout.c). As DORY, MCUNetV2 and others do it for patches;
 * here no row is made twice. Read next: bands.h, run.c. */
#include <string.h>

#include "runtime/core/plan/plan_parts.h"
#include "runtime/firmware/bands/bands.h"
#include "runtime/core/plan/planned.h"

#define MAX_WORK (1 << 26) /* rows and slots looked at in all; beyond it no more bands are tried */

typedef struct chooser {
    tort_plan *plan;
    uint64_t *best;  /* by number of steps: their lowest peak */
    int32_t *length; /* of the last of them: steps of its group; 1: whole */
    int64_t *saved;  /* by step: bytes that it shares in the plan without bands */
    int64_t *live;   /* by step: bytes in arenas */
    int64_t *begins; /* by step: bytes that begin to live */
    int64_t work;
} chooser;

/* ---- a group ---------------------------------------------------------------------------------------------------- */

static int32_t output_of(const tort_plan *plan, int32_t step) {
    return plan->operands[plan->steps[step].operands + plan->steps[step].input_count];
}

/* The step of the group that makes a slot, or what the slot is another shape of; -1: none. */
static int32_t maker_of(const tort_plan *plan, const tort_band_steps *s, int32_t slot) {
    const int32_t owner = tort_plan_owner(plan, slot);
    for (int32_t i = 0; owner >= 0 && i < s->count; i++)
        if (output_of(plan, s->first + i) == owner) return i;
    return -1;
}

/* True if only steps of the group see the slot, which is no part of another one. */
static bool is_inner(const tort_plan *plan, const tort_band_steps *s, int32_t slot) {
    const tort_slot *of = &plan->slots[slot];
    return of->home == TORT_HOME_ARENA && of->output < 0 && of->within < 0 && of->last_step < s->first + s->count;
}

static bool can_join(const tort_plan *plan, int32_t number) {
    const tort_step *step = &plan->steps[number];
    const int32_t output = step->output_count == 1 ? output_of(plan, number) : -1;
    return step->kind == TORT_STEP_KERNEL && !step->dynamic && !step->values && step->rows.inputs && output >= 0 &&
           plan->slots[output].bytes > 0;
}

/* Rows of the value of the group that a step works on element by element; 0: it reads none. */
static int32_t rows_given(const tort_plan *plan, const tort_band_steps *s, const tort_step *step) {
    for (int32_t i = 0; i < step->input_count && i < 32; i++) {
        const int32_t maker = step->rows.inputs >> i & 1 ? maker_of(plan, s, plan->operands[step->operands + i]) : -1;
        if (maker >= 0) return s->layers[maker].out_rows;
    }
    return 0;
}

/* Describes the next step as a layer. False: it reads a value of the group otherwise than in rows. */
static bool add_layer(const tort_plan *plan, tort_band_steps *s) {
    const tort_step *step = &plan->steps[s->first + s->count];
    const tort_rows *rows = &step->rows;
    const int32_t any = rows->out_rows ? 0 : rows_given(plan, s, step);
    const int32_t in_rows_of = any ? any : rows->in_rows, out_rows = any ? any : rows->out_rows;
    tinyort_layer *layer = &s->layers[s->count];
    int32_t k = 0;
    if (!out_rows || (!rows->reduces && plan->slots[output_of(plan, s->first + s->count)].bytes % out_rows))
        return false;
    *layer =
        any ? (tinyort_layer){any, any, 1, 0, 1, INT32_MAX, 0, {-1, -1}}
            : (tinyort_layer){in_rows_of, out_rows, rows->stride, rows->above, rows->reach, INT32_MAX, 0, {-1, -1}};
    for (int32_t i = 0; i < step->input_count; i++) {
        const int32_t slot = plan->operands[step->operands + i], maker = maker_of(plan, s, slot);
        const bool in_rows = i < 32 && rows->inputs >> i & 1;
        if (in_rows && k == 2) return false;
        if (in_rows) layer->from[k++] = maker;
        if (in_rows && maker < 0 && plan->slots[slot].bytes % in_rows_of) return false;
        if (maker < 0) continue;
        const tort_step *made = &plan->steps[s->first + maker];
        if (!in_rows || slot != output_of(plan, s->first + maker) || made->rows.reduces ||
            s->layers[maker].out_rows != in_rows_of)
            return false;
    }
    s->count++;
    return true;
}

/* ---- its buffers ------------------------------------------------------------------------------------------------- */

/* Follows the bands, with room for all rows, and notes how many each layer holds at a time. */
static void size_lines(const tort_plan *plan, tort_band_steps *s) {
    int32_t max[TINYORT_LAYERS] = {0};
    tinyort_band_state state = {{0}, {0}, {0}};
    tinyort_band band;
    for (int32_t i = 0; i < s->count; i++) {
        s->layers[i].whole =
            plan->steps[s->first + i].rows.reduces || !is_inner(plan, s, output_of(plan, s->first + i));
        s->layers[i].lines = s->layers[i].whole ? s->layers[i].out_rows : INT32_MAX;
    }
    for (int32_t i; (i = tinyort_next_band(s->layers, s->count, &state, &band)) >= 0;) {
        const int32_t before = state.made[i] - band.out_rows,
                      unread = tinyort_first_unread(s->layers, s->count, &state, i);
        const int32_t held = state.made[i] - (unread < before ? unread : before);
        if (held > max[i]) max[i] = held;
    }
    for (int32_t i = 0; i < s->count; i++)
        if (!s->layers[i].whole) s->layers[i].lines = max[i] > 0 ? max[i] : 1;
}

static int64_t line_bytes(const tort_plan *plan, const tort_band_steps *s, int32_t layer) {
    const int64_t bytes = plan->slots[output_of(plan, s->first + layer)].bytes;
    return bytes / s->layers[layer].out_rows * s->layers[layer].lines;
}

/* ---- output over input ------------------------------------------------------------------------------------------- */

/* True if layer i reads the slot in rows, as its input k. */
static bool reads_rows(const tort_plan *plan, const tort_band_steps *s, int32_t i, int32_t slot) {
    const tort_step *step = &plan->steps[s->first + i];
    for (int32_t k = 0; k < step->input_count && k < 32; k++)
        if (step->rows.inputs >> k & 1 && tort_plan_owner(plan, plan->operands[step->operands + k]) == slot)
            return true;
    return false;
}

/* True if no step of the group reads the slot's bytes otherwise than in its rows. */
static bool only_rows(const tort_plan *plan, const tort_band_steps *s, int32_t slot) {
    for (int32_t i = 0; i < s->count; i++) {
        const tort_step *step = &plan->steps[s->first + i];
        for (int32_t k = 0; k < step->input_count; k++) {
            const int32_t owner = tort_plan_owner(plan, plan->operands[step->operands + k]);
            const bool in_rows = k < 32 && step->rows.inputs >> k & 1;
            if (owner >= 0 && owner != slot && plan->slots[owner].within == slot) return false;
            if (owner == slot && !in_rows) return false;
        }
    }
    return true;
}

/* The largest input from outside that the group is the last to read; -1: none. */
static int32_t consumed_by(const tort_plan *plan, const tort_band_steps *s) {
    int32_t largest = -1;
    for (int32_t i = 0; i < s->count; i++) {
        const tort_step *step = &plan->steps[s->first + i];
        for (int32_t k = 0; k < step->input_count && k < 32; k++) {
            const int32_t slot = step->rows.inputs >> k & 1 ? plan->operands[step->operands + k] : -1;
            if (slot < 0 || maker_of(plan, s, slot) >= 0 || plan->slots[slot].home != TORT_HOME_ARENA) continue;
            const tort_slot *of = &plan->slots[slot];
            if (of->output >= 0 || of->last_step >= s->first + s->count || !only_rows(plan, s, slot)) continue;
            if (largest < 0 || of->bytes > plan->slots[largest].bytes) largest = slot;
        }
    }
    return largest;
}

/* The first byte of the input that is still read when the last layer has written a band: also of what it reads itself
 * for that band, unless it works element by element. */
static int64_t first_unread(const tort_plan *plan, const tort_band_steps *s, const tinyort_band_state *state,
                            int32_t written) {
    const int32_t last = s->count - 1;
    int64_t first = INT64_MAX;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t made = i == last && plan->steps[s->first + i].rows.out_rows ? written : state->made[i];
        if (!reads_rows(plan, s, i, s->input) || made == s->layers[i].out_rows) continue;
        const int64_t at =
            tinyort_first_row(&s->layers[i], made) * (plan->slots[s->input].bytes / s->layers[i].in_rows);
        if (at < first) first = at;
    }
    return first;
}

/* Chooses the input that the last output may lie over, and how far before it the output has to begin: each band is
 * written after the reads of its round. */
static void find_overlap(const tort_plan *plan, tort_band_steps *s) {
    const int32_t last = s->count - 1, output = output_of(plan, s->first + last);
    const bool may = plan->slots[output].home == TORT_HOME_ARENA && !plan->steps[s->first + last].rows.reduces;
    s->input = may ? consumed_by(plan, s) : -1;
    s->overlap = (tort_overlap){0};
    if (s->input < 0) return;
    const int64_t row = plan->slots[output].bytes / s->layers[last].out_rows;
    tinyort_band_state state = {{0}, {0}, {0}};
    tinyort_band band;
    for (int32_t i; (i = tinyort_next_band(s->layers, s->count, &state, &band)) >= 0;) {
        const int64_t unread = i == last ? first_unread(plan, s, &state, band.out_first) : INT64_MAX;
        if (unread < INT64_MAX && state.made[i] * row - unread > s->overlap.below)
            s->overlap.below = state.made[i] * row - unread;
    }
    s->overlap.may = true;
    s->overlap.rise = plan->slots[s->input].bytes;
}

/* ---- peaks ------------------------------------------------------------------------------------------------------- */

/* Bytes that a step saves, as its output lies over an input, or is a part of it, or has it as a part. */
static int64_t shared_by(const tort_plan *plan, int32_t number) {
    const tort_step *step = &plan->steps[number];
    int64_t in = 0, out = 0;
    if (step->overlaps)
        return tort_overlap_saves(&step->overlap, &plan->slots[tort_plan_owner(plan, plan->operands[step->operands])],
                                  &plan->slots[output_of(plan, number)]);
    if (!step->in_place && step->kind != TORT_STEP_VIEW) return 0;
    for (int32_t i = 0; i < step->input_count + step->output_count; i++) {
        const int32_t slot = tort_plan_owner(plan, plan->operands[step->operands + i]);
        if (slot < 0 || !tort_in_arena(&plan->slots[slot])) continue;
        *(i < step->input_count ? &in : &out) += plan->slots[slot].bytes;
    }
    return in < out ? in : out;
}

static int64_t peak_of_step(const chooser *c, int32_t number) {
    const tort_step *step = &c->plan->steps[number];
    return c->live[number] - c->saved[number] + (step->kind == TORT_STEP_KERNEL ? (int64_t)step->scratch_bytes : 0);
}

static int64_t peak_of_group(const chooser *c, const tort_band_steps *s) {
    const tort_plan *plan = c->plan;
    const int32_t end = s->first + s->count;
    int64_t peak = c->live[s->first], scratch = 0;
    for (int32_t i = s->first; i < end; i++) {
        const tort_step *step = &plan->steps[i];
        if (i > s->first) peak += c->begins[i];
        if (is_inner(plan, s, output_of(plan, i)) && !step->rows.reduces)
            peak += line_bytes(plan, s, i - s->first) - plan->slots[output_of(plan, i)].bytes;
        if (step->rows.reduces) peak += (int64_t)step->scratch_bytes;
        if (!step->rows.reduces && (int64_t)step->scratch_bytes > scratch) scratch = (int64_t)step->scratch_bytes;
    }
    return peak + scratch -
           (s->overlap.may
                ? tort_overlap_saves(&s->overlap, &plan->slots[s->input], &plan->slots[output_of(plan, end - 1)])
                : 0);
}

/* Tries the groups that begin with a step, of every length. */
static void try_bands(chooser *c, int32_t first) {
    tort_band_steps s = {.first = first};
    while (s.count < TINYORT_LAYERS && first + s.count < c->plan->step_count && can_join(c->plan, first + s.count)) {
        if (c->plan->steps[first + s.count].provider != c->plan->steps[first].provider || !add_layer(c->plan, &s))
            return;
        if (s.count < 2) continue;
        for (int32_t i = 0; i < s.count; i++) c->work += 4 * (s.layers[i].out_rows + s.layers[i].in_rows);
        if (c->work > MAX_WORK) return;
        size_lines(c->plan, &s);
        find_overlap(c->plan, &s);
        const int64_t own = peak_of_group(c, &s);
        const uint64_t peak = own > (int64_t)c->best[first] ? (uint64_t)own : c->best[first];
        if (peak >= c->best[first + s.count]) continue;
        c->best[first + s.count] = peak;
        c->length[first + s.count] = s.count;
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Fills the bytes that are live at each step, all slots apart, and what the plan without bands saves by sharing. */
static void find_live(chooser *c) {
    tort_plan *plan = c->plan;
    for (int32_t i = 0; i < plan->step_count; i++) c->saved[i] = shared_by(plan, i);
    tort_plan_unshare(plan);
    for (int32_t i = 0; i < plan->slot_count; i++) {
        const tort_slot *slot = &plan->slots[i];
        if (!tort_in_arena(slot) || slot->last_step < 0 || slot->bytes < 0) continue;
        c->begins[slot->first_step] += slot->bytes;
        c->live[slot->last_step < plan->step_count ? slot->last_step + 1 : plan->step_count] -= slot->bytes;
    }
    for (int32_t i = 0; i < plan->step_count; i++) c->live[i] += c->begins[i] + (i ? c->live[i - 1] : 0);
}

/* Makes the groups that the lengths tell, from the last step to the first. */
static void make_bands(const chooser *c) {
    tort_plan *plan = c->plan;
    for (int32_t end = plan->step_count; end > 0; end -= c->length[end]) {
        if (c->length[end] < 2) continue;
        tort_band_steps *s = &plan->bands[plan->band_count++];
        *s = (tort_band_steps){.first = end - c->length[end]};
        while (s->first + s->count < end) (void)add_layer(plan, s);
        size_lines(plan, s);
        find_overlap(plan, s);
        for (int32_t i = 0; i < s->count; i++) {
            tort_slot *slot = &plan->slots[output_of(plan, s->first + i)];
            if (is_inner(plan, s, output_of(plan, s->first + i)) && !plan->steps[s->first + i].rows.reduces)
                slot->line_bytes = line_bytes(plan, s, i);
            plan->steps[s->first + i].bands = plan->band_count;
        }
    }
}

tort_status tort_bands_choose(tort_planned *planned, tort_error *error) {
    tort_plan *plan = &planned->plan;
    const tort_env *env = planned->env;
    const size_t steps = (size_t)plan->step_count + 1;
    chooser c = {.plan = plan,
                 .best = tort_alloc(env, steps * sizeof *c.best),
                 .length = tort_alloc_zero(env, steps, sizeof *c.length),
                 .saved = tort_alloc_zero(env, steps, sizeof *c.saved),
                 .live = tort_alloc_zero(env, steps, sizeof *c.live),
                 .begins = tort_alloc_zero(env, steps, sizeof *c.begins)};
    const bool there = c.best && c.length && c.saved && c.live && c.begins;
    if (there) {
        find_live(&c);
        memset(c.best, 0xff, steps * sizeof *c.best);
        c.best[0] = 0;
        for (int32_t i = 0; i < plan->step_count; i++) {
            const int64_t own = peak_of_step(&c, i);
            const uint64_t peak = own > (int64_t)c.best[i] ? (uint64_t)own : c.best[i];
            if (peak <= c.best[i + 1]) c.best[i + 1] = peak, c.length[i + 1] = 1;
            try_bands(&c, i);
        }
        make_bands(&c);
    }
    tort_free(env, c.best, steps * sizeof *c.best);
    tort_free(env, c.length, steps * sizeof *c.length);
    tort_free(env, c.saved, steps * sizeof *c.saved);
    tort_free(env, c.live, steps * sizeof *c.live);
    tort_free(env, c.begins, steps * sizeof *c.begins);
    return there ? TORT_OK : tort_out_of_memory(error, steps * sizeof *c.best);
}
