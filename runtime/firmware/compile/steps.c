/* steps.c - prints the steps of a plan as calls, in their order, and refuses steps that firmware has no form for. */
#include <stdlib.h>
#include <string.h>

#include "runtime/firmware/compile/compilation.h"
#include "runtime/core/graph/check.h"
#include "runtime/core/lowered/unit_view.h"

#include "runtime/firmware/compile/bands.inc"

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* The layout that a conversion begins or ends in. */
static const tort_layout *layout_of(const tort_compilation *c, const tort_step *step) {
    const int32_t *operands = c->plan->operands + step->operands;
    const int32_t from = c->plan->slots[operands[0]].layout, to = c->plan->slots[operands[1]].layout;
    return c->session->layouts[from ? from : to].layout;
}

/* The reason why a step has no form for firmware; NULL: it has one. */
static const char *refusal_of(const tort_compilation *c, const tort_step *step) {
    if (step->dynamic) return "its shape depends on data: firmware needs shapes that are known while planning";
    switch (step->kind) {
    case TORT_STEP_ALIAS:
    case TORT_STEP_VIEW: return NULL;
    case TORT_STEP_COPY: return step->provider < 0 ? NULL : "its input is copied between memories";
    case TORT_STEP_KERNEL: break;
    case TORT_STEP_CONVERT:
        return layout_of(c, step)->emit ? NULL : "it converts to a layout that firmware has no form for";
    case TORT_STEP_SHAPE: return "it reads a shape during the run: export the model with fixed shapes";
    case TORT_STEP_CALL: return "it has bodies (control flow), which firmware has no form for: unroll it on export";
    default: return "it is a step that firmware has no form for";
    }
    if (step->values) return "it takes or makes values that are not tensors";
    return c->lowered->units[step->node].kernel->emit ? NULL : "its kernel has no form for firmware";
}

