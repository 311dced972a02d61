/* program.c - prints the header of a compiled model, and a program that runs it on files. */
#include <ctype.h>

#include "runtime/compile/unit.h"

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* What a caller gives for an input; of one that no step reads, the shape is that of its value. */
static tort_slot input_slot(const tort_compile_unit *unit, int32_t i) {
    if (unit->inputs[i].slot >= 0) return unit->plan->slots[unit->inputs[i].slot];
    tort_tensor tensor;
    tort_slot slot = {.type = TORT_FLOAT};
    if (!tort_info_tensor(&unit->planned->infos[unit->lowered->graph.inputs[i]], &tensor)) return slot;
    slot.type = tensor.type;
    slot.rank = tensor.rank;
    memcpy(slot.dims, tensor.dims, sizeof slot.dims);
    return slot;
}

static const tort_slot *output_slot(const tort_compile_unit *unit, int32_t i) {
    return &unit->plan->slots[unit->outputs[i].slot];
}

void tort_compile_signature(const tort_compile_unit *unit, FILE *file) {
    fprintf(file, "int %s_run(", unit->name);
    const tort_plan *plan = unit->plan;
    for (int32_t i = 0; i < plan->input_count; i++)
        fprintf(file, "const %s *in%d, ", tort_compile_type(input_slot(unit, i).type), (int)i);
    for (int32_t i = 0; i < plan->output_count; i++)
        fprintf(file, "%s *out%d, ", tort_compile_type(output_slot(unit, i)->type), (int)i);
    fprintf(file, "void *arena)");
}

/* Prints the name in capitals, as macros have it. */
static void print_capitals(const tort_compile_unit *unit, FILE *file) {
    for (const char *c = unit->name; *c; c++) fputc(toupper((unsigned char)*c), file);
}

static void print_define(const tort_compile_unit *unit, FILE *file, const char *kind, int32_t number,
                         unsigned long long value) {
    fprintf(file, "#define ");
    print_capitals(unit, file);
    fprintf(file, "_%s", kind);
    if (number >= 0) fprintf(file, "%d_SIZE", (int)number);
    fprintf(file, " %llu", value);
}

/* The scale and zero point of a port whose border is left to callers. */
static void print_scale(const tort_compile_unit *unit, FILE *file, const char *kind, int32_t number,
                        const tort_compile_port *port) {
    float scale;
    int32_t zero;
    char text[TORT_COMPILE_FLOAT];
    if (!tort_compile_scale(unit, port, &scale, &zero)) return;
    fprintf(file, "#define ");
    print_capitals(unit, file);
    fprintf(file, "_%s%d_SCALE %s /* value = scale * (integer - zero) */\n#define ", kind, (int)number,
            tort_compile_float(scale, text));
    print_capitals(unit, file);
    fprintf(file, "_%s%d_ZERO %d\n", kind, (int)number, (int)zero);
}

static void print_port(const tort_compile_unit *unit, FILE *file, const char *kind, int32_t number, int32_t value,
                       const tort_slot *slot, const tort_compile_port *port) {
    print_define(unit, file, kind, number, (unsigned long long)tort_compile_elements(slot));
    fprintf(file, " /* ");
    tort_compile_name(file, unit->lowered->graph.values[value].name);
    fprintf(file, ": %s", tort_type_name(slot->type));
    for (int32_t i = 0; i < slot->rank; i++) fprintf(file, "%s%lld", i ? " x " : " ", (long long)slot->dims[i]);
    if (port->in_layout) fprintf(file, ", in layout %s", unit->layout);
    fprintf(file, " */\n");
    print_scale(unit, file, kind, number, port);
}

void tort_compile_assertion(const tort_compile_unit *unit, FILE *file) {
    fprintf(file,
            "\n/* Fails to compile if the header is of another model, or bytes and floats are not as expected. */\n");
    fprintf(file, "typedef char %s_arena_is_as_planned[(", unit->name);
    print_capitals(unit, file);
    fprintf(file, "_ARENA_BYTES == %llu && sizeof(float) == 4) ? 1 : -1];\n\n", (unsigned long long)unit->arena_bytes);
}

void tort_compile_guard(const tort_compile_unit *unit, FILE *file) {
    fprintf(file, "    if ((uintptr_t)arena %% ");
    print_capitals(unit, file);
    fprintf(file, "_ARENA_ALIGN) return 1;\n");
}

