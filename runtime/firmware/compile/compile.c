/* compile.c - turns a planned session into C99 files for firmware (compile.h).
 *
 * The statements come from the kernels of the plan (tort_kernel.emit): this room walks steps, slots and constants, and
 * names no operator. All is text in memory, so that a refusal leaves no file. Read next: steps.c. */
#include <stdlib.h>

#include "runtime/core/base/ascii.h"
#include "runtime/firmware/compile/compilation.h"
#include "runtime/include/bands.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Prints one file; the printer is called with a stream into memory. */
static tort_status add_file(tort_compilation *c, tort_compiled *out, const char *suffix,
                            tort_status (*print)(tort_compilation *, FILE *)) {
    tort_compiled_file *made = &out->files[out->file_count];
    const char *name = *suffix == 'M' ? "" : c->name; /* a Makefile has a name of its own */
    const size_t room = strlen(name) + strlen(suffix) + 1;
    made->name = malloc(room);
    FILE *file = made->name ? open_memstream(&made->text, &made->length) : NULL;
    out->file_count++;
    if (!file) return tort_out_of_memory(c->error, room);
    snprintf(made->name, room, "%s%s", name, suffix);
    const tort_status status = print(c, file);
    const bool written = !ferror(file);
    if (fclose(file) != 0 || !written) return status ? status : tort_out_of_memory(c->error, made->length);
    return status;
}

void tort_compiled_free(tort_compiled *compiled) {
    for (int32_t i = 0; i < compiled->file_count; i++) {
        free(compiled->files[i].name);
        free(compiled->files[i].text);
    }
    free(compiled->float_nodes);
    free(compiled->slow_values);
    free(compiled->ports);
    free(compiled->step_names);
    *compiled = (tort_compiled){0};
}

static void print_top(const tort_compilation *c, FILE *file) {
    fprintf(file,
            "/* %s.c - a model compiled by tinyort %s: plain C99 that needs the math library and memcpy alone.\n *\n",
            c->name, TORT_VERSION);
    fprintf(file,
            " * Its results have the bits of tinyort's provider firmware, whatever the compiler and its options but\n"
            " * -ffast-math and the like. */\n");
    fprintf(file, "#include \"%s.h\"\n\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n", c->name);
    tort_compile_config(c, file);
    fputs("/* A product and the sum after it stay two operations: as one, they would round once. */\n"
          "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC optimize(\"fp-contract=off\")\n#else\n"
          "#pragma STDC FP_CONTRACT OFF\n#endif\n\n#define TINYORT_COMPILED\n",
          file);
}

/* Prints source with the macro of its section before each function, so that one word moves them all. */
static void print_functions(const tort_compilation *c, const char *text, FILE *file) {
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\n") + 1;
        const bool function = !strncmp(text, "static ", 7) && strncmp(text + 7, "const ", 6) != 0;
        fprintf(file, "%s%s%.*s", function ? c->capitals : "", function ? "_CODE " : "", (int)length, text);
        if (!text[length - 1]) break;
    }
    fprintf(file, "\n");
}

static void print_code(const tort_compilation *c, const char *body, FILE *file) {
    print_top(c, file);
    if (c->update) fprintf(file, "#define TINYORT_MANY_AXES /* as the weights have them */\n");
    for (int32_t i = 0; i < c->define_count; i++) fprintf(file, "%s\n", c->defines[i]);
    for (int32_t i = 0; i < c->code_count; i++) print_functions(c, c->code[i], file);
    tort_compile_externs(c, file);
    for (int32_t i = 0; i < c->shape_count; i++)
        fprintf(file, "static const %s %s =\n    %s;\n", c->shapes[i].type, c->shapes[i].address + 1,
                c->shapes[i].initializer);
    tort_compile_functions(c, body, file);
}