static tort_status refuse(const tort_compilation *c, const tort_step *step, const char *why) {
    const tort_status status = tort_fail(c->error, TORT_E_PLACEMENT, "%s", why);
    if (step->node >= 0) tort_error_at_unit(c->error, c->lowered, step->node);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Adds sources that are not there yet: texts are static, so their addresses tell. */
static bool add_texts(const char **list, int32_t *count, int32_t room, const char *const *texts, size_t text_count) {
    for (size_t i = 0; i < text_count && texts[i]; i++) {
        int32_t known = 0;
        while (known < *count && list[known] != texts[i]) known++;
        if (known < *count) continue;
        if (*count == room) return false;
        list[(*count)++] = texts[i];
    }
    return true;
}

/* Prints the node, and the nodes that were fused into it: "conv1, relu1: FusedConv" as a comment. */
static void print_comment(const tort_compilation *c, int32_t index, FILE *file) {
    const tort_node *node = tort_unit_node(c->lowered, index);
    const tort_unit *unit = &c->lowered->units[index];
    const tort_node *nodes = c->session->model->graphs[0].nodes;
    fprintf(file, "/* ");
    for (int32_t i = 0; i < unit->from_count; i++) {
        fprintf(file, "%s", i ? ", " : "");
        tort_compile_name(file, nodes[unit->from[i]].name);
    }
    if (!unit->from_count) tort_compile_name(file, node->name);
    fprintf(file, ": ");
    tort_compile_name(file, node->op_type);
    fprintf(file, " */\n");
}

static const char **operands_of(tort_compilation *c, const tort_step *step) {
    const int32_t count = step->input_count + step->output_count;
    const char **texts = tort_arena_array(&c->arena, (size_t)count + 1, sizeof *texts);
    c->first_array = c->array_count;
    /* Packed inputs are arrays of their own, see list_packed. */
    const uint32_t packed = step->kind == TORT_STEP_KERNEL ? c->lowered->units[step->node].consumed : 0;
    for (int32_t i = 0; texts && i < count; i++) {
        texts[i] = i < step->input_count && i < 32 && packed >> i & 1
                       ? "NULL"
                       : tort_compile_operand(c, c->plan->operands[step->operands + i]);
        if (!texts[i]) return NULL;
    }
    return texts;
}

static bool makes_nothing(const tort_compilation *c, const tort_step *step) {
    const int32_t *outputs = c->plan->operands + step->operands + step->input_count;
    for (int32_t i = 0; i < step->output_count; i++)
        if (outputs[i] >= 0 && c->plan->slots[outputs[i]].bytes) return false;
    return true;
}

/* The name of the arrays of a unit's packed weights: that of the unit whose they are, which is given when it is first
 * asked for, at some step of a unit that reads them. *listed: its arrays are listed already. NULL: no memory. */
static const char *packed_name(tort_compilation *c, const tort_unit *unit, bool *listed) {
    const int32_t owner = (int32_t)((unit->twin ? unit->twin : unit) - c->lowered->units);
    if (!c->packed_names)
        c->packed_names = tort_arena_array(&c->arena, (size_t)c->lowered->graph.node_count, sizeof *c->packed_names);
    if (!c->packed_names) return NULL;
    *listed = c->packed_names[owner] != NULL;
    if (!*listed) c->packed_names[owner] = tort_arena_format(&c->arena, "%s_p%d", c->name, (int)c->calls);
    return c->packed_names[owner];
}

/* Lists the arrays of a step's packed weights. */
static tort_status list_packed(tort_compilation *c, const tort_step *step, const tort_emit *emit) {
    const tort_unit *unit = &c->lowered->units[step->node];
    if (c->packed_listed) return TORT_OK;
    for (int32_t i = 0; i < (int32_t)(sizeof emit->arrays / sizeof *emit->arrays) && emit->arrays[i].count; i++) {
        const tort_packed_array *part = &emit->arrays[i];
        const size_t size = (size_t)tort_type_bits(part->type) / 8;
        if (!unit->packed || part->offset > unit->packed_bytes ||
            part->count > (unit->packed_bytes - part->offset) / size)
            return tort_fail(c->error, TORT_E_INTERNAL, "array %d is beyond the packed weights", (int)i);
        const tort_compile_array array = {
            .name = tort_arena_format(&c->arena, "%s_%d", emit->packed, (int)i),
            .of = tort_unit_node(c->lowered, step->node)->name,
            .type = part->type,
            .count = (int64_t)part->count,
            .constant = -1,
            .data = (const char *)unit->packed + part->offset,
            .read = true,
        };
        if (!array.name || !tort_compile_list(c, &array)) return tort_out_of_memory(c->error, 0);
    }
    return TORT_OK;
}

/* Prints text, each line with blanks before it. */
static void print_indented(FILE *file, int blanks, const char *text) {
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        fprintf(file, "%*s%.*s\n", length ? blanks : 0, "", (int)length, text);
    }
}

/* Begins a step of the compiled model, which stands for the node of this name: "    case 3: ". False: out of memory. */
static bool begin_case(tort_compilation *c, const char *name, FILE *file) {
    const size_t room = (size_t)c->plan->step_count + 2; /* one copies outputs */
    if (!c->step_names) c->step_names = tort_arena_array(&c->arena, room, sizeof *c->step_names);
    if (!c->step_names) return false;
    c->step_names[c->step_count++] = name;
    fprintf(file, "    case %d: ", (int)c->step_count);
    return true;
}

/* Adds what a statement needs, and prints it. */
static tort_status finish_call(tort_compilation *c, const tort_step *step, const tort_emit *emit, FILE *file) {
    const tort_status status = list_packed(c, step, emit);
    if (status) return status;
    if (!add_texts(c->code, &c->code_count, TORT_COMPILE_CODES, emit->code, sizeof emit->code / sizeof *emit->code) ||
        !add_texts(c->defines, &c->define_count, TORT_COMPILE_DEFINES, emit->defines,
                   sizeof emit->defines / sizeof *emit->defines))
        return tort_fail(c->error, TORT_E_INTERNAL, "more than %d sources of functions", TORT_COMPILE_CODES);
    print_indented(file, 8, emit->call);
    if (emit->stack_bytes > c->stack_bytes) c->stack_bytes = emit->stack_bytes;
    c->calls++;
    return TORT_OK;
}

/* The room for a statement, one for all. */
static tort_emit *emit_of(tort_compilation *c) {
    if (!c->emit) c->emit = tort_arena_alloc(&c->arena, sizeof *c->emit);
    return c->emit;
}

