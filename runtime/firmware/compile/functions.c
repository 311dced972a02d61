/* functions.c - prints the functions of a compiled model: one that runs a step, and one that runs them all.
 *
 * There is one body, a switch over steps: the run is a loop over it. So a caller may do something else between steps,
 * and a step costs a few instructions. State 0 begins: it checks what the caller has given. */
#include <inttypes.h>

#include "runtime/firmware/compile/compilation.h"

/* Errors of a compiled model, as the header lists them. */
static const struct {
    const char *name, *meaning;
} errors[] = {
    {"OK", "all steps are done"},
    {"E_ALIGN", "an address is not a multiple of its ALIGN"},
    {"E_WEIGHTS", "the weights are of another model, training or target than the code"},
    {"E_NULL", "an address is NULL"},
    {"E_ARENA", "state->arena_bytes is less than ARENA_BYTES"},
    {"E_STEP", "state->next is no step: it is 0 before the first"},
    {"E_CANCELLED", "the run was cancelled between two steps"},
};

void tort_compile_errors(const tort_compilation *c, FILE *file) {
    fprintf(file, "\nenum {\n");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        fprintf(file, "    %s_%s = %d%s /* %s */\n", c->capitals, errors[i].name, -(int)i,
                i + 1 < sizeof errors / sizeof *errors ? "," : "", errors[i].meaning);
    fprintf(file, "};\n");
}

/* Prints a check of what the caller has given: of addresses that steps read or write. */
static void print_check(const tort_compilation *c, FILE *file) {
    fprintf(file, "%s_CODE static int %s_check(const %s_state *state, const void *arena) {\n    if (", c->capitals,
            c->name, c->name);
    for (int32_t i = 0; i < c->plan->input_count; i++) {
        const tort_slot slot = tort_compile_input(c, i);
        if (c->inputs[i].slot >= 0 && tort_compile_elements(&slot)) fprintf(file, "!state->in%d || ", (int)i);
    }
    for (int32_t i = 0; i < c->plan->output_count; i++)
        if (tort_compile_elements(tort_compile_output(c, i))) fprintf(file, "!state->out%d || ", (int)i);
    fprintf(file, "%s%s) {\n        return %s_E_NULL;\n    }\n", c->apart ? "!state->weights || " : "",
            c->arena_bytes ? "!arena" : "0", c->capitals);
    fprintf(file, "    if ((((uintptr_t)arena %% (uintptr_t)%s_ARENA_ALIGN) != 0u)", c->capitals);
    if (c->apart) fprintf(file, " || (((uintptr_t)state->weights %% (uintptr_t)%s_WEIGHTS_ALIGN) != 0u)", c->capitals);
    fprintf(file, ") {\n        return %s_E_ALIGN;\n    }\n", c->capitals);
    if (c->arena_bytes)
        fprintf(file, "    if (state->arena_bytes < (size_t)%s_ARENA_BYTES) {\n        return %s_E_ARENA;\n    }\n",
                c->capitals, c->capitals);
    if (c->apart)
        fprintf(file,
                "    if ((((const uint64_t *)state->weights)[0] != UINT64_C(0x%016" PRIx64
                ")) || (((const uint64_t *)state->weights)[2] != %s_CODE_HASH)) {\n",
                TORT_COMPILE_MAGIC, c->capitals);
    else
        fprintf(file, "    if (%s_weights_of_%016" PRIx64 "[2] != %s_CODE_HASH) {\n", c->name, c->hashes.code,
                c->capitals);
    fprintf(file, "        return %s_E_WEIGHTS;\n    }\n    return %s_OK;\n}\n", c->capitals, c->capitals);
}