/* Prints the code once more when its hash is known, which stands in it. */
static tort_status print_with_hash(tort_compilation *c, const char *body, FILE *file) {
    char *code = NULL;
    size_t length = 0;
    FILE *without = open_memstream(&code, &length);
    if (!without) return tort_out_of_memory(c->error, 0);
    print_code(c, body, without);
    tort_status status = fclose(without) ? tort_out_of_memory(c->error, length) : TORT_OK;
    if (!status) status = tort_compile_hashes(c, code, length);
    free(code);
    if (!status) print_code(c, body, file);
    return status;
}

/* Bytes of NAME_state on the target: of addresses and sizes, of an int, of the lists of bands. */
static uint32_t state_bytes(const tort_compilation *c) {
    const uint32_t word = c->target && !strcmp(c->target, "cortex-a53") ? 8 : 4;
    const uint32_t words =
        (uint32_t)(c->plan->input_count + c->plan->output_count) + 1u + c->apart + (c->slow_bytes ? 2u : 0u);
    return (words * word + 4 + (c->plan->band_count ? 3 * TINYORT_LAYERS * 4 : 0) + 7) / 8 * 8;
}

/* The body is printed first, as it tells which functions and weights the file needs. */
static tort_status print_model(tort_compilation *c, FILE *file) {
    char *body = NULL;
    size_t length = 0;
    FILE *steps = open_memstream(&body, &length);
    if (!steps) return tort_out_of_memory(c->error, 0);
    tort_status status = tort_compile_steps(c, steps);
    if (c->stack_bytes) c->stack_bytes = c->stack_bytes == UINT32_MAX ? 0 : c->stack_bytes + state_bytes(c);
    if (!status) status = tort_compile_borders(c);
    if (fclose(steps) != 0 && !status) status = tort_out_of_memory(c->error, length);
    if (!status) {
        tort_compile_drop_unread(c, body);
        status = print_with_hash(c, body, file);
    }
    free(body);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The first input dimension without a size, for the message. */
static tort_status open_shape(const tort_lowered *lowered, tort_error *error) {
    const tort_graph *graph = &lowered->graph;
    for (int32_t i = 0; i < graph->input_count; i++) {
        const tort_info *info = &lowered->infos[graph->inputs[i]];
        if (info->kind == TORT_TENSOR && !tort_shape_known(info))
            return tort_fail(error, TORT_E_USAGE,
                             "the shape of input '%s' is not fixed: firmware needs all sizes, add --shape NAME=SIZES",
                             graph->values[graph->inputs[i]].name);
    }
    return tort_fail(error, TORT_E_PLACEMENT, "some shape depends on data: firmware needs all sizes before the run");
}

static char *capitals_of(tort_arena *arena, const char *name) {
    char *made = tort_arena_format(arena, "%s", name);
    for (char *at = made; at && *at; at++) *at = tort_to_upper(*at);
    return made;
}

/* Names the values that are in the slow memory, and their bytes. */
static tort_status name_slow(const tort_compilation *c, tort_compiled *out) {
    size_t length;
    FILE *file = open_memstream(&out->slow_values, &length);
    if (!file) return tort_out_of_memory(c->error, 0);
    for (int32_t i = 0, named = 0; i < c->plan->slot_count; i++) {
        const tort_slot *slot = &c->plan->slots[i];
        if (slot->home != TORT_HOME_ARENA || slot->memory || slot->within >= 0 || slot->last_step < 0) continue;
        if (slot->offset >= c->fast_bytes)
            fprintf(file, "%s%s (%lld)", named++ ? ", " : "", c->lowered->graph.values[slot->value].name,
                    (long long)tort_placed_bytes(slot));
    }
    return fclose(file) ? tort_out_of_memory(c->error, 0) : TORT_OK;
}

/* Tells ports and steps. */
static tort_status describe(const tort_compilation *c, tort_compiled *out) {
    size_t length;
    FILE *file = open_memstream(&out->step_names, &length);
    out->inputs = c->plan->input_count;
    out->outputs = c->plan->output_count;
    out->step_count = c->step_count;
    out->ports = calloc((size_t)(out->inputs + out->outputs) + 1, sizeof *out->ports);
    for (int32_t i = 0; file && i < c->step_count; i++) {
        tort_compile_name(file, c->step_names[i]); /* without newlines */
        fputc('\n', file);
    }
    if (!file || fclose(file) || !out->ports) return tort_out_of_memory(c->error, 0);
    for (int32_t i = 0; i < out->inputs + out->outputs; i++) {
        const bool input = i < out->inputs;
        const tort_slot slot = input ? tort_compile_input(c, i) : *tort_compile_output(c, i - out->inputs);
        tort_compiled_port *port = &out->ports[i];
        port->type = slot.type;
        port->bytes = tort_compile_elements(&slot) * tort_type_bits(slot.type) / 8;
        port->border =
            tort_compile_scale(c, input ? &c->inputs[i] : &c->outputs[i - out->inputs], &port->scale, &port->zero);
    }
    return TORT_OK;
}

static tort_status compile_plan(tort_compilation *c, const tort_compile_options *options, tort_compiled *out) {
    if (c->update && c->plan->band_count)
        return tort_fail(c->error, TORT_E_USAGE, "--update: not with --bands, whose sizes stand in the code");
    c->capitals = capitals_of(&c->arena, c->name);
    tort_status status = c->capitals ? tort_compile_ports(c) : tort_out_of_memory(c->error, 0);
    if (!status) status = add_file(c, out, ".c", print_model);
    if (!status) status = add_file(c, out, ".h", tort_compile_header);
    if (!status)
        status = c->apart ? add_file(c, out, "_weights.bin", tort_compile_weights_apart)
                          : add_file(c, out, "_weights.c", tort_compile_weights);
    if (!status && options->main) status = add_file(c, out, "_main.c", tort_compile_program);
    if (!status && options->main) status = add_file(c, out, "Makefile", tort_compile_makefile);
    if (!status && options->serial) status = add_file(c, out, "_serial.c", tort_compile_serial);
    if (!status) status = describe(c, out);
    if (!status) status = tort_compile_project(c, options->project, out);
    if (!status) status = tort_compile_floats(c, out, options->strict);
    if (!status) status = tort_compile_bounds(c);
    out->calls = c->calls;
    out->multiply_adds = c->multiply_adds;
    for (int32_t i = 0; i < c->plan->band_count; i++) out->banded += c->plan->bands[i].count;
    out->arena_bytes = c->arena_bytes;
    out->slow_bytes = c->slow_bytes;
    out->stack_bytes = c->stack_bytes;
    if (!status && c->slow_bytes) status = name_slow(c, out);
    out->bound_bytes = c->bound_bytes;
    out->separate_bytes = c->separate_bytes;
    if (!status && c->peak_step >= 0 && c->plan->steps[c->peak_step].node >= 0)
        out->peak = tort_unit_node(c->lowered, c->plan->steps[c->peak_step].node)->name;
    out->weight_bytes = c->weight_bytes;
    out->hashes = c->hashes;
    return status;
}

tort_status tort_compile(tort_session *session, const tort_compile_options *options, tort_compiled *out,
                         tort_error *error) {
    tort_lowered *lowered = tort_main_graph(session);
    *out = (tort_compiled){0};
    tort_planned *planned = NULL; /* of its own, as ports change it */
    tort_status status = tort_plan_make(lowered, NULL, true, &planned, error);
    if (!status && !planned->plan.complete) status = open_shape(lowered, error);
    if (status) {
        tort_planned_free(planned);
        return status;
    }
    tort_compilation c = {.session = session,
                          .lowered = lowered,
                          .planned = planned,
                          .plan = &planned->plan,
                          .name = options->name,
                          .layout = options->layout,
                          .target = options->target,
                          .integers = options->integers,
                          .align = options->align,
                          .fast_bytes = options->fast_bytes / TORT_HOST_ALIGN * TORT_HOST_ALIGN,
                          .slow_limit = options->slow_bytes,
                          .apart = options->apart,
                          .update = options->update,
                          .error = error};
    tort_arena_init(&c.arena, &session->account.inner);
    status = compile_plan(&c, options, out);
    tort_arena_free(&c.arena);
    tort_planned_free(planned);
    return status;
}