/* True if output 0 lies above input 0 in the arena. */
static bool is_above(const tort_compilation *c, const tort_step *step) {
    if (!step->input_count || !step->output_count) return false;
    const int32_t input = tort_plan_owner(c->plan, c->plan->operands[step->operands]);
    const int32_t output = tort_plan_owner(c->plan, c->plan->operands[step->operands + step->input_count]);
    const tort_slot *slots = c->plan->slots;
    return input >= 0 && output >= 0 && slots[input].home == TORT_HOME_ARENA && slots[output].home == TORT_HOME_ARENA &&
           slots[output].offset > slots[input].offset;
}

/* The view of a node that works element by element on any rows, with one row in place of its banded operands. */
static tort_status view_row(tort_compilation *c, const tort_step *step, tort_node_view *view) {
    const int32_t count = step->input_count + 1;
    tort_info *infos = tort_arena_array(&c->arena, (size_t)count, sizeof *infos);
    if (!infos) return tort_out_of_memory(c->error, 0);
    for (int32_t i = 0; i < count; i++) {
        infos[i] = i < step->input_count ? view->inputs[i] : view->outputs[0];
        if (i < step->input_count && (i >= 32 || !(step->rows.inputs >> i & 1))) continue;
        infos[i].rank = 1;
        infos[i].dims[0] = tort_compile_row(c, step, i);
    }
    view->inputs = infos;
    view->outputs = infos + step->input_count;
    return TORT_OK;
}

/* Marks the arrays that the step at hand has listed, if it reads each of their elements many times. */
static void find_hot(tort_compilation *c, double multiply_adds) {
    double elements = 0;
    for (int32_t i = c->first_array; i < c->array_count; i++) elements += (double)c->arrays[i].count;
    for (int32_t i = c->first_array; i < c->array_count; i++)
        c->arrays[i].hot = multiply_adds >= TORT_COMPILE_HOT * elements;
}

static tort_status emit_kernel(tort_compilation *c, const tort_step *step, const char *const *texts, FILE *file) {
    const tort_unit *unit = &c->lowered->units[step->node];
    tort_unit_view view;
    tort_emit *emit = emit_of(c);
    if (!emit) return tort_out_of_memory(c->error, sizeof *emit);
    *emit = (tort_emit){.node = &view.node,
                        .inputs = texts,
                        .outputs = texts + step->input_count,
                        .scratch = "NULL",
                        .packed = "NULL",
                        .weights = unit->packed,
                        .target = &c->session->chain[unit->provider].target,
                        .processor = c->target,
                        .downwards = !step->bands && is_above(c, step),
                        .banded = step->bands != 0,
                        .error = c->error};
    tort_compile_constants(c, emit);
    if (step->scratch_bytes) emit->scratch = tort_compile_place(c, step->scratch_offset);
    c->packed_listed = false;
    if (unit->packed) emit->packed = packed_name(c, unit, &c->packed_listed);
    if (!emit->scratch || !emit->packed) return tort_out_of_memory(c->error, 0);
    tort_status status = tort_unit_view_open(&view, c->lowered, &c->planned->pass, step->node,
                                             c->planned->params + step->params, c->error);
    const double flops = status ? 0 : tort_op_flops(view.node.op, view.node.params);
    if (flops > 0) c->multiply_adds += flops / 2;
    if (!status && step->bands && !step->rows.out_rows) status = view_row(c, step, &view.node);
    if (!status) status = unit->kernel->emit(emit);
    if (!status && !step->bands && !begin_case(c, tort_unit_node(c->lowered, step->node)->name, file))
        status = tort_out_of_memory(c->error, 0);
    if (!status) {
        print_comment(c, step->node, file);
        status = finish_call(c, step, emit, file);
        fprintf(file, "        break;\n");
    }
    if (status) tort_error_at_unit(c->error, c->lowered, step->node);
    tort_unit_view_close(&view, c->lowered);
    find_hot(c, flops / 2);
    return status;
}

