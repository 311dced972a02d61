/* check.c - checks the bands of a plan, whoever made it (plan_check.c). */
#include "runtime/firmware/bands/bands.h"

/* True if the slot's rows are those of a layer, and a line buffer holds what the layer says. */
static bool has_lines(const tort_slot *slot, int32_t rows, int32_t lines) {
    if (rows <= 0 || slot->bytes < 0 || slot->bytes % rows) return false;
    return tort_placed_bytes(slot) == slot->bytes / rows * lines;
}

/* True if an operand has the rows that the layer reads, of the layer that it says makes them. */
static bool is_fed(const tort_plan *plan, const tort_band_steps *bands, int32_t layer, int32_t operand, int32_t k) {
    const tinyort_layer *l = &bands->layers[layer];
    const int32_t from = l->from[k], slot = plan->operands[plan->steps[bands->first + layer].operands + operand];
    if (slot < 0 || from < -1 || from >= layer) return false;
    if (from < 0) return has_lines(&plan->slots[tort_plan_owner(plan, slot)], l->in_rows, l->in_rows);
    const tort_step *maker = &plan->steps[bands->first + from];
    return slot == plan->operands[maker->operands + maker->input_count] && !maker->rows.reduces &&
           l->in_rows == bands->layers[from].out_rows;
}

static bool layer_is_sound(const tort_plan *plan, const tort_band_steps *bands, int32_t layer) {
    const tinyort_layer *l = &bands->layers[layer];
    const tort_step *step = &plan->steps[bands->first + layer];
    const int32_t output = step->output_count == 1 ? plan->operands[step->operands + step->input_count] : -1;
    bool sound = step->kind == TORT_STEP_KERNEL && !step->dynamic && !step->values && output >= 0 && l->in_rows > 0 &&
                 l->out_rows > 0 && l->stride > 0 && l->reach > 0 && l->lines > 0;
    int32_t k = 0;
    for (int32_t i = 0; sound && i < step->input_count && i < 32; i++)
        if (step->rows.inputs >> i & 1) sound = k < 2 && is_fed(plan, bands, layer, i, k++);
    for (; sound && k < 2; k++) sound = l->from[k] == -1;
    if (!sound || step->rows.reduces) return sound && l->whole && !plan->slots[output].line_bytes;
    return has_lines(&plan->slots[output], l->out_rows, l->lines) && l->whole == !plan->slots[output].line_bytes;
}

/* Follows all bands: each one lies in the buffers that it reads and writes. */
static bool bands_are_sound(const tort_band_steps *bands) {
    tinyort_band_state state = {{0}, {0}, {0}};
    tinyort_band band;
    for (int32_t i; (i = tinyort_next_band(bands->layers, bands->count, &state, &band)) >= 0;) {
        const tinyort_layer *l = &bands->layers[i];
        bool sound = band.drop >= 0 && band.keep >= 0 && band.out_at >= 0 && band.out_at + band.out_rows <= l->lines;
        for (int32_t k = 0; k < 2; k++)
            sound = sound && band.in_at[k] >= 0 &&
                    (l->from[k] < 0 ? band.in_at[k] + band.in_rows <= l->in_rows
                                    : state.first[l->from[k]] + band.in_at[k] + band.in_rows <= state.made[l->from[k]]);
        if (!sound) return false;
    }
    return true;
}

bool tort_bands_are_sound(const tort_plan *plan, int32_t index) {
    const tort_band_steps *bands = &plan->bands[index];
    bool sound = bands->first >= 0 && bands->count > 1 && bands->count <= TINYORT_LAYERS &&
                 bands->first <= plan->step_count - bands->count;
    for (int32_t i = 0; sound && i < bands->count; i++)
        sound = plan->steps[bands->first + i].bands == index + 1 && layer_is_sound(plan, bands, i);
    return sound && bands_are_sound(bands);
}
