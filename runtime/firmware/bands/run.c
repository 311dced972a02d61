/* run.c - runs the steps of a group in bands of rows, in the order of bands.h. */
#include <string.h>

#include "runtime/core/run/context.h"
#include "runtime/firmware/bands/bands.h"

typedef tort_status run_band(tort_frame *frame, const tort_step *step, const tinyort_band *band, tort_error *error);

/* Operands of a band begin at its first row. Where any number of rows will do, they are its elements alone. */
static void place_rows(const tort_frame *frame, const tort_step *step, const tinyort_band *band) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_band_steps *bands = &plan->bands[step->bands - 1];
    const tinyort_layer *layer = &bands->layers[step - plan->steps - bands->first];
    int32_t k = 0;
    for (int32_t i = 0; i <= step->input_count; i++) {
        const bool output = i == step->input_count;
        if (output ? step->rows.reduces : i >= 32 || !(step->rows.inputs >> i & 1)) continue;
        tort_tensor *tensor = &frame->operands[i];
        const int64_t rows = output ? layer->out_rows : layer->in_rows;
        const int64_t row = plan->slots[plan->operands[step->operands + i]].bytes / rows;
        tensor->data = (char *)tensor->data + (output ? band->out_at : band->in_at[k++]) * row;
        if (step->rows.out_rows) continue;
        tensor->rank = 1;
        tensor->dims[0] = band->out_rows * row / (tort_type_bits(tensor->type) / 8);
    }
}

/* Lines that are read later move to the begin of their buffer. */
static void move_lines(const tort_frame *frame, const tort_step *step, const tinyort_layer *layer,
                       const tinyort_band *band) {
    const int32_t slot = frame->planned->plan.operands[step->operands + step->input_count];
    const size_t row = (size_t)(frame->planned->plan.slots[slot].bytes / layer->out_rows);
    char *lines = frame->tensors[slot].data;
    if (band->keep) memmove(lines, lines + (size_t)band->drop * row, (size_t)band->keep * row);
}

/* Runs the steps of a group, band by band. A profiler is told of each step once, as if its bands were one piece. */
static tort_status run_bands(tort_frame *frame, const tort_step **step, run_band *run_kernel, tort_error *error) {
    const tort_plan *plan = &frame->planned->plan;
    const tort_band_steps *bands = &plan->bands[(*step)->bands - 1];
    tinyort_band_state state = {{0}, {0}, {0}};
    tinyort_band band;
    int64_t times[TINYORT_LAYERS] = {0};
    tort_status status = TORT_OK;
    for (int32_t i; !status && tort_watch_goes_on(&frame->context->watch, 0) &&
                    (i = tinyort_next_band(bands->layers, bands->count, &state, &band)) >= 0;) {
        const int64_t begin = frame->context->tell ? tort_now() : 0;
        *step = &plan->steps[bands->first + i];
        move_lines(frame, *step, &bands->layers[i], &band);
        status = run_kernel(frame, *step, &band, error);
        if (frame->context->tell) times[i] += tort_now() - begin;
    }
    for (int32_t i = 0; !status && frame->context->tell && i < bands->count; i++) {
        frame->context->told_until = tort_now() - times[i];
        status = frame->context->tell(frame, &plan->steps[bands->first + i], NULL, error);
    }
    return status;
}

const tort_banding tort_row_banding = {tort_bands_choose, tort_bands_are_sound, place_rows, run_bands};