/* Prints a conversion between plain and a layout, as a call of a node with one input and one output. */
static tort_status emit_conversion(tort_compilation *c, const tort_step *step, const char *const *texts, FILE *file) {
    const int32_t *operands = c->plan->operands + step->operands;
    const tort_slot *from = &c->plan->slots[operands[0]];
    const tort_info info = c->planned->infos[from->value];
    const tort_node_view node = {.inputs = &info, .outputs = &info, .input_count = 1, .output_count = 1};
    tort_emit *emit = emit_of(c);
    if (!emit) return tort_out_of_memory(c->error, sizeof *emit);
    *emit = (tort_emit){.node = &node,
                        .inputs = texts,
                        .outputs = texts + 1,
                        .scratch = "NULL",
                        .packed = "NULL",
                        .processor = c->target,
                        .error = c->error};
    tort_compile_constants(c, emit);
    const char *name = c->lowered->graph.values[from->value].name;
    tort_status status = layout_of(c, step)->emit(emit, from->layout != 0);
    if (!status && !begin_case(c, name, file)) status = tort_out_of_memory(c->error, 0);
    if (status) return status;
    fprintf(file, "/* ");
    tort_compile_name(file, name);
    fprintf(file, ": %s */\n", from->layout ? "channels first" : "channels last");
    status = finish_call(c, step, emit, file);
    fprintf(file, "        break;\n");
    return status;
}

static void print_copy(tort_compilation *c, const char *to, const char *from, int64_t bytes, FILE *file) {
    fprintf(file, "        (void)memcpy(%s, %s, %lld);\n", to, from, (long long)bytes);
    c->calls++;
}

static tort_status print_step(tort_compilation *c, const tort_step *step, FILE *file) {
    const char *why = refusal_of(c, step);
    if (why) return refuse(c, step, why);
    if (step->kind == TORT_STEP_ALIAS || step->kind == TORT_STEP_VIEW || makes_nothing(c, step) ||
        c->skipped[step - c->plan->steps])
        return TORT_OK;
    const char *const *texts = operands_of(c, step);
    if (!texts) return refuse(c, step, "an operand has a type that C99 has not, or is not in host memory");
    if (step->kind == TORT_STEP_KERNEL) return emit_kernel(c, step, texts, file);
    if (step->kind == TORT_STEP_CONVERT) return emit_conversion(c, step, texts, file);
    const tort_slot *from = &c->plan->slots[c->plan->operands[step->operands]];
    if (!begin_case(c, c->lowered->graph.values[from->value].name, file)) return tort_out_of_memory(c->error, 0);
    fprintf(file, "/* a copy */\n");
    print_copy(c, texts[1], texts[0], from->bytes, file);
    fprintf(file, "        break;\n");
    return TORT_OK;
}

/* ---- bands ----------------------------------------------------------------------------------------------------- */

/* Prints the work of a layer on a band. */
static tort_status print_layer(tort_compilation *c, const tort_step *step, int32_t layer, FILE *file) {
    const int32_t output = c->plan->operands[step->operands + step->input_count];
    const tort_slot *slot = &c->plan->slots[output];
    const char *why = refusal_of(c, step);
    const char **texts = why ? NULL : operands_of(c, step);
    if (!texts) return refuse(c, step, why ? why : "an operand has a type that C99 has not");
    fprintf(file, "    case %d: ", (int)layer);
    if (slot->line_bytes) {
        const long long row = slot->line_bytes / c->plan->bands[step->bands - 1].layers[layer].lines;
        const char *lines = tort_compile_place(c, slot->offset);
        if (!lines) return tort_out_of_memory(c->error, 0);
        fprintf(
            file,
            "\n        if (band.keep > 0) {\n            (void)memmove(%s, %s + (band.drop * %lld), (size_t)band.keep * %lldu);\n"
            "        }\n        ",
            lines, lines, row, row);
    }
    for (int32_t i = 0, k = 0; i <= step->input_count; i++) {
        const bool in = i < step->input_count;
        if (in ? i >= 32 || !(step->rows.inputs >> i & 1) : step->rows.reduces) continue;
        texts[i] =
            tort_arena_format(&c->arena, "%s + (band.%s * %lld)", texts[i],
                              in ? k++ ? "in_at[1]" : "in_at[0]" : "out_at", (long long)tort_compile_row(c, step, i));
        if (!texts[i]) return tort_out_of_memory(c->error, 0);
    }
    return emit_kernel(c, step, texts, file);
}

