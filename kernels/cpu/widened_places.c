/* widened_places.c - decides which operands of a node become floats, and where they are stored, see widened.h. */
#include "kernels/cpu/widened.h"
#include "kernels/cpu/blocked.h"
#include "runtime/core/base/memory.h"

typedef struct operands {
    const tort_tensor *inputs, *outputs;
} operands;

/* True if all operands of the row, which it reads and writes element by element, have one shape or a single element. */
static bool is_by_element(const tort_widened *w, const operands *given) {
    const tort_kernel *row = w->row;
    bool same = row->layout.id == TORT_ANY_LAYOUT;
    for (int32_t i = 0; same && i < w->input_count; i++)
        same = !tort_present(&given->inputs[i]) || tort_count(&given->inputs[i]) == 1 ||
               (row->layout.inputs >> i & 1 && tort_same_shape(&given->inputs[i], &given->outputs[0]));
    for (int32_t i = 0; same && i < w->output_count; i++)
        same = !tort_present(&given->outputs[i]) ||
               (row->layout.outputs >> i & 1 && tort_same_shape(&given->outputs[i], &given->outputs[0]));
    return same;
}

/* Counts the elements of an operand, including the padding of the row's layout; false on overflow. */
static bool count_elements(const tort_kernel *row, const tort_tensor *tensor, bool in_layout, int64_t *count) {
    size_t bytes;
    *count = tort_count(tensor);
    if (row->layout.id <= 0 || !in_layout || !tort_is_half(tensor->type)) return true;
    if (!tort_cpu_layouts[row->layout.id - 1].bytes(tensor, &bytes)) return false;
    *count = (int64_t)(bytes / sizeof(uint16_t));
    return true;
}

static bool put(tort_widened_operand *operand, size_t *total, int64_t count) {
    operand->offset = *total;
    return tort_cpu_reserve_floats(total, count);
}

static bool put_in_scratch(tort_widened *w, tort_widened_operand *operand) {
    operand->place = TORT_WIDENED_IN_SCRATCH;
    return operand->tiled ? put(operand, &w->tile_bytes, TORT_WIDENED_TILE)
                          : put(operand, &w->scratch_bytes, operand->count);
}

static bool put_input(tort_widened *w, const operands *given, int32_t i) {
    const tort_tensor *tensor = &given->inputs[i];
    const bool listed = w->row->layout.inputs >> i & 1;
    tort_widened_operand *operand = &w->in[i];
    *operand = (tort_widened_operand){.place = TORT_WIDENED_AS_IT_IS};
    if (!tort_present(tensor)) return true;
    if (!count_elements(w->row, tensor, listed, &operand->count)) return false;
    operand->tiled = w->tiles && listed && tort_same_shape(tensor, &given->outputs[0]);
    if (!tort_is_half(tensor->type) || (w->consumed | w->row->halves) >> i & 1) return true;
    if (!(w->constants >> i & 1)) return put_in_scratch(w, operand);
    operand->place = TORT_WIDENED_PACKED;
    return put(operand, &w->packed_bytes, operand->count);
}

/* Lets output 0 share the floats of an input that the row may overwrite; false if there is none. */
static bool take_over(const tort_widened *w, const operands *given, tort_widened_operand *output) {
    for (int32_t i = 0; i < w->input_count; i++) {
        const tort_widened_operand *input = &w->in[i];
        if (!(w->row->in_place >> i & 1) || input->place != TORT_WIDENED_IN_SCRATCH || input->tiled != output->tiled ||
            input->count != output->count || !tort_same_shape(&given->inputs[i], &given->outputs[0]))
            continue;
        output->place = TORT_WIDENED_IN_SCRATCH;
        output->offset = input->offset;
        return true;
    }
    return false;
}

static bool put_output(tort_widened *w, const operands *given, int32_t i) {
    const tort_tensor *tensor = &given->outputs[i];
    tort_widened_operand *operand = &w->out[i];
    *operand = (tort_widened_operand){.place = TORT_WIDENED_AS_IT_IS, .tiled = w->tiles};
    if (!tort_present(tensor)) return true;
    if (!count_elements(w->row, tensor, w->row->layout.outputs >> i & 1, &operand->count)) return false;
    if (!tort_is_half(tensor->type) || (i == 0 && w->row->halves)) return true;
    return (i == 0 && take_over(w, given, operand)) || put_in_scratch(w, operand);
}

bool tort_widened_arrange(tort_widened *w, const tort_tensor *inputs, const tort_tensor *outputs) {
    const operands given = {inputs, outputs};
    bool fits = true;
    w->packed_bytes = w->scratch_bytes = 0;
    w->tiles = is_by_element(w, &given);
    w->tile_bytes = w->tiles ? TORT_HOST_ALIGN : 0; /* the status of a part, before the first tile */
    for (int32_t i = 0; fits && i < w->input_count; i++) fits = put_input(w, &given, i);
    for (int32_t i = 0; fits && i < w->output_count; i++) fits = put_output(w, &given, i);
    return fits;
}
