/* compile.c - turns a planned session into C99 files for firmware (compile.h).
 *
 * The statements come from the kernels of the plan (tort_kernel.emit): this room walks steps, slots and constants, and
 * names no operator. All is text in memory, so that a refusal leaves no file. Read next: steps.c. */
#include <stdlib.h>

#include "runtime/firmware/compile/unit.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Prints one file; the printer is called with a stream into memory. */
static tort_status add_file(tort_compile_unit *unit, tort_compiled *out, const char *suffix,
                            tort_status (*print)(tort_compile_unit *, FILE *)) {
    tort_compiled_file *made = &out->files[out->file_count];
    const char *name = *suffix == 'M' ? "" : unit->name; /* a Makefile has a name of its own */
    const size_t room = strlen(name) + strlen(suffix) + 1;
    made->name = malloc(room);
    FILE *file = made->name ? open_memstream(&made->text, &made->length) : NULL;
    out->file_count++;
    if (!file) return tort_out_of_memory(unit->error, room);
    snprintf(made->name, room, "%s%s", name, suffix);
    const tort_status status = print(unit, file);
    const bool written = !ferror(file);
    if (fclose(file) != 0 || !written) return status ? status : tort_out_of_memory(unit->error, made->length);
    return status;
}

void tort_compiled_free(tort_compiled *compiled) {
    for (int32_t i = 0; i < compiled->file_count; i++) {
        free(compiled->files[i].name);
        free(compiled->files[i].text);
    }
    *compiled = (tort_compiled){0};
}

static void print_top(const tort_compile_unit *unit, FILE *file) {
    fprintf(file,
            "/* %s.c - a model compiled by tinyort %s: plain C99 that needs the math library and memcpy alone.\n *\n",
            unit->name, TORT_VERSION);
    fprintf(file,
            " * Its results have the bits of tinyort's provider firmware, whatever the compiler and its options but\n"
            " * -ffast-math and the like. */\n");
    fprintf(file, "#include \"%s.h\"\n\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n", unit->name);
    fputs("/* A product and the sum after it stay two operations: as one, they would round once. */\n"
          "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#elif defined(__GNUC__)\n"
          "#pragma GCC optimize(\"fp-contract=off\")\n#endif\n\n#define TINYORT_COMPILED\n",
          file);
}

static void print_code(const tort_compile_unit *unit, const char *body, FILE *file) {
    print_top(unit, file);
    for (int32_t i = 0; i < unit->define_count; i++) fprintf(file, "%s\n", unit->defines[i]);
    for (int32_t i = 0; i < unit->code_count; i++) fprintf(file, "%s\n", unit->code[i]);
    tort_compile_externs(unit, file);
    tort_compile_assertion(unit, file);
    tort_compile_signature(unit, file);
    fprintf(file, " {\n    unsigned char *const values = (unsigned char *)arena;\n    (void)values;\n");
    for (int32_t i = 0; i < unit->plan->input_count; i++) fprintf(file, "    (void)in%d;\n", (int)i);
    tort_compile_guard(unit, file);
    fprintf(file, "\n%s    return 0;\n}\n", body);
}

/* Prints the code once more when its hash is known, which stands in it. */
static tort_status print_with_hash(tort_compile_unit *unit, const char *body, FILE *file) {
    char *code = NULL;
    size_t length = 0;
    FILE *without = open_memstream(&code, &length);
    if (!without) return tort_out_of_memory(unit->error, 0);
    print_code(unit, body, without);
    tort_status status = fclose(without) ? tort_out_of_memory(unit->error, length) : TORT_OK;
    if (!status) status = tort_compile_hashes(unit, code, length);
    free(code);
    if (!status) print_code(unit, body, file);
    return status;
}

/* The body is printed first, as it tells which functions and weights the file needs. */
static tort_status print_model(tort_compile_unit *unit, FILE *file) {
    char *body = NULL;
    size_t length = 0;
    FILE *steps = open_memstream(&body, &length);
    if (!steps) return tort_out_of_memory(unit->error, 0);
    tort_status status = tort_compile_steps(unit, steps);
    if (fclose(steps) != 0 && !status) status = tort_out_of_memory(unit->error, length);
    if (!status) {
        tort_compile_drop_unread(unit, body);
        status = print_with_hash(unit, body, file);
    }
    free(body);
    return status;
}

static tort_status print_header(tort_compile_unit *unit, FILE *file) {
    tort_compile_header(unit, file);
    return TORT_OK;
}

static tort_status print_program(tort_compile_unit *unit, FILE *file) {
    tort_compile_program(unit, file);
    return TORT_OK;
}

static tort_status print_makefile(tort_compile_unit *unit, FILE *file) {
    tort_compile_makefile(unit, file);
    return TORT_OK;
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

static tort_status compile_plan(tort_compile_unit *unit, bool main, tort_compiled *out) {
    tort_status status = tort_compile_ports(unit);
    if (!status) status = add_file(unit, out, ".c", print_model);
    if (!status) status = add_file(unit, out, ".h", print_header);
    if (!status)
        status = unit->apart ? add_file(unit, out, "_weights.bin", tort_compile_weights_apart)
                             : add_file(unit, out, "_weights.c", tort_compile_weights);
    if (!status && main) status = add_file(unit, out, "_main.c", print_program);
    if (!status && main) status = add_file(unit, out, "Makefile", print_makefile);
    if (!status) status = tort_compile_bounds(unit);
    out->calls = unit->calls;
    out->multiply_adds = unit->multiply_adds;
    for (int32_t i = 0; i < unit->plan->band_count; i++) out->banded += unit->plan->bands[i].count;
    out->arena_bytes = unit->arena_bytes;
    out->bound_bytes = unit->bound_bytes;
    out->separate_bytes = unit->separate_bytes;
    if (!status && unit->peak_step >= 0 && unit->plan->steps[unit->peak_step].node >= 0)
        out->peak = tort_unit_node(unit->lowered, unit->plan->steps[unit->peak_step].node)->name;
    out->weight_bytes = unit->weight_bytes;
    out->hashes = unit->hashes;
    return status;
}

tort_status tort_compile(tort_session *session, const tort_compile_options *options, tort_compiled *out,
                         tort_error *error) {
    tort_lowered *lowered = tort_main_graph(session);
    *out = (tort_compiled){0};
    tort_planned *planned = NULL; /* of its own, as ports change it */
    tort_status status = tort_plan_make_afresh(lowered, NULL, &planned, error);
    if (!status && !planned->plan.complete) status = open_shape(lowered, error);
    if (status) {
        tort_planned_free(planned);
        return status;
    }
    tort_compile_unit unit = {.session = session,
                              .lowered = lowered,
                              .planned = planned,
                              .plan = &planned->plan,
                              .name = options->name,
                              .layout = options->layout,
                              .target = options->target,
                              .integers = options->integers,
                              .apart = options->apart,
                              .error = error};
    tort_arena_init(&unit.arena, &session->account.inner);
    status = compile_plan(&unit, options->main, out);
    tort_arena_free(&unit.arena);
    tort_planned_free(planned);
    return status;
}