/* What a product may define, in NAME_config.h or on the compiler's command line. */
void tort_compile_config(const tort_compilation *c, FILE *file) {
    static const struct {
        const char *name, *nothing, *meaning;
    } macros[] = {{"CODE", "", "before each function: an attribute such as its section"},
                  {"WEIGHTS", "", "before each array of weights"},
                  {"HOT_WEIGHTS", "", "before those that a run reads many times"},
                  {"BEFORE(step)", "((void)0)", "a statement before each step"},
                  {"AFTER(step)", "((void)0)", "a statement after each step"},
                  {"CANCELS(step)", "0", "true: the run ends before this step"}};
    fprintf(file,
            "/* The product's own macros, if it has a file with some. */\n#if defined(__has_include)\n"
            "#if __has_include(\"%s_config.h\")\n#include \"%s_config.h\"\n#endif\n#endif\n",
            c->name, c->name);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        fprintf(file, "#if !defined(%s_%.*s)\n#define %s_%s %s /* %s */\n#endif\n", c->capitals,
                (int)strcspn(macros[i].name, "("), macros[i].name, c->capitals, macros[i].name, macros[i].nothing,
                macros[i].meaning);
    fprintf(file, "\n");
}

static void print_step(const tort_compilation *c, const char *cases, FILE *file) {
    const bool bands = c->plan->band_count > 0;
    fprintf(
        file,
        "\n%s_CODE int %s_step(%s_state *state, void *arena) {\n    unsigned char *const values = (unsigned char *)arena;\n"
        "    int step;\n%s",
        c->capitals, c->name, c->name, bands ? "    int again = 0; /* a step in bands has more of them */\n" : "");
    fprintf(file,
            "    if (!state) {\n        return %s_E_NULL;\n    }\n    step = state->next;\n    if (step == 0) {\n"
            "        const int status = %s_check(state, arena);\n        if (status != %s_OK) {\n"
            "            return status;\n        }\n%s        step = 1;\n    }\n",
            c->capitals, c->name, c->capitals,
            bands ? "        (void)memset(state->bands, 0, sizeof state->bands); /* of a run that was left */\n" : "");
    fprintf(file, "    (void)values;\n    %s_BEFORE(step);\n    switch (step) {\n%s    default:\n", c->capitals, cases);
    fprintf(file, "        return %s_E_STEP;\n    }\n    %s_AFTER(step);\n", c->capitals, c->capitals);
    if (bands) fprintf(file, "    if (again == 0) {\n    ");
    fprintf(file, "    step = (step < %s_STEPS) ? (step + 1) : 0;\n%s", c->capitals, bands ? "    }\n" : "");
    fprintf(file, "    state->next = step;\n    return step;\n}\n");
}

void tort_compile_functions(const tort_compilation *c, const char *cases, FILE *file) {
    fprintf(file,
            "\n/* Fails to compile if the header is of another model, or bytes and floats are not as expected. */\n"
            "typedef char %s_header_is_of_this_code[(%s_CODE_HASH == UINT64_C(0x%016" PRIx64
            ") && sizeof(float) == 4) ? 1 : -1];\n\n",
            c->name, c->capitals, c->hashes.code);
    print_check(c, file);
    print_step(c, cases, file);
    fprintf(file, "\n%s_CODE ", c->capitals);
    tort_compile_signature(c, file);
    fprintf(file, " {\n    %s_state state;\n    int next;\n", c->name);
    for (int32_t i = 0; i < c->plan->input_count; i++) fprintf(file, "    state.in%d = in%d;\n", (int)i, (int)i);
    for (int32_t i = 0; i < c->plan->output_count; i++) fprintf(file, "    state.out%d = out%d;\n", (int)i, (int)i);
    if (c->apart) fprintf(file, "    state.weights = weights;\n");
    fprintf(file,
            "    state.arena_bytes = %s_ARENA_BYTES;\n    state.next = 0;\n    do {\n"
            "        next = %s_step(&state, arena);\n        if ((next > 0) && (%s_CANCELS(next))) {\n"
            "            next = %s_E_CANCELLED;\n        }\n    } while (next > 0);\n    return next;\n}\n",
            c->capitals, c->name, c->capitals, c->capitals);
}