static void print_layers(const tort_band_steps *bands, FILE *file) {
    fprintf(file, "{ /* in bands of rows */\n        static const tinyort_layer layers[] = {\n");
    for (int32_t i = 0; i < bands->count; i++) {
        const tinyort_layer *l = &bands->layers[i];
        fprintf(file, "            {%d, %d, %d, %d, %d, %d, %d, {%d, %d}},\n", (int)l->in_rows, (int)l->out_rows,
                (int)l->stride, (int)l->above, (int)l->reach, (int)l->lines, (int)l->whole, (int)l->from[0],
                (int)l->from[1]);
    }
    fprintf(
        file,
        "        };\n        tinyort_band_state *const bands = (tinyort_band_state *)(void *)state->bands;\n"
        "        tinyort_band band;\n        again = 1;\n        switch (tinyort_next_band(layers, %d, bands, &band)) {\n",
        (int)bands->count);
}

/* Prints the steps of a group as a case that is run again for each band of rows, which is a call of one layer; when
 * there is none left, its state is 0 for the next group. */
static tort_status print_bands(tort_compilation *c, const tort_band_steps *bands, FILE *file) {
    static const char *const text[] = {tort_code_bands};
    char *body = NULL;
    size_t length = 0;
    FILE *layers = open_memstream(&body, &length);
    if (!layers) return tort_out_of_memory(c->error, 0);
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < bands->count; i++)
        status = print_layer(c, &c->plan->steps[bands->first + i], i, layers);
    if (fclose(layers) != 0 && !status) status = tort_out_of_memory(c->error, length);
    if (!status && !add_texts(c->code, &c->code_count, TORT_COMPILE_CODES, text, 1))
        status = tort_fail(c->error, TORT_E_INTERNAL, "more than %d sources of functions", TORT_COMPILE_CODES);
    const char *name = tort_unit_node(c->lowered, c->plan->steps[bands->first].node)->name;
    if (!status && !begin_case(c, name, file)) status = tort_out_of_memory(c->error, 0);
    if (!status) {
        print_layers(bands, file);
        print_indented(file, 4, body);
        fprintf(file, "        default:\n            (void)memset(bands, 0, sizeof *bands);\n            again = 0;\n"
                      "            break;\n        }\n        break;\n    }\n");
    }
    free(body);
    return status;
}

/* Outputs whose bytes are shared with other values are in the arena: they are copied by a step at the end, which is
 * there too if the model has no other. */
static tort_status print_outputs(tort_compilation *c, FILE *file) {
    bool begun = false;
    for (int32_t i = 0; i < c->plan->output_count; i++) {
        const int32_t owner = tort_plan_owner(c->plan, c->plan->output_slots[i]);
        const char *text = tort_compile_operand(c, owner);
        if (!text)
            return tort_fail(c->error, TORT_E_PLACEMENT, "output %d is not in host memory: firmware has no other",
                             (int)i);
        char to[24];
        snprintf(to, sizeof to, "state->out%d", (int)i);
        const bool copies = c->plan->slots[owner].home != TORT_HOME_OUTPUT && c->plan->slots[owner].bytes;
        if (copies || (!c->step_count && i + 1 == c->plan->output_count)) {
            if (!begun && !begin_case(c, "outputs", file)) return tort_out_of_memory(c->error, 0);
            if (!begun) fprintf(file, "/* outputs */\n");
            begun = true;
        }
        if (copies) print_copy(c, to, text, c->plan->slots[owner].bytes, file);
    }
    if (begun) fprintf(file, "        break;\n");
    return TORT_OK;
}

tort_status tort_compile_steps(tort_compilation *c, FILE *file) {
    tort_status status = TORT_OK;
    for (int32_t i = 0; !status && i < c->plan->step_count; i++) {
        const int32_t number = c->plan->steps[i].bands;
        const tort_band_steps *bands = number ? &c->plan->bands[number - 1] : NULL;
        status = bands ? print_bands(c, bands, file) : print_step(c, &c->plan->steps[i], file);
        if (bands) i += bands->count - 1;
    }
    return status ? status : print_outputs(c, file);
}