void tort_compile_header(const tort_compile_unit *unit, FILE *file) {
    const tort_plan *plan = unit->plan;
    fprintf(file, "/* %s.h - a model compiled by tinyort %s.\n *\n", unit->name, TORT_VERSION);
    fprintf(
        file,
        " * %s_run needs no allocator, file or thread, and keeps nothing between calls: it is reentrant. It\n"
        " * returns 0; 1 if the arena's address is not a multiple of ARENA_ALIGN. `arena` is memory for the values\n"
        " * between; sizes of inputs and outputs are in elements. */\n",
        unit->name);
    fprintf(file, "#ifndef ");
    print_capitals(unit, file);
    fprintf(file, "_H\n#define ");
    print_capitals(unit, file);
    fprintf(file, "_H\n\n#include <stdint.h>\n\n");
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = input_slot(unit, i);
        print_port(unit, file, "IN", i, unit->lowered->graph.inputs[i], &slot, &unit->inputs[i]);
    }
    for (int32_t i = 0; i < plan->output_count; i++)
        print_port(unit, file, "OUT", i, unit->lowered->graph.outputs[i], output_slot(unit, i), &unit->outputs[i]);
    print_define(unit, file, "ARENA_BYTES", -1, (unsigned long long)unit->arena_bytes);
    fprintf(file, "\n");
    print_define(unit, file, "ARENA_ALIGN", -1, TORT_COMPILE_ALIGN);
    fprintf(file, "\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    tort_compile_signature(unit, file);
    fprintf(file, ";\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static const char functions[] =
    "static int read_file(const char *path, void *to, size_t bytes) {\n"
    "    FILE *file = fopen(path, \"rb\");\n"
    "    const size_t got = file ? fread(to, 1, bytes, file) : 0;\n"
    "    const int more = file ? fgetc(file) != EOF : 0;\n"
    "    if (file) fclose(file);\n"
    "    if (got == bytes && !more) return 0;\n"
    "    fprintf(stderr, \"%s: expected a file of %lu bytes\\n\", path, (unsigned long)bytes);\n"
    "    return 1;\n"
    "}\n\n"
    "static int write_file(const char *path, const void *from, size_t bytes) {\n"
    "    FILE *file = fopen(path, \"wb\");\n"
    "    const size_t put = file ? fwrite(from, 1, bytes, file) : 0;\n"
    "    if (file && !fclose(file) && put == bytes) return 0;\n"
    "    fprintf(stderr, \"%s: cannot be written\\n\", path);\n"
    "    return 1;\n"
    "}\n\n";

static void print_buffers(const tort_compile_unit *unit, FILE *file) {
    const tort_plan *plan = unit->plan;
    fprintf(file, "static union {\n    double align;\n    unsigned char bytes[%llu];\n} arena;\n",
            (unsigned long long)(unit->arena_bytes ? unit->arena_bytes : 1));
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = input_slot(unit, i);
        const long long count = (long long)tort_compile_elements(&slot);
        fprintf(file, "static %s in%d[%lld];\n", tort_compile_type(slot.type), (int)i, count ? count : 1);
    }
    for (int32_t i = 0; i < plan->output_count; i++) {
        const tort_slot *slot = output_slot(unit, i);
        const long long count = (long long)tort_compile_elements(slot);
        fprintf(file, "static %s out%d[%lld];\n", tort_compile_type(slot->type), (int)i, count ? count : 1);
    }
}

void tort_compile_program(const tort_compile_unit *unit, FILE *file) {
    const tort_plan *plan = unit->plan;
    fprintf(file,
            "/* %s_main.c - runs %s on raw files of its inputs, one an argument, and writes output_0.raw ... */\n",
            unit->name, unit->name);
    fprintf(file, "#include \"%s.h\"\n\n#include <stdio.h>\n\n", unit->name);
    print_buffers(unit, file);
    fprintf(file, "\n%sint main(int argc, char **argv) {\n    int failed = 0;\n", functions);
    fprintf(file,
            "    if (argc != %d) {\n        fprintf(stderr, \"%s takes %d files\\n\");\n"
            "        return 2;\n    }\n    (void)argv;\n",
            (int)plan->input_count + 1, unit->name, (int)plan->input_count);
    for (int32_t i = 0; i < plan->input_count; i++) {
        const tort_slot slot = input_slot(unit, i);
        fprintf(file, "    failed |= read_file(argv[%d], in%d, %lld * sizeof *in%d);\n", (int)i + 1, (int)i,
                (long long)tort_compile_elements(&slot), (int)i);
    }
    fprintf(file, "    if (failed) return 3;\n    if (%s_run(", unit->name);
    for (int32_t i = 0; i < plan->input_count; i++) fprintf(file, "in%d, ", (int)i);
    for (int32_t i = 0; i < plan->output_count; i++) fprintf(file, "out%d, ", (int)i);
    fprintf(file, "arena.bytes)) return 5;\n");
    for (int32_t i = 0; i < plan->output_count; i++)
        fprintf(file, "    failed |= write_file(\"output_%d.raw\", out%d, %lld * sizeof *out%d);\n", (int)i, (int)i,
                (long long)tort_compile_elements(output_slot(unit, i)), (int)i);
    fprintf(file, "    return failed ? 3 : 0;\n}\n");
}

void tort_compile_makefile(const tort_compile_unit *unit, FILE *file) {
    const char *name = unit->name;
    fprintf(file, "# Builds %s for this machine: make run ARGS=\"in0.raw\" writes output_0.raw ...\n", name);
    fprintf(file,
            "CFLAGS ?= -O2\nSTRICT := -std=c99 -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow -pedantic\n\n");
    fprintf(file,
            "%s_main: %s_main.c %s.c %s_weights.c %s.h\n\t$(CC) $(STRICT) $(CFLAGS) -o $@ $(filter %%.c,$^) -lm\n\n",
            name, name, name, name, name);
    fprintf(file, ".PHONY: run\nrun: %s_main\n\t./%s_main $(ARGS)\n", name, name);
}
